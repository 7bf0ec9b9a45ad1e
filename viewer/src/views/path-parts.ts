// The pictures of a path: threads over time, the pseudo-stack over time, and the same gathered; and the
// tree as a table.
import { h } from '../ui/dom.js';
import { clockText } from '../ui/time.js';
import { linearTicks } from './causal-curve.js';
import { BoxPicture, type Box, type PictureColors, type Scene } from './path-canvas.js';
import {
	CELL_IO, CELL_PARTS, CELL_QUEUE, CELL_RUN, CELL_SLEEP, CELL_WAITS, chronologicalBlocks, consolidatedBlocks, DID_IO, DID_QUEUE,
	DID_RUN, DID_SLEEP, dominantSteps, NODE_CPU, NODE_FRAME, NODE_QUEUE, NODE_THREAD, NODE_WAIT, pathLinks, pathThreads, processCells, sortedChildren, stepAt,
	sumPath, type PathBlock, type PathSums, type PathTables, type PathTree,
} from './path-tree.js';
import { countText, limitedRows, nsText, percentText, tableHead, tickText } from './summary-parts.js';

export interface PathColors extends PictureColors {
	readonly run: string;
	readonly sleep: string;
	readonly both: string;
	readonly io: string;
	readonly queue: string;
	readonly thread: string;
	readonly waits: string;
}

export interface PathState {
	picture: string;
	functions: boolean;
	kernel: boolean;
	/** The node that is shown in full width in the consolidated view. */
	root: number;
}

export interface PathContext {
	readonly path: PathTables;
	readonly tree: PathTree;
	readonly colors: () => PathColors;
	/** The part of the path that is shown. */
	window(): { from: number; until: number };
	select(from: number, until: number): void;
	reset(): void;
	nodeText(node: number): string;
	threadText(thread: number): string;
	showThread(thread: number): void;
}

export const PICTURES = [
	{ id: 'threads', title: 'Threads over time' },
	{ id: 'chronological', title: 'Control path over time' },
	{ id: 'consolidated', title: 'Consolidated' },
	{ id: 'table', title: 'Table' },
] as const;

const categoryTexts: Readonly<Record<string, string>> = {
	running: 'in functions seen',
	estimated: 'in functions, estimated',
	not_sampled: 'running, not sampled',
	memory: 'reclaiming memory',
	memory_estimated: 'reclaiming memory, estimated',
	disk_active: 'disk: active',
	disk_queued: 'disk: queued',
	stopped: 'not allowed to run',
	tcp: 'TCP: held back, sent again',
	run_queue: 'run queue',
	preempted: 'preempted',
	cpu_idle: 'wakeup latency: CPU was idle',
	sleep: 'deliberate sleeps',
	timeout: 'waits that timed out',
	peer: 'network peers, not recorded',
	interrupt: 'other interrupts',
	delivery: 'wakeups under way',
	idle: 'idle: waits for work',
	other_path: 'other path',
	not_recorded: 'threads that were not recorded',
	gap: 'gaps: events were lost',
	unknown: 'unknown',
};

export function categoryText(name: string): string {
	return categoryTexts[name] ?? name;
}

const leafTexts: Readonly<Record<string, string>> = {
	not_sampled: 'running, not sampled', cpu_idle: 'CPU idle: wakeup latency', disk_active: 'disk active', disk_queued: 'disk queued', tcp: 'TCP:', stopped: 'stopped:', sleep: 'timer', timeout: 'timed out',
	delivery: 'wakeup under way from', other_path: 'other path of', not_recorded: 'not recorded:', gap: 'gap: events were lost',
};

/** What a category is called within the tree. */
export function leafText(name: string): string {
	return leafTexts[name] ?? name.replaceAll('_', ' ');
}

function didColor(did: number, colors: PathColors): string {
	if (did === DID_RUN) return colors.run;
	if (did === DID_IO) return colors.io;
	if (did === DID_QUEUE) return colors.queue;
	if ((did & DID_RUN) !== 0 && did !== DID_RUN) return colors.both;
	return colors.sleep;
}

