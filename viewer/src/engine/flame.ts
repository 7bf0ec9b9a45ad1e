// Flame graphs: time by call chain, from the outermost function in, or from the innermost out. A picture is
// made from its root on; what is too small to be seen is never looked into.
import { threadLabel } from '../data/index.js';
import { flameBase, focusOn, isInFocus, Labels, matching, TYPE_THREAD, type FlameBase, type Focus } from './chains.js';
import { CHANNELS, upperBound, type Recording } from './recording.js';
import { addThread, shownKinds, threadsOf, weighAgain, type Range } from './selection.js';

export { flameBase, type FlameBase };
export { TYPE_FUNCTION, TYPE_INLINED, TYPE_KERNEL, TYPE_KIND, TYPE_THREAD } from './chains.js';

export interface FlameOptions {
	/** What the first level is. */
	by: 'none' | 'process' | 'thread';
	/** From the innermost function out. */
	inverted: boolean;
	/** Functions apart by source line. */
	lines: boolean;
	/** Only chains with this function: what it calls (inverted: what calls it). */
	focus: string | null;
	/** Nodes below this share of the whole are left out. */
	least: number;
}

/** Nodes in the order in which a parent comes before its children, siblings by time. */
export interface Flame {
	/** Time of the whole, ns. */
	total: number;
	/** And of what nodes are compared with; 0: nothing. */
	compared: number;
	labels: string[];
	/** Details of each label: file and line, or the file of the code; and its function. */
	places: string[];
	names: string[];
	parent: Int32Array;
	label: Uint32Array;
	/** 0: a function, 1: of the kernel, 2: inlined, 3: a kind of wait, 4: a thread or process. */
	type: Uint8Array;
	/** Where it begins and how wide it is, from 0 to total: its time; compared, the mean of both shares of their wholes. */
	start: Float64Array;
	size: Float64Array;
	ns: Float64Array;
	self: Float64Array;
	/** Time in what it is compared with. */
	other: Float64Array;
	/** ns by channel. */
	channels: Float64Array;
	depth: number;
}

/** The recording and selection that a picture is of, or that it is compared with. */
export interface Side { r: Recording; base: FlameBase; range: Range }

/** Combinations that have time, in their order, and sums of the time before each. */
interface Times {
	side: Side;
	isOther: boolean;
	focus: Focus | null;
	/** Of the thread or process; -1: there are no groups. */
	group: number;
	/** By label of the base: its number among those of the picture; null: the same. */
	labelOf: Int32Array | null;
	n: number;
	combo: Int32Array;
	sums: Float64Array;
}

/** `combos`: those that may have time; null: all. */
function timesOf(side: Side, isOther: boolean, focus: Focus | null, group: number, weights: Float64Array, combos: Int32Array | null): Times {
	const most = combos?.length ?? weights.length, combo = new Int32Array(most), sums = new Float64Array(most + 1);
	let n = 0;
	for (let i = 0; i < most; i++) {
		const at = combos ? combos[i]! : i, ns = weights[at]!;
		if (!ns || (focus && !isInFocus(side.r, focus, at))) continue;
		combo[n] = at;
		sums[n + 1] = sums[n]! + ns;
		n++;
	}
	return { side, isOther, focus, group, labelOf: null, n, combo, sums };
}

/** Combinations that may have time of some threads, in their order; null: look at all. */
function combosOf(r: Recording, threads: readonly number[], range: Range): Int32Array | null {
	const windows = threads.map((thread) => {
		const begin = upperBound(r.in, r.first[thread]!, r.first[thread + 1]!, range.from - 1), end = upperBound(r.out, begin, r.first[thread + 1]!, range.until);
		const first = upperBound(r.sampleTime, r.firstSample[thread]!, r.firstSample[thread + 1]!, range.from - 1);
		return { begin, end, first, last: upperBound(r.sampleTime, first, r.firstSample[thread + 1]!, range.until) };
	});
	const most = windows.reduce((sum, { begin, end, first, last }) => sum + 2 * (end - begin) + last - first, 0);
	if (most * 32 > r.combos.n) return null;
	const combos = new Int32Array(most);
	let n = 0;
	for (const { begin, end, first, last } of windows) {
		for (let i = begin; i < end; i++) {
			combos[n++] = r.blockedCombo[i]!;
			combos[n++] = r.runqCombo[i]!;
		}
		for (let i = first; i < last; i++) combos[n++] = r.sampleCombo[i]!;
	}
	return combos.sort().filter((combo, i) => !i || combo !== combos[i - 1]);
}

