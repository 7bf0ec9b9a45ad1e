// The engine against definitions by brute force, on random recordings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';

import { column, decodeStrings, fromBase64, inflate, openTable } from '../src/data/blocks.js';
import type { RecordingInfo } from '../src/data/index.js';
import { addBins, heat, rows, threadTimes } from '../src/engine/bins.js';
import { flame, flameBase, flameDifference, search, type Flame, type FlameOptions } from '../src/engine/flame.js';
import { causeOf, intervalsAt, pieceAt, pieces } from '../src/engine/follow.js';
import { loadRecording } from '../src/engine/load.js';
import { ACTIVITIES, CHANNELS, STOLEN, type Recording } from '../src/engine/recording.js';
import { addThread, shownKinds, threadsOf, weigh, weighAgain, type Range } from '../src/engine/selection.js';

/** Numbers in [0, limit) with a fixed seed, so that a failure can be repeated. */
function randomNumbers(seed: number): (limit: number) => number {
	let state = seed >>> 0;
	return (limit) => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return Math.floor((state / 2 ** 32) * limit);
	};
}

const zigzag = (value: number): number => value < 0 ? -2 * value - 1 : 2 * value;

function varint(value: number): number[] {
	const bytes = [];
	for (; value >= 128; value = Math.floor(value / 128)) bytes.push(value % 128 + 128);
	return [...bytes, value];
}

/** A table block as docs/page.md has it. */
function table(columns: number[][], total = columns[0]!.length): Uint8Array {
	const widths = columns.map((numbers) => {
		const largest = numbers.reduce((most, value) => Math.max(most, value), 0);
		return largest ? Math.floor(Math.log2(largest) / 8) + 1 : 0;
	});
	const planes = columns.flatMap((numbers, i) => Array.from({ length: widths[i]! }, (_, plane) =>
		numbers.map((value) => Math.floor(value / 256 ** plane) % 256)).flat());
	return Uint8Array.from([...varint(columns.length), ...varint(total), ...widths, ...planes]);
}

interface Interval { thread: number; out: number; wake: number; in: number; wait: number; stack: number; waker: number; points: [number, number]; stolen?: number }
interface Sample { thread: number; time: number; points: number; stack: number }
interface Made { info: RecordingInfo; blocks: Map<string, Uint8Array>; intervals: Interval[]; samples: Sample[] }

const WAITS = [
	{ class: 2, kind: 'futex', idle: 'no', preempted: false }, { class: 1, kind: 'disk read', idle: 'no', preempted: false },
	{ class: 4, kind: 'epoll', idle: 'requests', preempted: false }, { class: 3, kind: '', idle: 'no', preempted: true },
];
/** Stacks by node: all nodes are called main, f1, ... */
const NODES = 12;

function make(seed: number, mode: 'trace' | 'sampling'): Made {
	const random = randomNumbers(seed), threads = 4, duration = 100000;
	const intervals: Interval[] = [], samples: Sample[] = [];
	for (let thread = 1; thread <= threads; thread++) {
		for (let time = random(300); time < duration - 4000;) {
			const wait = random(WAITS.length), out = time, wake = wait === 3 ? out : out + random(1500), back = wake + random(300);
			intervals.push({ thread, out, wake, in: back, wait, stack: random(NODES), waker: random(threads + 1), points: [random(3), random(2)] });
			time = back + 1 + random(400);
		}
		for (let time = 500; time < duration; time += 1 + random(2000)) samples.push({ thread, time, points: random(3), stack: random(NODES) });
	}
	return { intervals, samples, ...encode(mode, threads, duration, intervals, samples) };
}

