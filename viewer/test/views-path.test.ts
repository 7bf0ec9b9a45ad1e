import assert from 'node:assert/strict';
import { test } from 'node:test';

import { pathTables, waitPlaces } from '../src/views/path-data.js';
import {
	buildPathTree, CELL_PARTS, CELL_WAITS, chronologicalBlocks, consolidatedBlocks, DID_IO, DID_RUN, DID_SLEEP,
	dominantSteps, NODE_FRAME, NODE_LEAF, NODE_THREAD, pathLinks, pathThreads, processCells,
	stepAt, sumPath, type PathNames, type PathTables,
} from '../src/views/path-tree.js';

const categories = ['running', 'not_sampled', 'disk_active', 'run_queue', 'sleep'];

/** What is wrong with the tables of a path; empty if every ns of it is in exactly one step. */
function pathProblems(path: PathTables): string[] {
	const problems: string[] = [];
	const { levels, steps } = path;
	const count = steps.level.length;
	if (steps.from.length !== count + 1) problems.push('steps: no end');
	if (count > 0 && steps.from[0] !== path.from) problems.push('steps do not begin with the path');
	if (count > 0 && steps.from[count] !== path.until) problems.push('steps do not end with the path');
	for (let step = 0; step < count; step++) {
		const level = steps.level[step]!;
		if (steps.from[step + 1]! <= steps.from[step]!) problems.push(`step ${step} is empty`);
		if (level < 0 || level >= levels.thread.length) problems.push(`step ${step} has no level`);
		else if (
			steps.from[step]! < levels.from[level]! ||
			steps.from[step + 1]! > levels.from[level]! + levels.length[level]!
		)
			problems.push(`step ${step} is outside of its level`);
	}
	for (let level = 0; level < levels.thread.length; level++) {
		const waiter = levels.waiter[level]!;
		if (waiter >= level) problems.push(`level ${level} begins before the one that waits for it`);
		else if (
			waiter >= 0 &&
			(levels.from[level]! < levels.from[waiter]! ||
				levels.from[level]! + levels.length[level]! > levels.from[waiter]! + levels.length[waiter]!)
		)
			problems.push(`level ${level} is longer than the wait for it`);
	}
	return problems;
}

/** A generator of numbers in [0, limit) with a fixed seed, so that a failure can be repeated. */
function randomNumbers(seed: number): (limit: number) => number {
	let state = seed >>> 0;
	return (limit) => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return Math.floor((state / 2 ** 32) * limit);
	};
}

/** A path with levels nested at random. */
function randomPath(seed: number): PathTables {
	const random = randomNumbers(seed);
	const levels = { thread: [0], depth: [0], from: [100], length: [0], waiter: [-1] };
	const steps = { level: [] as number[], from: [100], category: [] as number[], stack: [] as number[], about: [] as number[] };
	const open = [0];
	let time = 100;
	for (let i = 0; i < 400; i++) {
		const length = 1 + random(50);
		steps.level.push(open.at(-1)!);
		steps.category.push(random(categories.length));
		steps.stack.push(random(6));
		steps.about.push(random(3));
		time += length;
		steps.from.push(time);
		if (random(3) === 0) {
			levels.thread.push(random(8));
			levels.depth.push(open.length);
			levels.from.push(time);
			levels.length.push(0);
			levels.waiter.push(open.at(-1)!);
			open.push(levels.thread.length - 1);
		} else if (random(3) === 0 && open.length > 1) levels.length[open.at(-1)!] = time - levels.from[open.pop()!]!;
	}
	// Every level has a step, the last one too.
	steps.level.push(open.at(-1)!);
	steps.category.push(0);
	steps.stack.push(1);
	steps.about.push(0);
	time += 10;
	steps.from.push(time);
	for (const level of open) levels.length[level] = time - levels.from[level]!;
	return { from: 100, until: time, categories, levels, steps };
}

// Stacks: 1 main, 2 main>a, 3 main>a>b, 4 main>c, 5 other
const callers = [0, 0, 1, 2, 1, 0];
const frames = [0, 1, 2, 3, 4, 5];
const names: PathNames = {
	node: (stack) => stack,
	caller: (stack) => callers[stack]!,
	frame: (stack) => frames[stack]!,
	threadKey: (thread) => thread % 5,
	waitStack: (level) => level % 6,
	waitKind: (level) => level % 3,
};

test('every ns of a path is in exactly one step', () => {
	for (let seed = 1; seed <= 50; seed++) {
		const path = randomPath(seed);
		assert.deepEqual(pathProblems(path), []);
		for (let time = path.from; time < path.until; time += 37) {
			const holders = path.steps.level.length;
			let found = 0;
			for (let step = 0; step < holders; step++)
				if (path.steps.from[step]! <= time && time < path.steps.from[step + 1]!) found++;
			assert.equal(found, 1);
			const step = stepAt(path, time);
			assert.ok(path.steps.from[step]! <= time && time < path.steps.from[step + 1]!);
		}
	}
});

