import assert from 'node:assert/strict';
import { test } from 'node:test';

import { chooseGraph, firstShare, knotOf, stackText, type WaitEdge, type WaitsDocument } from '../src/views/waits-graph.js';
import { layoutGraph, smoothPath } from '../src/views/waits-layout.js';

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

test('the smallest share that is drawn at first leaves a readable number of edges', () => {
	assert.equal(firstShare(document, 24), 0.001);
	assert.equal(firstShare(document, 3), 0.01);
	assert.equal(firstShare(makeDocument([edge('A', 'B', 0.3)]), 0), 0.2);
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
