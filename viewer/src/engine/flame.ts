// Flame graphs: time by call chain, from the outermost function in, or from the innermost out.
import { CHANNELS, type Recording } from './recording.js';
import { addThread, threadsOf, weigh, type Range } from './selection.js';
import { threadName } from './recording.js';

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
	/** Details of each label: file and line, or the file of the code. */
	places: string[];
	parent: Int32Array;
	label: Uint32Array;
	/** 0: a function, 1: of the kernel, 2: inlined, 3: a kind of wait, 4: a thread or process. */
	type: Uint8Array;
	/** Where it begins, from 0 to total. */
	start: Float64Array;
	ns: Float64Array;
	self: Float64Array;
	/** Time in what it is compared with. */
	other: Float64Array;
	/** ns by channel. */
	channels: Float64Array;
	depth: number;
}

export const TYPE_FUNCTION = 0, TYPE_KERNEL = 1, TYPE_INLINED = 2, TYPE_KIND = 3, TYPE_THREAD = 4;

/** Numbers of texts, each once. */
class Labels {
	readonly texts: string[] = [];
	readonly places: string[] = [];
	readonly types: number[] = [];
	private readonly numbers = new Map<string, number>();

	id(text: string, place: string, type: number): number {
		const key = `${type}\0${text}\0${place}`;
		let number = this.numbers.get(key);
		if (number === undefined) {
			number = this.texts.length;
			this.numbers.set(key, number);
			this.texts.push(text);
			this.places.push(place);
			this.types.push(type);
		}
		return number;
	}
}

/** A tree of labels: children by parent and label. Node 0 is the root. */
class Tree {
	parent: Int32Array;
	label: Uint32Array;
	n = 1;
	private slots: Int32Array;

	/** With room for `nodes`; it grows beyond them. */
	constructor(nodes = 1 << 11) {
		const size = 1 << Math.ceil(Math.log2(nodes * 2 + 2));
		this.parent = new Int32Array(size / 2);
		this.label = new Uint32Array(size / 2);
		this.slots = new Int32Array(size);
	}

	child(parent: number, label: number): number {
		let slot = this.slot(parent, label);
		const mask = this.slots.length - 1;
		for (let found = this.slots[slot]!; found; found = this.slots[slot = (slot + 1) & mask]!)
			if (this.parent[found] === parent && this.label[found] === label) return found;
		if (this.n * 2 > mask) {
			this.grow();
			return this.child(parent, label);
		}
		this.slots[slot] = this.n;
		this.parent[this.n] = parent;
		this.label[this.n] = label;
		return this.n++;
	}

	private slot(parent: number, label: number): number {
		const mixed = Math.imul(Math.imul(parent, 0x9e3779b1) ^ label, 0x85ebca6b);
		return (mixed ^ mixed >>> 15) & (this.slots.length - 1);
	}

	private grow(): void {
		const parent = new Int32Array(this.slots.length), label = new Uint32Array(this.slots.length);
		parent.set(this.parent.subarray(0, this.n));
		label.set(this.label.subarray(0, this.n));
		this.parent = parent;
		this.label = label;
		this.slots = new Int32Array(this.slots.length * 2);
		const mask = this.slots.length - 1;
		for (let i = 1; i < this.n; i++) {
			let slot = this.slot(parent[i]!, label[i]!);
			while (this.slots[slot]) slot = (slot + 1) & mask;
			this.slots[slot] = i;
		}
	}
}

/** What does not change with the selection: labels of functions, and the tree of all chains. */
export interface FlameBase {
	labels: Labels;
	/** By frame. */
	frameLabel: Uint32Array;
	kindLabel: Uint32Array;
	tree: Tree;
	/** By combination: its node in the tree, which has only functions and kinds. */
	comboNode: Int32Array;
	order: Order;
}

/** Children of all nodes of a tree: those of node i are list[start[i]] to list[start[i + 1] - 1]. */
interface Children { start: Int32Array; list: Int32Array }

/**
 * Combinations in the order of a walk through the tree that visits callers first: what is in and below a node
 * is one piece of them, so that its time is a difference of two sums.
 */
interface Order {
	children: Children;
	combos: Int32Array;
	/** By node: where its own combinations begin and end, and those of all below it. */
	begin: Int32Array;
	own: Int32Array;
	end: Int32Array;
}

function childrenOf(tree: Tree): Children {
	const start = new Int32Array(tree.n + 1), list = new Int32Array(tree.n);
	for (let node = 1; node < tree.n; node++) start[tree.parent[node]! + 1]!++;
	for (let node = 0; node < tree.n; node++) start[node + 1]! += start[node]!;
	const next = start.slice();
	for (let node = 1; node < tree.n; node++) list[next[tree.parent[node]!]!++] = node;
	return { start, list };
}