function encode(mode: 'trace' | 'sampling', threads: number, duration: number, intervals: Interval[], samples: Sample[]) {
	const blocks = new Map<string, Uint8Array>(), chunks: RecordingInfo['chunks'] = [];
	const strings = ['', ...Array.from({ length: NODES }, (_, i) => `f${i}`), 'program', 'vda'];
	blocks.set('strings', new TextEncoder().encode(strings.map((text) => `${text}\0`).join('')));
	const numbers = (n: number, of: (i: number) => number): number[] => Array.from({ length: n }, (_, i) => of(i));
	blocks.set('frames', table([numbers(NODES, (i) => i + (i ? 1 : 0)), numbers(NODES, () => 0), numbers(NODES, (i) => i), numbers(NODES, () => NODES + 1), numbers(NODES, (i) => i % 3 === 2 ? 1 : 0)]));
	/* Node i is called by node i / 2. Names repeat: node i is function i % 5. */
	blocks.set('nodes', table([numbers(NODES, (i) => i - (i >> 1)), numbers(NODES, (i) => i ? 1 + i % 5 : 0)]));
	blocks.set('stacks', table([numbers(NODES, (i) => i)]));
	blocks.set('wakers', table([numbers(threads + 1, (i) => i), numbers(threads + 1, (i) => i ? 1 : 0), numbers(threads + 1, () => 0), numbers(threads + 1, () => 0)]));
	const recent = new Map<number, number[]>();
	/* The code of a number by a key: see docs/page.md. */
	const code = (key: number, value: number): number => {
		const [later, earlier] = recent.get(key) ?? [];
		if (later === value) return 0;
		recent.set(key, later === undefined ? [value] : [value, later]);
		return earlier === value ? 1 : value + 2;
	};
	/* Chunks of 50 rows, which end within threads. */
	for (let at = 0; at < intervals.length; at += 50) {
		const part = intervals.slice(at, at + 50), runs: [number, number][] = [];
		const gap = part.map((one, i) => {
			const run = runs.at(-1);
			if (run?.[0] === one.thread) run[1]++;
			else runs.push([one.thread, 1]);
			return zigzag(one.out - (run?.[0] === one.thread ? part[i - 1]!.in : 0));
		});
		const pick = (of: (one: Interval) => number): number[] => part.map(of), name = `r0.intervals.${at / 50}`;
		blocks.set(name.slice(3), table([gap, pick((one) => one.wake - one.out), pick((one) => one.in - one.wake), part.map((one, i) => code(i && part[i - 1]!.thread === one.thread ? part[i - 1]!.stack : 0, one.stack)), pick((one) => one.wait),
			pick(() => 0), pick((one) => one.waker), pick(() => 2), mode === 'trace' ? [] : pick((one) => one.points[0]), mode === 'trace' ? [] : pick((one) => one.points[1]),
			pick((one) => mode === 'trace' ? one.stolen ?? 0 : 0)]));
		chunks.push({ block: name, type: 'intervals', runs, from: 0, until: duration });
	}
	const runs: [number, number][] = [], gaps = samples.map((one, i) => {
		const run = runs.at(-1);
		if (run?.[0] === one.thread) run[1]++;
		else runs.push([one.thread, 1]);
		return zigzag(one.time - (run?.[0] === one.thread ? samples[i - 1]!.time : 0));
	});
	blocks.set('samples.0', table([gaps, samples.map((one) => one.points), samples.map((one) => one.stack)]));
	chunks.push({ block: 'r0.samples.0', type: 'samples', runs, from: 0, until: duration });
	const thread = (tid: number) => ({ tid, process: 1, names: [[0, `t${tid}`]] as [number, string][], parent: 0, recorded: true, waker_only: false,
		created: 0, ended: duration, exited: true, ns: [0, 0, 0, 0, 0, 0], factor: [1.01, 0.98, 1.1, 1, 0.9, 1] });
	const info: RecordingInfo = {
		name: 'random', command: '', machine: '', duration_ns: duration, mode, period_ns: 1000, unit_ns: 1, diagnostics: [],
		processes: [{ pid: 0, name: '', parent: 0 }, { pid: 1, name: 'program', parent: 0 }],
		threads: numbers(threads + 1, (i) => i).map(thread), waits: WAITS, objects: [''], chunks, blocks: [],
	};
	return { info, blocks };
}

