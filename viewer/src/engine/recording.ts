// A recording in memory: what the worker decodes from its blocks, docs/page.md. Times are ns since the
// recording's start.
import { column, decodeStrings, openTable, readColumn } from '../data/blocks.js';
import type { RecordingInfo } from '../data/index.js';

export const CLASS_CPU = 0;
export const CLASS_SCHED = 3;
/** Classes, and idle waits apart from them. */
export const CHANNELS = 6;
export const CHANNEL_IDLE = 5;
/** Sums are kept for each so many intervals. */
const STRIDE = 16;

export interface Frames { name: Uint32Array; file: Uint32Array; line: Uint32Array; dso: Uint32Array; flags: Uint8Array }

/** A stack together with what its thread did there: what rows of a flame graph are made of. */
export interface Combos {
	n: number;
	stack: Uint32Array;
	/** Number in `kinds`. */
	kind: Uint16Array;
}

/** What a thread did at the end of a stack. */
export interface Kind { name: string; class: number; channel: number }

export interface Recording {
	info: RecordingInfo;
	strings: string[];
	frames: Frames;
	nodeParent: Uint32Array;
	nodeFrame: Uint32Array;
	stackNode: Uint32Array;
	wakers: { thread: Uint32Array; context: Uint8Array; running: Uint32Array; about: Uint32Array };
	/** Intervals of thread t: [first[t], first[t + 1]). */
	first: Uint32Array;
	out: Float64Array;
	wake: Float64Array;
	in: Float64Array;
	wait: Uint16Array;
	object: Uint32Array;
	waker: Uint32Array;
	wakerStack: Uint32Array;
	/** Time that the parts stand for, ns; null: their lengths. */
	blockedWeight: Float64Array | null;
	runqWeight: Float64Array | null;
	blockedPoints: Uint32Array | null;
	runqPoints: Uint32Array | null;
	blockedCombo: Uint32Array;
	runqCombo: Uint32Array;
	/** Samples of thread t: [firstSample[t], firstSample[t + 1]). */
	firstSample: Uint32Array;
	sampleTime: Float64Array;
	samplePoints: Uint32Array;
	sampleCombo: Uint32Array;
	combos: Combos;
	kinds: Kind[];
	/** Lengths of all intervals before number i * STRIDE by channel, of all threads. */
	sums: Float64Array;
}

/** Rounds halves up, as the C side does. */
export const roundUp = (value: number): number => Math.floor(value + 0.5);

/** Time that `points` sampling points of a thread in a class stand for. */
export function timeOf(info: RecordingInfo, thread: number, cls: number, points: number): number {
	return roundUp(points * info.period_ns * info.threads[thread]!.factor[cls]!);
}

/** Numbers of combinations, by open addressing. */
class ComboTable {
	private stacks = new Uint32Array(1 << 12);
	private kinds = new Uint16Array(1 << 12);
	private slots = new Int32Array(1 << 13).fill(-1);
	private n = 0;

	id(stack: number, kind: number): number {
		const mask = this.slots.length - 1;
		for (let slot = this.slot(stack, kind); ; slot = (slot + 1) & mask) {
			const found = this.slots[slot]!;
			if (found < 0) {
				this.slots[slot] = this.n;
				break;
			}
			if (this.stacks[found] === stack && this.kinds[found] === kind) return found;
		}
		this.stacks[this.n] = stack;
		this.kinds[this.n++] = kind;
		if (this.n === this.stacks.length) this.grow();
		return this.n - 1;
	}

	private slot(stack: number, kind: number): number {
		const mixed = Math.imul(Math.imul(stack, 0x9e3779b1) ^ kind, 0x85ebca6b);
		return (mixed ^ mixed >>> 15) & (this.slots.length - 1);
	}

	private grow(): void {
		const { stacks, kinds } = this.result();
		this.stacks = new Uint32Array(this.n * 2);
		this.kinds = new Uint16Array(this.n * 2);
		this.stacks.set(stacks);
		this.kinds.set(kinds);
		this.slots = new Int32Array(this.n * 4).fill(-1);
		const mask = this.slots.length - 1;
		for (let i = 0; i < this.n; i++) {
			let slot = this.slot(stacks[i]!, kinds[i]!);
			while (this.slots[slot]! >= 0) slot = (slot + 1) & mask;
			this.slots[slot] = i;
		}
	}

