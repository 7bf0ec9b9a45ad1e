// Call chains of a recording: the tree of callers, and what its nodes are called.
import { type Recording } from './recording.js';

export const TYPE_FUNCTION = 0, TYPE_KERNEL = 1, TYPE_INLINED = 2, TYPE_KIND = 3, TYPE_THREAD = 4;

/** Numbers of texts, each once. */
export class Labels {
	readonly texts: string[] = [];
	readonly places: string[] = [];
	readonly types: number[] = [];
	/** The function alone, without its line. */
	readonly names: string[] = [];
	private readonly numbers = new Map<string, number>();

	id(text: string, place: string, type: number, name = text): number {
		const key = `${type}\0${text}\0${place}`;
		let number = this.numbers.get(key);
		if (number === undefined) {
			number = this.texts.length;
			this.numbers.set(key, number);
			this.texts.push(text);
			this.places.push(place);
			this.types.push(type);
			this.names.push(name);
		}
		return number;
	}
}

/**
 * The tree of chains. Combinations have places, so that those in and below a node are next to each other: its
 * own at places begin to own - 1, those of its children in the order of `list` at own to end - 1.
 */
export interface ChainTree {
	begin: Int32Array;
	own: Int32Array;
	end: Int32Array;
	/** Children of node i: list[start[i]] to list[start[i + 1] - 1]. */
	start: Int32Array;
	list: Int32Array;
	/** By place: the combination, its node and its kind. */
	combo: Int32Array;
	node: Int32Array;
	kind: Uint16Array;
	/** By combination. */
	place: Int32Array;
}

/** Node i's caller has a lower number than i. */
function chainTree(r: Recording): ChainTree {
	const parent = r.nodeParent, n = parent.length, combos = r.combos.n;
	const begin = new Int32Array(n), own = new Int32Array(n), end = new Int32Array(n), start = new Int32Array(n + 1), list = new Int32Array(n);
	/* First how many there are: `own` at a node, `end` in and below it. */
	for (let i = 0; i < combos; i++) own[r.stackNode[r.combos.stack[i]!]!]!++;
	for (let node = n - 1; node > 0; node--) {
		end[node]! += own[node]!;
		end[parent[node]!]! += end[node]!;
		start[parent[node]! + 1]!++;
	}
	end[0]! += own[0]!;
	for (let node = 0; node < n; node++) start[node + 1]! += start[node]!;
	/* Then where: a node's children follow its own, one after the other. */
	const nextPlace = new Int32Array(n), nextChild = start.slice();
	nextPlace[0] = own[0]!;
	for (let node = 1; node < n; node++) {
		const above = parent[node]!, at = nextPlace[above]!;
		list[nextChild[above]!++] = node;
		nextPlace[above] = at + end[node]!;
		begin[node] = at;
		end[node]! += at;
		own[node]! += at;
		nextPlace[node] = own[node]!;
	}
	const next = begin.slice(), combo = new Int32Array(combos), nodes = new Int32Array(combos), kind = new Uint16Array(combos), place = new Int32Array(combos);
	for (let i = 0; i < combos; i++) {
		const node = r.stackNode[r.combos.stack[i]!]!, at = next[node]!++;
		combo[at] = i;
		nodes[at] = node;
		kind[at] = r.combos.kind[i]!;
		place[i] = at;
	}
	return { begin, own, end, start, list, combo, node: nodes, kind, place };
}

const trees = new WeakMap<Recording, ChainTree>();

/** What does not change with the selection. */
export interface FlameBase {
	labels: Labels;
	/** By frame, and by kind; running, which needs none, has -1. */
	frameLabel: Int32Array;
	kindLabel: Int32Array;
	/** Of what has no stack. */
	noStack: number;
	tree: ChainTree;
	focus: Focus | null;
}

/** Where a function is in the tree. */
export interface Focus {
	name: string;
	kinds: Uint8Array;
	/** By node: the innermost one of the function from it outwards; -1: none. */
	nearest: Int32Array;
	/** Outermost nodes of the function, in the order of places. */
	outermost: Int32Array;
}

/** `lines`: functions apart by source line. */
export function flameBase(r: Recording, lines: boolean): FlameBase {
	const labels = new Labels(), { name, file, line, dso, flags } = r.frames;
	let tree = trees.get(r);
	if (!tree) trees.set(r, tree = chainTree(r));
	const frameLabel = Int32Array.from(name, (_, i) => {
		const bits = flags[i]!, text = i ? r.strings[name[i]!]! : '[no stack]', source = r.strings[file[i]!]!;
		const type = bits & 2 ? TYPE_INLINED : bits & 1 ? TYPE_KERNEL : TYPE_FUNCTION;
		const place = r.strings[dso[i]!]!, shown = bits & 4 ? `${place || 'unknown'} ${text}` : text;
		if (lines && source) return labels.id(`${shown} ${source.replace(/^.*\//, '')}:${line[i]!}`, source, type, shown);
		return labels.id(shown, place, type);
	});
	const kindLabel = Int32Array.from(r.kinds, (kind) =>
		kind.class ? labels.id(kind.channel === 5 ? `${kind.name} (for work)` : kind.name, '', TYPE_KIND) : -1);
	return { labels, frameLabel, kindLabel, noStack: labels.id('[no stack]', '', TYPE_FUNCTION), tree, focus: null };
}

/** Nodes of the functions, and the kinds of waits, with a name. */
export function focusOn(r: Recording, base: FlameBase, name: string): Focus {
	if (base.focus?.name === name) return base.focus;
	const { names } = base.labels, parent = r.nodeParent, n = parent.length, nearest = new Int32Array(n).fill(-1), found: number[] = [];
	const frames = Uint8Array.from(base.frameLabel, (label) => Number(names[label] === name));
	for (let node = 1; node < n; node++) {
		const above = nearest[parent[node]!]!;
		if (!frames[r.nodeFrame[node]!]) nearest[node] = above;
		else {
			nearest[node] = node;
			if (above < 0) found.push(node);
		}
	}
	const outermost = Int32Array.from(found.sort((a, b) => base.tree.begin[a]! - base.tree.begin[b]! || a - b));
	const kinds = Uint8Array.from(base.kindLabel, (label) => Number(label >= 0 && names[label] === name));
	return base.focus = { name, kinds, nearest, outermost };
}

/** Whether the combination at a place has the function in its chain, or is of that kind. */
export function isInFocus(tree: ChainTree, focus: Focus, place: number): boolean {
	return focus.nearest[tree.node[place]!]! >= 0 || focus.kinds[tree.kind[place]!] === 1;
}

/** By place: 1 if the name of a function in the chain, or of the kind, contains `text`, whatever its case. */
export function matching(r: Recording, base: FlameBase, text: string): Uint8Array {
	const wanted = text.toLowerCase(), hit = base.labels.texts.map((label) => label.toLowerCase().includes(wanted));
	const frames = Uint8Array.from(base.frameLabel, (label) => Number(hit[label])), parent = r.nodeParent, n = parent.length;
	const kinds = Uint8Array.from(base.kindLabel, (label) => Number(label >= 0 && hit[label]));
	const nodes = new Uint8Array(n);
	nodes[0] = 0;
	for (let node = 1; node < n; node++) nodes[node] = nodes[parent[node]!]! | frames[r.nodeFrame[node]!]!;
	return Uint8Array.from(base.tree.node, (node, place) =>
		nodes[node]! | kinds[base.tree.kind[place]!]! | (node === 0 ? Number(hit[base.noStack]) : 0));
}
