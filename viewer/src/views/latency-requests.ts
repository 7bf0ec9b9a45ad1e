// Requests: their distribution, the slowest ones, and the timeline of one (LDB, figure 6).
import { h } from '../ui/dom.js';
import { distributionChart, QUANTILES, type Quantiles } from './latency-parts.js';
import {
	isHolderItem, layoutTimeline, logScale, timelineCauses, type TimelineItem, type TimelineLayout,
} from './latency-shape.js';
import { BoxPicture, type Box, type PictureColors, type Scene } from './path-canvas.js';
import { linearTicks } from './causal-curve.js';
import { countText, limitedRows, nsText, percentText, plainTable, tableHead, tickText, type LockNames } from './summary-parts.js';

export interface Request {
	readonly id: number | string;
	readonly source: string;
	readonly begin_ns: number;
	readonly length_ns: number;
	readonly unread_ns: number;
	readonly tid: number;
	readonly peer: string | null;
}

export interface Timeline extends Request {
	readonly items: readonly TimelineItem[];
}

export interface RequestsDocument {
	readonly count: number;
	readonly latency: Quantiles;
	readonly requests: readonly Request[];
	readonly timelines?: readonly Timeline[];
}

export interface RequestsState {
	request: string;
}

/** What the page knows about colors and threads. */
export interface RequestsContext {
	readonly colors: () => PictureColors & { readonly cpu: string; readonly io: string; readonly lock: string; readonly sched: string; readonly other: string; readonly holder: string };
	threadName(tid: number): string;
	readonly lockNames: LockNames;
	/** Shows a part of the recording, in ns from its start, in another view. */
	showTime(from_ns: number, until_ns: number, tid: number): void;
}

export interface RequestsPart {
	readonly element: HTMLElement;
	update(): void;
	dispose(): void;
}

export function requestsPart(
	document: RequestsDocument, state: RequestsState, context: RequestsContext, changed: () => void,
): RequestsPart {
	const timelines = new Map((document.timelines ?? []).map((timeline) => [String(timeline.id), timeline]));
	const lengths = document.requests.map((request) => request.length_ns);
	const shortest = lengths.length ? lengths[lengths.length - 1]! : 1000;
	const scale = logScale(Math.min(shortest, document.latency.p50_ns ?? shortest), document.latency.max_ns ?? 1000);
	const quantiles = QUANTILES.map(({ key, name }) => `${name} ${document.latency[key] === null ? '?' : nsText(document.latency[key]!)}`);
	const timelineBox = h('div', { class: 'timeline-box' });
	let picture: BoxPicture | null = null;

	const show = (): void => {
		picture?.dispose();
		picture = null;
		const timeline = timelines.get(state.request);
		timelineBox.replaceChildren();
		if (timeline) {
			const part = timelinePart(timeline, context);
			picture = part.picture;
			timelineBox.append(part.element);
			picture.update();
		} else if (document.requests.length > 0)
			timelineBox.append(h('p', { class: 'muted' }, timelines.size > 0 ? 'Choose a request to see its timeline.' : 'There are no timelines in this file.'));
	};
	const body = limitedRows(document.requests, 12, 6, (request) => {
		const id = String(request.id);
		const button = h('button', { type: 'button', class: 'link-button', 'aria-pressed': String(id === state.request) }, id) as HTMLButtonElement;
		if (!timelines.has(id)) {
			button.disabled = true;
			button.title = 'Only the slowest requests have timelines here';
		}
		const row = h('tr', { class: id === state.request ? 'selected' : '' },
			h('td', { class: 'num' }, button), h('td', { class: 'num' }, nsText(request.length_ns)),
			h('td', { class: 'num' }, request.unread_ns > 0 ? nsText(request.unread_ns) : ''),
			h('td', { class: 'num' }, nsText(request.begin_ns)),
			h('td', { class: 'text' }, context.threadName(request.tid)),
			h('td', { class: 'text' }, request.peer ?? request.source));
		button.addEventListener('click', () => {
			state.request = id;
			changed();
			for (const other of body.querySelectorAll('tr.selected')) {
				other.classList.remove('selected');
				other.querySelector('button')?.setAttribute('aria-pressed', 'false');
			}
			row.classList.add('selected');
			button.setAttribute('aria-pressed', 'true');
			show();
		});
		return row;
	});
	if (!timelines.has(state.request)) state.request = timelines.size > 0 ? [...timelines.keys()][0]! : '';
	const first = [...body.querySelectorAll('tr')].find((row) => row.querySelector('button')?.textContent === state.request);
	first?.classList.add('selected');
	first?.querySelector('button')?.setAttribute('aria-pressed', 'true');

	const isCut = document.requests.length < document.count;
	const element = h('div', {}, h('div', { class: 'request-grid' },
		h('section', { 'aria-label': 'Distribution' }, h('p', { class: 'wide' }, `${countText(document.count)} requests: ${quantiles.join(', ')}`),
		document.requests.length > 1 ? h('figure', {},
			distributionChart(lengths, document.latency, scale, tickText, `Distribution of ${document.count} requests: ${quantiles.join(', ')}`),
			h('figcaption', { class: 'muted' }, `Bars: requests by latency${isCut ? ` (of the slowest ${countText(document.requests.length)})` : ''}. Line: share of requests that take longer, on a logarithmic axis.`)) : ''),
		h('section', { 'aria-label': 'The slowest requests' }, h('h2', {}, 'The slowest requests'),
		h('div', { class: 'scroll-box', tabindex: '0', role: 'region', 'aria-label': 'Table' }, h('table', { class: 'plain-table' },
			h('caption', { class: 'visually-hidden' }, 'The slowest requests'),
			tableHead(['request#', 'latency#', 'before it was read#', 'at#', 'answered by', 'from']), body)))),
		timelineBox);
	show();
	return { element, update: () => picture?.update(), dispose: () => picture?.dispose() };
}