function orderOf(tree: Tree, comboNode: Int32Array): Order {
	const children = childrenOf(tree), { start, list } = children, n = tree.n;
	/* The combinations of each node, as a list through `next`. */
	const first = new Int32Array(n).fill(-1), next = new Int32Array(comboNode.length);
	for (let combo = comboNode.length - 1; combo >= 0; combo--) {
		next[combo] = first[comboNode[combo]!]!;
		first[comboNode[combo]!] = combo;
	}
	const combos = new Int32Array(comboNode.length), begin = new Int32Array(n), own = new Int32Array(n), end = new Int32Array(n);
	const stack = new Int32Array(n + 1), child = new Int32Array(n);
	let depth = 0, count = 0;
	const enter = (node: number): void => {
		begin[node] = count;
		for (let combo = first[node]!; combo >= 0; combo = next[combo]!) combos[count++] = combo;
		own[node] = count;
		child[node] = start[node]!;
		stack[depth++] = node;
	};
	enter(0);
	while (depth) {
		const node = stack[depth - 1]!;
		if (child[node]! < start[node + 1]!) enter(list[child[node]!++]!);
		else {
			end[node] = count;
			depth--;
		}
	}
	return { children, combos, begin, own, end };
}

function frameLabels(r: Recording, labels: Labels, lines: boolean): Uint32Array {
	const { name, file, line, dso, flags } = r.frames;
	return Uint32Array.from(name, (_, i) => {
		const bits = flags[i]!, text = i ? r.strings[name[i]!]! : '[no stack]', source = r.strings[file[i]!]!;
		const type = bits & 2 ? TYPE_INLINED : bits & 1 ? TYPE_KERNEL : TYPE_FUNCTION;
		const base = r.strings[dso[i]!]!;
		const shown = bits & 4 ? `${base || 'unknown'} ${text}` : text;
		if (lines && source) return labels.id(`${shown} ${source.replace(/^.*\//, '')}:${line[i]!}`, source, type);
		return labels.id(shown, base, type);
	});
}

/** The label of the last level: what it was that took the time. Running needs none. */
function kindLabels(r: Recording, labels: Labels): Uint32Array {
	return Uint32Array.from(r.kinds, (kind) => labels.id(kind.channel === 5 ? `${kind.name} (for work)` : kind.name, '', TYPE_KIND));
}

export function flameBase(r: Recording, lines: boolean): FlameBase {
	const labels = new Labels(), tree = new Tree(r.nodeParent.length + r.combos.n);
	const frameLabel = frameLabels(r, labels, lines), kindLabel = kindLabels(r, labels);
	const nodes = new Int32Array(r.nodeParent.length);
	for (let i = 1; i < nodes.length; i++) nodes[i] = tree.child(nodes[r.nodeParent[i]!]!, frameLabel[r.nodeFrame[i]!]!);
	const unknown = tree.child(0, labels.id('[no stack]', '', TYPE_FUNCTION));
	const comboNode = Int32Array.from(r.combos.stack, (stack, i) => {
		const node = nodes[r.stackNode[stack]!] || unknown, kind = r.combos.kind[i]!;
		return r.kinds[kind]!.class ? tree.child(node, kindLabel[kind]!) : node;
	});
	return { labels, frameLabel, kindLabel, tree, comboNode, order: orderOf(tree, comboNode) };
}

/** The label of a thread or process, and what sorts it with others. */
function groupLabel(r: Recording, labels: Labels, thread: number, range: Range, by: 'process' | 'thread'): number {
	const info = r.info.threads[thread]!, process = r.info.processes[info.process]!;
	if (by === 'process') return labels.id(`${process.name || 'process'}/${process.pid}`, '', TYPE_THREAD);
	return labels.id(`${threadName(r.info, thread, range.until) || 'thread'}/${info.tid}`, `${process.name}/${process.pid}`, TYPE_THREAD);
}

/** Calls `each` with each group of threads that has time: its label (-1: none), and times by combination. */
function eachGroup(r: Recording, labels: Labels, range: Range, by: FlameOptions['by'], each: (label: number, weights: Float64Array) => void): void {
	const threads = threadsOf(r, range), weights = new Float64Array(r.combos.n);
	if (by === 'none') {
		for (const thread of threads) addThread(r, thread, range, weights);
		each(-1, weights);
		return;
	}
	const groups = new Map<number, number[]>();
	for (const thread of threads) {
		const label = groupLabel(r, labels, thread, range, by);
		groups.set(label, [...groups.get(label) ?? [], thread]);
	}
	for (const [label, members] of groups) {
		weights.fill(0);
		for (const thread of members) addThread(r, thread, range, weights);
		each(label, weights);
	}
}

