// What a thread did at a time, and what ended its waits.
import { ACTIVITIES, upperBound, type Recording } from './recording.js';
import { addBins, stolenBefore, waitText } from './bins.js';

export interface FrameText { name: string; place: string; kernel: boolean; inlined: boolean }

/** A piece of a thread's time. */
export interface Piece {
	thread: number;
	/** Number of the interval; -1: it runs, or is not there. */
	interval: number;
	from: number;
	until: number;
	channel: number;
	text: string;
	/** Innermost first. Of a run, that of a sample in it, or of its end. */
	stack: FrameText[];
	idle: string;
	/** Of a run: how much of it was stolen, by a hypervisor or interrupts. */
	stolen: number;
}

export interface Cause {
	/** 'thread', 'other' (a device, the network, a timer), 'end' or 'unknown'. */
	type: 'thread' | 'other' | 'end' | 'unknown';
	thread: number;
	about: string;
	stack: FrameText[];
	at: number;
	/** What `thread` did in the wait: its lengths sum to it. At most `MOST` pieces, then shares alone. */
	pieces: Piece[];
	more: number;
	ns: number[];
}

const MOST = 200;

export function stackText(r: Recording, stack: number): FrameText[] {
	const frames: FrameText[] = [], { name, file, line, dso, flags } = r.frames;
	for (let node = r.stackNode[stack]!; node; node = r.nodeParent[node]!) {
		const frame = r.nodeFrame[node]!, source = r.strings[file[frame]!]!;
		frames.push({
			name: frame ? r.strings[name[frame]!]! : '[no stack]',
			place: source ? `${source}:${line[frame]!}` : r.strings[dso[frame]!]!,
			kernel: (flags[frame]! & 1) === 1, inlined: (flags[frame]! & 2) === 2,
		});
	}
	return frames;
}

/** The stack of a sample in [from, until), or of the interval that ends the run. */
function runStack(r: Recording, thread: number, from: number, until: number, ending: number): FrameText[] {
	const end = r.firstSample[thread + 1]!, sample = upperBound(r.sampleTime, r.firstSample[thread]!, end, from - 1);
	if (sample < end && r.sampleTime[sample]! < until) return stackText(r, r.combos.stack[r.sampleCombo[sample]!]!);
	if (ending < r.first[thread + 1]!) return stackText(r, r.combos.stack[r.blockedCombo[ending]!]!);
	return [];
}

function waiting(r: Recording, thread: number, i: number, queued: boolean): Piece {
	const kind = r.kinds[r.wait[i]!]!, wait = r.info.waits[r.wait[i]!]!;
	return {
		thread, interval: i, from: queued ? r.wake[i]! : r.out[i]!,
		until: queued ? r.in[i]! : r.wake[i]!, channel: queued ? 3 : kind.channel,
		text: queued ? (wait.preempted ? 'preempted' : 'run queue') : waitText(r, i),
		stack: stackText(r, r.combos.stack[r.blockedCombo[i]!]!), idle: queued ? 'no' : wait.idle, stolen: 0,
	};
}

/** All that a thread did in [from, until), up to `most` pieces; lengths add up if none is left out. */
export function pieces(r: Recording, thread: number, from: number, until: number, most: number): { list: Piece[]; more: number } {
	const info = r.info.threads[thread]!, unit = r.info.unit_ns, list: Piece[] = [];
	const created = info.created * unit, ended = info.ended * unit, end = r.first[thread + 1]!;
	let time = from, i = upperBound(r.in, r.first[thread]!, end, from), more = 0;
	const put = (piece: Piece): void => {
		const cut = { ...piece, from: Math.max(piece.from, from), until: Math.min(piece.until, until) };
		if (cut.until <= cut.from) return;
		cut.stolen *= (cut.until - cut.from) / (piece.until - piece.from);
		if (list.length < most) list.push(cut);
		else more++;
	};
	const runLength = (i: number): number => (i < end ? r.out[i]! : ended) - (i > r.first[thread]! ? r.in[i - 1]! : created);
	const gap = (begin: number, until: number, text: string, stack: FrameText[] = []): void => put({
		thread, interval: -1, from: begin, until, channel: text === 'running' ? 0 : -1, text, stack, idle: 'no',
		stolen: text === 'running' ? stolenBefore(r, thread, i) * (until - begin) / runLength(i) : 0,
	});
	/* Between intervals: before and after its life, and in it. */
	const run = (begin: number, until: number): void => {
		if (until <= begin) return;
		if (!info.recorded) return gap(begin, until, 'not recorded');
		const low = Math.min(Math.max(begin, created), until), high = Math.max(low, Math.min(until, ended));
		gap(begin, low, 'not there');
		if (high > low) runOrWait(low, high);
		gap(high, until, 'not there');
	};
	const runOrWait = (begin: number, until: number): void => {
		if (info.unseen?.some(([low, high]) => begin >= low * unit && begin < high * unit)) return gap(begin, until, 'not seen');
		const stack = list.length < most ? runStack(r, thread, begin, until, i) : [], first = r.firstSample[thread]!;
		const sample = upperBound(r.sampleTime, first, r.firstSample[thread + 1]!, begin);
		const isSampled = sample < r.firstSample[thread + 1]! && r.sampleTime[sample]! <= until;
		if (r.info.mode === 'trace' || isSampled) gap(begin, until, 'running', stack);
		else gap(begin, until, 'running, or waits without a sampling point');
	};
	for (; i < end && r.out[i]! < until; i++) {
		run(time, Math.min(r.out[i]!, until));
		if (list.length < most) {
			put(waiting(r, thread, i, false));
			put(waiting(r, thread, i, true));
		} else more++;
		time = Math.max(time, r.in[i]!);
	}
	run(time, until);
	return { list, more };
}

