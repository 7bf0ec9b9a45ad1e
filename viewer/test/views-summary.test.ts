import assert from 'node:assert/strict';
import { test } from 'node:test';

import { readIndex, unitText } from '../src/data/index.js';
import { labelPlace } from '../src/ui/time.js';
import { topRows, type TopFlame } from '../src/views/summary-top.js';

const FUNCTION = 0;
const KERNEL = 1;
const KIND = 3;
const THREAD = 4;

/** Rows of [parent, label, place, type, self, channel]. */
function flame(rows: [number, string, string, number, number, number][]): TopFlame {
	const nodes: [number, string, string, number, number, number][] = [[-1, '', '', THREAD, 0, 0], ...rows];
	const channels = new Float64Array(nodes.length * 7);
	nodes.forEach(([, , , , self, channel], node) => channels[node * 7 + channel] = self);
	return {
		total: nodes.reduce((sum, node) => sum + node[4], 0), labels: nodes.map((node) => node[1]), places: nodes.map((node) => node[2]),
		parent: nodes.map((node) => node[0]), label: nodes.map((_, node) => node), type: nodes.map((node) => node[3]), self: nodes.map((node) => node[4]), channels,
	};
}

test('time is gathered by function, and waits are those of the function that calls the library', () => {
	const rows = topRows(flame([
		[0, 'T1', '', THREAD, 0, 0], [1, 'work', 'prog', FUNCTION, 50, 0], [2, 'read', '/usr/lib/libc.so.6', FUNCTION, 0, 0],
		[3, 'vfs_read', '[kernel]', KERNEL, 5, 0], [4, 'disk read', '', KIND, 30, 1],
		[0, 'T2', '', THREAD, 0, 0], [6, 'work', 'prog', FUNCTION, 20, 0], [7, 'pread', 'libc.so.6', FUNCTION, 0, 0], [8, 'disk read', '', KIND, 7, 1],
	]), 10);
	assert.deepEqual(rows.map((row) => [row.name, row.wait, row.channel, row.ns]), [
		['work', '', 0, 70], ['work', 'disk read', 1, 37], ['vfs_read', '', 0, 5],
	]);
});

test('waits whose stack has only the kernel or the library keep what there is', () => {
	const rows = topRows(flame([
		[0, 'kthread', '[kernel]', KERNEL, 0, 0], [1, 'idle', '', KIND, 9, 6], [0, 'nanosleep', 'libc.so.6', FUNCTION, 0, 0], [3, 'sleep', '', KIND, 4, 4],
	]), 1);
	assert.deepEqual(rows.map((row) => [row.name, row.wait]), [['kthread', 'idle']]);
});

test('the label of the last tick of an axis is left of it, and labels do not lie upon each other', () => {
	assert.equal(labelPlace(100, 40, 0, 500), 103);
	assert.equal(labelPlace(457, 40, 300, 500), 460);
	assert.equal(labelPlace(490, 40, 300, 500), 447);
	assert.equal(labelPlace(490, 40, 446, 500), null);
	assert.equal(labelPlace(200, 40, 199, 500), 203);
});

test('lengths in sentences are in the units of the page, and nothing else is changed', () => {
	assert.equal(unitText('now once in 3.5 us, 9.6 us; bus 5 users'), 'now once in 3.5 \u00b5s, 9.6 \u00b5s; bus 5 users');
	const index = readIndex(JSON.stringify({
		version: 1, dwell: '', causal: [], recordings: [{ diagnostics: [{ label: 'period', text: 'at most 12.0 us', well: true }] }],
		verdicts: [{ recording: 0, view: 'latency', text: 'those at p50 143.2 us' }],
	}));
	assert.equal(index.verdicts[0]!.text, 'those at p50 143.2 \u00b5s');
	assert.equal(index.recordings[0]!.diagnostics[0]!.text, 'at most 12.0 \u00b5s');
});
