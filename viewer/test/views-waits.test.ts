import assert from 'node:assert/strict';
import { test } from 'node:test';

import { chooseGraph, firstShare, isIdleEdge, knotOf, lockText, stackText, verdictWaits, vertexLabel, type WaitEdge, type WaitsDocument, type WaitStack } from '../src/views/waits-graph.js';
import { layoutGraph, shortened, smoothPath } from '../src/views/waits-layout.js';
import { selectVertex, selectWaits, waitBins, type WaitBins } from '../src/views/waits-selection.js';

function edge(from: string, to: string, share: number, idle = 0): WaitEdge {
	return {
		from, to, share, plain_share: share, weight_ns: share * 1e9, plain_ns: share * 1e9, error_ns: 0,
		for_work_ns: share * idle * 1e9, count: 1, kinds: {}, stacks: [],
	};
}

function makeDocument(edges: WaitEdge[]): WaitsDocument {
	const names = [...new Set(edges.flatMap((one) => [one.from, one.to]))];
	const knot = {
		type: 'knot', members: ['A', 'B'], edges: [{ from: 'A', to: 'B', for_work: false }, { from: 'B', to: 'A', for_work: true }],
		background: false, relevant: true, why: 'A and B', note: '', active: 0.9,
	};
	return {
		exact: true, window_ns: 1e9, waits: 10, verdict: { ...knot, text: 'A and B' }, knots: [knot],
		threads: names.map((name) => ({ name, type: 'thread', recorded: true })), edges,
	};
}

const document = makeDocument([
	edge('A', 'B', 0.3), edge('B', 'A', 0.005, 1), edge('main', 'A', 0.8), edge('pool', 'timer', 3, 1), edge('x', 'y', 0.001),
]);

test('the edges of the verdict are always drawn, idle waits only on request', () => {
	const names = (idle: boolean, limit = 10): string[] =>
		chooseGraph(document, { minShare: 0.01, idle, limit }).edges.map((one) => `${one.from}>${one.to}`);
	assert.deepEqual(names(false), ['A>B', 'B>A', 'main>A']);
	assert.deepEqual(names(true), ['A>B', 'B>A', 'main>A', 'pool>timer']);
	assert.deepEqual(names(true, 2), ['A>B', 'B>A']);
	assert.equal(chooseGraph(document, { minShare: 0.01, idle: true, limit: 2 }).hidden, 2);
});

test('programs that have nothing to do with what was asked for are drawn on request', () => {
	const busy: WaitsDocument = { ...document, threads: document.threads.map((one) => ({ ...one, related: one.name !== 'x' && one.name !== 'y' })) };
	const names = (others: boolean): string[] =>
		chooseGraph(busy, { minShare: 0, idle: false, limit: 10, others }).edges.map((one) => `${one.from}>${one.to}`);
	assert.deepEqual(names(false), ['A>B', 'B>A', 'main>A']);
	assert.deepEqual(names(true), ['A>B', 'B>A', 'main>A', 'x>y']);
	assert.equal(selectVertex(busy.threads.find((one) => one.name === 'x')!, []).related, false);
});

test('the smallest share that is drawn at first leaves a readable number of edges', () => {
	assert.equal(firstShare(document, 24), 0.001);
	assert.equal(firstShare(document, 3), 0.01);
	assert.equal(firstShare(makeDocument([edge('A', 'B', 0.3)]), 0), 0.2);
});

test('verdictWaits() lists the heaviest waits of the verdict, without waits for work', () => {
	const stack = (what: string, plain_ns: number, for_work = false): WaitStack => ({
		what, kind: 'fsync', class: 'io', for_work, count: 1, plain_ns, weight_ns: plain_ns,
		waiter: ['read', 'fill', 'load', 'main'].map((symbol) => ({ symbol })), waker: [],
	});
	const stacks = [stack('work', 0.2e9, true), stack('fsync a', 0.02e9), stack('fsync b', 0.06e9)];
	const told = verdictWaits(makeDocument([{ ...edge('A', 'B', 0.3, 0.4), stacks }, { ...edge('B', 'A', 0.4, 0.6), stacks }, { ...edge('main', 'A', 2), stacks }]), 3);
	assert.deepEqual(told.map(({ edge: { from, to }, what, where, share }) => [from, to, what, where, share]), [['A', 'B', 'fsync b', 'read \u2190 fill \u2190 load \u2190 main', 0.2]]);
	assert.deepEqual([0.4, 0.6].map((idle) => isIdleEdge(edge('A', 'B', 1, idle))), [false, true]);
});