test('tables with gaps or steps outside of their level are reported', () => {
	const path = randomPath(3);
	assert.notDeepEqual(pathProblems({ ...path, until: path.until + 1 }), []);
	const level = Array.from(path.steps.level, (_, i) => (i === 0 ? path.levels.thread.length - 1 : path.steps.level[i]!));
	assert.notDeepEqual(pathProblems({ ...path, steps: { ...path.steps, level } }), []);
});

test('consolidated sums equal the account, in any window', () => {
	for (let seed = 1; seed <= 30; seed++) {
		const path = randomPath(seed);
		const tree = buildPathTree(path, names);
		const random = randomNumbers(seed * 7);
		for (let i = 0; i < 10; i++) {
			const from = path.from + random(path.until - path.from);
			const until = from + 1 + random(path.until - from);
			const sums = sumPath(path, tree, from, until);
			const expected = new Float64Array(categories.length);
			for (let step = 0; step < path.steps.level.length; step++) {
				const inside = Math.min(until, path.steps.from[step + 1]!) - Math.max(from, path.steps.from[step]!);
				if (inside > 0) expected[path.steps.category[step]!]! += inside;
			}
			assert.deepEqual(sums.categories, expected);
			assert.equal(sums.total[0], until - from);
			assert.equal(sums.self.reduce((a, b) => a + b, 0), until - from);
		}
	}
});

test('a node has the time of its children and its own', () => {
	const path = randomPath(9);
	const tree = buildPathTree(path, names);
	const sums = sumPath(path, tree, path.from, path.until);
	const total = Float64Array.from(sums.self);
	for (let node = tree.parent.length; node-- > 1; ) total[tree.parent[node]!]! += total[node]!;
	assert.deepEqual(total, sums.total);
});

test('functions that ran and waited have both flags, what waited for another thread slept', () => {
	// Thread 0 runs in main>a, then waits in main>a>b for thread 1, which runs, then for its disk.
	const path: PathTables = {
		from: 0, until: 40, categories,
		levels: { thread: [0, 1], depth: [0, 1], from: [0, 10], length: [40, 20], waiter: [-1, 0] },
		steps: { level: [0, 1, 1, 0], from: [0, 10, 20, 30, 40], category: [0, 0, 2, 0], stack: [2, 5, 5, 2], about: [0, 0, 7, 0] },
	};
	const tree = buildPathTree(path, { ...names, threadKey: (thread) => thread, waitStack: () => 3 });
	const sums = sumPath(path, tree, 0, 40);
	const find = (kind: number, id: number): number => tree.kind.findIndex((k, node) => k === kind && tree.id[node] === id);
	assert.equal(sums.did[find(NODE_FRAME, 2)], DID_RUN | DID_SLEEP);
	assert.equal(sums.did[find(NODE_FRAME, 3)], DID_SLEEP);
	assert.equal(sums.did[find(NODE_FRAME, 5)], DID_RUN | DID_SLEEP);
	assert.equal(sums.did[tree.kind.indexOf(NODE_LEAF)], DID_IO);
	assert.equal(sums.total[find(NODE_THREAD, 1)], 20);
	assert.equal(sums.total[find(NODE_FRAME, 2)], 40);
});

test('running to get memory is in functions, and what is estimated of it is marked', () => {
	const path: PathTables = {
		from: 0, until: 60, categories: ['running', 'estimated', 'memory', 'memory_estimated'],
		levels: { thread: [0], depth: [0], from: [0], length: [60], waiter: [-1] },
		steps: { level: [0, 0, 0, 0], from: [0, 10, 20, 40, 60], category: [0, 1, 2, 3], stack: [2, 2, 2, 2], about: [0, 0, 0, 0] },
	};
	const tree = buildPathTree(path, { ...names, threadKey: (thread) => thread, waitStack: () => 3 });
	const sums = sumPath(path, tree, 0, 60);
	const frame = tree.kind.findIndex((kind, node) => kind === NODE_FRAME && sums.self[node]! > 0);
	assert.equal(tree.kind.indexOf(NODE_LEAF), -1);
	assert.equal(sums.self[frame], 60);
	assert.equal(sums.did[frame], DID_RUN);
	assert.equal(sums.estimated[frame], 30);
	assert.deepEqual([...sums.categories], [10, 10, 20, 20]);
});