const load = (made: Made): Promise<Recording> => loadRecording(made.info, async (part) => {
	const bytes = made.blocks.get(part);
	assert.ok(bytes, `block ${part}`);
	return bytes;
});

const OPTIONS: FlameOptions = { by: 'none', inverted: false, lines: false, focus: null, least: 0 };

/** Time by class (6: idle) in a range, from the definition in docs/page.md. */
function expected(made: Made, range: Range): number[] {
	const sums = [0, 0, 0, 0, 0, 0, 0], { info } = made, trace = info.mode === 'trace';
	const add = (thread: number, cls: number, channel: number, begin: number, end: number, points: number): void => {
		if (!(range.classes >> cls & 1) || (channel === 6 && !range.idle)) return;
		const low = Math.max(begin, range.from), high = Math.min(end, range.until);
		if (low > high || (low === high && (end > begin || begin === range.until))) return;
		const before = (x: number): number => end > begin ? Math.floor(points * x / (end - begin)) : 0;
		const share = end > begin ? before(high - begin) - before(low - begin) : points;
		sums[channel]! += trace ? high - low : Math.floor(share * info.period_ns * info.threads[thread]!.factor[cls]! + 0.5);
	};
	for (const one of made.intervals) {
		if (range.threads && !range.threads.includes(one.thread)) continue;
		const wait = WAITS[one.wait]!;
		add(one.thread, wait.class, wait.idle === 'no' ? wait.class : 6, one.out, one.wake, one.points[0]);
		add(one.thread, 3, 3, one.wake, one.in, one.points[1]);
	}
	for (const one of made.samples) {
		if ((range.threads && !range.threads.includes(one.thread)) || one.time < range.from || one.time >= range.until || !(range.classes & 1)) continue;
		sums[0]! += Math.floor(one.points * info.period_ns * info.threads[one.thread]!.factor[0]! + 0.5);
	}
	return sums;
}

function channelsOf(r: Recording, range: Range): number[] {
	const sums = [0, 0, 0, 0, 0, 0, 0], weights = weigh(r, range);
	weights.forEach((ns, combo) => sums[r.kinds[r.combos.kind[combo]!]!.channel]! += ns);
	return sums;
}

/** Children lie side by side within their parents, and times add up. */
function checkFlame(picture: Flame, total: number): void {
	assert.equal(picture.total, total);
	const below = new Float64Array(picture.parent.length), end = new Float64Array(picture.parent.length);
	for (let node = 1; node < picture.parent.length; node++) {
		const parent = picture.parent[node]!;
		assert.ok(parent < node);
		assert.ok(picture.start[node]! >= picture.start[parent]! + end[parent]! - 1e-6);
		end[parent] = picture.start[node]! + picture.ns[node]! - picture.start[parent]!;
		below[parent]! += picture.ns[node]!;
	}
	for (let node = 0; node < picture.parent.length; node++) {
		assert.equal(picture.self[node]! + below[node]!, picture.ns[node]!);
		let sum = 0;
		for (let c = 0; c < CHANNELS; c++) sum += picture.channels[node * CHANNELS + c]!;
		assert.equal(sum, picture.ns[node]!);
	}
}

test('blocks are decoded, and damaged tables are refused', async () => {
	const bytes = Uint8Array.from([1, 2, 3, 250]);
	assert.deepEqual(await inflate(deflateSync(bytes).toString('base64')), bytes);
	assert.deepEqual(fromBase64('AQL/'), Uint8Array.from([1, 2, 255]));
	assert.deepEqual(decodeStrings(new TextEncoder().encode('\0a\0\u00fc\0')), ['', 'a', '\u00fc']);
	const numbers = [0, 1, 255, 256, 2 ** 40 + 17, 2 ** 50], made = table([numbers.map(zigzag), numbers, [0, 0, 0, 0, 0, 0]]);
	assert.deepEqual([...column(openTable(made), 0, true)], numbers);
	assert.deepEqual([...column(openTable(made), 1)], numbers);
	assert.deepEqual([...column(openTable(made), 2)], [0, 0, 0, 0, 0, 0]);
	for (let n = 0; n < made.length; n++) assert.throws(() => openTable(made.subarray(0, n)), `cut to ${n}`);
});

