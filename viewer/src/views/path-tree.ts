// The tree of pseudo-stacks along a path (Recursive Systemic Profiler, sections 4.1 and 4.2), and what
// the three pictures of it are made of. Pure functions. Nothing recurses: a path can have thousands of
// levels.

/** Columns of the tables rN.path.levels and rN.path.steps, with times from the recording's start. */
export interface PathTables {
	/** Of the path, in ns. Steps fill [from, until) without gaps. */
	readonly from: number;
	readonly until: number;
	readonly categories: readonly string[];
	readonly levels: {
		readonly thread: ArrayLike<number>;
		readonly depth: ArrayLike<number>;
		readonly from: ArrayLike<number>;
		readonly length: ArrayLike<number>;
		/** Row of the level that waits for this one; -1: none. */
		readonly waiter: ArrayLike<number>;
		/** Why it is there: RELATION_AWAITED if there is no column. */
		readonly relation?: ArrayLike<number>;
	};
	readonly steps: {
		readonly level: ArrayLike<number>;
		/** One more than there are steps: the last one is `until`. */
		readonly from: ArrayLike<number>;
		readonly category: ArrayLike<number>;
		readonly stack: ArrayLike<number>;
		readonly about: ArrayLike<number>;
	};
}

/** The level has the CPU that the one above waits for; 0: it ends the wait of that. */
export const RELATION_HAS_CPU = 1;
/** The same, and it works for the path. */
export const RELATION_SAME_PATH = 2;

/** What else the tree needs to know. */
export interface PathNames {
	/** The node of the innermost function of a stack, in the tree of call chains; 0: none. */
	node(stack: number): number;
	caller(node: number): number;
	/** Functions with the same number share a node of the path's tree; -1: has none. */
	frame(node: number): number;
	/** Threads with the same key share a node. */
	threadKey(thread: number): number;
	/** Of the thread that waits for `level`, when that level begins: stack, and a number for what
	 *  kind of wait it is (0: unknown). */
	waitStack(level: number): number;
	waitKind(level: number): number;
}

export const NODE_ROOT = 0;
export const NODE_THREAD = 1;
export const NODE_FRAME = 2;
export const NODE_WAIT = 3;
export const NODE_LEAF = 4;
/** A wait for a CPU, below which are threads that had it. */
export const NODE_QUEUE = 5;
/** As NODE_THREAD, of a thread that had the CPU for others than the path. */
export const NODE_CPU = 6;

/** What a function did in the time shown. */
export const DID_RUN = 1;
export const DID_SLEEP = 2;
export const DID_IO = 4;
export const DID_QUEUE = 8;

/** Nodes by number; a child has a larger number than its parent. */
export interface PathTree {
	readonly parent: number[];
	readonly kind: number[];
	/** Thread key, frame, kind of wait, or category * ABOUT_LIMIT + string. */
	readonly id: number[];
	readonly depth: number[];
	/** For each level the node of its thread. */
	readonly levelNode: Int32Array;
	/** For each step the node that its time belongs to. */
	readonly leafOf: Int32Array;
	/** For each category what it means for the functions that it is in. */
	readonly did: Uint8Array;
	/** There were more than MOST_NODES. */
	readonly isCut: boolean;
}

export const ABOUT_LIMIT = 2 ** 24;

/** What a category of the block rN.path counts as. */
export function categoryMeans(name: string): number {
	if (isInFunctions(name) || name === 'not_sampled') return DID_RUN;
	if (name.startsWith('disk')) return DID_IO;
	if (name === 'run_queue' || name === 'preempted' || name === 'cpu_idle') return DID_QUEUE;
	return DID_SLEEP;
}

/** Whether the functions of a category's steps are those of similar runs. */
function isEstimate(name: string): boolean {
	return name.endsWith('estimated');
}

/** Whether steps of a category have functions, but no leaf of their own. */
function isInFunctions(name: string): boolean {
	return name === 'running' || name === 'memory' || isEstimate(name);
}

/** Of a tree; what would be below counts for the node that is there, so that sums stay exact. */
export const MOST_NODES = 2 ** 20;

class TreeBuilder {
	readonly parent = [-1];
	readonly kind = [NODE_ROOT];
	readonly id = [0];
	readonly depth = [0];
	private readonly children = new Map<number, number>();
	private readonly wide = new Map<string, number>();
	private readonly stackEnds = new Map<number, number>();
	isCut = false;

