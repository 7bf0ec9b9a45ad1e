// What threads did over time: shares by channel in bins, and intervals where there is room for them.
import { isOther } from '../data/index.js';
import { ACTIVITIES, addParts, CHANNEL_IDLE, CLASS_SCHED, STOLEN, sumsBefore, upperBound, type Recording } from './recording.js';
import { addThread, isShown, shownKinds, threadsOf, type Range } from './selection.js';

/** What was stolen from the run before interval `i` of a thread, or after its last one. */
export function stolenBefore(r: Recording, thread: number, i: number): number {
	if (!r.stolen) return 0;
	return i < r.first[thread + 1]! ? r.stolen[i]! : (r.info.threads[thread]!.last_stolen ?? 0) * r.info.unit_ns;
}

/** Lengths of intervals of one thread before a time, and what was stolen from its runs, by channel. Times ascend from call to call. */
class Walker {
	private at: number;
	private readonly first: number;
	private readonly end: number;
	private readonly base = new Float64Array(ACTIVITIES);
	private readonly sums = new Float64Array(ACTIVITIES);

	constructor(private readonly r: Recording, private readonly thread: number, from: number) {
		this.first = r.first[thread]!;
		this.end = r.first[thread + 1]!;
		this.at = upperBound(r.in, this.first, this.end, from);
		sumsBefore(r, this.at, this.base);
		this.base.forEach((value, c) => this.sums[c] = value);
	}

	/** Sets `to` to the lengths between the first time and `time`. */
	until(time: number, to: Float64Array): void {
		const { r } = this;
		if (this.at < this.end && r.in[this.at]! <= time) {
			/* Near by one by one, else by the sums. */
			let k = this.at, steps = 0;
			while (k < this.end && r.in[k]! <= time && steps++ < 24) addParts(r, k++, this.sums, 0);
			if (k < this.end && r.in[k]! <= time) {
				k = upperBound(r.in, k, this.end, time);
				sumsBefore(r, k, this.sums);
			}
			this.at = k;
		}
		to.set(this.sums);
		if (this.at < this.end && r.out[this.at]! < time) {
			const i = this.at, channel = r.kinds[r.wait[i]!]!.channel;
			to[channel]! += Math.min(time, r.wake[i]!) - r.out[i]!;
			if (time > r.wake[i]!) to[CLASS_SCHED]! += time - r.wake[i]!;
		}
		if (r.stolen) to[STOLEN]! += this.stolenUntil(time);
	}

	/** What was stolen from the run that `time` is in, or in the wait after which it is, before it: when in the run is not known. */
	private stolenUntil(time: number): number {
		const { r, at } = this, info = r.info.threads[this.thread]!, unit = r.info.unit_ns, stolen = stolenBefore(r, this.thread, at);
		if (!stolen) return 0;
		const from = at > this.first ? r.in[at - 1]! : info.created * unit, until = at < this.end ? r.out[at]! : info.ended * unit;
		return stolen * Math.max(0, Math.min(1, (time - from) / (until - from)));
	}
}

/** In sampling mode: time for which samples stand, each before it, up to a time. */
class SampleWalker {
	private at: number;
	private sum = 0;
	private readonly end: number;
	constructor(private readonly r: Recording, thread: number, from: number) {
		this.end = r.firstSample[thread + 1]!;
		this.at = upperBound(r.sampleTime, r.firstSample[thread]!, this.end, from);
	}
	until(time: number): number {
		const { r } = this, length = (i: number): number => r.samplePoints[i]! * r.info.period_ns;
		for (; this.at < this.end && r.sampleTime[this.at]! <= time; this.at++) this.sum += length(this.at);
		const next = this.at < this.end ? length(this.at) - (r.sampleTime[this.at]! - time) : 0;
		return this.sum + Math.max(0, next);
	}
}

/** How much of a time was neither a wait nor a run of the thread, because events were lost. */
function unseenIn(r: Recording, thread: number, begin: number, end: number): number {
	const unit = r.info.unit_ns;
	return (r.info.threads[thread]!.unseen ?? []).reduce((sum, [from, until]) => sum + Math.max(0, Math.min(end, until * unit) - Math.max(begin, from * unit)), 0);
}

/** Adds thread `thread`'s share of each of `width` bins of [from, until), by channel, and what was stolen. */
export function addBins(r: Recording, thread: number, from: number, until: number, width: number, to: Float32Array | Float64Array, at = 0): void {
	const info = r.info.threads[thread]!, unit = r.info.unit_ns;
	if (!info.recorded) return;
	const created = info.created * unit, ended = info.ended * unit, step = (until - from) / width;
	const walker = new Walker(r, thread, from), samples = r.info.mode === 'sampling' ? new SampleWalker(r, thread, from) : null;
	let before = new Float64Array(ACTIVITIES), now = new Float64Array(ACTIVITIES), sampled = samples?.until(from) ?? 0;
	walker.until(from, before);
	for (let x = 0; x < width; x++) {
		const begin = from + x * step, end = begin + step;
		walker.until(end, now);
		const life = Math.max(0, Math.min(end, ended) - Math.max(begin, created));
		let waited = 0;
		for (let c = 1; c < ACTIVITIES; c++) {
			const part = Math.max(0, now[c]! - before[c]!);
			waited += part;
			to[at + x * ACTIVITIES + c]! += part / step;
		}
		let running = Math.max(0, life - waited - unseenIn(r, thread, begin, end));
		if (samples) {
			const until = samples.until(end);
			running = Math.min(running, until - sampled);
			sampled = until;
		}
		to[at + x * ACTIVITIES]! += running / step;
		[before, now] = [now, before];
	}
}