for (const mode of ['trace', 'sampling'] as const)
	test(`time of selections, ${mode}`, async () => {
		for (let seed = 1; seed <= 20; seed++) {
			const made = make(seed, mode), r = await load(made), random = randomNumbers(seed * 7);
			for (let i = 0; i < 20; i++) {
				const from = random(90000), range: Range = {
					from: i ? from : 0, until: i ? from + 1 + random(40000) : 100000, threads: random(2) ? null : [1 + random(4)],
					classes: i ? 1 + random(63) : 63, idle: random(2) === 1, others: false,
				};
				assert.deepEqual(channelsOf(r, range), expected(made, range), `seed ${seed}, selection ${i}`);
			}
		}
	});

test('threads recorded only for their wakeups are left out, unless they are wanted', async () => {
	const made = make(3, 'trace');
	made.info.threads[2]!.waker_only = true;
	const r = await load(made), range: Range = { from: 0, until: 100000, threads: null, classes: 63, idle: true, others: false };
	const asked = [1, 3, 4].filter((thread) => made.info.threads[thread]), shown = (given: Range): number[] => threadTimes(r, given).map(({ thread }) => thread);
	assert.deepEqual(channelsOf(r, range), expected(made, { ...range, threads: asked }));
	assert.deepEqual(channelsOf(r, { ...range, others: true }), expected(made, range));
	assert.deepEqual(channelsOf(r, { ...range, threads: [2] }), expected(made, { ...range, threads: [2] }));
	assert.deepEqual([...weighAgain(r, range)], [...weigh(r, range)]);
	assert.deepEqual([...weighAgain(r, { ...range, others: true })], [...weigh(r, { ...range, others: true })]);
	assert.deepEqual(shown(range), asked);
	assert.deepEqual(shown({ ...range, threads: [2] }), [...asked, 2]);
	assert.deepEqual(shown({ ...range, threads: [2], others: true }), shown({ ...range, others: true }));
	assert.deepEqual(shown({ ...range, others: true }).filter((thread) => thread !== 2), asked);
	assert.notDeepEqual(heat(r, range, 10), heat(r, { ...range, others: true }, 10));
});

test('flame graphs add up, whatever their form', async () => {
	for (let seed = 1; seed <= 10; seed++) {
		const made = make(seed, 'trace'), r = await load(made), base = flameBase(r, false);
		const range: Range = { from: 1000, until: 80000, threads: null, classes: 63, idle: seed % 2 === 0, others: false };
		const total = expected(made, range).reduce((sum, ns) => sum + ns, 0);
		for (const by of ['none', 'process', 'thread'] as const)
			for (const inverted of [false, true]) checkFlame(flame(r, base, range, { ...OPTIONS, by, inverted }), total);
		/* What one function has in the plain picture is what all callees, and all callers, of it are. */
		const hits = search(r, base, range, 'f3');
		assert.equal(hits.total, total);
		assert.deepEqual(search(r, base, range, 'f3', 'f3'), { ns: hits.ns, total: hits.ns });
		for (const inverted of [false, true]) checkFlame(flame(r, base, range, { ...OPTIONS, focus: 'f3', inverted }), hits.ns);
		const both = flameDifference({ r, base, range }, { r, base, range: { ...range, from: 0, until: 1000 } }, OPTIONS);
		assert.equal(both.total, total);
		assert.equal(both.compared, expected(made, { ...range, from: 0, until: 1000 }).reduce((sum, ns) => sum + ns, 0));
	}
});

