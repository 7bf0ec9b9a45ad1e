// Decodes a recording from its blocks, docs/page.md: first the times of intervals, which are all that pictures of
// activity need, then their stacks.
import { decodeStrings, openTable, readColumn, type Table } from '../data/blocks.js';
import type { RecordingInfo } from '../data/index.js';
import { ACTIVITIES, addParts, CLASS_SCHED, kindsOf, STRIDE, timeOf, type ChainTree, type Recording } from './recording.js';

/** `bytes` are those of a block of the recording: its name without "rN.". */
export type BlockReader = (part: string) => Promise<Uint8Array>;

/** Numbers of combinations, by kind and stack. */
class ComboTable {
	private stacks = new Uint32Array(1 << 12);
	private kinds = new Uint16Array(1 << 12);
	private n = 0;
	/** 1 + the number. */
	private readonly numbers: Uint32Array[] = [];

	id(stack: number, kind: number): number {
		let numbers = this.numbers[kind];
		if (!numbers || stack >= numbers.length) {
			const grown = new Uint32Array(Math.max(1 << 10, 2 * stack));
			if (numbers) grown.set(numbers);
			this.numbers[kind] = numbers = grown;
		}
		return (numbers[stack] ||= this.add(stack, kind)) - 1;
	}

	private add(stack: number, kind: number): number {
		if (this.n === this.stacks.length) {
			const stacks = new Uint32Array(this.n * 2), kinds = new Uint16Array(this.n * 2);
			stacks.set(this.stacks);
			kinds.set(this.kinds);
			[this.stacks, this.kinds] = [stacks, kinds];
		}
		this.stacks[this.n] = stack;
		this.kinds[this.n++] = kind;
		return this.n;
	}

	result(): { stacks: Uint32Array; kinds: Uint16Array } {
		return { stacks: this.stacks.slice(0, this.n), kinds: this.kinds.slice(0, this.n) };
	}
}

function counts(info: RecordingInfo, type: 'intervals' | 'samples'): Uint32Array {
	const first = new Uint32Array(info.threads.length + 1);
	for (const chunk of info.chunks)
		if (chunk.type === type) for (const [thread, count] of chunk.runs) first[thread + 1]! += count;
	for (let i = 1; i < first.length; i++) first[i]! += first[i - 1]!;
	return first;
}

/** The last two numbers that came with a key, see docs/page.md. */
class Recent {
	private later = new Uint32Array(1 << 10);
	private earlier = new Uint32Array(1 << 10);

	number(key: number, code: number): number {
		if (key >= this.later.length) this.grow(key);
		if (code === 0) return this.later[key]!;
		const before = this.later[key]!, number = code === 1 ? this.earlier[key]! : code - 2;
		this.earlier[key] = before;
		return this.later[key] = number;
	}

	private grow(key: number): void {
		const later = new Uint32Array(2 * key + 2), earlier = new Uint32Array(2 * key + 2);
		later.set(this.later);
		earlier.set(this.earlier);
		[this.later, this.earlier] = [later, earlier];
	}
}

interface Chunk { table: Table; runs: [number, number][]; isSamples: boolean }

/** A recording whose times are there, and what the rest is made of. */
export interface Loading { recording: Recording; chunks: Chunk[]; read: BlockReader }

/** Calls `each` with each run of a chunk: its thread, its first row, and where its rows go; `next` moves on. */
function eachRun(chunk: Chunk, next: Uint32Array, each: (thread: number, row: number, to: number, count: number) => void): void {
	let row = 0;
	for (const [thread, count] of chunk.runs) {
		each(thread, row, next[thread]!, count);
		next[thread]! += count;
		row += count;
	}
}

const unzigzag = (coded: number): number => coded % 2 ? -(coded + 1) / 2 : coded / 2;

/** Columns of a chunk while it is decoded. */
class Scratch {
	private readonly columns: Float64Array[] = [];

	column(table: Table, number: number, to: number): Float64Array {
		let numbers = this.columns[to];
		if (!numbers || numbers.length < table.rows) this.columns[to] = numbers = new Float64Array(table.rows);
		readColumn(table, number, numbers);
		return numbers;
	}
}

function decodeTimes(r: Recording, chunk: Chunk, next: Uint32Array, scratch: Scratch): void {
	const { table } = chunk, unit = r.info.unit_ns;
	const gap = scratch.column(table, 0, 0), blocked = scratch.column(table, 1, 1), runq = scratch.column(table, 2, 2);
	const stolen = r.stolen && scratch.column(table, 10, 3);
	eachRun(chunk, next, (_, first, to, count) => {
		readColumn(table, 4, r.wait, to, first, count);
		readColumn(table, 5, r.object, to, first, count);
		readColumn(table, 6, r.waker, to, first, count);
		if (stolen) for (let row = first, i = to; row < first + count; row++, i++) r.stolen![i] = stolen[row]! * unit;
		let time = 0;
		for (let row = first, i = to; row < first + count; row++, i++) {
			r.out[i] = (time += unzigzag(gap[row]!)) * unit;
			r.wake[i] = (time += blocked[row]!) * unit;
			r.in[i] = (time += runq[row]!) * unit;
		}
	});
}