export interface Row {
	thread: number;
	/** By bin and channel, shares from 0 to 1; null: `items` are there instead. */
	bins: Float32Array | null;
	items: Items | null;
}

/** Intervals of a thread, in the order of time. */
export interface Items {
	number: Uint32Array;
	out: Float64Array;
	wake: Float64Array;
	in: Float64Array;
	channel: Uint8Array;
	/** What is waited for, of those that are long enough to have it written on them. */
	text: string[];
	/** And the function that ran before each, and after the last one; and what was stolen from the run. */
	run: string[];
	stolen: Float64Array;
}

export function waitText(r: Recording, i: number): string {
	const wait = r.info.waits[r.wait[i]!]!, object = r.info.objects[r.object[i]!] ?? '';
	if (r.wake[i]! === r.out[i]!) return wait.preempted ? 'preempted' : 'run queue';
	return object ? `${wait.kind} ${object}` : wait.kind;
}

/** The innermost user function of the sample in the middle of a run; "" without samples. */
function runText(r: Recording, thread: number, from: number, until: number): string {
	const end = r.firstSample[thread + 1]!, first = upperBound(r.sampleTime, r.firstSample[thread]!, end, from);
	const last = upperBound(r.sampleTime, first, end, until);
	if (first >= last) return '';
	const { name, flags } = r.frames, stack = r.combos.stack[r.sampleCombo[(first + last - 1) >> 1]!]!;
	let text = '';
	for (let node = r.stackNode[stack]!; node; node = r.nodeParent[node]!) {
		const frame = r.nodeFrame[node]!;
		text ||= r.strings[name[frame]!]!;
		if (frame && !(flags[frame]! & 1)) return r.strings[name[frame]!]!;
	}
	return text;
}

/** Rows of threads, `width` bins wide. A thread with few intervals in view has them one by one. */
export function rows(r: Recording, threads: readonly number[], from: number, until: number, width: number): Row[] {
	const most = width / 4, labelled = (until - from) / width * 24;
	return threads.map((thread) => {
		const begin = upperBound(r.in, r.first[thread]!, r.first[thread + 1]!, from);
		const end = upperBound(r.out, begin, r.first[thread + 1]!, until);
		if (end - begin > most || r.info.mode === 'sampling') {
			const bins = new Float32Array(width * ACTIVITIES);
			addBins(r, thread, from, until, width, bins);
			return { thread, bins, items: null };
		}
		const number = Uint32Array.from({ length: end - begin }, (_, i) => begin + i);
		return { thread, bins: null, items: {
			number, out: r.out.slice(begin, end), wake: r.wake.slice(begin, end), in: r.in.slice(begin, end),
			channel: Uint8Array.from(number, (i) => r.kinds[r.wait[i]!]!.channel),
			text: Array.from(number, (i) => r.in[i]! - r.out[i]! > labelled ? waitText(r, i) : ''),
			run: Array.from({ length: number.length + 1 }, (_, k) => {
				const low = k ? r.in[begin + k - 1]! : from, high = begin + k < end ? r.out[begin + k]! : until;
				return high - low > labelled ? runText(r, thread, low, high) : '';
			}),
			stolen: Float64Array.from({ length: number.length + 1 }, (_, k) => stolenBefore(r, thread, begin + k)),
		} };
	});
}

/** Sums of all threads of a selection, over the whole recording: threads at a time by channel. */
export function heat(r: Recording, range: Range, width: number): Float32Array {
	const bins = new Float32Array(width * ACTIVITIES), whole = r.info.duration_ns;
	for (const thread of threadsOf(r, range)) addBins(r, thread, 0, whole, width, bins);
	return bins;
}

export interface ThreadTimes { thread: number; ns: Float64Array }

/** What each thread did in a selection, by channel, as dwell report has it; in trace mode running is the rest of its life, but for what was stolen or not seen. */
export function threadTimes(r: Recording, range: Range): ThreadTimes[] {
	const bins = new Float64Array(ACTIVITIES), weights = new Float64Array(r.combos.n), whole = range.until - range.from;
	const kinds = shownKinds(r, range), shown = Array.from({ length: ACTIVITIES }, (_, c) => isShown({ name: '', class: c === CHANNEL_IDLE ? 4 : c % STOLEN, channel: c }, range));
	const others = range.others ? [] : range.threads?.filter((thread) => r.info.threads[thread] && isOther(r.info.threads[thread])) ?? [];
	return threadsOf(r, { ...range, threads: null }).concat(others).map((thread) => {
		const ns = new Float64Array(ACTIVITIES);
		if (r.info.mode === 'sampling') {
			weights.fill(0);
			addThread(r, thread, range, kinds, weights);
			weights.forEach((weight, combo) => ns[r.kinds[r.combos.kind[combo]!]!.channel]! += weight);
		} else {
			bins.fill(0);
			addBins(r, thread, range.from, range.until, 1, bins);
			bins.forEach((share, c) => ns[c] = shown[c] ? Math.round(share * whole) : 0);
		}
		return { thread, ns };
	});
}