test('a line ends before the head of its arrow', () => {
	assert.deepEqual(shortened([{ x: 0, y: 0 }, { x: 10, y: 0 }, { x: 10, y: 4 }], 3), [{ x: 0, y: 0 }, { x: 10, y: 0 }, { x: 10, y: 1 }]);
	assert.deepEqual(shortened([{ x: 0, y: 0 }, { x: 10, y: 0 }, { x: 10, y: 4 }], 9), [{ x: 0, y: 0 }, { x: 5, y: 0 }]);
	assert.deepEqual(shortened([{ x: 0, y: 0 }, { x: 1, y: 0 }], 9), [{ x: 0, y: 0 }, { x: 1, y: 0 }]);
});

test('members of the verdict are marked', () => {
	assert.equal(knotOf(document, 'A')?.isVerdict, true);
	assert.equal(knotOf(document, 'main'), null);
});

test('vertices do not overlap, and edges have points, whatever the names are', () => {
	const odd = makeDocument([
		edge('__proto__', 'constructor', 1), edge('constructor', '__proto__', 1), edge('A', 'A', 1), edge('<b>', 'A', 0.5),
		edge('A', '<b>', 0.5),
	]);
	const choice = chooseGraph(odd, { minShare: 0, idle: true, limit: 100 });
	for (const isNarrow of [false, true]) {
		const layout = layoutGraph(choice, ({ name }) => 20 + 7 * name.length, isNarrow);
		layout.vertices.forEach((a, i) => layout.vertices.slice(i + 1).forEach((b) => {
			assert.ok(Math.abs(a.x - b.x) >= (a.width + b.width) / 2 || Math.abs(a.y - b.y) >= (a.height + b.height) / 2);
		}));
		for (const points of layout.edges) assert.match(smoothPath(points), /^M[-\d.]+,[-\d.]+C/);
		/* The edge of A to itself leaves A and comes back, within the picture. */
		const self = choice.edges.findIndex(({ from, to }) => from === to), a = layout.vertices[choice.vertices.findIndex(({ name }) => name === 'A')]!;
		const ends = [layout.edges[self]![0]!, layout.edges[self]!.at(-1)!];
		for (const { x, y } of ends) assert.ok(Math.abs(x - a.x) <= a.width / 2 && Math.abs(y - a.y) <= a.height / 2);
		assert.ok(ends[0]!.x !== ends[1]!.x && layout.labels[self]!.y > a.y + a.height / 2 && layout.labels[self]!.y < layout.height);
	}
});

test('stacks are written innermost first', () => {
	const frames = [{ symbol: 'wait', file: '/a/b.c', line: 3 }, { symbol: 'run' }, { symbol: 'main' }];
	assert.equal(stackText(frames, 2), 'wait (b.c:3) \u2190 run \u2190 ...');
});

/** A graph whose edges have two stacks each, and rows of bins that sum to them. */
function makeBins(): { document: WaitsDocument; bins: WaitBins; rows: { bin: number; edge: number; place: number; ns: number; weight: number }[] } {
	const stack = (cls: string, work: boolean): WaitStack => ({
		what: cls, origin: 'blocked', kind: cls === 'io' ? 'disk read' : 'epoll', class: cls, for_work: work, count: 4, plain_ns: 0, weight_ns: 0,
		longest_ns: 5, waiter: [], waker: [],
	});
	const edges = [edge('A', 'B', 0), edge('B', 'C', 0), edge('D', 'D', 0)].map((one) => ({ ...one, for_work_ns: 1, stacks: [stack('io', false), stack('other', true)] }));
	const rows: { bin: number; edge: number; place: number; ns: number; weight: number }[] = [];
	for (let bin = 0; bin < 8; bin++) for (let number = 0; number < 3; number++)
		for (const place of [0, 1, 2 + 2 * 2, 2 + 2 * 4 + 1]) rows.push({ bin, edge: number, place, ns: 100 * (bin + 1) + 10 * number + place, weight: 1000 * (number + 1) + bin });
	const column = (of: (row: (typeof rows)[number], at: number) => number): Float64Array => Float64Array.from(rows, of);
	const bins = waitBins({ from_ns: 0, length_ns: 1000 }, [
		column((row, at) => row.bin - (rows[at - 1]?.bin ?? 0)), column((row) => row.edge * 14 + row.place), column(() => 2), column((row) => row.ns), column((row) => row.weight),
	]);
	return { document: { ...makeDocument(edges), window_ns: 7500, edges }, bins, rows };
}