	result(): { n: number; stacks: Uint32Array; kinds: Uint16Array } {
		return { n: this.n, stacks: this.stacks.slice(0, this.n), kinds: this.kinds.slice(0, this.n) };
	}
}

/** Kinds of the recording's waits, then: running, in the run queue, preempted. */
function kindsOf(info: RecordingInfo): Kind[] {
	const kinds = info.waits.map((wait) => ({
		name: wait.kind || 'blocked', class: wait.class, channel: wait.idle === 'no' ? wait.class : CHANNEL_IDLE,
	}));
	return [...kinds, { name: 'running', class: 0, channel: 0 }, { name: 'run queue', class: 3, channel: 3 },
		{ name: 'preempted', class: 3, channel: 3 }];
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

interface Memory { next: Recent; wakers: Recent }

/** `bytes` are those of a block of the recording: its name without "rN.". */
export type BlockReader = (part: string) => Promise<Uint8Array>;

function decodeIntervals(r: Recording, bytes: Uint8Array, runs: [number, number][], next: Uint32Array, combos: ComboTable, memory: Memory): void {
	const table = openTable(bytes), unit = r.info.unit_ns, rows = table.rows;
	const gap = column(table, 0, true), blocked = column(table, 1), runq = column(table, 2);
	const integers = [3, 4, 5, 6, 7, 8, 9].map((number) => {
		const numbers = new Uint32Array(rows);
		readColumn(table, number, numbers);
		return numbers;
	});
	const [stack, wait, object, waker, wakerStack, blockedPoints, runqPoints] = integers as
		[Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array];
	const queued = r.info.waits.length + 1, preempted = queued + 1;
	let row = 0;
	for (const [thread, count] of runs) {
		let time = 0, at = 0;
		for (let i = next[thread]!, end = i + count; i < end; i++, row++) {
			at = memory.next.number(at, stack[row]!);
			time += gap[row]!;
			r.out[i] = time * unit;
			time += blocked[row]!;
			r.wake[i] = time * unit;
			time += runq[row]!;
			r.in[i] = time * unit;
			const number = wait[row]!;
			r.wait[i] = number;
			r.object[i] = object[row]!;
			r.waker[i] = waker[row]!;
			r.wakerStack[i] = memory.wakers.number(at, wakerStack[row]!);
			r.blockedCombo[i] = combos.id(at, number);
			r.runqCombo[i] = combos.id(at, r.info.waits[number]!.preempted ? preempted : queued);
			if (r.blockedWeight) {
				r.blockedPoints![i] = blockedPoints[row]!;
				r.runqPoints![i] = runqPoints[row]!;
				r.blockedWeight[i] = timeOf(r.info, thread, r.info.waits[number]!.class, blockedPoints[row]!);
				r.runqWeight![i] = timeOf(r.info, thread, CLASS_SCHED, runqPoints[row]!);
			}
		}
		next[thread]! += count;
	}
}

function decodeSamples(r: Recording, bytes: Uint8Array, runs: [number, number][], next: Uint32Array, combos: ComboTable): void {
	const table = openTable(bytes), unit = r.info.unit_ns;
	const gap = column(table, 0, true), points = column(table, 1), stack = column(table, 2);
	const running = r.info.waits.length;
	let row = 0;
	for (const [thread, count] of runs) {
		let time = 0;
		for (let i = next[thread]!, end = i + count; i < end; i++, row++) {
			time += gap[row]!;
			r.sampleTime[i] = time * unit;
			r.samplePoints[i] = points[row]!;
			r.sampleCombo[i] = combos.id(stack[row]!, running);
		}
		next[thread]! += count;
	}
}

/** Lengths of the parts of interval i, added to `to` at `at`, by channel. */
export function addParts(r: Recording, i: number, to: Float64Array, at: number): void {
	const channel = r.kinds[r.wait[i]!]!.channel;
	to[at + channel]! += r.wake[i]! - r.out[i]!;
	to[at + CLASS_SCHED]! += r.in[i]! - r.wake[i]!;
}

function sumUp(r: Recording): Float64Array {
	const n = r.out.length, blocks = Math.floor(n / STRIDE) + 1;
	const sums = new Float64Array(blocks * CHANNELS), running = new Float64Array(CHANNELS);
	for (let i = 0; i < n; i++) {
		if (i % STRIDE === 0) sums.set(running, i / STRIDE * CHANNELS);
		addParts(r, i, running, 0);
	}
	if (n % STRIDE === 0) sums.set(running, n / STRIDE * CHANNELS);
	return sums;
}

/** Sets `to` to the lengths of all intervals before number i, of all threads. */
export function sumsBefore(r: Recording, i: number, to: Float64Array): void {
	const block = Math.floor(i / STRIDE);
	for (let c = 0; c < CHANNELS; c++) to[c] = r.sums[block * CHANNELS + c]!;
	for (let k = block * STRIDE; k < i; k++) addParts(r, k, to, 0);
}

const integers = (table: ReturnType<typeof openTable>, number: number): Uint32Array => {
	const numbers = new Uint32Array(table.rows);
	readColumn(table, number, numbers);
	return numbers;
};

async function readTables(read: BlockReader) {
	const frames = openTable(await read('frames')), nodes = openTable(await read('nodes'));
	const wakers = openTable(await read('wakers'));
	const nodeParent = integers(nodes, 0);
	for (let i = 0; i < nodeParent.length; i++) nodeParent[i] = i - nodeParent[i]!;
	return {
		strings: decodeStrings(await read('strings')),
		frames: {
			name: integers(frames, 0), file: integers(frames, 1), line: integers(frames, 2), dso: integers(frames, 3),
			flags: Uint8Array.from(integers(frames, 4)),
		},
		nodeParent,
		nodeFrame: integers(nodes, 1),
		stackNode: integers(openTable(await read('stacks')), 0),
		wakers: {
			thread: integers(wakers, 0), context: Uint8Array.from(integers(wakers, 1)), running: integers(wakers, 2),
			about: integers(wakers, 3),
		},
	};
}

/** Decodes all of a recording. `progress` gets shares from 0 to 1. */
export async function loadRecording(info: RecordingInfo, read: BlockReader, progress: (share: number) => void): Promise<Recording> {
	const first = counts(info, 'intervals'), firstSample = counts(info, 'samples');
	const n = first[first.length - 1]!, samples = firstSample[firstSample.length - 1]!;
	const sampled = info.mode === 'sampling', combos = new ComboTable();
	const recording: Recording = {
		info, ...await readTables(read), first, firstSample,
		out: new Float64Array(n), wake: new Float64Array(n), in: new Float64Array(n), wait: new Uint16Array(n),
		object: new Uint32Array(n), waker: new Uint32Array(n), wakerStack: new Uint32Array(n),
		blockedWeight: sampled ? new Float64Array(n) : null, runqWeight: sampled ? new Float64Array(n) : null,
		blockedPoints: sampled ? new Uint32Array(n) : null, runqPoints: sampled ? new Uint32Array(n) : null,
		blockedCombo: new Uint32Array(n), runqCombo: new Uint32Array(n),
		sampleTime: new Float64Array(samples), samplePoints: new Uint32Array(samples), sampleCombo: new Uint32Array(samples),
		combos: { n: 0, stack: new Uint32Array(), kind: new Uint16Array() }, kinds: kindsOf(info), sums: new Float64Array(),
	};
	const next = first.slice(), nextSample = firstSample.slice();
	const memory: Memory = { next: new Recent(), wakers: new Recent() };
	let done = 0;
	for (const chunk of info.chunks) {
		const bytes = await read(chunk.block.replace(/^r\d+\./, ''));
		if (chunk.type === 'intervals') decodeIntervals(recording, bytes, chunk.runs, next, combos, memory);
		else decodeSamples(recording, bytes, chunk.runs, nextSample, combos);
		progress(++done / info.chunks.length);
	}
	const { n: made, stacks, kinds } = combos.result();
	recording.combos = { n: made, stack: stacks, kind: kinds };
	recording.sums = sumUp(recording);
	return recording;
}

/** The first of the sorted `values` in [low, high) that is above `value`. */
export function upperBound(values: Float64Array, low: number, high: number, value: number): number {
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (values[middle]! <= value) low = middle + 1;
		else high = middle;
	}
	return low;
}

/** The name of a thread at a time. */
export function threadName(info: RecordingInfo, thread: number, time: number): string {
	const names = info.threads[thread]?.names ?? [];
	let name = names[0]?.[1] ?? '';
	for (const [from, text] of names) if (from * info.unit_ns <= time) name = text;
	return name;
}