function didText(did: number): string {
	const parts: string[] = [];
	if (did & DID_RUN) parts.push('ran');
	if (did & DID_SLEEP) parts.push('waited');
	if (did & DID_IO) parts.push('waited for the disk');
	if (did & DID_QUEUE) parts.push('waited for a CPU');
	return parts.join(' and ');
}

function blockColor(tree: PathTree, block: PathBlock, colors: PathColors): string {
	const kind = tree.kind[block.node];
	if (kind === NODE_THREAD || kind === NODE_CPU) return colors.thread;
	if (kind === NODE_QUEUE) return colors.queue;
	if (kind === NODE_WAIT) return colors.waits;
	return didColor(block.did, colors);
}

export function timeTicks(from: number, until: number): Scene['ticks'] {
	const width = until - from;
	return linearTicks(from, until, 7).map((tick) => ({ x: (tick - from) / width, text: clockText(tick, width) }));
}

/** The picture that the state names. */
export function makePicture(context: PathContext, state: PathState, changed: () => void, detail: (lines: string[], node: number, range: { from: number; until: number } | null) => void): BoxPicture | null {
	const zoomTime = (factor: number, x: number): void => {
		const { from, until } = context.window();
		const at = from + x * (until - from);
		const width = Math.max(10, (until - from) * factor);
		context.select(at - x * width, at + (1 - x) * width);
	};
	const panTime = (by: number): void => {
		const { from, until } = context.window();
		const shift = Math.max(context.path.from - from, Math.min(context.path.until - until, by * (until - from)));
		context.select(from + shift, until + shift);
	};
	const overTime = {
		rowHeight: 17,
		leastHeight: 300,
		colors: context.colors,
		range: (x0: number, x1: number): void => {
			const { from, until } = context.window();
			context.select(from + x0 * (until - from), from + x1 * (until - from));
		},
		zoom: zoomTime,
		pan: panTime,
		reset: () => context.reset(),
	};
	const info = new WeakMap<Box, { lines: string[]; node: number; range: { from: number; until: number } | null }>();
	const describe = (box: Box): string[] => info.get(box)?.lines ?? [box.label];
	const activate = (box: Box): void => {
		const known = info.get(box);
		if (known) detail(known.lines, known.node, known.range);
	};
	switch (state.picture) {
		case 'threads':
			return new BoxPicture({
				...overTime, describe, activate, rowHeight: 22,
				label: 'Threads of the path over time: when each ran, waited, or was waited for. The account and the table have the same numbers.',
				scene: (width) => threadScene(context, width, info),
				activateRow: (row) => {
				const { from, until } = context.window();
				context.showThread(pathThreads(context.path, from, until)[row]!);
			},
			});
		case 'chronological':
			return new BoxPicture({
				...overTime, describe, activate,
				label: 'The pseudo-stack of the path over time: who waits for whom, downwards.',
				scene: (width) => chronologicalScene(context, width, info),
			});
		case 'consolidated':
			return new BoxPicture({
				label: 'The pseudo-stacks of the selected time, gathered and sorted by time.',
				rowHeight: 17, leastHeight: overTime.leastHeight, colors: context.colors, describe,
				scene: (width) => consolidatedScene(context, state, width, info),
				activate: (box) => {
					activate(box);
					const node = info.get(box)?.node;
					if (node === undefined) return;
					state.root = state.root === node ? 0 : node;
					changed();
				},
				reset: () => {
					state.root = 0;
					changed();
				},
			});
		default:
			return null;
	}
}

type Info = WeakMap<Box, { lines: string[]; node: number; range: { from: number; until: number } | null }>;

