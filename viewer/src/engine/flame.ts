// Flame graphs: time by call chain, from the outermost function in, or from the innermost out.
import { CHANNELS, type Recording } from './recording.js';
import { addThread, threadsOf, type Range } from './selection.js';
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
	parent = new Int32Array(1 << 12);
	label = new Uint32Array(1 << 12);
	n = 1;
	private slots = new Int32Array(1 << 13);

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
		return (Math.imul(parent, 0x9e3779b1) ^ Math.imul(label + 1, 0x85ebca6b)) >>> 5 & (this.slots.length - 1);
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
	const labels = new Labels(), tree = new Tree();
	const frameLabel = frameLabels(r, labels, lines), kindLabel = kindLabels(r, labels);
	const nodes = new Int32Array(r.nodeParent.length);
	for (let i = 1; i < nodes.length; i++) nodes[i] = tree.child(nodes[r.nodeParent[i]!]!, frameLabel[r.nodeFrame[i]!]!);
	const unknown = tree.child(0, labels.id('[no stack]', '', TYPE_FUNCTION));
	const comboNode = Int32Array.from(r.combos.stack, (stack, i) => {
		const node = nodes[r.stackNode[stack]!] || unknown, kind = r.combos.kind[i]!;
		return r.kinds[kind]!.class ? tree.child(node, kindLabel[kind]!) : node;
	});
	return { labels, frameLabel, kindLabel, tree, comboNode };
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

/** What a selection adds to a tree: time of a node, by channel. */
class Weights {
	private nodes = new Int32Array(1 << 12);
	private channels = new Uint8Array(1 << 12);
	private times = new Float64Array(1 << 12);
	n = 0;
	total = 0;

	add(node: number, channel: number, ns: number): void {
		if (this.n === this.nodes.length) {
			const more = this.n * 2, nodes = new Int32Array(more), channels = new Uint8Array(more), times = new Float64Array(more);
			nodes.set(this.nodes);
			channels.set(this.channels);
			times.set(this.times);
			[this.nodes, this.channels, this.times] = [nodes, channels, times];
		}
		this.nodes[this.n] = node;
		this.channels[this.n] = channel;
		this.times[this.n++] = ns;
		this.total += ns;
	}

	/** Time of each node of a tree with all below it. A parent's number is below those of its children. */
	totals(tree: Tree, to: Float64Array): Float64Array {
		to.fill(0, 0, tree.n);
		for (let i = 0; i < this.n; i++) to[this.nodes[i]!]! += this.times[i]!;
		for (let node = tree.n - 1; node > 0; node--) to[tree.parent[node]!]! += to[node]!;
		return to;
	}

	/** Adds what is in or below nodes in the picture: `place` has the closest one of each node. */
	addTo(place: Int32Array, order: Int32Array, self: Float64Array, channels: Float64Array): void {
		for (let i = 0; i < this.n; i++) {
			const node = this.nodes[i]!, at = place[node]!, ns = this.times[i]!;
			channels[at * CHANNELS + this.channels[i]!]! += ns;
			if (order[at] === node) self[at]! += ns;
		}
	}
}

/** Adds a selection to a tree. */
function addSelection(r: Recording, base: FlameBase, tree: Tree, labels: Labels, range: Range, options: FlameOptions): Weights {
	const weights = new Weights(), fast = tree === base.tree;
	eachGroup(r, labels, range, options.by, (group, times) => {
		const root = group < 0 ? 0 : tree.child(0, group);
		for (let combo = 0; combo < times.length; combo++) {
			const ns = times[combo]!;
			if (!ns) continue;
			let node = base.comboNode[combo]!;
			if (!fast) {
				const wanted = shownChain(labels, chain(base, combo), options);
				if (!wanted) continue;
				node = root;
				for (const label of wanted) node = tree.child(node, label);
			}
			weights.add(node, r.kinds[r.combos.kind[combo]!]!.channel, ns);
		}
	});
	return weights;
}

/** Memory that is used again for each picture of large trees. */
class Scratch {
	private buffers: Float64Array[] = [];
	private numbers = new Int32Array(0);
	floats(i: number, n: number): Float64Array {
		const buffer = this.buffers[i];
		return buffer && buffer.length >= n ? buffer : this.buffers[i] = new Float64Array(n);
	}
	integers(n: number): Int32Array {
		if (this.numbers.length < n) this.numbers = new Int32Array(n);
		return this.numbers;
	}
}

