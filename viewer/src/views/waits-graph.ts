// Which part of the wait-for graph is drawn, and where. Pure functions.
import { percentText } from './summary-parts.js';

export interface WaitStack {
	readonly what: string;
	readonly origin?: string;
	readonly kind: string;
	readonly class: string;
	readonly for_work: boolean;
	readonly count: number;
	readonly plain_ns: number;
	readonly weight_ns: number;
	/** Of the whole recording; not there in a selection. */
	readonly longest_ns?: number;
	readonly waiter: readonly StackFrame[];
	readonly waker: readonly StackFrame[];
}

export interface StackFrame {
	readonly symbol: string;
	readonly dso?: string;
	readonly file?: string;
	readonly line?: number;
	readonly kernel?: boolean;
	readonly inlined?: boolean;
}

export interface WaitEdge {
	readonly from: string;
	readonly to: string;
	readonly weight_ns: number;
	readonly plain_ns: number;
	readonly error_ns: number;
	readonly for_work_ns: number;
	readonly share: number;
	readonly plain_share: number;
	readonly count: number;
	readonly kinds: Readonly<Record<string, number>>;
	readonly stacks: readonly WaitStack[];
}

export interface WaitVertex {
	readonly name: string;
	readonly type: string;
	readonly recorded: boolean;
	/** A peer that was not recorded: it counts as running while it is waited for. */
	readonly inferred?: boolean;
	/** It has to do with the threads that were asked for. */
	readonly related?: boolean;
	readonly lifetime_ns?: number;
	readonly running_ns?: number;
	readonly runnable_ns?: number;
	readonly blocked_ns?: number;
	/** Which of them differ from the sampled times by more than chance: "running", ... */
	readonly differs?: readonly string[];
	readonly threads?: number;
	readonly merged?: string;
	readonly pid?: number;
	readonly tid?: number;
	readonly requests?: number;
	readonly bytes?: number;
	readonly queue_ns?: number;
	readonly service_ns?: number;
	readonly idle_ns?: number;
}

/** The lock that members of a knot hold while others wait for it. */
export interface HeldLock {
	readonly name: string;
	readonly wait_ns: number;
	readonly held_ns: number;
	readonly holder: { readonly name: string; readonly held_ns: number };
	readonly blocked_ns: number;
	readonly blocked_in: string;
	readonly stack: readonly StackFrame[];
}

export interface Knot {
	readonly type: string;
	readonly members: readonly string[];
	readonly edges: readonly { readonly from: string; readonly to: string; readonly for_work: boolean }[];
	readonly background: boolean;
	readonly relevant: boolean;
	readonly why: string;
	readonly note: string;
	readonly lock?: HeldLock | null;
	readonly active: number;
}

export interface WaitsDocument {
	readonly exact: boolean;
	readonly window_ns: number;
	readonly waits: number;
	readonly verdict: Partial<Knot> & { readonly type: string; readonly text: string; readonly unknown?: readonly string[] };
	readonly knots: readonly Knot[];
	readonly threads: readonly WaitVertex[];
	readonly edges: readonly WaitEdge[];
}

export interface GraphChoice {
	readonly vertices: WaitVertex[];
	readonly edges: WaitEdge[];
	/** Edges that are left out. */
	readonly hidden: number;
}

/** A vertex as all views name threads; those that stand for several keep their name. */
export function vertexLabel({ name, type, tid, threads }: WaitVertex): string {
	return type === 'thread' && tid && (threads ?? 1) <= 1 && !name.endsWith(`/${tid}`) ? `${name}/${tid}` : name;
}

/** The labels of vertices by their names. */
export function vertexLabels(document: WaitsDocument): (name: string) => string {
	const labels = new Map(document.threads.map((vertex) => [vertex.name, vertexLabel(vertex)]));
	return (name) => labels.get(name) ?? name;
}

const edgeKey = (edge: { from: string; to: string }): string => `${edge.from}\0${edge.to}`;

/** Cascaded time of an edge without what is idle waiting. */
export function edgeGain(edge: WaitEdge): number {
	return Math.max(0, edge.weight_ns - edge.for_work_ns);
}

/** Whether most of its time is waits for work, as in waitgraph_edge__is_idle(). */
export function isIdleEdge(edge: WaitEdge): boolean {
	return edge.for_work_ns > edge.plain_ns / 2;
}

/** The names of vertices that have nothing to do with the threads that were asked for. */
export function unrelatedVertices(document: WaitsDocument): Set<string> {
	return new Set(document.threads.filter((vertex) => vertex.related === false).map((vertex) => vertex.name));
}

/**
 * The edges of the verdict, then the heaviest others, of at least `minShare` of the recording. Edges of
 * idle waits only with `idle`, but for those of the verdict, which close its cycle; of programs that have nothing
 * to do with what was asked for, only with `others`.
 */