function chronologicalScene(context: PathContext, width: number, info: Info): Scene {
	const { path, tree } = context;
	const { from, until } = context.window();
	const columns = Math.max(1, Math.floor(width));
	const colors = context.colors();
	const dominant = dominantSteps(path, from, until, columns);
	const blocks = chronologicalBlocks(path, tree, dominant);
	let rows = 0;
	const boxes = blocks.map((block) => {
		rows = Math.max(rows, block.row + 1);
		const label = context.nodeText(block.node);
		const box: Box = { row: block.row, x0: block.x0 / columns, x1: block.x1 / columns, fill: blockColor(tree, block, colors), label };
		const begin = from + ((until - from) * block.x0) / columns;
		const end = from + ((until - from) * block.x1) / columns;
		info.set(box, {
			lines: [label, `about ${nsText(end - begin)}, from ${nsText(begin)}`, ...(tree.kind[block.node] === NODE_FRAME ? [didText(block.did)] : [])],
			node: block.node, range: { from: begin, until: end },
		});
		return box;
	});
	return { boxes, rows: Math.max(1, rows), rowLabels: [], lines: [], ticks: timeTicks(from, until) };
}

function consolidatedScene(context: PathContext, state: PathState, width: number, info: Info): Scene {
	const { path, tree } = context;
	const { from, until } = context.window();
	const colors = context.colors();
	const sums = sumPath(path, tree, from, until);
	const all = Math.max(1, sums.total[0]!);
	const root = sums.total[state.root] ? state.root : 0;
	const blocks = consolidatedBlocks(tree, sums, root, width);
	let rows = 0;
	const boxes = blocks.map((block) => {
		rows = Math.max(rows, block.row + 1);
		const label = context.nodeText(block.node);
		const box: Box = { row: block.row, x0: block.x0 / width, x1: block.x1 / width, fill: blockColor(tree, block, colors), label };
		info.set(box, { lines: nodeLines(context, sums, block.node, all), node: block.node, range: null });
		return box;
	});
	const shown = sums.total[root]!;
	const ticks = linearTicks(0, shown, 6).map((tick) => ({ x: tick / Math.max(1, shown), text: tick === 0 ? '' : tickText(tick) }));
	return { boxes, rows: Math.max(1, rows), rowLabels: [], lines: [], ticks };
}

function nodeLines(context: PathContext, sums: PathSums, node: number, all: number): string[] {
	const total = sums.total[node]!;
	const self = sums.self[node]!;
	return [
		context.nodeText(node),
		`${nsText(total)}, ${percentText(total / all)} of the time shown`,
		...(self > 0 && self < total ? [`itself ${nsText(self)}`] : []),
		...(sums.estimated[node]! > 0 ? [`${nsText(sums.estimated[node]!)} of that estimated by samples of similar runs`] : []),
		...(context.tree.kind[node] === NODE_FRAME ? [didText(sums.did[node]!)] : []),
	];
}

const cellParts = [
	{ part: CELL_RUN, name: 'runs', color: 'run' },
	{ part: CELL_IO, name: 'waits for the disk', color: 'io' },
	{ part: CELL_QUEUE, name: 'waits for a CPU', color: 'queue' },
	{ part: CELL_SLEEP, name: 'sleeps', color: 'sleep' },
	{ part: CELL_WAITS, name: 'waits for the next thread', color: 'waits' },
] as const;

