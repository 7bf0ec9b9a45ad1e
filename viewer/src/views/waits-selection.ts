// The wait-for graph of a part of the time, of some threads, or of some classes. Pure functions.
import { ALL_CLASSES, CLASS_NAMES, CLASSES } from '../ui/app.js';
import type { WaitEdge, WaitsDocument, WaitStack, WaitVertex } from './waits-graph.js';

/** Block `rN.waits.bins`, see docs/page.md. */
export interface WaitBins {
	/** Of the first bin, ns since the recording's start. */
	readonly from: number;
	readonly length: number;
	/** By row. */
	readonly bin: ArrayLike<number>;
	readonly cause: ArrayLike<number>;
	readonly count: ArrayLike<number>;
	readonly plain: ArrayLike<number>;
	readonly weight: ArrayLike<number>;
}

/** The columns of the block; bins there are differences. */
export function waitBins(place: { from_ns: number; length_ns: number }, columns: readonly Float64Array[]): WaitBins {
	const [gap, cause, count, plain, weight] = columns as [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array];
	let at = 0;
	return { from: place.from_ns, length: place.length_ns, bin: gap.map((by) => at += by), cause, count, plain, weight };
}

export interface WaitsSelection {
	/** ns since the recording's start. */
	readonly from: number;
	readonly until: number;
	/** Bits 1 << class. */
	readonly classes: number;
	/** Whose waits; null: of all. */
	readonly vertices: ReadonlySet<string> | null;
}

/** What of an edge's causes is not listed: twice the class, plus 1 if it is waiting for work. */
const UNLISTED = 2 * CLASSES;

/** Event loops of one vertex that wake each other work together, see analysis/waits/waitgraph.c. */
function isForWork(edge: WaitEdge, stack: WaitStack): boolean {
	return stack.for_work && (edge.from !== edge.to || stack.kind !== 'epoll');
}

interface Sums { count: Float64Array; plain: Float64Array; weight: Float64Array }

/** Sums over the bins, by cause; of a bin that lies in the selection in part, the same part. */
function sumBins(bins: WaitBins, selection: WaitsSelection, end: number, causes: number): Sums {
	const sums: Sums = { count: new Float64Array(causes), plain: new Float64Array(causes), weight: new Float64Array(causes) };
	for (let row = 0; row < bins.bin.length; row++) {
		const begin = bins.from + bins.bin[row]! * bins.length, length = Math.min(bins.length, end - begin);
		const share = Math.max(0, Math.min(selection.until, begin + length) - Math.max(selection.from, begin)) / length;
		const cause = bins.cause[row]!;
		if (!(share > 0) || cause >= causes) continue;
		sums.count[cause]! += bins.count[row]! * share;
		sums.plain[cause]! += bins.plain[row]! * share;
		sums.weight[cause]! += bins.weight[row]! * share;
	}
	return sums;
}

/** `edge` with what `sums` have of its causes, of which the first has the number `first`. */
function selectEdge(edge: WaitEdge, first: number, sums: Sums, classes: number, window: number): WaitEdge {
	const total = { count: 0, plain: 0, weight: 0, work: 0 }, kinds: Record<string, number> = {};
	const add = (cause: number, cls: number, work: boolean, kind: string): boolean => {
		const plain = sums.plain[cause]!;
		if (!(classes >> cls & 1) || !(sums.weight[cause]! > 0 || plain > 0)) return false;
		total.count += sums.count[cause]!;
		total.plain += plain;
		total.weight += sums.weight[cause]!;
		total.work += work ? plain : 0;
		kinds[kind] = (kinds[kind] ?? 0) + plain;
		return true;
	};
	const stacks = edge.stacks.flatMap((stack, place): WaitStack[] => {
		const cause = first + place, kind = stack.origin && stack.origin !== 'blocked' ? stack.origin : stack.kind;
		if (!add(cause, CLASS_NAMES.indexOf(stack.class as 'cpu'), isForWork(edge, stack), kind)) return [];
		const { longest_ns: _, ...known } = stack;
		return [{ ...known, count: Math.round(sums.count[cause]!), plain_ns: sums.plain[cause]!, weight_ns: sums.weight[cause]! }];
	});
	for (let other = 0; other < UNLISTED; other++)
		add(first + edge.stacks.length + other, other >> 1, (other & 1) === 1 && edge.for_work_ns > 0, 'others');
	return {
		from: edge.from, to: edge.to, kinds,
		stacks: stacks.sort((a, b) => b.weight_ns - a.weight_ns),
		weight_ns: total.weight, plain_ns: total.plain, for_work_ns: total.work, count: Math.round(total.count),
		/* Variances add up, as weights do. */
		error_ns: edge.weight_ns > 0 ? edge.error_ns * Math.sqrt(total.weight / edge.weight_ns) : 0,
		share: total.weight / window, plain_share: total.plain / window,
	};
}

/**
 * The document of a selection: edges have what lies in it. The verdict and the knots stay those of the whole.
 * `document` itself if all is selected.
 */
export function selectWaits(document: WaitsDocument, bins: WaitBins, selection: WaitsSelection): WaitsDocument {
	const end = bins.from + document.window_ns;
	const from = Math.max(selection.from, bins.from), until = Math.min(selection.until, end);
	const isAll = from <= bins.from && until >= end;
	if (isAll && (selection.classes & ALL_CLASSES) === ALL_CLASSES && !selection.vertices) return document;

	const firsts: number[] = [];
	let causes = 0;
	for (const edge of document.edges) {
		firsts.push(causes);
		causes += edge.stacks.length + UNLISTED;
	}
	const sums = sumBins(bins, selection, end, causes), window = Math.max(1, until - from);
	const edges = document.edges.flatMap((edge, number): WaitEdge[] => {
		if (selection.vertices && !selection.vertices.has(edge.from)) return [];
		const made = selectEdge(edge, firsts[number]!, sums, selection.classes, window);
		return made.weight_ns > 0 ? [made] : [];
	});
	return {
		...document, window_ns: window, edges: edges.sort((a, b) => b.weight_ns - a.weight_ns),
		waits: edges.reduce((sum, edge) => sum + edge.count, 0),
	};
}

/** What a thread did in the selection: ns, running, waiting for a CPU, and blocked; and how much of its life lies in it. */
export interface VertexTimes { running: number; runnable: number; blocked: number; lifetime: number }

/** `vertex` with the times of its threads in a selection. Of others than threads, only the name and the type are known. */
export function selectVertex(vertex: WaitVertex, threads: readonly VertexTimes[]): WaitVertex {
	const { name, type, recorded, inferred, related, pid, tid, merged, threads: count, differs } = vertex;
	const about = { ...related === undefined ? {} : { related }, ...inferred === undefined ? {} : { inferred } };
	if (threads.length === 0) return { name, type, recorded, ...about };
	const sum = (key: keyof VertexTimes): number => threads.reduce((all, one) => all + one[key], 0);
	return {
		name, type, recorded, ...about, ...pid === undefined ? {} : { pid }, ...tid === undefined ? {} : { tid },
		...merged === undefined ? {} : { merged }, ...count === undefined ? {} : { threads: count }, ...differs === undefined ? {} : { differs },
		running_ns: sum('running'), runnable_ns: sum('runnable'), blocked_ns: sum('blocked'), lifetime_ns: sum('lifetime'),
	};
}