export function chooseGraph(
	document: WaitsDocument, options: { minShare: number; idle: boolean; limit: number; others?: boolean },
): GraphChoice {
	const needed = new Set((document.verdict.edges ?? []).map(edgeKey));
	const members = new Set(document.verdict.members ?? []);
	// A sink has no edges of its own: what it waits for nevertheless.
	if (needed.size === 0) for (const edge of document.edges) if (members.has(edge.from) && edge.share >= options.minShare) needed.add(edgeKey(edge));
	const unrelated = unrelatedVertices(document);
	const isWanted = (edge: WaitEdge): boolean =>
		edge.share >= options.minShare && (options.idle || !isIdleEdge(edge)) &&
		(options.others === true || (!unrelated.has(edge.from) && !unrelated.has(edge.to)));
	const byGain = (a: WaitEdge, b: WaitEdge): number => edgeGain(b) - edgeGain(a) || b.weight_ns - a.weight_ns;
	const edges = [
		...document.edges.filter((edge) => needed.has(edgeKey(edge))),
		...document.edges.filter((edge) => !needed.has(edgeKey(edge)) && isWanted(edge)).sort(byGain),
	];
	const shown = edges.slice(0, options.limit);
	const names = new Set<string>(members);
	for (const edge of shown) {
		names.add(edge.from);
		names.add(edge.to);
	}
	const known = new Map(document.threads.map((vertex) => [vertex.name, vertex]));
	const vertices = [...names].map((name) => known.get(name) ?? { name, type: 'thread', recorded: false });
	return { vertices, edges: shown, hidden: edges.length - shown.length };
}

export interface VerdictWait {
	readonly edge: WaitEdge;
	/** What for, and in which functions: of most of its time. */
	readonly what: string;
	readonly where: string;
	/** The share of the edge's time that this is. */
	readonly share: number;
}

/** The heaviest waits of the verdict, not for work: one for an edge. */
export function verdictWaits(document: WaitsDocument, most: number): VerdictWait[] {
	const needed = new Set((document.verdict.edges ?? []).map(edgeKey));
	return document.edges.filter((edge) => needed.has(edgeKey(edge)) && !isIdleEdge(edge) && edge.stacks.length > 0)
		.sort((a, b) => edgeGain(b) - edgeGain(a)).slice(0, most).map((edge) => {
			const longest = edge.stacks.filter((stack) => !stack.for_work).reduce<WaitStack | null>((best, stack) => best && best.plain_ns >= stack.plain_ns ? best : stack, null) ?? edge.stacks[0]!;
			return { edge, what: longest.what, where: stackText(longest.waiter, FRAMES), share: longest.plain_ns / Math.max(1, edge.plain_ns) };
		});
}

/** Shares of the recording that edges can be limited to. */
export const SHARES = [0.2, 0.1, 0.05, 0.03, 0.01, 0.001, 0] as const;

/** The smallest of SHARES (but for 0) that leaves at most `most` edges. */
export function firstShare(document: WaitsDocument, most: number): number {
	let best: number = SHARES[0];
	for (const minShare of SHARES) {
		if (minShare === 0 || chooseGraph(document, { minShare, idle: false, limit: most + 1 }).edges.length > most) break;
		best = minShare;
	}
	return best;
}

/** Knots that a vertex is in: the verdict first. */
export function knotOf(document: WaitsDocument, name: string): { knot: Knot; isVerdict: boolean } | null {
	const verdict = new Set(document.verdict.members ?? []);
	for (const knot of document.knots) {
		if (!knot.members.includes(name)) continue;
		return { knot, isVerdict: verdict.has(name) && !knot.background };
	}
	return null;
}

/** So many functions of a stack are shown in a line. */
export const FRAMES = 5;

/** Functions of a stack that are not the kernel's; all, if there are no others. */
export function userFrames(frames: readonly StackFrame[]): readonly StackFrame[] {
	const user = frames.filter((frame) => !frame.kernel);
	return user.length > 0 ? user : frames;
}

/** What is said of the lock that a bottleneck holds, in a recording of this length. */
export function lockText(lock: HeldLock, window: number): string {
	const all = Math.max(1, lock.held_ns), waiting = lock.wait_ns / Math.max(1, window);
	const waited = waiting <= 1.0005 ? `waited for ${percentText(waiting)} of the time` : `${waiting.toFixed(1)} threads wait for it, on average`;
	const held = lock.held_ns > 0 ? `; meanwhile held ${percentText(lock.holder.held_ns / all, 0)} by ${lock.holder.name}${lock.holder.held_ns < lock.held_ns ? ', the rest by others' : ''}` : '';
	const blocked = lock.blocked_ns > 0 ? `; ${percentText(lock.blocked_ns / all, 0)} of that time its holder is in ${lock.blocked_in}${lock.stack.length > 0 ? `: ${stackText(lock.stack, 4)}` : ''}` : '';
	return `${lock.name}: ${waited}${held}${blocked}.`;
}

/** Text of a stack's innermost functions, without those within a library's call (`__futex_wait`). */
export function stackText(all: readonly StackFrame[], limit: number): string {
	const user = userFrames(all);
	const first = user.findIndex((frame) => !frame.symbol.startsWith('__'));
	const frames = first > 0 ? user.slice(first) : user;
	const parts = frames.slice(0, limit).map((frame) => {
		if (!frame.file) return frame.symbol;
		const file = frame.file.slice(frame.file.lastIndexOf('/') + 1);
		return `${frame.symbol} (${file}${frame.line ? `:${frame.line}` : ''})`;
	});
	if (frames.length > limit) parts.push('...');
	return parts.join(' \u2190 ');
}