function threadScene(context: PathContext, width: number, info: Info): Scene {
	const { path, tree } = context;
	const { from, until } = context.window();
	const threads = pathThreads(path, from, until);
	const columns = Math.max(1, Math.floor(width));
	const cells = processCells(path, tree, threads, from, until, columns);
	const colors = context.colors();
	const boxes: Box[] = [];
	const time = (column: number): number => from + ((until - from) * column) / columns;

	for (let row = 0; row < threads.length; row++) {
		let begin = 0;
		let kind = -2;
		const flush = (end: number): void => {
			if (kind >= -1 && end > begin) boxes.push(...segment(row, begin, end, kind));
		};
		for (let column = 0; column < columns; column++) {
			const now = cellKind(cells, (row * columns + column) * CELL_PARTS);
			if (now === kind) continue;
			flush(column);
			begin = column;
			kind = now;
		}
		flush(columns);
	}

	/** A part of a row in which one thing happens (`kind`), or several (-1). */
	function segment(row: number, begin: number, end: number, kind: number): Box[] {
		const made: Box[] = [];
		const sums = new Float64Array(CELL_PARTS);
		for (let column = begin; column < end; column++) {
			let base = 0;
			for (const { part, color } of cellParts) {
				const share = cells[(row * columns + column) * CELL_PARTS + part]!;
				sums[part]! += share;
				if (kind >= 0 || share < 0.02) continue;
				made.push({ row, x0: column / columns, x1: (column + 1) / columns, fill: colors[color], label: '', height: Math.min(share, 1 - base), base, isPlain: true });
				base = Math.min(1, base + share);
			}
		}
		const name = kind >= 0 ? cellParts[kind]!.name : 'several';
		const label = kind >= 0 ? cellLabel(context, threads[row]!, time((begin + end) / 2)) : '';
		const box: Box = {
			row, x0: begin / columns, x1: end / columns, label,
			fill: kind >= 0 ? colors[cellParts[kind]!.color] : 'transparent',
		};
		const parts = cellParts.filter(({ part }) => sums[part]! > 0.01)
			.map(({ part, name: text }) => `${text} ${nsText((sums[part]! * (until - from)) / columns)}`);
		info.set(box, {
			lines: [context.threadText(threads[row]!), ...(label ? [label] : []), ...(kind >= 0 ? [`${name} ${nsText(time(end) - time(begin))}`] : parts), `from ${nsText(time(begin))}`],
			node: -1, range: { from: time(begin), until: time(end) },
		});
		made.push(box);
		return made;
	}
	const rowOf = new Map(threads.map((thread, row) => [thread, row]));
	const lines = pathLinks(path, from, until, (until - from) / columns, 3000).map((link) => ({
		x: (link.time - from) / (until - from), row0: rowOf.get(link.fromThread) ?? 0, row1: rowOf.get(link.toThread) ?? 0,
	}));
	return { boxes, rows: threads.length, rowLabels: threads.map((thread) => context.threadText(thread)), lines, ticks: timeTicks(from, until) };
}

/** The only thing that happens in a cell; -1: several; -2: none. */
function cellKind(cells: Float32Array, at: number): number {
	let sum = 0;
	for (let part = 0; part < CELL_PARTS; part++) sum += cells[at + part]!;
	if (sum < 0.01) return -2;
	for (let part = 0; part < CELL_PARTS; part++) if (cells[at + part]! > 0.97) return part;
	return -1;
}

/** What `thread` does at `time`, in a few words. */
function cellLabel(context: PathContext, thread: number, time: number): string {
	const { path, tree } = context;
	const step = stepAt(path, time);
	if (step >= path.steps.level.length) return '';
	let level = path.steps.level[step]!;
	if (path.levels.thread[level] === thread) {
		const leaf = tree.leafOf[step]!;
		return context.nodeText(leaf);
	}
	for (let inner = level; inner >= 0; level = inner, inner = path.levels.waiter[inner]!)
		if (path.levels.thread[inner] === thread && inner !== level) return `waits for ${context.threadText(path.levels.thread[level]!)}`;
	return '';
}

/** What the time shown went to: a bar, and a list of the categories. */
export function accountPart(context: PathContext): HTMLElement {
	const { path, tree } = context;
	const { from, until } = context.window();
	const { categories } = sumPath(path, tree, from, until);
	const all = Math.max(1, categories.reduce((sum, ns) => sum + ns, 0));
	const bar = h('div', { class: 'account-bar', 'aria-hidden': 'true' });
	const list = h('ul', { class: 'account-list' });
	path.categories
		.map((name, category) => ({ name, ns: categories[category]!, did: tree.did[category]! }))
		.filter((one) => one.ns > 0)
		.sort((a, b) => b.ns - a.ns)
		.forEach(({ name, ns, did }) => {
			const part = h('span', { class: `path-${didClass(did)}` });
			part.style.width = `${((ns / all) * 100).toFixed(3)}%`;
			bar.append(part);
			list.append(h('li', {}, h('span', { class: `key path-${didClass(did)}` }), categoryText(name), ' ',
				h('strong', {}, nsText(ns)), ` ${percentText(ns / all)}`));
		});
	return h('section', { class: 'account', 'aria-label': `Account of the ${nsText(all)} shown` }, bar, list);
}