/** Time by path of names, from the definition: each combination's chain on its own. */
function pathsOf(r: Recording, range: Range, options: FlameOptions, strip = false): Map<string, number[]> {
	const paths = new Map<string, number[]>(), shown = shownKinds(r, range);
	for (const thread of threadsOf(r, range)) {
		const weights = new Float64Array(r.combos.n), info = r.info.threads[thread]!;
		addThread(r, thread, range, shown, weights);
		const group = { none: '', process: 'program/1', thread: `t${info.tid}/${info.tid}` }[options.by];
		weights.forEach((ns, combo) => {
			const kind = r.kinds[r.combos.kind[combo]!]!, chain: string[] = [];
			if (!ns) return;
			if (kind.class) chain.push(kind.channel === 6 ? `${kind.name} (for work)` : kind.name);
			const leaf = r.stackNode[r.combos.stack[combo]!]!;
			for (let node = leaf; node; node = r.nodeParent[node]!) chain.push(r.strings[r.frames.name[r.nodeFrame[node]!]!]!);
			if (!leaf) chain.push('[no stack]');
			let wanted = options.inverted ? chain : chain.reverse();
			if (options.focus !== null) {
				/* What it calls: from its outermost call. What calls it: from its innermost one. Both come first. */
				const at = wanted.indexOf(options.focus);
				if (at < 0) return;
				wanted = wanted.slice(at);
			}
			if (group) wanted = [strip ? group.replace(/\/\d+$/, '') : group, ...wanted];
			for (let n = 0; n <= wanted.length; n++) {
				const key = wanted.slice(0, n).join('>'), entry = paths.get(key) ?? [0, 0, 0, 0, 0, 0, 0, 0];
				entry[kind.channel]! += ns;
				if (n === wanted.length) entry[7]! += ns;
				paths.set(key, entry);
			}
		});
	}
	return paths;
}

/** Of a picture: time by channel and self by path, and what it is compared with. */
function picturePaths(picture: Flame): { own: Map<string, number[]>; other: Map<string, number> } {
	const keys: string[] = [], own = new Map<string, number[]>(), other = new Map<string, number>();
	for (let node = 0; node < picture.parent.length; node++) {
		const above = node ? keys[picture.parent[node]!]! : '', name = node ? picture.labels[picture.label[node]!]! : '';
		const key = keys[node] = above ? `${above}>${name}` : name;
		assert.ok(!own.has(key), `${key} is there once`);
		own.set(key, [...picture.channels.subarray(node * CHANNELS, (node + 1) * CHANNELS), picture.self[node]!]);
		other.set(key, picture.other[node]!);
	}
	return { own, other };
}

const FORMS = (['none', 'process', 'thread'] as const).flatMap((by) => [false, true].flatMap((inverted) =>
	[null, 'f3', 'f1', 'futex', 'nowhere'].map((focus): FlameOptions => ({ ...OPTIONS, by, inverted, focus }))));

for (const mode of ['trace', 'sampling'] as const)
	test(`flame graphs of all forms are those of the definition, ${mode}`, async () => {
		for (let seed = 1; seed <= 6; seed++) {
			const r = await load(make(seed, mode)), base = flameBase(r, false), random = randomNumbers(seed);
			for (const options of FORMS) {
				const from = random(60000), range: Range = { from, until: from + 1 + random(40000), threads: random(3) ? null : [2, 4], classes: random(3) ? 63 : 1 + random(63), idle: random(2) === 1, others: false };
				const expect = pathsOf(r, range, options), { own } = picturePaths(flame(r, base, range, options));
				if (!expect.size) expect.set('', [0, 0, 0, 0, 0, 0, 0, 0]);
				assert.deepEqual(new Map([...own].sort()), new Map([...expect].sort()), JSON.stringify({ seed, options, range }));
			}
		}
	});