	constructor(private readonly names: PathNames) {}

	child(parent: number, kind: number, id: number): number {
		// One number as key where it is exact, which is nearly always.
		const low = id * 8 + kind;
		let known: number | undefined;
		const isNarrow = low < 2 ** 28 && parent < 2 ** 25;
		if (isNarrow) known = this.children.get(parent * 2 ** 28 + low);
		else known = this.wide.get(`${parent} ${low}`);
		if (known !== undefined) return known;
		const node = this.parent.length;
		if (node >= MOST_NODES) {
			this.isCut = true;
			return parent;
		}
		this.parent.push(parent);
		this.kind.push(kind);
		this.id.push(id);
		this.depth.push(this.depth[parent]! + 1);
		if (isNarrow) this.children.set(parent * 2 ** 28 + low, node);
		else this.wide.set(`${parent} ${low}`, node);
		return node;
	}

	/** The node of the innermost function of `stack` alone. */
	innermost(parent: number, stack: number): number {
		for (let at = this.names.node(stack); stack !== 0 && at !== 0; at = this.names.caller(at)) {
			const frame = this.names.frame(at);
			if (frame >= 0) return this.child(parent, NODE_FRAME, frame);
		}
		return parent;
	}

	/** The node of the innermost function of `stack` below `parent`. */
	stack(parent: number, stack: number): number {
		if (stack === 0) return parent;
		const key = parent * 2 ** 26 + stack;
		const known = this.stackEnds.get(key);
		if (known !== undefined) return known;
		const frames: number[] = [];
		for (let at = this.names.node(stack); at !== 0; at = this.names.caller(at)) {
			const frame = this.names.frame(at);
			if (frame >= 0) frames.push(frame);
		}
		let node = parent;
		for (let i = frames.length; i-- > 0; ) node = this.child(node, NODE_FRAME, frames[i]!);
		if (this.stackEnds.size < MOST_NODES) this.stackEnds.set(key, node);
		return node;
	}
}

/** The tree of all steps of a path. */
export function buildPathTree(path: PathTables, names: PathNames): PathTree {
	const { levels, steps } = path;
	const tree = new TreeBuilder(names);
	const levelNode = new Int32Array(levels.thread.length);

	// A level begins after the one that waits for it, so that one's node is known.
	for (let level = 0; level < levelNode.length; level++) {
		const waiter = levels.waiter[level]!, relation = levels.relation?.[level] ?? 0;
		let node = 0;
		if (waiter >= 0) {
			node = tree.stack(levelNode[waiter]!, names.waitStack(level));
			node = relation ? tree.child(node, NODE_QUEUE, 0) : tree.child(node, NODE_WAIT, names.waitKind(level));
		}
		const kind = relation === RELATION_HAS_CPU ? NODE_CPU : NODE_THREAD;
		levelNode[level] = tree.child(node, kind, names.threadKey(levels.thread[level]!));
	}

	const count = steps.level.length;
	const leafOf = new Int32Array(count);
	const inFunctions = path.categories.map(isInFunctions);
	for (let step = 0; step < count; step++) {
		const category = steps.category[step]!;
		const level = steps.level[step]!;
		// What has the CPU that others wait for runs: that is no leaf, and what calls it is of no interest.
		if (levels.relation?.[level] === RELATION_HAS_CPU) {
			leafOf[step] = tree.innermost(levelNode[level]!, steps.stack[step]!);
			continue;
		}
		let node = tree.stack(levelNode[level]!, steps.stack[step]!);
		if (!inFunctions[category] || steps.stack[step] === 0)
			node = tree.child(node, NODE_LEAF, category * ABOUT_LIMIT + steps.about[step]!);
		leafOf[step] = node;
	}
	const did = Uint8Array.from(path.categories, categoryMeans);
	return { parent: tree.parent, kind: tree.kind, id: tree.id, depth: tree.depth, levelNode, leafOf, did, isCut: tree.isCut };
}

