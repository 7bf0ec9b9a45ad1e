import assert from 'node:assert/strict';
import { test } from 'node:test';

import { requestPathRows, type RequestPathDocument, type RequestPathNode } from '../src/views/latency-paths.js';

const node = (what: Partial<RequestPathNode>, slow: number, usual: number, ...children: RequestPathNode[]): RequestPathNode =>
	({ ...what, total_ns: slow * 2, compared_total_ns: usual * 4, children });

/* Two slow requests of 100 each, beside four of 20. */
const document: RequestPathDocument = {
	wall_ns: 200, verdict: '', categories: {}, requests: { source: 'tcp:1', shown: [{ length_ns: 100 }, { length_ns: 100 }], compared: { count: 4, wall_ns: 80, categories: {} } },
	tree: [node({ comm: 'server', tid: 7 }, 100, 20,
		node({ frame: 'main' }, 98, 18, node({ frame: 'serve' }, 98, 18,
			node({ frame: 'parse' }, 12, 12),
			node({ frame: 'lock' }, 80, 6, node({ frame: 'entry', kernel: true }, 80, 6, node({ kind: 'futex', object: '0x10' }, 80, 6, node({ comm: 'writer', tid: null }, 79, 6), node({ category: 'run_queue' }, 1, 0)))))),
		node({ category: 'preempted' }, 2, 2))],
};

test('rows of a path are per request, the largest differences first, without the kernel', () => {
	const rows = requestPathRows(document, 0.02, (text) => text.replace('0x10', 'the_lock'));
	assert.deepEqual(rows.map(({ texts, depth, slow, usual }) => [texts.join(' > '), depth, slow, usual]), [
		['server/7', 0, 100, 20], ['main > serve', 1, 98, 18], ['lock', 2, 80, 6], ['waits: futex the_lock', 3, 80, 6], ['writer (several)', 4, 79, 6],
	]);
	assert.equal(requestPathRows(document, 0.01).some(({ texts }) => texts[0] === '[run queue]'), true);
	assert.deepEqual(requestPathRows({ ...document, tree: [] }, 0.02), []);
});
