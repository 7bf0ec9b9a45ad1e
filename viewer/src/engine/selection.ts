// The weight of each stack in a selection.
import { isOther } from '../data/index.js';
import { CHANNEL_IDLE, CLASS_SCHED, timeOf, upperBound, type Kind, type Recording } from './recording.js';

/** What the worker needs of a selection. */
export interface Range {
	from: number;
	until: number;
	/** null: all that were asked for, and the others with `others`. */
	threads: readonly number[] | null;
	classes: number;
	idle: boolean;
	others: boolean;
}

export function threadsOf(r: Recording, range: Range): number[] {
	const all = range.threads ?? r.info.threads.flatMap((thread, number) => number && thread.recorded && (range.others || !isOther(thread)) ? [number] : []);
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

/**
 * Adds what a thread's intervals and samples that touch [low, high) have of a selection, by combination of
 * stack and kind; `sign` -1 takes it away again. All are whole numbers, so nothing is left over.
 */
export function addThread(r: Recording, thread: number, range: Range, shown: readonly boolean[], to: Float64Array, low = range.from, high = range.until, sign = 1): void {
	const { from, until } = range, queued = (range.classes >> CLASS_SCHED & 1) === 1;
	const end = r.first[thread + 1]!, begin = upperBound(r.in, r.first[thread]!, end, low - 1);
	for (let i = begin; i < end && r.out[i]! < high; i++) {
		const whole = r.out[i]! >= from && r.in[i]! < until;
		if (shown[r.wait[i]!])
			to[r.blockedCombo[i]!]! += sign * (whole ? (r.blockedWeight ? r.blockedWeight[i]! : r.wake[i]! - r.out[i]!)
				: clippedPart(r, thread, r.kinds[r.wait[i]!]!.class, r.out[i]!, r.wake[i]!, r.blockedPoints?.[i] ?? 0, from, until));
		if (queued)
			to[r.runqCombo[i]!]! += sign * (whole ? (r.runqWeight ? r.runqWeight[i]! : r.in[i]! - r.wake[i]!)
				: clippedPart(r, thread, CLASS_SCHED, r.wake[i]!, r.in[i]!, r.runqPoints?.[i] ?? 0, from, until));
	}
	if (!(range.classes & 1)) return;
	const lastSample = r.firstSample[thread + 1]!, last = Math.min(high, until);
	for (let i = upperBound(r.sampleTime, r.firstSample[thread]!, lastSample, Math.max(low, from) - 1); i < lastSample && r.sampleTime[i]! < last; i++)
		if (r.sampleTime[i]! >= from) to[r.sampleCombo[i]!]! += sign * timeOf(r.info, thread, 0, r.samplePoints[i]!);
}

export const shownKinds = (r: Recording, range: Range): boolean[] => r.kinds.map((kind) => isShown(kind, range));

/** Time by combination of stack and kind, of all threads. */
export function weigh(r: Recording, range: Range): Float64Array {
	const weights = new Float64Array(r.combos.n), shown = shownKinds(r, range);
	for (const thread of threadsOf(r, range)) addThread(r, thread, range, shown, weights);
	return weights;
}

interface Weighed { key: string; range: Range; threads: number[]; shown: boolean[]; weights: Float64Array }

const lastWeighed = new WeakMap<Recording, Weighed>();

/** Moves one end of the selection: only what touches the time between its old and its new place changes. */
function move(r: Recording, last: Weighed, range: Range): void {
	const before = last.range, atEnd = before.from === range.from;
	const [one, other] = atEnd ? [before.until, range.until] : [before.from, range.from], low = Math.min(one, other), high = Math.max(one, other);
	if (low < high)
		for (const thread of last.threads) {
			addThread(r, thread, before, last.shown, last.weights, low, high, -1);
			addThread(r, thread, range, last.shown, last.weights, low, high);
		}
	last.range = range;
}

/**
 * As weigh(). A selection that is near the last one, as when a brush moves, is made of that one. The result is
 * good until the next call.
 */
export function weighAgain(r: Recording, range: Range): Float64Array {
	const key = `${range.classes} ${range.idle} ${range.others} ${range.threads?.join() ?? ''}`, last = lastWeighed.get(r), before = last?.range;
	const moved = before ? Math.abs(before.from - range.from) + Math.abs(before.until - range.until) : 0;
	if (!last || !before || last.key !== key || moved * 2 > range.until - range.from || before.from >= range.until || before.until <= range.from) {
		const made = { key, range, threads: threadsOf(r, range), shown: shownKinds(r, range), weights: weigh(r, range) };
		lastWeighed.set(r, made);
		return made.weights;
	}
	move(r, last, { ...range, from: before.from });
	move(r, last, range);
	return last.weights;
}
