// A recording in memory: what load.ts decodes from its blocks. Times are ns since the recording's start.
import type { RecordingInfo } from '../data/index.js';

export const CLASS_CPU = 0;
export const CLASS_SCHED = 3;
/** Classes, and idle waits apart from them. */
export const CHANNELS = 7;
export const CHANNEL_IDLE = 6;
/** And time that was stolen from runs: what pictures of activity show. */
export const ACTIVITIES = 8;
export const STOLEN = 7;
/** Sums are kept for each so many intervals. */
export const STRIDE = 16;

export interface Frames { name: Uint32Array; file: Uint32Array; line: Uint32Array; dso: Uint32Array; flags: Uint8Array }

/**
 * A stack together with what its thread did there: what flame graphs are made of. They are numbered so that those
 * in and below a node of the tree of chains are next to each other.
 */
export interface Combos {
	n: number;
	stack: Uint32Array;
	/** Number in `kinds`. */
	kind: Uint16Array;
	/** Node of the tree. */
	node: Int32Array;
}

/** By node of the tree of chains: its own combinations are begin to own - 1, those of its children own to end - 1. */
export interface ChainTree {
	begin: Int32Array;
	own: Int32Array;
	end: Int32Array;
	/** Children of node i, in the order of their combinations: list[start[i]] to list[start[i + 1] - 1]. */
	start: Int32Array;
	list: Int32Array;
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
	/** In trace mode: what was stolen from the run before each interval. */
	stolen: Float64Array | null;
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
	tree: ChainTree;
	kinds: Kind[];
	/** Lengths of all intervals before number i * STRIDE by channel, and what was stolen before each, of all threads. */
	sums: Float64Array;
}

/** Rounds halves up, as the C side does. */
export const roundUp = (value: number): number => Math.floor(value + 0.5);

/** Time that `points` sampling points of a thread in a class stand for. */
export function timeOf(info: RecordingInfo, thread: number, cls: number, points: number): number {
	return roundUp(points * info.period_ns * info.threads[thread]!.factor[cls]!);
}

/** Kinds of the recording's waits, then: running, in the run queue, preempted. */
export function kindsOf(info: RecordingInfo): Kind[] {
	const kinds = info.waits.map((wait) => ({
		name: wait.kind || 'blocked', class: wait.class, channel: wait.idle === 'no' ? wait.class : CHANNEL_IDLE,
	}));
	return [...kinds, { name: 'running', class: 0, channel: 0 }, { name: 'run queue', class: 3, channel: 3 },
		{ name: 'preempted', class: 3, channel: 3 }];
}

/** Lengths of the parts of interval i, and of what was stolen from the run before it, added to `to` at `at`. */
export function addParts(r: Recording, i: number, to: Float64Array, at: number): void {
	const channel = r.kinds[r.wait[i]!]!.channel;
	to[at + channel]! += r.wake[i]! - r.out[i]!;
	to[at + CLASS_SCHED]! += r.in[i]! - r.wake[i]!;
	if (r.stolen) to[at + STOLEN]! += r.stolen[i]!;
}

/** Sets `to` to the lengths of all intervals before number i, of all threads. */
export function sumsBefore(r: Recording, i: number, to: Float64Array): void {
	const block = Math.floor(i / STRIDE);
	for (let c = 0; c < ACTIVITIES; c++) to[c] = r.sums[block * ACTIVITIES + c]!;
	for (let k = block * STRIDE; k < i; k++) addParts(r, k, to, 0);
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