/** The label of a thread or process. */
function groupLabel(r: Recording, labels: Labels, thread: number, by: 'process' | 'thread'): number {
	const info = r.info.threads[thread]!, process = r.info.processes[info.process]!;
	if (by === 'process') return labels.id(`${process.name || 'process'}/${process.pid}`, '', TYPE_THREAD);
	return labels.id(threadLabel(info), `${process.name}/${process.pid}`, TYPE_THREAD);
}

/** Times of a side, of each group of its threads. */
function sideTimes(side: Side, isOther: boolean, options: FlameOptions): Times[] {
	const { r, base, range } = side, focus = options.focus === null ? null : focusOn(r, base, options.focus);
	if (options.by === 'none') return [timesOf(side, isOther, focus, -1, weighAgain(r, range), null)];
	const groups = new Map<number, number[]>(), weights = new Float64Array(r.combos.n), shown = shownKinds(r, range);
	for (const thread of threadsOf(r, range)) {
		const label = groupLabel(r, base.labels, thread, options.by), members = groups.get(label);
		if (members) members.push(thread);
		else groups.set(label, [thread]);
	}
	return [...groups].map(([label, members]) => {
		const combos = combosOf(r, members, range);
		for (const thread of members) addThread(r, thread, range, shown, weights);
		const times = timesOf(side, isOther, focus, label, weights, combos);
		if (combos) for (const combo of combos) weights[combo] = 0;
		else weights.fill(0);
		return times;
	}).filter((times) => times.n > 0);
}

/** What a piece of a node is: beside these, a node of the tree. */
const ROOT = -1, NO_STACK = -2, KIND = -3;

/** Numbers in rows of five, that grow: a label, the times, a node or one of the above, and two ends of a range of those. */
class Pieces {
	data = new Int32Array(1 << 14);
	n = 0;

	add(label: number, times: number, node: number, low: number, high: number): void {
		if ((this.n + 1) * 5 > this.data.length) {
			const data = new Int32Array(this.data.length * 2);
			data.set(this.data);
			this.data = data;
		}
		const at = this.n++ * 5, { data } = this;
		data[at] = label;
		data[at + 1] = times;
		data[at + 2] = node;
		data[at + 3] = low;
		data[at + 4] = high;
	}
}

/** The first of the sorted `values` in [low, high) that is not below `value`, which is near low. */
function seek(values: Int32Array, low: number, high: number, value: number): number {
	let step = 1;
	while (low + step < high && values[low + step]! < value) step *= 2;
	let end = Math.min(high, low + step + 1);
	low += step >> 1;
	while (low < end) {
		const middle = (low + end) >>> 1;
		if (values[middle]! < value) low = middle + 1;
		else end = middle;
	}
	return low;
}

/**
 * A picture as it grows. A node has pieces: of the tree in the direction of calls, else a chain each. The pieces
 * of its children are collected, and go together by label.
 */
class Picture {
	private readonly pieces = new Pieces();
	private readonly found = new Pieces();
	/** By label, while the children of a node are looked for. */
	private readonly ns: Float64Array;
	private readonly other: Float64Array;
	private readonly at: Int32Array;
	readonly parent = [-1];
	readonly label = [-1];
	readonly depth = [0];
	readonly start = [0];
	readonly size: number[];
	/** What time of both sides is worth in sizes. */
	private readonly worth: [number, number];
	readonly total: number[];
	readonly compared: number[];
	readonly self = [0];
	/** By channel: first what no child has, in the end all. */
	channels = new Float64Array(CHANNELS << 10);
	private readonly first = [0];