/** What is left of a flag on the way from a node to its parent. */
function flagAbove(kind: number, flags: number): number {
	if (kind === NODE_THREAD) return DID_SLEEP; // whoever is above waited for this thread
	if (kind === NODE_QUEUE || kind === NODE_CPU) return DID_QUEUE;
	if (kind === NODE_FRAME) return flags;
	return flags & DID_RUN ? flags : DID_SLEEP;
}

export interface PathSums {
	/** By node. */
	readonly self: Float64Array;
	readonly total: Float64Array;
	/** Steps in it, parts of steps included. */
	readonly count: Float64Array;
	readonly did: Uint8Array;
	/** By node: the part of `self` of runs that were not sampled themselves. */
	readonly estimated: Float64Array;
	/** By category. They add up to the time of the path within the window. */
	readonly categories: Float64Array;
}

/** First step that ends after `time`. */
export function stepAt(path: PathTables, time: number): number {
	const from = path.steps.from;
	let low = 0;
	let high = from.length - 1;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (from[middle + 1]! > time) high = middle;
		else low = middle + 1;
	}
	return low;
}

/** The consolidated tree of [from, until). */
export function sumPath(path: PathTables, tree: PathTree, from: number, until: number): PathSums {
	const nodes = tree.parent.length;
	const self = new Float64Array(nodes);
	const count = new Float64Array(nodes);
	const did = new Uint8Array(nodes);
	const categories = new Float64Array(path.categories.length);
	const estimated = new Float64Array(nodes);
	const isEstimated = path.categories.map(isEstimate);
	const { steps } = path;

	for (let step = stepAt(path, from); step < steps.level.length; step++) {
		const begin = Math.max(from, steps.from[step]!);
		const end = Math.min(until, steps.from[step + 1]!);
		if (begin >= until) break;
		if (end <= begin) continue;
		const node = tree.leafOf[step]!;
		const category = steps.category[step]!;
		self[node] = self[node]! + end - begin;
		count[node] = count[node]! + 1;
		if (isEstimated[category]) estimated[node] = estimated[node]! + end - begin;
		did[node] = did[node]! | tree.did[category]!;
		categories[category] = categories[category]! + end - begin;
	}
	const total = Float64Array.from(self);
	for (let node = nodes; node-- > 1; ) {
		if (total[node] === 0) continue;
		const parent = tree.parent[node]!;
		total[parent] = total[parent]! + total[node]!;
		count[parent] = count[parent]! + count[node]!;
		did[parent] = did[parent]! | flagAbove(tree.kind[node]!, did[node]!);
	}
	return { self, total, count, did, estimated, categories };
}

/** Children of each node with time in `sums`, the longest first. */
export function sortedChildren(tree: PathTree, sums: PathSums): { first: Int32Array; list: Int32Array } {
	const nodes = tree.parent.length;
	const first = new Int32Array(nodes + 1);
	for (let node = 1; node < nodes; node++)
		if (sums.total[node]! > 0) first[tree.parent[node]! + 1]!++;
	for (let node = 0; node < nodes; node++) first[node + 1]! += first[node]!;
	const list = new Int32Array(first[nodes]!);
	const next = Int32Array.from(first);
	for (let node = 1; node < nodes; node++)
		if (sums.total[node]! > 0) list[next[tree.parent[node]!]!++] = node;
	for (let node = 0; node < nodes; node++)
		if (first[node + 1]! - first[node]! > 1)
			list.subarray(first[node]!, first[node + 1]!).sort((a, b) => sums.total[b]! - sums.total[a]! || a - b);
	return { first, list };
}

/** A rectangle of a picture: columns [x0, x1) of a row. */
export interface PathBlock {
	readonly node: number;
	readonly row: number;
	readonly x0: number;
	readonly x1: number;
	readonly did: number;
}

/**
 * The consolidated flame view below `root`, `columns` wide, the longest children first. Blocks
 * narrower than half a column are left out, with what is below them.
 */