function decodeSampleTimes(r: Recording, chunk: Chunk, next: Uint32Array, scratch: Scratch): void {
	const { table } = chunk, gap = scratch.column(table, 0, 0);
	eachRun(chunk, next, (_, first, to, count) => {
		readColumn(table, 1, r.samplePoints, to, first, count);
		let time = 0;
		for (let row = first, i = to; row < first + count; row++, i++) r.sampleTime[i] = (time += unzigzag(gap[row]!)) * r.info.unit_ns;
	});
}

interface Memory { next: Recent; wakers: Recent }

function decodeStacks(r: Recording, chunk: Chunk, next: Uint32Array, combos: ComboTable, memory: Memory, scratch: Scratch): void {
	const { table } = chunk, { waits } = r.info, queued = waits.length + 1, preempted = queued + 1;
	const stack = scratch.column(table, 3, 0), wakerStack = scratch.column(table, 7, 1);
	eachRun(chunk, next, (thread, first, to, count) => {
		if (r.blockedWeight) {
			readColumn(table, 8, r.blockedPoints!, to, first, count);
			readColumn(table, 9, r.runqPoints!, to, first, count);
		}
		let at = 0;
		for (let row = first, i = to; row < first + count; row++, i++) {
			at = memory.next.number(at, stack[row]!);
			const number = r.wait[i]!, wait = waits[number]!;
			r.wakerStack[i] = memory.wakers.number(at, wakerStack[row]!);
			r.blockedCombo[i] = combos.id(at, number);
			r.runqCombo[i] = combos.id(at, wait.preempted ? preempted : queued);
			if (!r.blockedWeight) continue;
			r.blockedWeight[i] = timeOf(r.info, thread, wait.class, r.blockedPoints![i]!);
			r.runqWeight![i] = timeOf(r.info, thread, CLASS_SCHED, r.runqPoints![i]!);
		}
	});
}

function decodeSampleStacks(r: Recording, chunk: Chunk, next: Uint32Array, combos: ComboTable, scratch: Scratch): void {
	const stack = scratch.column(chunk.table, 2, 0), running = r.info.waits.length;
	eachRun(chunk, next, (_, first, to, count) => {
		for (let row = first, i = to; row < first + count; row++, i++) r.sampleCombo[i] = combos.id(stack[row]!, running);
	});
}

function sumUp(r: Recording): Float64Array {
	const n = r.out.length, blocks = Math.floor(n / STRIDE) + 1;
	const sums = new Float64Array(blocks * ACTIVITIES), running = new Float64Array(ACTIVITIES);
	for (let i = 0; i < n; i++) {
		if (i % STRIDE === 0) sums.set(running, i / STRIDE * ACTIVITIES);
		addParts(r, i, running, 0);
	}
	if (n % STRIDE === 0) sums.set(running, n / STRIDE * ACTIVITIES);
	return sums;
}

const integers = (table: Table, number: number): Uint32Array => {
	const numbers = new Uint32Array(table.rows);
	readColumn(table, number, numbers);
	return numbers;
};

/** Numbers combinations in the order of the tree, and returns where those of its nodes are. */
function orderCombos(r: Recording, stacks: Uint32Array, kinds: Uint16Array): ChainTree {
	/* Node i's caller has a lower number than i. */
	const parent = r.nodeParent, n = parent.length, combos = stacks.length;
	const begin = new Int32Array(n), own = new Int32Array(n), end = new Int32Array(n), start = new Int32Array(n + 1), list = new Int32Array(n);
	/* First how many there are: `own` at a node, `end` in and below it. */
	for (let i = 0; i < combos; i++) own[r.stackNode[stacks[i]!]!]!++;
	for (let node = n - 1; node > 0; node--) {
		end[node]! += own[node]!;
		end[parent[node]!]! += end[node]!;
		start[parent[node]! + 1]!++;
	}
	end[0]! += own[0]!;
	for (let node = 0; node < n; node++) start[node + 1]! += start[node]!;
	/* Then where: a node's children follow its own, one after the other. */
	const nextCombo = new Int32Array(n), nextChild = start.slice();
	nextCombo[0] = own[0]!;
	for (let node = 1; node < n; node++) {
		const above = parent[node]!, at = nextCombo[above]!;
		list[nextChild[above]!++] = node;
		nextCombo[above] = at + end[node]!;
		begin[node] = at;
		end[node]! += at;
		own[node]! += at;
		nextCombo[node] = own[node]!;
	}
	const next = begin.slice(), order = new Uint32Array(combos);
	r.combos = { n: combos, stack: new Uint32Array(combos), kind: new Uint16Array(combos), node: new Int32Array(combos) };
	for (let i = 0; i < combos; i++) {
		const node = r.stackNode[stacks[i]!]!, at = order[i] = next[node]!++;
		r.combos.node[at] = node;
		r.combos.stack[at] = stacks[i]!;
		r.combos.kind[at] = kinds[i]!;
	}
	for (const numbers of [r.blockedCombo, r.runqCombo, r.sampleCombo])
		for (let i = 0; i < numbers.length; i++) numbers[i] = order[numbers[i]!]!;
	return { begin, own, end, start, list };
}

