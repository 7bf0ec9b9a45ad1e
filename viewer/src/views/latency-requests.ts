// Requests: their distribution, the slowest ones, and the timeline of one (LDB, figure 6).
import { h } from '../ui/dom.js';
import { distributionChart, QUANTILES } from './latency-parts.js';
import {
	isHolderItem, layoutTimeline, logScale, timelineCauses, type LogScale, type Quantiles, type TimelineItem, type TimelineLayout,
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
	/** What the server sent, but not as answers: for other clients' data, and after idleness. */
	readonly push_count?: number;
	readonly late_count?: number;
	readonly timelines?: readonly Timeline[];
	/** Of all of them, the longest first, if `requests` may lack some. */
	readonly lengths?: ArrayLike<number>;
}

export interface RequestsState {
	request: string;
}

/** What the page knows about colors and threads. */
export interface RequestsContext {
	readonly colors: () => PictureColors & { readonly cpu: string; readonly io: string; readonly lock: string; readonly sched: string; readonly other: string; readonly holder: string };
	threadName(tid: number): string;
	readonly lockNames: LockNames;
	/** Shows a part of the recording, in ns from its start, of the thread `tid` in another view. */
	showTime(from_ns: number, until_ns: number, tid: number): void;
}

export interface RequestsPart {
	readonly element: HTMLElement;
	/** Shows the requests of the selection; `note` says which they are, '' that they are all. */
	select(selected: RequestsDocument, note: string): void;
	update(): void;
	dispose(): void;
}

/** What is not counted as a request; '' if there is no such thing. */
export function pushText(document: RequestsDocument): string {
	const pushes = document.push_count ?? 0, late = document.late_count ?? 0;
	const parts = [pushes > 0 ? `${countText(pushes)} for the data of other connections` : '', late > 0 ? `${countText(late)} after idleness` : ''].filter(Boolean);
	return parts.length > 0 ? `Not counted, as they answer no request: pushes, ${parts.join(', and ')}.` : '';
}

/** The lengths of requests, and how many there are. */
function distributionPart(selected: RequestsDocument, scale: LogScale): HTMLElement {
	const lengths = selected.lengths ?? selected.requests.map((request) => request.length_ns);
	const quantiles = QUANTILES.map(({ key, name }) => `${name} ${selected.latency[key] === null ? '?' : nsText(selected.latency[key]!)}`);
	const title = `${countText(selected.count)} request${selected.count === 1 ? '' : 's'}`;
	const isCut = lengths.length < selected.count;
	return h('section', { 'aria-label': 'Distribution' },
		h('p', { class: 'wide request-quantiles' }, selected.count > 0 ? `${title}: ${quantiles.join(', ')}` : 'No request began in the selection.'),
		pushText(selected) ? h('p', { class: 'muted' }, pushText(selected)) : '',
		lengths.length > 1 ? h('figure', {},
			distributionChart(lengths, selected.latency, scale, tickText, `Distribution of ${title}: ${quantiles.join(', ')}`),
			h('figcaption', { class: 'muted' }, `Bars: requests by latency${isCut ? ` (of the slowest ${countText(lengths.length)})` : ''}. Line: share of requests that take longer, on a logarithmic axis.`)) : '');
}

export function requestsPart(
	whole: RequestsDocument, state: RequestsState, context: RequestsContext, changed: () => void,
): RequestsPart {
	const shortest = whole.requests.at(-1)?.length_ns ?? 1000;
	/* That of all requests, whatever is selected: pictures can be compared. */
	const scale = logScale(Math.min(shortest, whole.latency.p50_ns ?? shortest), whole.latency.max_ns ?? 1000);
	const note = h('p', { class: 'muted selection-note', role: 'status' });
	const grid = h('div', { class: 'request-grid' });
	const timelineBox = h('div', { class: 'timeline-box' });
	let timelines = new Map<string, Timeline>();
	let picture: BoxPicture | null = null;
	let shown: Timeline | undefined;

	const showTimeline = (timeline: Timeline | undefined, otherwise: string): void => {
		if (timeline && timeline === shown) return;
		shown = timeline;
		picture?.dispose();
		picture = null;
		timelineBox.replaceChildren();
		if (timeline) {
			const part = timelinePart(timeline, context);
			picture = part.picture;
			timelineBox.append(part.element);
			picture.update();
		} else if (otherwise) timelineBox.append(h('p', { class: 'muted' }, otherwise));
	};
	const row = (request: Request, body: () => HTMLElement): HTMLElement => {
		const id = String(request.id), isShown = id === String(shown?.id);
		const button = h('button', { type: 'button', class: 'link-button', 'aria-pressed': String(isShown) }, id) as HTMLButtonElement;
		if (!timelines.has(id)) {
			button.disabled = true;
			button.title = 'Only the slowest requests have timelines here';
		}
		const made = h('tr', { class: isShown ? 'selected' : '' },
			h('td', { class: 'num' }, button), h('td', { class: 'num' }, nsText(request.length_ns)),
			h('td', { class: 'num' }, request.unread_ns > 0 ? nsText(request.unread_ns) : ''),
			h('td', { class: 'num' }, nsText(request.begin_ns)),
			h('td', { class: 'text' }, context.threadName(request.tid)),
			h('td', { class: 'text' }, request.peer ?? request.source));
		button.addEventListener('click', () => {
			state.request = id;
			changed();
			for (const other of body().querySelectorAll('tr.selected')) {
				other.classList.remove('selected');
				other.querySelector('button')?.setAttribute('aria-pressed', 'false');
			}
			made.classList.add('selected');
			button.setAttribute('aria-pressed', 'true');
			showTimeline(timelines.get(id), '');
		});
		return made;
	};
	const slowestPart = (selected: RequestsDocument): HTMLElement => {
		const body: HTMLElement = limitedRows(selected.requests, 12, 6, (request) => row(request, () => body));
		return h('section', { 'aria-label': 'The slowest requests' }, h('h2', {}, 'The slowest requests'),
			h('div', { class: 'scroll-box', tabindex: '0', role: 'region', 'aria-label': 'Table' }, h('table', { class: 'plain-table' },
				h('caption', { class: 'visually-hidden' }, 'The slowest requests'),
				tableHead(['request#', 'latency#', 'before it was read#', 'at#', 'answered by', 'from']), body)));
	};
	const select = (selected: RequestsDocument, text: string): void => {
		note.textContent = text;
		note.hidden = text === '';
		timelines = new Map((selected.timelines ?? []).map((timeline) => [String(timeline.id), timeline]));
		const isThere = (whole.timelines ?? []).length > 0;
		showTimeline(timelines.get(state.request) ?? [...timelines.values()][0],
			selected.count === 0 ? '' : isThere ? 'None of these requests has a timeline here: only the slowest of the recording have.' : 'There are no timelines in this file.');
		grid.replaceChildren(distributionPart(selected, scale), slowestPart(selected));
	};
	return {
		element: h('div', {}, note, grid, timelineBox), select,
		update: () => picture?.update(), dispose: () => picture?.dispose(),
	};
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