test('a difference has both sides, of one recording or of two', async () => {
	const one = await load(make(21, 'trace')), two = await load(make(22, 'trace')), random = randomNumbers(5);
	const bases = new Map([[one, flameBase(one, false)], [two, flameBase(two, false)]]);
	for (const second of [one, two])
		for (const options of FORMS) {
			const range: Range = { from: random(30000), until: 50000, threads: null, classes: 63, idle: true, others: false }, otherRange = { ...range, from: 40000, until: 40001 + random(60000) };
			const picture = flameDifference({ r: one, base: bases.get(one)!, range }, { r: second, base: bases.get(second)!, range: otherRange }, options);
			const strip = second === two, left = pathsOf(one, range, options, strip), right = pathsOf(second, otherRange, options, strip), { own, other } = picturePaths(picture);
			const within = new Float64Array(picture.parent.length);
			for (let node = 1; node < picture.parent.length; node++) within[picture.parent[node]!]! += picture.size[node]!;
			within.forEach((size, node) => assert.ok(size <= picture.size[node]! * (1 + 1e-9), 'children lie within'));
			const sum = (entry: number[] | undefined): number => entry?.slice(0, 7).reduce((ns, part) => ns + part, 0) ?? 0;
			for (const key of new Set([...own.keys(), ...left.keys(), ...right.keys()])) {
				assert.equal(sum(own.get(key)), sum(left.get(key)), `${key}, ${JSON.stringify(options)}`);
				assert.equal(other.get(key) ?? 0, sum(right.get(key)), `${key} of the other, ${JSON.stringify(options)}`);
			}
		}
});

test('small nodes are left out, and nothing else', async () => {
	const r = await load(make(4, 'trace')), base = flameBase(r, false), range: Range = { from: 0, until: 100000, threads: null, classes: 63, idle: true, others: false };
	for (const inverted of [false, true]) {
		const all = flame(r, base, range, { ...OPTIONS, inverted }), some = flame(r, base, range, { ...OPTIONS, inverted, least: 0.02 });
		const expect = new Map([...picturePaths(all).own].filter(([, entry]) => entry.slice(0, 7).reduce((sum, ns) => sum + ns, 0) >= 0.02 * all.total));
		assert.deepEqual(new Map([...picturePaths(some).own].sort()), new Map([...expect].sort()));
		assert.ok(some.parent.length > 10 && some.parent.length < all.parent.length);
	}
});

for (const mode of ['trace', 'sampling'] as const)
	test(`a selection that moves has the times of one made anew, ${mode}`, async () => {
		for (let seed = 1; seed <= 5; seed++) {
			const r = await load(make(seed, mode)), random = randomNumbers(seed + 100);
			let from = 20000, until = 60000;
			for (let i = 0; i < 300; i++) {
				if (random(3)) from = Math.max(0, Math.min(until - 1, from + random(4001) - 2000));
				if (random(3)) until = Math.max(from + 1, Math.min(100000, until + random(4001) - 2000));
				if (!random(40)) [from, until] = [random(50000), 50001 + random(50000)];
				const range: Range = { from, until, threads: seed % 2 ? null : [1, 3], classes: seed === 3 ? 22 : 63, idle: seed === 2, others: false };
				assert.deepEqual(weighAgain(r, range), weigh(r, range), `${mode}, seed ${seed}, step ${i}: ${from} to ${until}`);
			}
		}
	});