/** A row of the tree as a table: functions that only call each other are one row. */
export interface TreeRow {
	readonly nodes: number[];
	readonly depth: number;
}

/** Rows of the tree with at least `least` of the time, callers first, the longest first. */
export function treeRows(tree: PathTree, sums: PathSums, least: number): TreeRow[] {
	const rows: TreeRow[] = [];
	const { first, list } = sortedChildren(tree, sums);
	const pending: { node: number; depth: number; row: TreeRow | null }[] = [{ node: 0, depth: 0, row: null }];
	for (let at = pending.pop(); at; at = pending.pop()) {
		const { node, depth } = at;
		let { row } = at;
		if (node !== 0) {
			const isFrame = tree.kind[node] === NODE_FRAME;
			const last = row?.nodes.at(-1);
			const joins = row && last !== undefined && isFrame && tree.kind[last] === NODE_FRAME && sums.total[node] === sums.total[last];
			if (joins) row!.nodes.push(node);
			else {
				row = { nodes: [node], depth };
				rows.push(row);
			}
		}
		const inner = row ? row.depth + 1 : 0;
		// The last one pushed is the first one taken.
		for (let i = first[node + 1]! - 1; i >= first[node]!; i--)
			if (sums.total[list[i]!]! >= least) pending.push({ node: list[i]!, depth: inner, row });
	}
	return rows;
}

export function treeTable(context: PathContext): HTMLElement {
	const { path, tree } = context;
	const { from, until } = context.window();
	const sums = sumPath(path, tree, from, until);
	const all = Math.max(1, sums.total[0]!);
	const rows = treeRows(tree, sums, all * 0.005);
	const body = limitedRows(rows, 80, 5, ({ nodes, depth }) => {
		const node = nodes.at(-1)!;
		const kind = tree.kind[node];
		const key = kind === NODE_THREAD || kind === NODE_CPU ? 'thread' : kind === NODE_WAIT ? 'waits' : didClass(sums.did[node]!);
		const name = h('td', { class: 'text tree-name' }, h('span', { class: `key path-${key}` }), nodes.map((one) => context.nodeText(one)).join(' \u203a '));
		name.style.paddingInlineStart = `${Math.min(depth, 40) * 0.7 + 0.3}em`;
		const self = nodes.reduce((sum, one) => sum + sums.self[one]!, 0);
		const mark = nodes.some((one) => sums.estimated[one]! > 0) ? '~' : '';
		return h('tr', { class: kind === NODE_THREAD ? 'tree-thread' : '' },
			h('td', { class: 'num' }, percentText(sums.total[node]! / all)), h('td', { class: 'num' }, nsText(sums.total[node]!)),
			h('td', { class: 'num' }, self > 0 ? mark + nsText(self) : ''), h('td', { class: 'num' }, countText(sums.count[node]!)), name);
	});
	return h('div', { class: 'scroll-box', tabindex: '0', role: 'region', 'aria-label': 'Table' }, h('table', { class: 'plain-table tree-table' },
		h('caption', { class: 'visually-hidden' }, 'The path of the selected time as a tree; parts below 0.5% are left out'),
		tableHead(['share#', 'total#', 'self#', 'steps#', 'thread, function, wait']), body));
}

function didClass(did: number): string {
	if (did === DID_RUN) return 'run';
	if (did === DID_IO) return 'io';
	if (did === DID_QUEUE) return 'queue';
	return did & DID_RUN ? 'both' : 'sleep';
}