function itemText(item: TimelineItem, context: RequestsContext): string {
	const name = item.for ? context.threadName(item.for) : '';
	switch (item.type) {
		case 'wait':
			return `${item.kind ?? 'wait'}${item.object ? ` ${context.lockNames(item.object)}` : ''}${name ? `, for ${name}` : ''}${item.function ? ` in ${item.function}` : ''}`;
		case 'run queue':
			return `run queue${name ? `, for ${name}` : ''}`;
		case 'queue':
			return `in a queue${item.queue ? `: ${item.queue}` : ''}`;
		case 'thread':
			return context.threadName(item.tid);
		default:
			return item.function ?? item.type;
	}
}

function itemColor(item: TimelineItem, colors: ReturnType<RequestsContext['colors']>): string {
	if (isHolderItem(item)) return colors.holder;
	switch (item.type) {
		case 'wait':
			if (item.cause === 'device') return colors.io;
			return isLockWait(item) ? colors.lock : colors.other;
		case 'run queue':
			return colors.sched;
		case 'queue':
			return colors.other;
		default:
			return colors.cpu;
	}
}

function timelinePart(timeline: Timeline, context: RequestsContext): { element: HTMLElement; picture: BoxPicture } {
	const layout = layoutTimeline(timeline.items);
	const length = Math.max(1, timeline.length_ns, layout.length_ns);
	const view = { from: 0, until: length };
	const items = new WeakMap<Box, TimelineItem>();
	const picture = new BoxPicture({
		label: `Timeline of request ${timeline.id}: calls below their callers, waits, and what the holders of locks did. The table below has the same.`,
		rowHeight: 18,
		leastHeight: 420,
		colors: context.colors,
		scene: () => timelineScene(layout, view, items, context),
		describe: (box) => {
			const item = items.get(box);
			if (!item) return [box.label];
			return [itemText(item, context), `${nsText(item.length_ns)}, after ${nsText(item.begin_ns)}`, `${isHolderItem(item) ? 'holder of the lock: ' : ''}${context.threadName(item.tid)}`];
		},
		activate: (box) => {
			const item = items.get(box);
			if (!item) return;
			const isSame = view.from === item.begin_ns && view.until === item.begin_ns + item.length_ns;
			setView(isSame ? 0 : item.begin_ns, isSame ? length : item.begin_ns + Math.max(1, item.length_ns));
		},
		range: (x0, x1) => setView(view.from + x0 * (view.until - view.from), view.from + x1 * (view.until - view.from)),
		zoom: (factor, x) => {
			const at = view.from + x * (view.until - view.from);
			const width = Math.max(100, (view.until - view.from) * factor);
			setView(at - x * width, at + (1 - x) * width);
		},
		pan: (by) => setView(view.from + by * (view.until - view.from), view.until + by * (view.until - view.from)),
		reset: () => setView(0, length),
	});
	function setView(from: number, until: number): void {
		const width = Math.min(length, until - from);
		view.from = Math.min(Math.max(0, from), length - width);
		view.until = view.from + width;
		picture.update();
	}

	const causes = timelineCauses(timeline.items, timeline.length_ns);
	const all = h('button', { type: 'button' }, 'Show in timeline');
	all.addEventListener('click', () => context.showTime(timeline.begin_ns, timeline.begin_ns + timeline.length_ns, timeline.tid));
	const element = h('section', { 'aria-label': `Request ${timeline.id}` },
		h('h2', {}, `Request ${timeline.id}: ${nsText(timeline.length_ns)}, answered by ${context.threadName(timeline.tid)}`),
		h('p', { class: 'muted' }, `Arrived at ${nsText(timeline.begin_ns)}`,
			timeline.unread_ns > 0 ? `, read after ${nsText(timeline.unread_ns)}` : '', timeline.peer ? `, from ${timeline.peer}` : '', '. '), all,
		picture.element, timelineLegend(timeline.items),
		h('p', { class: 'muted hint' }, 'Arrows move between boxes, Enter shows one in full width, + and - zoom, 0 shows all; drag to show a part.'),
		h('h3', {}, 'What its time went to'),
		plainTable('Causes', ['cause', 'time#', 'share#'], causes.map((cause) => [
			cause.item ? itemText(cause.item, context) : 'running, in no call that was seen', nsText(cause.ns), percentText(cause.ns / Math.max(1, timeline.length_ns)),
		])),
		h('details', {}, h('summary', {}, `All ${countText(timeline.items.length)} items as a table`),
			plainTable('Items of the timeline', ['after#', 'length#', 'what', 'thread'], timeline.items.map((item) => [
				nsText(item.begin_ns), nsText(item.length_ns), `${'\u2003'.repeat(Math.min(20, item.depth))}${itemText(item, context)}`,
				`${isHolderItem(item) ? 'holder ' : ''}${context.threadName(item.tid)}`,
			]))));
	return { element, picture };
}