const NOTHING = new Uint32Array(0);

function emptyRecording(info: RecordingInfo): Recording {
	const first = counts(info, 'intervals'), firstSample = counts(info, 'samples');
	const n = first[first.length - 1]!, samples = firstSample[firstSample.length - 1]!, sampled = info.mode === 'sampling';
	const none = new Int32Array(0);
	return {
		info, first, firstSample, strings: [], nodeParent: NOTHING, nodeFrame: NOTHING, stackNode: NOTHING,
		frames: { name: NOTHING, file: NOTHING, line: NOTHING, dso: NOTHING, flags: new Uint8Array(0) },
		wakers: { thread: NOTHING, context: new Uint8Array(0), running: NOTHING, about: NOTHING },
		out: new Float64Array(n), wake: new Float64Array(n), in: new Float64Array(n), wait: new Uint16Array(n),
		object: new Uint32Array(n), waker: new Uint32Array(n), wakerStack: new Uint32Array(n),
		stolen: sampled ? null : new Float64Array(n),
		blockedWeight: sampled ? new Float64Array(n) : null, runqWeight: sampled ? new Float64Array(n) : null,
		blockedPoints: sampled ? new Uint32Array(n) : null, runqPoints: sampled ? new Uint32Array(n) : null,
		blockedCombo: new Uint32Array(n), runqCombo: new Uint32Array(n),
		sampleTime: new Float64Array(samples), samplePoints: new Uint32Array(samples), sampleCombo: new Uint32Array(samples),
		combos: { n: 0, stack: NOTHING, kind: new Uint16Array(0), node: none }, tree: { begin: none, own: none, end: none, start: none, list: none },
		kinds: kindsOf(info), sums: new Float64Array(0),
	};
}

/** Decodes times, kinds of waits, and who ended them. `progress` gets shares from 0 to 1. */
export async function loadTimes(info: RecordingInfo, read: BlockReader, progress: (share: number) => void): Promise<Loading> {
	const recording = emptyRecording(info), next = recording.first.slice(), nextSample = recording.firstSample.slice(), scratch = new Scratch();
	const wakers = openTable(await read('wakers')), chunks: Chunk[] = [];
	recording.wakers = {
		thread: integers(wakers, 0), context: Uint8Array.from(integers(wakers, 1)), running: integers(wakers, 2), about: integers(wakers, 3),
	};
	/* The next one is read while one is decoded. */
	const readChunk = (i: number): Promise<Uint8Array> | null => info.chunks[i] ? read(info.chunks[i].block.replace(/^r\d+\./, '')) : null;
	let reading = readChunk(0);
	for (const [i, { type, runs }] of info.chunks.entries()) {
		const bytes = await reading!;
		reading = readChunk(i + 1);
		const chunk = { table: openTable(bytes), runs, isSamples: type === 'samples' };
		chunks.push(chunk);
		if (chunk.isSamples) decodeSampleTimes(recording, chunk, nextSample, scratch);
		else decodeTimes(recording, chunk, next, scratch);
		progress((i + 1) / info.chunks.length);
	}
	recording.sums = sumUp(recording);
	return { recording, chunks, read };
}

/** Decodes the rest of a recording. `pause` is called now and then: others may use its times meanwhile. */
export async function loadStacks({ recording: r, chunks, read }: Loading, pause: () => Promise<void>): Promise<Recording> {
	const combos = new ComboTable(), memory: Memory = { next: new Recent(), wakers: new Recent() }, scratch = new Scratch();
	const next = r.first.slice(), nextSample = r.firstSample.slice();
	for (let chunk = chunks.shift(); chunk; chunk = chunks.shift()) {
		if (chunk.isSamples) decodeSampleStacks(r, chunk, nextSample, combos, scratch);
		else decodeStacks(r, chunk, next, combos, memory, scratch);
		await pause();
	}
	const frames = openTable(await read('frames')), nodes = openTable(await read('nodes'));
	r.strings = decodeStrings(await read('strings'));
	r.frames = {
		name: integers(frames, 0), file: integers(frames, 1), line: integers(frames, 2), dso: integers(frames, 3),
		flags: Uint8Array.from(integers(frames, 4)),
	};
	r.nodeParent = integers(nodes, 0);
	for (let i = 0; i < r.nodeParent.length; i++) r.nodeParent[i] = i - r.nodeParent[i]!;
	r.nodeFrame = integers(nodes, 1);
	r.stackNode = integers(openTable(await read('stacks')), 0);
	const { stacks, kinds } = combos.result();
	r.tree = orderCombos(r, stacks, kinds);
	return r;
}

/** Decodes all of a recording. */
export const loadRecording = async (info: RecordingInfo, read: BlockReader): Promise<Recording> =>
	loadStacks(await loadTimes(info, read, () => undefined), () => Promise.resolve());