/** What a thread did at a time. */
export function pieceAt(r: Recording, thread: number, time: number): Piece {
	const end = r.first[thread + 1]!, i = upperBound(r.in, r.first[thread]!, end, time);
	if (i < end && r.out[i]! <= time) return waiting(r, thread, i, time >= r.wake[i]!);
	const from = i > r.first[thread]! ? r.in[i - 1]! : 0, until = i < end ? r.out[i]! : r.info.duration_ns;
	const list = pieces(r, thread, Math.min(from, time), Math.max(until, time + 1), 5).list;
	return list.find((piece) => piece.from <= time && time < piece.until) ?? list[0]!;
}

/** What ended the wait that interval number `i` of `thread` is, explained for [from, until) of it. */
export function causeOf(r: Recording, i: number, from: number, until: number): Cause {
	const row = r.waker[i]!, { thread, context, about } = r.wakers;
	const type = (['unknown', 'thread', 'other', 'end'] as const)[context[row]!] ?? 'unknown';
	const who = type === 'thread' ? thread[row]! : 0, text = r.strings[about[row]!]!;
	const low = Math.max(from, r.out[i]!), high = Math.min(until, r.wake[i]!);
	const found = who ? pieces(r, who, low, high, MOST) : { list: [], more: 0 };
	const ns = new Float32Array(ACTIVITIES);
	if (who && high > low) addBins(r, who, low, high, 1, ns);
	return {
		type, thread: who, about: text,
		stack: stackText(r, r.wakerStack[i]!), at: r.wake[i]!, pieces: found.list, more: found.more,
		ns: Array.from(ns, (share) => share * (high - low)),
	};
}

export interface Arrow { from: number; to: number; at: number }

/** Wakeups among `threads` in [from, until), at most `most`, of the longest waits. */
export function arrows(r: Recording, threads: readonly number[], from: number, until: number, most: number): Arrow[] {
	const shown = new Set(threads), found: { arrow: Arrow; ns: number }[] = [];
	const windows = threads.map((thread) => {
		const first = upperBound(r.wake, r.first[thread]!, r.first[thread + 1]!, from);
		return { thread, first, end: upperBound(r.wake, first, r.first[thread + 1]!, until) };
	});
	/* So many would be a carpet. */
	if (windows.reduce((sum, { first, end }) => sum + end - first, 0) > 40 * most) return [];
	for (const { thread, first, end } of windows) {
		for (let i = first; i < end; i++) {
			const row = r.waker[i]!;
			if (r.wakers.context[row] !== 1 || !shown.has(r.wakers.thread[row]!)) continue;
			found.push({ arrow: { from: r.wakers.thread[row]!, to: thread, at: r.wake[i]! }, ns: r.wake[i]! - r.out[i]! });
		}
	}
	return found.sort((a, b) => b.ns - a.ns).slice(0, most).map(({ arrow }) => arrow);
}

/** The stack and 1 + the number of the wait of the intervals that threads were in at times; 0: in none. */
export function intervalsAt(r: Recording, threads: readonly number[], times: readonly number[]): { stack: Uint32Array; wait: Uint32Array } {
	const stack = new Uint32Array(threads.length), wait = new Uint32Array(threads.length);
	threads.forEach((thread, i) => {
		const end = r.first[thread + 1]!, at = upperBound(r.in, r.first[thread]!, end, times[i]!);
		if (!thread || at >= end || r.out[at]! > times[i]!) return;
		stack[i] = r.combos.stack[r.blockedCombo[at]!]!;
		wait[i] = r.wait[at]! + 1;
	});
	return { stack, wait };
}