test('bins have all of the time', async () => {
	for (let seed = 1; seed <= 10; seed++) {
		const made = make(seed, 'trace'), r = await load(made), random = randomNumbers(seed);
		for (let i = 0; i < 20; i++) {
			const from = random(90000), until = from + 100 + random(9000), width = 1 + random(200), thread = 1 + random(4);
			const bins = new Float32Array(width * ACTIVITIES), step = (until - from) / width, sums = new Float64Array(ACTIVITIES);
			addBins(r, thread, from, until, width, bins);
			for (let x = 0; x < width; x++) {
				let share = 0;
				for (let c = 0; c < ACTIVITIES; c++) {
					share += bins[x * ACTIVITIES + c]!;
					sums[c]! += bins[x * ACTIVITIES + c]! * step;
				}
				assert.ok(Math.abs(share - 1) < 1e-4, `bin ${x} has ${share}`);
			}
			const truth = expected(made, { from, until, threads: [thread], classes: 62, idle: true, others: false });
			for (let c = 1; c < CHANNELS; c++) assert.ok(Math.abs(sums[c]! - truth[c]!) < 0.01 + truth[c]! * 1e-5, `channel ${c}: ${sums[c]} for ${truth[c]}`);
		}
		for (const row of rows(r, [1, 2], 0, 100000, 4000)) assert.ok(row.items, 'few intervals are listed');
		for (const row of rows(r, [1, 2], 0, 100000, 40)) assert.ok(row.bins, 'many are not');
	}
});

test('times of threads are those of the report', async () => {
	for (const mode of ['trace', 'sampling'] as const) {
		const made = make(5, mode), r = await load(made), range = { from: 0, until: 100000, threads: null, classes: 63, idle: true, others: false };
		for (const { thread, ns } of threadTimes(r, range)) {
			const truth = expected(made, { ...range, threads: [thread] });
			for (let c = mode === 'trace' ? 1 : 0; c < CHANNELS; c++) assert.equal(ns[c], truth[c], `${mode}, channel ${c}`);
		}
	}
});

/** A thread that runs in [0, 1000), [2000, 5000), [6000, 9000), not seen in [10000, 20000), and in [21000, 31000). */
async function stolenFrom(): Promise<Recording> {
	const one = { thread: 1, wait: 0, stack: 1, waker: 0, points: [0, 0] as [number, number] };
	const encoded = encode('trace', 1, 40000, [
		{ ...one, out: 1000, wake: 1500, in: 2000, stolen: 100 }, { ...one, out: 5000, wake: 5500, in: 6000, stolen: 1500 },
		{ ...one, out: 9000, wake: 9500, in: 10000 }, { ...one, out: 20000, wake: 20500, in: 21000 },
	], []), info = encoded.info.threads[1]!;
	Object.assign(info, { ended: 31000, last_stolen: 4000, unseen: [[10000, 20000]] });
	return load({ ...encoded, intervals: [], samples: [] });
}

test('stolen time is a part of its run, and neither it nor what was not seen is running', async () => {
	const r = await stolenFrom(), times = (from: number, until: number): number[] => {
		const ns = threadTimes(r, { from, until, threads: [1], classes: 63, idle: true, others: false })[0]!.ns;
		return [ns[0]!, ns[STOLEN]!];
	};
	assert.deepEqual(times(0, 40000), [900 + 1500 + 3000 + 6000, 5600]);
	assert.deepEqual(times(0, 1000), [900, 100]);
	/* When in the run it was is not known: it is spread evenly. */
	assert.deepEqual(times(1200, 3000), [500, 500]);
	assert.deepEqual(times(4000, 5500), [500, 500]);
	assert.deepEqual(times(9800, 20600), [0, 0]);
	assert.deepEqual(times(25000, 40000), [3600, 2400]);
	const listed = pieces(r, 1, 0, 40000, 99).list.filter((piece) => piece.interval < 0);
	assert.deepEqual(listed.map(({ from, until, text, stolen }) => [from, until, text, stolen]), [
		[0, 1000, 'running', 100], [2000, 5000, 'running', 1500], [6000, 9000, 'running', 0], [10000, 20000, 'not seen', 0],
		[21000, 31000, 'running', 4000], [31000, 40000, 'not there', 0]]);
	assert.equal(pieces(r, 1, 3000, 4000, 99).list[0]!.stolen, 500);
	assert.equal(pieceAt(r, 1, 30000).stolen, 4000);
	assert.deepEqual([...rows(r, [1], 0, 40000, 4000)[0]!.items!.stolen], [100, 1500, 0, 0, 4000]);
	/* Over all threads at a time, in pictures. */
	const bins = heat(r, { from: 0, until: 40000, threads: null, classes: 63, idle: true, others: false }, 40);
	assert.ok(Math.abs(bins.filter((_, at) => at % ACTIVITIES === STOLEN).reduce((sum, share) => sum + share * 1000, 0) - 5600) < 1);
});

