import assert from 'node:assert/strict';
import { test } from 'node:test';

import { topRows, type TopFlame } from '../src/views/summary-top.js';

const FUNCTION = 0;
const KERNEL = 1;
const KIND = 3;
const THREAD = 4;

/** Rows of [parent, label, place, type, self, channel]. */
function flame(rows: [number, string, string, number, number, number][]): TopFlame {
	const nodes: [number, string, string, number, number, number][] = [[-1, '', '', THREAD, 0, 0], ...rows];
	const channels = new Float64Array(nodes.length * 6);
	nodes.forEach(([, , , , self, channel], node) => channels[node * 6 + channel] = self);
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
		[0, 'kthread', '[kernel]', KERNEL, 0, 0], [1, 'idle', '', KIND, 9, 5], [0, 'nanosleep', 'libc.so.6', FUNCTION, 0, 0], [3, 'sleep', '', KIND, 4, 4],
	]), 1);
	assert.deepEqual(rows.map((row) => [row.name, row.wait]), [['kthread', 'idle']]);
});