export function consolidatedBlocks(tree: PathTree, sums: PathSums, root: number, columns: number): PathBlock[] {
	const blocks: PathBlock[] = [];
	const scale = columns / Math.max(1, sums.total[root]!);
	const { first, list } = sortedChildren(tree, sums);
	const pending: { node: number; row: number; from: number }[] = [{ node: root, row: 0, from: 0 }];

	for (let at = pending.pop(); at; at = pending.pop()) {
		const { node, row, from } = at;
		const x0 = from * scale;
		const x1 = (from + sums.total[node]!) * scale;
		if (x1 - x0 < 0.5) continue;
		const hasRow = node !== 0;
		if (hasRow) blocks.push({ node, row, x0, x1, did: sums.did[node]! });
		let begin = from;
		for (let i = first[node]!; i < first[node + 1]!; i++) {
			const child = list[i]!;
			pending.push({ node: child, row: hasRow ? row + 1 : row, from: begin });
			begin += sums.total[child]!;
		}
	}
	return blocks;
}

/**
 * The step that each of `columns` equal parts of [from, until) mostly belongs to; -1: outside of the
 * path.
 */
export function dominantSteps(path: PathTables, from: number, until: number, columns: number): Int32Array {
	const dominant = new Int32Array(columns).fill(-1);
	const longest = new Float64Array(columns);
	const width = (until - from) / columns;
	const { steps } = path;
	if (!(width > 0)) return dominant;

	for (let step = stepAt(path, from); step < steps.level.length; step++) {
		const begin = Math.max(from, steps.from[step]!);
		const end = Math.min(until, steps.from[step + 1]!);
		if (begin >= until) break;
		if (end <= begin) continue;
		const last = Math.min(columns - 1, Math.floor((end - from) / width));
		for (let column = Math.min(columns - 1, Math.floor((begin - from) / width)); column <= last; column++) {
			const inside = Math.min(end, from + (column + 1) * width) - Math.max(begin, from + column * width);
			if (inside <= longest[column]!) continue;
			longest[column] = inside;
			dominant[column] = step;
		}
	}
	return dominant;
}

/** The chronological flame view: the pseudo-stack of each column, with equal neighbors joined. */
export function chronologicalBlocks(path: PathTables, tree: PathTree, dominant: Int32Array): PathBlock[] {
	const blocks: PathBlock[] = [];
	const openNode: number[] = [];
	const openAt: number[] = [];
	const openDid: number[] = [];
	const nodes: number[] = [];
	const flags: number[] = [];
	let previous = -2;

	const close = (row: number, column: number): void => {
		while (openNode.length > row) {
			const did = openDid.pop()!;
			blocks.push({ node: openNode.pop()!, row: openNode.length, x0: openAt.pop()!, x1: column, did });
		}
	};
	for (let column = 0; column < dominant.length; column++) {
		const step = dominant[column]!;
		if (step === previous) continue;
		previous = step;
		nodes.length = flags.length = 0;
		if (step >= 0) {
			let did = tree.did[path.steps.category[step]!]!;
			for (let node = tree.leafOf[step]!; node > 0; node = tree.parent[node]!) {
				nodes.push(node);
				flags.push(did);
				did = flagAbove(tree.kind[node]!, did);
			}
			nodes.reverse();
			flags.reverse();
		}
		let same = 0;
		while (same < nodes.length && openNode[same] === nodes[same]) {
			openDid[same]! |= flags[same]!;
			same++;
		}
		close(same, column);
		for (let row = same; row < nodes.length; row++) {
			openNode.push(nodes[row]!);
			openAt.push(column);
			openDid.push(flags[row]!);
		}
	}
	close(0, dominant.length);
	return blocks;
}

/** Parts of a cell of the process running view. */
export const CELL_RUN = 0;
export const CELL_IO = 1;
export const CELL_QUEUE = 2;
export const CELL_SLEEP = 3;
export const CELL_WAITS = 4;
export const CELL_PARTS = 5;

/** Threads of the path in [from, until): the base first, then by the time that they are on it. */
export function pathThreads(path: PathTables, from: number, until: number): number[] {
	const { levels } = path;
	const times = new Map<number, number>();
	for (let level = 0; level < levels.thread.length; level++) {
		const begin = Math.max(from, levels.from[level]!);
		const end = Math.min(until, levels.from[level]! + levels.length[level]!);
		if (begin >= until) break;
		if (end <= begin) continue;
		const thread = levels.thread[level]!;
		const base = levels.depth[level] === 0 ? 2 ** 60 : 0;
		times.set(thread, (times.get(thread) ?? 0) + base + end - begin);
	}
	return [...times].sort((a, b) => b[1] - a[1]).map(([thread]) => thread);
}