/** The labels of a combination's chain, innermost first. */
function chain(base: FlameBase, combo: number): number[] {
	const labels: number[] = [];
	for (let node = base.comboNode[combo]!; node; node = base.tree.parent[node]!) labels.push(base.tree.label[node]!);
	return labels;
}

/** The chain as `options` want it, outermost level first; null: it is not in the picture. */
function shownChain(labels: Labels, all: number[], options: FlameOptions): number[] | null {
	const focus = options.focus;
	if (focus === null) return options.inverted ? all : all.reverse();
	const matches = (label: number): boolean => labels.texts[label] === focus;
	if (options.inverted) {
		const first = all.findIndex(matches);
		return first < 0 ? null : all.slice(first);
	}
	const last = all.findLastIndex(matches);
	return last < 0 ? null : all.slice(0, last + 1).reverse();
}

/** Times of the nodes of a tree. */
interface NodeTimes {
	total(node: number): number;
	self(node: number): number;
	channel(node: number, c: number): number;
}

/** Times of the tree of all chains, from times by combination. */
function orderedTimes(r: Recording, { begin, own, end, combos }: Order, weights: Float64Array): NodeTimes {
	const n = combos.length, sums = new Float64Array(n + 1), kinds = r.combos.kind;
	for (let i = 0; i < n; i++) sums[i + 1] = sums[i]! + weights[combos[i]!]!;
	/* Of a channel when it is asked for: those in the picture are few. */
	const byChannel: (Float64Array | null)[] = [null, null, null, null, null, null];
	const channelSums = (c: number): Float64Array => {
		const made = new Float64Array(n + 1);
		for (let i = 0; i < n; i++) {
			const combo = combos[i]!;
			made[i + 1] = made[i]! + (r.kinds[kinds[combo]!]!.channel === c ? weights[combo]! : 0);
		}
		return byChannel[c] = made;
	};
	return {
		total: (node) => sums[end[node]!]! - sums[begin[node]!]!,
		self: (node) => sums[own[node]!]! - sums[begin[node]!]!,
		channel: (node, c) => {
			const found = byChannel[c] ?? channelSums(c);
			return found[end[node]!]! - found[begin[node]!]!;
		},
	};
}

/** Times of a tree that is made for one picture. */
class GrownTimes implements NodeTimes {
	private selves = new Float64Array(1 << 10);
	private channels = new Float64Array(CHANNELS << 10);
	private sums = new Float64Array(0);

	add(node: number, channel: number, ns: number): void {
		if (node >= this.selves.length) this.grow(node + 1);
		this.selves[node]! += ns;
		this.channels[node * CHANNELS + channel]! += ns;
	}

	private grow(nodes: number): void {
		const selves = new Float64Array(nodes * 2), channels = new Float64Array(nodes * 2 * CHANNELS);
		selves.set(this.selves);
		channels.set(this.channels);
		[this.selves, this.channels] = [selves, channels];
	}

	/** Adds times to those of callers: a caller's number is below those of what it calls. */
	finish(tree: Tree): this {
		if (tree.n > this.selves.length) this.grow(tree.n);
		this.sums = this.selves.slice();
		for (let node = tree.n - 1; node > 0; node--) {
			const parent = tree.parent[node]!;
			this.sums[parent]! += this.sums[node]!;
			for (let c = 0; c < CHANNELS; c++) this.channels[parent * CHANNELS + c]! += this.channels[node * CHANNELS + c]!;
		}
		return this;
	}

	total(node: number): number { return this.sums[node]!; }
	self(node: number): number { return this.selves[node]!; }
	channel(node: number, c: number): number { return this.channels[node * CHANNELS + c]!; }
}

/** Adds a selection to a tree: its nodes have `labels`, of which `labelOf` knows those of the recording. */
function addSelection(
	r: Recording, base: FlameBase, tree: Tree, range: Range, options: FlameOptions, labelOf: (label: number) => number,
): GrownTimes {
	const times = new GrownTimes();
	eachGroup(r, base.labels, range, options.by, (group, weights) => {
		const root = group < 0 ? 0 : tree.child(0, labelOf(group));
		for (let combo = 0; combo < weights.length; combo++) {
			if (!weights[combo]) continue;
			const wanted = shownChain(base.labels, chain(base, combo), options);
			if (!wanted) continue;
			let node = root;
			for (const label of wanted) node = tree.child(node, labelOf(label));
			times.add(node, r.kinds[r.combos.kind[combo]!]!.channel, weights[combo]!);
		}
	});
	return times;
}