	constructor(private readonly times: readonly Times[], labels: number, private readonly inverted: boolean, least: number) {
		[this.ns, this.other, this.at] = [new Float64Array(labels), new Float64Array(labels), new Int32Array(labels)];
		const sum = (isOther: boolean): number => times.reduce((ns, one) => ns + (one.isOther === isOther ? one.sums[one.n]! : 0), 0);
		[this.total, this.compared] = [[sum(false)], [sum(true)]];
		times.forEach((one, i) => this.pieces.add(0, i, ROOT, 0, one.n));
		const total = this.total[0]!, compared = this.compared[0]!;
		this.worth = !compared ? [1, 0] : !total ? [0, 1] : [0.5, 0.5 * total / compared];
		this.size = [this.sizeOf(total, compared)];
		const limit = least * this.size[0]!;
		for (let node = 0; node < this.parent.length; node++) {
			this.found.n = 0;
			if ((node + 1) * CHANNELS > this.channels.length) {
				const grown = new Float64Array(this.channels.length * 2);
				grown.set(this.channels);
				this.channels = grown;
			}
			const next = this.pieces.n, end = this.first[node + 1] ?? next;
			for (let i = this.first[node]!; i < end; i++) this.expand(node, i * 5);
			this.addChildren(node, limit);
		}
		for (let at = this.parent.length * CHANNELS - 1; at >= CHANNELS; at--)
			this.channels[this.parent[Math.floor(at / CHANNELS)]! * CHANNELS + at % CHANNELS]! += this.channels[at]!;
	}

	private sizeOf(ns: number, other: number): number {
		return ns * this.worth[0] + other * this.worth[1];
	}

	private expand(node: number, at: number): void {
		const { data } = this.pieces, [times, from, low, high] = [data[at + 1]!, data[at + 2]!, data[at + 3]!, data[at + 4]!], one = this.times[times]!;
		if (from === ROOT && one.group >= 0 && node === 0) this.found.add(this.labelOf(one, one.group), times, ROOT, low, high);
		else if (this.inverted) this.expandChain(node, times, from, low, high);
		else if (from === ROOT && one.focus) this.expandFocus(times, one, one.focus);
		else this.expandTree(node, times, from === ROOT ? 0 : from, low, high);
	}

	private labelOf(one: Times, label: number): number {
		return one.labelOf ? one.labelOf[label]! : label;
	}

	private nodeLabel(one: Times, node: number): number {
		return this.labelOf(one, one.side.base.frameLabel[one.side.r.nodeFrame[node]!]!);
	}

	private addSelf(node: number, one: Times, low: number, high: number): void {
		if (one.isOther) return;
		this.self[node]! += one.sums[high]! - one.sums[low]!;
		this.addChannels(node, one, low, high);
	}

	/** Adds what no child of a node has to its times by channel: each combination once in the picture. */
	private addChannels(node: number, one: Times, low: number, high: number): void {
		const { channels } = this, { sums, combo, side: { r } } = one;
		if (one.isOther) return;
		for (let k = low; k < high; k++) channels[node * CHANNELS + r.kinds[r.combos.kind[combo[k]!]!]!.channel]! += sums[k + 1]! - sums[k]!;
	}