test('the waits of a selection are those of its bins, of some in part', () => {
	const { document: whole, bins, rows } = makeBins();
	const all = { from: 0, until: 7500, classes: 63, vertices: null };
	assert.equal(selectWaits(whole, bins, all), whole);
	for (const [from, until] of [[0, 1000], [1500, 4250], [7000, 9000], [7250, 7500], [6000, 6001]] as const) {
		const got = selectWaits(whole, bins, { ...all, from, until }), end = Math.min(until, 7500);
		assert.equal(got.window_ns, end - from);
		for (const made of got.edges) {
			const number = whole.edges.findIndex((one) => one.from === made.from);
			let plain = 0, weight = 0, work = 0;
			for (const row of rows.filter((one) => one.edge === number)) {
				/* The last bin is half as long. */
				const low = row.bin * 1000, high = Math.min(low + 1000, 7500), share = Math.max(0, Math.min(end, high) - Math.max(from, low)) / (high - low);
				plain += row.ns * share;
				weight += row.weight * share;
				if (row.place === 11 || (row.place === 1 && made.from !== 'D')) work += row.ns * share;
			}
			assert.ok(Math.abs(made.plain_ns - plain) < 1e-6 && Math.abs(made.weight_ns - weight) < 1e-6 && Math.abs(made.for_work_ns - work) < 1e-6);
			assert.ok(Math.abs(made.share - weight / (end - from)) < 1e-9);
			assert.equal(made.stacks[0]?.longest_ns, undefined);
		}
		assert.deepEqual(got.edges.map((one) => one.from), ['D', 'B', 'A'], 'heaviest first');
	}
	assert.equal(selectWaits(whole, bins, { ...all, from: 8000, until: 9000 }).edges.length, 0);
});

test('the waits of a selection are of its threads and classes', () => {
	const { document: whole, bins, rows } = makeBins();
	const all = { from: 0, until: 7500, classes: 63, vertices: null };
	const some = selectWaits(whole, bins, { ...all, vertices: new Set(['B']) });
	assert.deepEqual(some.edges.map((one) => one.from), ['B']);
	const io = selectWaits(whole, bins, { ...all, classes: 1 << 1 }).edges.find((one) => one.from === 'A')!;
	assert.equal(io.plain_ns, rows.filter((row) => row.edge === 0 && row.place === 0).reduce((sum, row) => sum + row.ns, 0));
	assert.deepEqual(io.stacks.map((one) => one.class), ['io']);
	assert.equal(io.for_work_ns, 0);
});

test('a vertex of a selection has the times of its threads', () => {
	const vertex = { name: 'w*', type: 'thread', recorded: true, tid: 7, threads: 2, running_ns: 1, lifetime_ns: 9 };
	const one = { running: 1, runnable: 2, blocked: 3, lifetime: 6 };
	assert.deepEqual(selectVertex(vertex, [one, one]), {
		name: 'w*', type: 'thread', recorded: true, tid: 7, threads: 2, running_ns: 2, runnable_ns: 4, blocked_ns: 6, lifetime_ns: 12,
	});
	assert.deepEqual(selectVertex({ ...vertex, type: 'device' }, []), { name: 'w*', type: 'device', recorded: true });
	// A mark beside a time stays with it.
	assert.deepEqual(selectVertex({ ...vertex, differs: ['running'] }, [one]).differs, ['running']);
});

test('a vertex of one thread is named as in all views, one of several keeps its name', () => {
	const vertex = { name: 'worker', type: 'thread', recorded: true };
	assert.equal(vertexLabel({ ...vertex, tid: 17 }), 'worker/17');
	assert.equal(vertexLabel({ ...vertex, name: 'worker/17', tid: 17 }), 'worker/17');
	assert.equal(vertexLabel({ ...vertex, tid: 17, threads: 8 }), 'worker');
	assert.equal(vertexLabel({ ...vertex, name: 'vda', type: 'device' }), 'vda');
	assert.equal(vertexLabel(vertex), 'worker');
});

test('the lock that a bottleneck holds is described', () => {
	const lock = {
		name: 'shared_lock, taken in use', wait_ns: 1.8e9, held_ns: 1e9, holder: { name: 'shared2/12', held_ns: 0.35e9 },
		blocked_ns: 0.91e9, blocked_in: 'sleep', stack: [],
	};
	assert.equal(lockText(lock, 1e9), 'shared_lock, taken in use: 1.8 threads wait for it, on average; meanwhile held 35% by shared2/12, the rest by others; 91% of that time its holder is in sleep.');
	assert.equal(lockText({ ...lock, wait_ns: 0.5e9, held_ns: 0, blocked_ns: 0 }, 1e9), 'shared_lock, taken in use: waited for 50.0% of the time.');
});