test('chronological blocks cover each column, nested and without overlap', () => {
	for (let seed = 1; seed <= 20; seed++) {
		const path = randomPath(seed);
		const tree = buildPathTree(path, names);
		const columns = 200;
		const dominant = dominantSteps(path, path.from, path.until, columns);
		const blocks = chronologicalBlocks(path, tree, dominant);
		const cover = new Map<number, Int32Array>();
		for (const block of blocks) {
			const row = cover.get(block.row) ?? new Int32Array(columns).fill(-1);
			cover.set(block.row, row);
			for (let x = block.x0; x < block.x1; x++) {
				assert.equal(row[x], -1);
				row[x] = block.node;
			}
		}
		for (let x = 0; x < columns; x++) {
			const chain: number[] = [];
			for (let node = tree.leafOf[dominant[x]!]!; node > 0; node = tree.parent[node]!) chain.push(node);
			chain.reverse();
			assert.deepEqual(chain, chain.map((_, row) => cover.get(row)![x]));
		}
	}
});

test('consolidated blocks lie within their parents, the longest first', () => {
	const path = randomPath(5);
	const tree = buildPathTree(path, names);
	const sums = sumPath(path, tree, path.from, path.until);
	const blocks = consolidatedBlocks(tree, sums, 0, 1e6);
	const of = new Map(blocks.map((block) => [block.node, block]));
	for (const block of blocks) {
		assert.ok(Math.abs(block.x1 - block.x0 - (sums.total[block.node]! / sums.total[0]!) * 1e6) < 1e-3);
		const parent = of.get(tree.parent[block.node]!);
		if (!parent) continue;
		assert.equal(block.row, parent.row + 1);
		assert.ok(block.x0 >= parent.x0 - 1e-6 && block.x1 <= parent.x1 + 1e-6);
	}
});

test('cells of the process view add up to the steps and levels', () => {
	for (let seed = 1; seed <= 10; seed++) {
		const path = randomPath(seed);
		const tree = buildPathTree(path, names);
		const threads = pathThreads(path, path.from, path.until);
		const columns = 50;
		const cells = processCells(path, tree, threads, path.from, path.until, columns);
		let own = 0;
		for (let at = 0; at < cells.length; at += CELL_PARTS) {
			for (let part = 0; part < CELL_WAITS; part++) own += cells[at + part]!;
			assert.ok(cells[at + CELL_WAITS]! >= 0 && cells[at + CELL_WAITS]! <= 1.001);
		}
		assert.ok(Math.abs(own - columns) < 0.01, `${own} columns of ${columns}`);
	}
});

test('tables of the page become absolute times, and each level has the place of the wait for it', () => {
	const info = { thread: 1, from: 10, until: 60, wall_ns: 50, accounted_ns: 50, categories: {}, names: categories };
	const numbers = (...list: number[]): Float64Array => Float64Array.from(list);
	const path = pathTables(info, [
		numbers(1, 2, 1, 2), numbers(0, 1, 2, 1), numbers(10, 10, 5, 25), numbers(50, 15, 5, 5), numbers(0, 1, 1, 3),
	], [
		numbers(0, 1, 1, -1, -1, 3, -3), numbers(10, 5, 5, 5, 25, 5, 5), numbers(0, 0, 0, 3, 0, 0, 0), numbers(1, 5, 1, 5, 1, 5, 1),
		numbers(0, 0, 0, 0, 0, 0, 0),
	]);
	assert.deepEqual([...path.levels.waiter as Int32Array], [-1, 0, 1, 0]);
	assert.deepEqual([...path.levels.from as Float64Array], [10, 20, 25, 50]);
	assert.deepEqual([...path.steps.level as Int32Array], [0, 1, 2, 1, 0, 3, 0]);
	assert.equal(path.until, 70);
	assert.deepEqual(waitPlaces(path), { threads: [0, 1, 2, 1], times: [10, 20, 25, 50] });
});

test('links connect the waiter and the thread that it waited for', () => {
	const path = randomPath(11);
	for (const link of pathLinks(path, path.from, path.until, 0, 1000)) assert.notEqual(link.fromThread, link.toThread);
	assert.ok(pathLinks(path, path.from, path.until, 0, 3).length <= 4);
});

test('a path of many levels needs no stack of its own', () => {
	const depth = 50000;
	const count = (value: (i: number) => number): number[] => Array.from({ length: depth }, (_, i) => value(i));
	const path: PathTables = {
		from: 0, until: depth, categories,
		levels: { thread: count((i) => i), depth: count((i) => i), from: count(() => 0), length: count(() => depth), waiter: count((i) => i - 1) },
		steps: { level: [depth - 1], from: [0, depth], category: [0], stack: [1], about: [0] },
	};
	const tree = buildPathTree(path, { ...names, threadKey: (thread) => thread });
	assert.equal(sumPath(path, tree, 0, depth).total[0], depth);
	assert.ok(consolidatedBlocks(tree, sumPath(path, tree, 0, depth), 0, 100).length > depth);
});