	/** Children of a node of the tree, of what has no stack, or of a kind, which has none. */
	private expandTree(node: number, times: number, from: number, low: number, high: number): void {
		const one = this.times[times]!, { r, base } = one.side, { own, end, start, list } = r.tree, { kind } = r.combos, { combo } = one;
		if (from === KIND) return this.addSelf(node, one, low, high);
		let k = low;
		const last = from === NO_STACK ? high : own[from]!;
		if (from === 0) {
			while (k < high && combo[k]! < last) k++;
			if (k > low) this.found.add(this.labelOf(one, base.noStack), times, NO_STACK, low, k);
		} else
			for (; k < high && (from === NO_STACK || combo[k]! < last); k++) {
				const label = base.kindLabel[kind[combo[k]!]!]!;
				if (label < 0) this.addSelf(node, one, k, k + 1);
				else this.found.add(this.labelOf(one, label), times, KIND, k, k + 1);
			}
		/* Children without time are skipped by halving. */
		for (let child = from < 0 ? 0 : start[from]!, after = from < 0 ? 0 : start[from + 1]!; k < high; child++) {
			const at = combo[k]!;
			if (end[list[child]!]! <= at) {
				let beyond = after;
				while (child < beyond) {
					const middle = (child + beyond) >>> 1;
					if (end[list[middle]!]! <= at) child = middle + 1;
					else beyond = middle;
				}
			}
			const next = list[child]!, until = seek(combo, k, high, end[next]!);
			this.found.add(this.nodeLabel(one, next), times, next, k, until);
			k = until;
		}
	}

	/** All outermost nodes of the function, and waits of that kind elsewhere. */
	private expandFocus(times: number, one: Times, focus: Focus): void {
		const { r, base } = one.side, { tree } = r, { combo, n } = one;
		for (let k = 0, i = 0; k < n;) {
			const at = combo[k]!;
			while (i < focus.outermost.length && tree.end[focus.outermost[i]!]! <= at) i++;
			const node = focus.outermost[i];
			if (node !== undefined && tree.begin[node]! <= at) {
				const until = seek(combo, k, n, tree.end[node]!);
				this.found.add(this.nodeLabel(one, node), times, node, k, until);
				k = until;
			} else {
				this.found.add(this.labelOf(one, base.kindLabel[r.combos.kind[at]!]!), times, KIND, k, k + 1);
				k++;
			}
		}
	}

	/** The next function outwards of one chain; from the root, the innermost of all. */
	private expandChain(node: number, times: number, from: number, low: number, high: number): void {
		const one = this.times[times]!, { r, base } = one.side;
		if (from === 0) this.addSelf(node, one, low, high);
		else if (from === NO_STACK) this.found.add(this.labelOf(one, base.noStack), times, 0, low, high);
		else if (from > 0) this.found.add(this.nodeLabel(one, from), times, r.nodeParent[from]!, low, high);
		else
			for (let k = low; k < high; k++) {
				const at = one.combo[k]!, kind = r.combos.kind[at]!, start = r.combos.node[at]!, label = base.kindLabel[kind]!;
				const nearest = one.focus && !one.focus.kinds[kind] ? one.focus.nearest[start]! : -1;
				if (nearest >= 0) this.found.add(this.nodeLabel(one, nearest), times, r.nodeParent[nearest]!, k, k + 1);
				else if (label >= 0) this.found.add(this.labelOf(one, label), times, start || NO_STACK, k, k + 1);
				else if (start) this.found.add(this.nodeLabel(one, start), times, r.nodeParent[start]!, k, k + 1);
				else this.found.add(this.labelOf(one, base.noStack), times, 0, k, k + 1);
			}
	}

	/** Adds the children that what was found makes: those that are large enough, by time. */
	private addChildren(node: number, limit: number): void {
		const { ns, other, at, found } = this, { data } = found, labels: number[] = [];
		for (let i = 0; i < found.n * 5; i += 5) {
			const label = data[i]!, one = this.times[data[i + 1]!]!, part = one.sums[data[i + 4]!]! - one.sums[data[i + 3]!]!;
			if (!at[label]!++) {
				labels.push(label);
				ns[label] = other[label] = 0;
			}
			(one.isOther ? other : ns)[label]! += part;
		}
		const size = (label: number): number => this.sizeOf(ns[label]!, other[label]!);
		const kept = labels.filter((label) => size(label) >= limit).sort((a, b) => size(b) - size(a) || a - b);
		let start = this.start[node]!, piece = this.pieces.n;
		for (const label of labels) if (size(label) < limit) at[label] = -1;
		for (const label of kept) {
			this.parent.push(node);
			this.label.push(label);
			this.depth.push(this.depth[node]! + 1);
			this.start.push(start);
			this.size.push(size(label));
			this.total.push(ns[label]!);
			this.compared.push(other[label]!);
			this.self.push(0);
			this.first.push(piece);
			start += size(label);
			piece += at[label]!;
			at[label] = piece - at[label]!;
		}
		this.place(node, piece);
		for (const label of labels) at[label] = 0;
	}

