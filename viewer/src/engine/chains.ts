// Call chains of a recording: what the nodes of their tree are called, and where functions are in it.
import { CHANNEL_IDLE, type Recording } from './recording.js';

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

/** What does not change with the selection. */
export interface FlameBase {
	labels: Labels;
	/** By frame, and by kind; running, which needs none, has -1. */
	frameLabel: Int32Array;
	kindLabel: Int32Array;
	/** Of what has no stack. */
	noStack: number;
	focus: Focus | null;
}

/** Where a function is in the tree. */
export interface Focus {
	name: string;
	kinds: Uint8Array;
	/** By node: the innermost one of the function from it outwards; -1: none. */
	nearest: Int32Array;
	/** Outermost nodes of the function, in the order of combinations. */
	outermost: Int32Array;
}

/** `lines`: functions apart by source line. */
export function flameBase(r: Recording, lines: boolean): FlameBase {
	const labels = new Labels(), { name, file, line, dso, flags } = r.frames;
	const frameLabel = Int32Array.from(name, (_, i) => {
		const bits = flags[i]!, text = i ? r.strings[name[i]!]! : '[no stack]', source = r.strings[file[i]!]!;
		const type = bits & 2 ? TYPE_INLINED : bits & 1 ? TYPE_KERNEL : TYPE_FUNCTION;
		const place = r.strings[dso[i]!]!, shown = bits & 4 ? `${place || 'unknown'} ${text}` : text;
		if (lines && source) return labels.id(`${shown} ${source.replace(/^.*\//, '')}:${line[i]!}`, source, type, shown);
		return labels.id(shown, place, type);
	});
	const kindLabel = Int32Array.from(r.kinds, (kind) =>
		kind.class ? labels.id(kind.channel === CHANNEL_IDLE ? `${kind.name} (for work)` : kind.name, '', TYPE_KIND) : -1);
	return { labels, frameLabel, kindLabel, noStack: labels.id('[no stack]', '', TYPE_FUNCTION), focus: null };
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
	const outermost = Int32Array.from(found.sort((a, b) => r.tree.begin[a]! - r.tree.begin[b]! || a - b));
	const kinds = Uint8Array.from(base.kindLabel, (label) => Number(label >= 0 && names[label] === name));
	return base.focus = { name, kinds, nearest, outermost };
}

/** Whether a combination has the function in its chain, or is of that kind. */
export function isInFocus(r: Recording, focus: Focus, combo: number): boolean {
	return focus.nearest[r.combos.node[combo]!]! >= 0 || focus.kinds[r.combos.kind[combo]!] === 1;
}

/** By combination: 1 if the name of a function in the chain, or of the kind, contains `text`, whatever its case. */
export function matching(r: Recording, base: FlameBase, text: string): Uint8Array {
	const wanted = text.toLowerCase(), hit = base.labels.texts.map((label) => label.toLowerCase().includes(wanted));
	const frames = Uint8Array.from(base.frameLabel, (label) => Number(hit[label])), parent = r.nodeParent, n = parent.length;
	const kinds = Uint8Array.from(base.kindLabel, (label) => Number(label >= 0 && hit[label]));
	const nodes = new Uint8Array(n);
	for (let node = 1; node < n; node++) nodes[node] = nodes[parent[node]!]! | frames[r.nodeFrame[node]!]!;
	return Uint8Array.from(r.combos.node, (node, combo) =>
		nodes[node]! | kinds[r.combos.kind[combo]!]! | (node === 0 ? Number(hit[base.noStack]) : 0));
}