test('a sample stands for the time before it, in as many bins as that is', async () => {
	const made = make(6, 'sampling');
	made.intervals.length = made.samples.length = 0;
	made.samples.push({ thread: 1, time: 50000, points: 2, stack: 1 });
	const r = await load({ ...made, ...encode('sampling', 4, 100000, made.intervals, made.samples) }), bins = new Float32Array(100 * ACTIVITIES);
	addBins(r, 1, 0, 100000, 100, bins);
	/* Two periods of 1000 ns, each a bin. */
	assert.deepEqual(Array.from({ length: 100 }, (_, x) => x).filter((x) => bins[x * ACTIVITIES]! > 0.5), [48, 49]);
});

test('before and after its life a thread does not run', async () => {
	const made = make(8, 'trace');
	made.intervals.length = made.samples.length = 0;
	made.info.threads[1]!.created = 20000;
	made.info.threads[1]!.ended = 60000;
	const { threads } = made.info, encoded = encode('trace', 4, 100000, [{ thread: 2, out: 5, wake: 6, in: 7, wait: 0, stack: 1, waker: 0, points: [0, 0] }], []);
	const r = await load({ ...made, ...encoded, info: { ...encoded.info, threads } });
	assert.deepEqual(pieces(r, 1, 0, 100000, 9).list.map(({ from, until, text }) => [from, until, text]),
		[[0, 20000, 'not there'], [20000, 60000, 'running'], [60000, 100000, 'not there']]);
	for (const time of [0, 19999, 60000, 99999]) assert.equal(pieceAt(r, 1, time).text, 'not there');
	assert.equal(pieceAt(r, 1, 20000).text, 'running');
});

test('following a wait explains all of it, and no more', async () => {
	const made = make(3, 'trace'), r = await load(made);
	let followed = 0;
	for (let i = 0; i < r.out.length; i++) {
		const cause = causeOf(r, i, r.out[i]!, r.wake[i]!), length = r.wake[i]! - r.out[i]!;
		assert.equal(cause.type, r.waker[i] ? 'thread' : 'unknown');
		if (cause.type !== 'thread' || cause.more) continue;
		followed++;
		assert.equal(cause.pieces.reduce((sum, piece) => sum + piece.until - piece.from, 0), length);
		cause.pieces.forEach((piece, k) => assert.equal(piece.from, k ? cause.pieces[k - 1]!.until : r.out[i]));
		assert.ok(Math.abs(cause.ns.reduce((sum, ns) => sum + ns, 0) - length) <= length * 1e-5);
	}
	assert.ok(followed > 100);
	for (let time = 0; time < 100000; time += 37) {
		const piece = pieceAt(r, 2, time);
		assert.ok(piece.from <= time && time < piece.until, `${time} is in ${piece.from} to ${piece.until}`);
	}
	/* Of the intervals as they were made: stacks are coded by those before them. */
	const places = made.intervals.filter((one) => one.in > one.out), got = intervalsAt(r, places.map((one) => one.thread), places.map((one) => one.out));
	assert.deepEqual([...got.stack], places.map((one) => one.stack));
	assert.deepEqual([...got.wait], places.map((one) => one.wait + 1));
	assert.deepEqual([...r.wakerStack].filter((stack) => stack !== 0), []);
	const all = pieces(r, 1, 0, 100000, 1e9);
	assert.equal(all.list.reduce((sum, piece) => sum + piece.until - piece.from, 0), 100000);
});