	/** Puts pieces of children, up to number `end`, where `at` says that those with their label go, if anywhere. */
	private place(node: number, end: number): void {
		const { at, found, pieces } = this, { data } = found;
		while (pieces.data.length < end * 5) {
			const grown = new Int32Array(pieces.data.length * 2);
			grown.set(pieces.data);
			pieces.data = grown;
		}
		for (let i = 0; i < found.n * 5; i += 5) {
			const to = at[data[i]!]! * 5;
			if (to < 0) {
				this.addChannels(node, this.times[data[i + 1]!]!, data[i + 3]!, data[i + 4]!);
				continue;
			}
			at[data[i]!]!++;
			for (let k = 0; k < 5; k++) pieces.data[to + k] = data[i + k]!;
		}
		pieces.n = end;
	}
}

function draw(times: readonly Times[], labels: Labels, options: FlameOptions): Flame {
	const picture = new Picture(times, labels.texts.length, options.inverted, options.least), n = picture.parent.length;
	const used = new Map<number, number>(), texts: string[] = [], places: string[] = [], names: string[] = [];
	const label = new Uint32Array(n), type = new Uint8Array(n), channels = picture.channels.slice(0, n * CHANNELS);
	for (let i = 0; i < n; i++) {
		const number = picture.label[i]!;
		let short = used.get(number);
		if (short === undefined) {
			used.set(number, short = texts.length);
			texts.push(i ? labels.texts[number]! : 'all');
			places.push(i ? labels.places[number]! : '');
			names.push(i ? labels.names[number]! : '');
		}
		label[i] = short;
		type[i] = i ? labels.types[number]! : TYPE_THREAD;
	}
	return {
		total: picture.total[0]!, compared: picture.compared[0]!, labels: texts, places, names, label, type, channels,
		depth: picture.depth.reduce((most, depth) => Math.max(most, depth), 0), parent: Int32Array.from(picture.parent),
		start: Float64Array.from(picture.start), size: Float64Array.from(picture.size), self: Float64Array.from(picture.self), ns: Float64Array.from(picture.total), other: Float64Array.from(picture.compared),
	};
}

export function flame(r: Recording, base: FlameBase, range: Range, options: FlameOptions): Flame {
	return draw(sideTimes({ r, base, range }, false, options), base.labels, options);
}

/** A selection beside another, of the same recording or of another one: functions are the same by name. */
export function flameDifference(one: Side, other: Side, options: FlameOptions): Flame {
	const times = [...sideTimes(one, false, options), ...sideTimes(other, true, options)];
	if (one.base === other.base) return draw(times, one.base.labels, options);
	/* Threads of different recordings are the same by their names. */
	const labels = new Labels(), maps = [one, other].map(({ base: { labels: { texts, places, types, names } } }) =>
		Int32Array.from(texts, (text, i) => types[i] === TYPE_THREAD ? labels.id(text.replace(/\/\d+$/, ''), '', TYPE_THREAD) : labels.id(text, places[i]!, types[i]!, names[i]!)));
	return draw(times.map((each) => ({ ...each, labelOf: maps[Number(each.isOther)]! })), labels, options);
}

/** Time of all chains in the selection in which a function's name contains `text`, whatever its case. */
export function search(r: Recording, base: FlameBase, range: Range, text: string, focus: string | null = null): { ns: number; total: number } {
	const found = matching(r, base, text), weights = weighAgain(r, range), inFocus = focus === null ? null : focusOn(r, base, focus);
	let ns = 0, total = 0;
	weights.forEach((weight, combo) => {
		if (inFocus && !isInFocus(r, inFocus, combo)) return;
		total += weight;
		if (found[combo]) ns += weight;
	});
	return { ns, total };
}