function cellPart(did: number): number {
	if (did === DID_RUN) return CELL_RUN;
	if (did === DID_IO) return CELL_IO;
	if (did === DID_QUEUE) return CELL_QUEUE;
	return CELL_SLEEP;
}

/**
 * The process running view: for each row (thread of `threads`), column and part of a cell the time, in
 * shares of a column. CELL_WAITS is waiting for a thread further along the path.
 */
export function processCells(
	path: PathTables, tree: PathTree, threads: readonly number[], from: number, until: number, columns: number,
): Float32Array {
	const rowOf = new Map(threads.map((thread, row) => [thread, row]));
	const cells = new Float32Array(threads.length * columns * CELL_PARTS);
	// Change of the number of levels from a column to the next: whole columns are added by sums.
	const change = new Float32Array(threads.length * (columns + 1));
	const width = (until - from) / columns;
	if (!(width > 0)) return cells;

	const add = (row: number, part: number, begin: number, end: number): void => {
		const low = (Math.max(begin, from) - from) / width;
		const high = (Math.min(end, until) - from) / width;
		if (high <= low) return;
		const first = Math.min(columns - 1, Math.floor(low));
		const last = Math.min(columns - 1, Math.floor(high));
		const cell = row * columns;
		if (first === last) {
			cells[(cell + first) * CELL_PARTS + part]! += high - low;
			return;
		}
		cells[(cell + first) * CELL_PARTS + part]! += first + 1 - low;
		cells[(cell + last) * CELL_PARTS + part]! += high - last;
		if (part === CELL_WAITS) {
			change[row * (columns + 1) + first + 1]!++;
			change[row * (columns + 1) + last]!--;
		} else for (let column = first + 1; column < last; column++) cells[(cell + column) * CELL_PARTS + part]!++;
	};

	const { levels, steps } = path;
	for (let level = 0; level < levels.thread.length; level++) {
		const row = rowOf.get(levels.thread[level]!);
		const begin = levels.from[level]!;
		const end = begin + levels.length[level]!;
		if (begin >= until) break; // levels are in the order in which they begin
		if (row !== undefined && end > from) add(row, CELL_WAITS, begin, end);
	}
	for (let row = 0; row < threads.length; row++) {
		let open = 0;
		for (let column = 0; column < columns; column++) {
			open += change[row * (columns + 1) + column]!;
			cells[(row * columns + column) * CELL_PARTS + CELL_WAITS]! += open;
		}
	}
	for (let step = stepAt(path, from); step < steps.level.length; step++) {
		const begin = steps.from[step]!;
		if (begin >= until) break;
		const row = rowOf.get(levels.thread[steps.level[step]!]!);
		if (row !== undefined) add(row, cellPart(tree.did[steps.category[step]!]!), begin, steps.from[step + 1]!);
	}
	// What a level did itself was not waiting for another one. A thread can be on several levels.
	for (let at = 0; at < cells.length; at += CELL_PARTS) {
		let own = 0;
		for (let part = 0; part < CELL_WAITS; part++) own += cells[at + part]!;
		cells[at + CELL_WAITS] = Math.max(0, Math.min(1 - own, cells[at + CELL_WAITS]! - own));
	}
	return cells;
}

/** A control transfer along the path: `level` began or ended. */
export interface PathLink {
	readonly time: number;
	readonly fromThread: number;
	readonly toThread: number;
}

/** Links in [from, until) of levels that are at least `shortest` long, at most `limit` of them. */
export function pathLinks(
	path: PathTables, from: number, until: number, shortest: number, limit: number,
): PathLink[] {
	const links: PathLink[] = [];
	const { levels } = path;
	for (let level = 0; level < levels.thread.length && links.length < limit; level++) {
		const begin = levels.from[level]!;
		const end = begin + levels.length[level]!;
		const waiter = levels.waiter[level]!;
		if (begin >= until) break;
		if (end < from || waiter < 0 || levels.length[level]! < shortest) continue;
		const outer = levels.thread[waiter]!;
		const inner = levels.thread[level]!;
		if (outer === inner) continue;
		if (begin >= from) links.push({ time: begin, fromThread: outer, toThread: inner });
		if (end < until) links.push({ time: end, fromThread: inner, toThread: outer });
	}
	return links;
}