const scratch = new Scratch();

/** Nodes of at least `limit`, parents first and siblings by time, and where each begins. */
function visibleNodes(tree: Tree, all: Float64Array, other: Float64Array | null, limit: number) {
	const size = (node: number): number => other ? Math.max(all[node]!, other[node]!) : all[node]!;
	const children = new Map<number, number[]>();
	for (let node = 1; node < tree.n; node++) {
		const ns = size(node);
		if (ns <= 0 || ns < limit) continue;
		const parent = tree.parent[node]!, list = children.get(parent);
		if (list) list.push(node);
		else children.set(parent, [node]);
	}
	const order: number[] = [0], start: number[] = [0], depths: number[] = [0];
	let depth = 0;
	for (let i = 0; i < order.length; i++) {
		const below = children.get(order[i]!);
		if (!below) continue;
		below.sort((a, b) => size(b) - size(a) || a - b);
		let at = start[i]!;
		for (const child of below) {
			order.push(child);
			start.push(at);
			depths.push(depths[i]! + 1);
			at += size(child);
		}
		depth = Math.max(depth, depths[i]! + 1);
	}
	return { order: Int32Array.from(order), start: Float64Array.from(start), depth };
}

/** The part of the tree that can be seen, laid out. */
function layOut(tree: Tree, labels: Labels, weights: Weights, other: Weights | null, least: number): Flame {
	const all = weights.totals(tree, scratch.floats(0, tree.n)), against = other ? other.totals(tree, scratch.floats(1, tree.n)) : null;
	const { order, start, depth } = visibleNodes(tree, all, against, least * Math.max(weights.total, other?.total ?? 0));
	const n = order.length, place = scratch.integers(tree.n);
	place.fill(-1, 0, tree.n);
	for (let i = 0; i < n; i++) place[order[i]!] = i;
	const parent = Int32Array.from(order, (node, i) => i ? place[tree.parent[node]!]! : -1);
	for (let node = 1; node < tree.n; node++) if (place[node]! < 0) place[node] = place[tree.parent[node]!]!;
	const self = new Float64Array(n), channels = new Float64Array(n * CHANNELS);
	weights.addTo(place, order, self, channels);
	for (let i = n - 1; i > 0; i--)
		for (let c = 0; c < CHANNELS; c++) channels[parent[i]! * CHANNELS + c]! += channels[i * CHANNELS + c]!;
	const used = new Map<number, number>(), texts: string[] = [], places: string[] = [];
	const label = new Uint32Array(n), type = new Uint8Array(n);
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
	}
	return {
		total: weights.total, compared: other?.total ?? 0, labels: texts, places, label, type, channels, depth, parent, start, self,
		ns: Float64Array.from(order, (node) => all[node]!), other: Float64Array.from(order, (node) => against ? against[node]! : 0),
	};
}

export function flame(r: Recording, base: FlameBase, range: Range, options: FlameOptions): Flame {
	const plain = options.by === 'none' && !options.inverted && options.focus === null;
	const tree = plain ? base.tree : new Tree();
	return layOut(tree, base.labels, addSelection(r, base, tree, base.labels, range, options), null, options.least);
}

/** A selection beside another, of the same recording or of another one: functions are the same by name. */
export function flameDifference(
	one: { r: Recording; base: FlameBase; range: Range }, other: { r: Recording; base: FlameBase; range: Range }, options: FlameOptions,
): Flame {
	const tree = new Tree(), labels = new Labels(), sides = [one, other].map(({ r, base, range }) => {
		const weights = new Weights();
		eachGroup(r, base.labels, range, options.by, (group, times) => {
			const root = group < 0 ? 0 : tree.child(0, labels.id(base.labels.texts[group]!.replace(/\/\d+$/, ''), '', TYPE_THREAD));
			for (let combo = 0; combo < times.length; combo++) {
				if (!times[combo]) continue;
				const wanted = shownChain(base.labels, chain(base, combo), options);
				if (!wanted) continue;
				let node = root;
				for (const label of wanted)
					node = tree.child(node, labels.id(base.labels.texts[label]!, base.labels.places[label]!, base.labels.types[label]!));
				weights.add(node, r.kinds[r.combos.kind[combo]!]!.channel, times[combo]!);
			}
		});
		return weights;
	});
	return layOut(tree, labels, sides[0]!, sides[1]!, options.least);
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
