// The weight of each stack in a selection.
import { CHANNEL_IDLE, CLASS_SCHED, timeOf, upperBound, type Kind, type Recording } from './recording.js';

/** What the worker needs of a selection. */
export interface Range {
	from: number;
	until: number;
	/** null: all that are no mere wakers. */
	threads: readonly number[] | null;
	classes: number;
	idle: boolean;
}

export function threadsOf(r: Recording, range: Range): number[] {
	const all = range.threads ?? r.info.threads.flatMap((thread, number) => number && thread.recorded && !thread.waker_only ? [number] : []);
	return all.filter((number) => number > 0 && number < r.info.threads.length);
}

/** Whether time of a kind is shown: idle waits if they are asked for, as all others by their class. */
export function isShown(kind: Kind, range: Range): boolean {
	return (range.classes >> kind.class & 1) === 1 && (kind.channel !== CHANNEL_IDLE || range.idle);
}

/**
 * The share of a part of an interval that lies in [from, until): ns in trace mode, else the time of its
 * share of the sampling points.
 */
function clippedPart(r: Recording, thread: number, cls: number, begin: number, end: number, points: number, from: number, until: number): number {
	const low = Math.max(begin, from), high = Math.min(end, until), length = end - begin;
	if (low > high || (low === high && (length > 0 || begin === until))) return 0;
	if (!r.blockedWeight) return high - low;
	const before = (x: number): number => length ? Math.floor(points * x / length) : 0;
	const share = length ? before(high - begin) - before(low - begin) : points;
	return timeOf(r.info, thread, cls, share);
}

/** Adds the time that thread `thread` spent in each combination of stack and kind. */
export function addThread(r: Recording, thread: number, range: Range, to: Float64Array): void {
	const { from, until } = range, shown = r.kinds.map((kind) => isShown(kind, range));
	const queued = (range.classes >> CLASS_SCHED & 1) === 1;
	const end = r.first[thread + 1]!;
	const begin = upperBound(r.in, r.first[thread]!, end, from - 1);
	for (let i = begin; i < end && r.out[i]! < until; i++) {
		const kind = r.kinds[r.wait[i]!]!;
		const whole = r.out[i]! >= from && r.in[i]! < until;
		if (shown[r.wait[i]!])
			to[r.blockedCombo[i]!]! += whole ? (r.blockedWeight ? r.blockedWeight[i]! : r.wake[i]! - r.out[i]!)
				: clippedPart(r, thread, kind.class, r.out[i]!, r.wake[i]!, r.blockedPoints?.[i] ?? 0, from, until);
		if (queued)
			to[r.runqCombo[i]!]! += whole ? (r.runqWeight ? r.runqWeight[i]! : r.in[i]! - r.wake[i]!)
				: clippedPart(r, thread, CLASS_SCHED, r.wake[i]!, r.in[i]!, r.runqPoints?.[i] ?? 0, from, until);
	}
	if (!(range.classes & 1)) return;
	const lastSample = r.firstSample[thread + 1]!;
	for (let i = upperBound(r.sampleTime, r.firstSample[thread]!, lastSample, from - 1); i < lastSample && r.sampleTime[i]! < until; i++)
		to[r.sampleCombo[i]!]! += timeOf(r.info, thread, 0, r.samplePoints[i]!);
}

/** Time by combination of stack and kind, of all threads. */
export function weigh(r: Recording, range: Range): Float64Array {
	const weights = new Float64Array(r.combos.n);
	for (const thread of threadsOf(r, range)) addThread(r, thread, range, weights);
	return weights;
}