const legendParts = [
	{ className: 'split-cpu', text: 'calls', isIt: (item: TimelineItem) => item.type === 'call' },
	{ className: 'split-queue', text: 'run queue', isIt: (item: TimelineItem) => item.type === 'run queue' },
	{ className: 'split-lock', text: 'waits for locks', isIt: (item: TimelineItem) => item.type === 'wait' && isLockWait(item) },
	{ className: 'split-disk', text: 'waits for devices', isIt: (item: TimelineItem) => item.type === 'wait' && item.cause === 'device' },
	{ className: 'split-other', text: 'other waits', isIt: (item: TimelineItem) => item.type === 'queue' || (item.type === 'wait' && !isLockWait(item) && item.cause !== 'device') },
	{ className: 'timeline-holder', text: 'what the holder of the lock did', isIt: isHolderItem },
] as const;

function timelineLegend(items: readonly TimelineItem[]): HTMLElement {
	return h('p', { class: 'split-legend' }, ...legendParts.filter(({ isIt }) => items.some((item) => isIt(item)))
		.map(({ className, text }) => h('span', {}, h('span', { class: `key ${className}` }), text)));
}

function isLockWait(item: TimelineItem): boolean {
	return item.kind === 'futex' || (item.kind?.includes('lock') ?? false);
}

function timelineScene(
	layout: TimelineLayout, view: { from: number; until: number }, items: WeakMap<Box, TimelineItem>, context: RequestsContext,
): Scene {
	const colors = context.colors();
	const width = view.until - view.from;
	const boxes: Box[] = [];
	for (const { item, row } of layout.boxes) {
		const x0 = (item.begin_ns - view.from) / width;
		const x1 = (item.begin_ns + item.length_ns - view.from) / width;
		if (x1 < 0 || x0 > 1) continue;
		const box: Box = {
			row, x0: Math.max(0, x0), x1: Math.min(1, x1), fill: itemColor(item, colors),
			label: `${itemText(item, context)} ${nsText(item.length_ns)}`,
		};
		items.set(box, item);
		boxes.push(box);
	}
	const rowLabels = new Array<string>(layout.rows).fill('');
	for (const lane of layout.lanes)
		rowLabels[lane.row] = `${context.threadName(lane.tid)}${lane.isHolder ? ' (holder)' : ''}`;
	const ticks = linearTicks(view.from, view.until, 6).map((tick) => ({ x: (tick - view.from) / width, text: tick === 0 ? '0' : nsTick(tick, width) }));
	return { boxes, rows: layout.rows, rowLabels, lines: [], ticks };
}

/** Times on an axis with as many digits as its width needs. */
function nsTick(ns: number, width: number): string {
	const [unit, size] = width >= 2e9 ? ['s', 1e9] : width >= 2e6 ? ['ms', 1e6] : width >= 2e3 ? ['\u00b5s', 1e3] : ['ns', 1];
	return `${Number((ns / size).toFixed(4))} ${unit}`;
}
