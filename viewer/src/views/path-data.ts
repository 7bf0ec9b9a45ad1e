// Makes the path of a recording from its blocks. Pure functions.
import {
	ABOUT_LIMIT, buildPathTree, DID_QUEUE, NODE_CPU, NODE_FRAME, NODE_LEAF, NODE_QUEUE, NODE_THREAD, NODE_WAIT, type PathTables, type PathTree,
} from './path-tree.js';

/** The block rN.path. */
export interface PathInfo {
	readonly thread: number;
	readonly from: number;
	readonly until: number;
	readonly wall_ns: number;
	readonly accounted_ns: number;
	readonly categories: Readonly<Record<string, number>>;
	readonly names: readonly string[];
}

/** Signed columns of the tables, which are decoded as such. */
export const SIGNED_LEVELS = [2];
export const SIGNED_STEPS = [0];

/** Levels and steps with absolute times and rows, from the columns of docs/page.md. */
export function pathTables(info: PathInfo, levels: readonly Float64Array[], steps: readonly Float64Array[], unit = 1): PathTables {
	const [thread, depth, fromGap, length, up, relation] = levels as [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array, Float64Array?];
	const [levelGap, stepLength, category, stack, about] = steps as [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array];
	const from = new Float64Array(fromGap.length);
	let time = 0;
	for (let i = 0; i < from.length; i++) from[i] = (time += fromGap[i]!) * unit;
	const level = new Int32Array(levelGap.length);
	let row = 0;
	for (let i = 0; i < level.length; i++) level[i] = row += levelGap[i]!;
	const stepFrom = new Float64Array(stepLength.length + 1);
	stepFrom[0] = info.from * unit;
	for (let i = 0; i < stepLength.length; i++) stepFrom[i + 1] = stepFrom[i]! + stepLength[i]! * unit;
	return {
		from: info.from * unit,
		until: stepFrom[stepLength.length]!,
		categories: info.names,
		levels: { thread, depth, from, length: length.map((units) => units * unit), waiter: Int32Array.from(up, (rows, i) => (rows > 0 ? i - rows : -1)), ...(relation && { relation }) },
		steps: { level, from: stepFrom, category, stack, about },
	};
}

/** For each level the interval in which its waiter waits for it: whose, and a time in it. */
export function waitPlaces(path: PathTables): { threads: number[]; times: number[] } {
	const { thread, from, waiter } = path.levels, threads: number[] = [], times: number[] = [];
	for (let level = 0; level < thread.length; level++) {
		const above = waiter[level]!;
		threads.push(above < 0 ? 0 : thread[above]!);
		times.push(from[level]!);
	}
	return { threads, times };
}

/** The tables of code of a recording. */
export interface CodeTables {
	/** Text block rN.strings. */
	readonly strings: readonly string[];
	/** Columns of rN.frames, rN.nodes and rN.stacks. */
	readonly frames: readonly Float64Array[];
	readonly nodes: readonly Float64Array[];
	readonly stacks: readonly Float64Array[];
}

export interface PathThread {
	readonly tid: number;
	readonly name: string;
}

/** A path with texts. */
export interface NamedPath {
	readonly path: PathTables;
	readonly tree: PathTree;
	nodeText(node: number): string;
	/** Threads that a node of threads stands for. */
	nodeThreads(node: number): number[];
}

const KERNEL = 1;

/** The tree of a path, with functions or without, with those of the kernel or without. */
export function namePath(
	path: PathTables, found: { readonly stack: ArrayLike<number>; readonly wait: ArrayLike<number> }, code: CodeTables,
	threads: readonly PathThread[], waits: readonly string[], leafTexts: readonly string[], show: { functions: boolean; kernel: boolean },
): NamedPath {
	const [frameName, , , frameDso, frameFlags] = code.frames as [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array];
	const [up, nodeFrame] = code.nodes as [Float64Array, Float64Array];
	const stackNode = code.stacks[0]!;
	// A function has a row for each line that occurs, and is one here.
	const functions = new Map<string, number>();
	const functionOf = Int32Array.from(frameName, (name, row) => {
		if (!show.functions || (!show.kernel && frameFlags[row]! & KERNEL)) return -1;
		const key = `${name} ${frameDso[row]}`;
		const known = functions.get(key);
		if (known !== undefined) return known;
		functions.set(key, row);
		return row;
	});
	// Threads with the same name that are waited for at the same place share a node.
	const names = new Map<string, number>();
	const nameOf = threads.map(({ name }) => {
		const known = names.get(name);
		if (known !== undefined) return known;
		names.set(name, names.size);
		return names.size - 1;
	});
	const tree = buildPathTree(path, {
		caller: (node) => node - up[node]!,
		frame: (node) => functionOf[nodeFrame[node]!]!,
		node: (stack) => stackNode[stack] ?? 0,
		threadKey: (thread) => nameOf[thread] ?? 0,
		waitStack: (level) => found.stack[level]!,
		waitKind: (level) => found.wait[level]!,
	});

	const threadsOf = new Map<number, Set<number>>();
	for (let level = 0; level < path.levels.thread.length; level++) {
		const known = threadsOf.get(tree.levelNode[level]!);
		if (known) known.add(path.levels.thread[level]!);
		else threadsOf.set(tree.levelNode[level]!, new Set([path.levels.thread[level]!]));
	}
	const threadsText = (node: number): string => {
		const group = [...threadsOf.get(node) ?? []];
		const first = threads[group[0]!];
		if (!first) return 'unknown thread';
		return group.length === 1 ? `${first.name}/${first.tid}` : `${first.name} (${group.length} threads)`;
	};
	const nodeText = (node: number): string => {
		const id = tree.id[node]!;
		switch (tree.kind[node]) {
			case NODE_THREAD:
				return threadsText(node);
			case NODE_CPU:
				return `had the CPU: ${threadsText(node)}`;
			case NODE_QUEUE:
				return 'waits for a CPU';
			case NODE_FRAME:
				return code.strings[frameName[id]!] || 'unknown function';
			case NODE_WAIT:
				return `waits: ${(id > 0 ? waits[id - 1] : '') || 'unknown'}`;
			case NODE_LEAF: {
				const about = code.strings[id % ABOUT_LIMIT];
				const text = leafTexts[Math.floor(id / ABOUT_LIMIT)] ?? '';
				if (about && tree.did[Math.floor(id / ABOUT_LIMIT)] === DID_QUEUE) return `${text}, had the CPU: ${about}`;
				return about ? `${text} ${about}` : text;
			}
			default:
				return 'all';
		}
	};
	return { path, tree, nodeText, nodeThreads: (node) => [...threadsOf.get(node) ?? []] };
}