/** The part of the tree that can be seen, laid out: nodes of a share of the whole, siblings by time. */
function layOut(tree: Tree, { start, list }: Children, labels: Labels, times: NodeTimes, other: NodeTimes | null, least: number): Flame {
	const size = (node: number): number => other ? Math.max(times.total(node), other.total(node)) : times.total(node);
	const limit = least * size(0), order: number[] = [0], begins: number[] = [0], parents: number[] = [-1], depths: number[] = [0];
	for (let i = 0; i < order.length; i++) {
		const node = order[i]!, below: [number, number][] = [];
		for (let k = start[node]!; k < start[node + 1]!; k++) {
			const ns = size(list[k]!);
			if (ns > 0 && ns >= limit) below.push([list[k]!, ns]);
		}
		below.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
		let at = begins[i]!;
		for (const [child, ns] of below) {
			order.push(child);
			begins.push(at);
			parents.push(i);
			depths.push(depths[i]! + 1);
			at += ns;
		}
	}
	const n = order.length, used = new Map<number, number>(), texts: string[] = [], places: string[] = [];
	const label = new Uint32Array(n), type = new Uint8Array(n), channels = new Float64Array(n * CHANNELS);
	for (let i = 0; i < n; i++) {
		const number = i ? tree.label[order[i]!]! : -1;
		let short = used.get(number);
		if (short === undefined) {
			short = texts.length;
			used.set(number, short);
			texts.push(i ? labels.texts[number]! : 'all');
			places.push(i ? labels.places[number]! : '');
		}
		label[i] = short;
		type[i] = i ? labels.types[number]! : TYPE_THREAD;
		for (let c = 0; c < CHANNELS; c++) channels[i * CHANNELS + c] = times.channel(order[i]!, c);
	}
	return {
		total: times.total(0), compared: other?.total(0) ?? 0, labels: texts, places, label, type, channels, depth: depths.reduce((most, depth) => Math.max(most, depth), 0),
		parent: Int32Array.from(parents), start: Float64Array.from(begins), self: Float64Array.from(order, (node) => times.self(node)),
		ns: Float64Array.from(order, (node) => times.total(node)), other: Float64Array.from(order, (node) => other?.total(node) ?? 0),
	};
}

export function flame(r: Recording, base: FlameBase, range: Range, options: FlameOptions): Flame {
	if (options.by === 'none' && !options.inverted && options.focus === null)
		return layOut(base.tree, base.order.children, base.labels, orderedTimes(r, base.order, weigh(r, range)), null, options.least);
	const tree = new Tree(), times = addSelection(r, base, tree, range, options, (label) => label).finish(tree);
	return layOut(tree, childrenOf(tree), base.labels, times, null, options.least);
}

/** A selection beside another, of the same recording or of another one: functions are the same by name. */
export function flameDifference(
	one: { r: Recording; base: FlameBase; range: Range }, other: { r: Recording; base: FlameBase; range: Range }, options: FlameOptions,
): Flame {
	const tree = new Tree(), labels = new Labels(), sides = [one, other].map(({ r, base, range }) => {
		const { texts, places, types } = base.labels;
		/* Threads of different recordings are the same by their names. */
		return addSelection(r, base, tree, range, options, (label) =>
			labels.id(types[label] === TYPE_THREAD ? texts[label]!.replace(/\/\d+$/, '') : texts[label]!, types[label] === TYPE_THREAD ? '' : places[label]!, types[label]!));
	}).map((times) => times.finish(tree));
	return layOut(tree, childrenOf(tree), labels, sides[0]!, sides[1]!, options.least);
}

/** Time of all chains in the selection in which a function's name contains `text`, whatever its case. */
export function search(r: Recording, base: FlameBase, range: Range, text: string): { ns: number; total: number } {
	const wanted = text.toLowerCase(), hit = base.labels.texts.map((label) => label.toLowerCase().includes(wanted));
	const found = new Uint8Array(base.tree.n);
	for (let node = 1; node < base.tree.n; node++)
		found[node] = found[base.tree.parent[node]!]! | Number(hit[base.tree.label[node]!]!);
	let ns = 0, total = 0;
	eachGroup(r, base.labels, range, 'none', (_, weights) => weights.forEach((weight, combo) => {
		total += weight;
		if (found[base.comboNode[combo]!]) ns += weight;
	}));
	return { ns, total };
}
