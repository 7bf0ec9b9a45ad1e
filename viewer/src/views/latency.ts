// Which calls make the slow requests slow (LDB): functions, requests, locks.
import { threadLabel } from '../data/index.js';
import { ALL_CLASSES, type App, type Selection, type View, type ViewInstance } from '../ui/app.js';
import { h } from '../ui/dom.js';
import { functionsPart, type FunctionsState, type LatencyDocument } from './latency-functions.js';
import { requestPathPart, type RequestPathDocument } from './latency-paths.js';
import { locksPart, type LocksDocument } from './latency-locks.js';
import { requestsPart, type RequestsDocument, type RequestsState } from './latency-requests.js';
import { callTables, isWholeTime, requestTimes, selectCalls, selectRequests, SIGNED_SLOW, slowestCalls } from './latency-selection.js';
import { pictureColors, themeColor } from './path-colors.js';
import { lockNames, nsText, tabList, verdictOf } from './summary-parts.js';

const PARTS = [
	{ id: 'functions', title: 'Functions', block: 'latency' },
	{ id: 'requests', title: 'Requests', block: 'requests' },
	{ id: 'locks', title: 'Locks', block: 'locks' },
] as const;

/** So many of the slowest calls of a function are listed. */
const SLOWEST = 20;

type Part = (typeof PARTS)[number]['id'];

/** A part that is shown. */
interface Shown {
	readonly element: HTMLElement;
	/** The selection is another one. */
	select(): void;
	/** The theme is, or the window's size. */
	update?(): void;
	dispose?(): void;
}

/** While a brush moves, a part is made anew so often, ms. */
const EVERY = 80;

const rangeKey = ({ from, until, threads, classes }: Selection): string => `${from} ${until} ${threads ? [...threads].join() : ''} ${classes}`;

/** Lengths are not those of a class. */
const classesNote = ({ classes }: Selection): string => (classes === ALL_CLASSES ? '' : 'Of all classes.');

class LatencyView implements ViewInstance {
	private part: Part | '' = '';
	private readonly functions: FunctionsState = { order: 'tail', filter: '', selected: '' };
	private readonly requests: RequestsState = { request: '' };
	private readonly body = h('div', { role: 'tabpanel', 'aria-label': 'Part' });
	private readonly ofWhole = h('p', { class: 'muted', hidden: true }, 'The verdict is of the whole recording.');
	/** Which part is shown, or is being made. */
	private shown = '';
	/** The number of the part that was begun last: those before it are not shown. */
	private making = 0;
	private shownPart: Shown | null = null;
	private shownRange = '';
	private waiting = 0;

	constructor(private readonly root: HTMLElement, private readonly app: App) {
		this.update();
	}

	update(): void {
		const { recording } = this.app.selection;
		const parts = PARTS.filter(({ block }) => this.app.has(`r${recording}.${block}`));
		if (parts.length === 0) {
			this.shown = '';
			this.root.replaceChildren(h('p', {}, 'This recording has no latencies of functions, requests or locks.'));
			return;
		}
		const part = parts.find(({ id }) => id === this.part) ?? parts[0]!;
		if (this.shown === `${recording} ${part.id}`) {
			this.shownPart?.update?.();
			this.selectSoon();
			return;
		}
		this.root.replaceChildren(
			...verdictOf(this.app, recording, 'latency').map((text) => h('div', { class: 'verdict' }, h('p', { class: 'verdict-text' }, text))), this.ofWhole,
			tabList('Parts', parts, part.id, (id) => {
				this.part = id as Part;
				this.save();
				this.showPart(recording, id as Part);
			}), this.body);
		this.showPart(recording, part.id);
	}

	state(state: Record<string, string>): void {
		const part = PARTS.find(({ id }) => id === state['part'])?.id ?? '';
		const functions = { order: state['order'] ?? 'tail', filter: state['filter'] ?? '', selected: state['function'] ?? '' };
		const request = state['request'] ?? '';
		const isSame = part === this.part && functions.order === this.functions.order && functions.filter === this.functions.filter &&
			functions.selected === this.functions.selected && (request === this.requests.request || request === '');
		this.part = part;
		Object.assign(this.functions, functions);
		if (request) this.requests.request = request;
		if (isSame) return;
		/* What is being made will be of the new state. */
		if (this.shownPart) this.shown = '';
		this.update();
	}

	destroy(): void {
		clearTimeout(this.waiting);
		this.shownPart?.dispose?.();
		this.making++;
	}

	private save(): void {
		const { order, filter, selected } = this.functions;
		const part = this.part || 'functions';
		this.app.go('latency', {
			...(this.part ? { part } : {}),
			...(order === 'tail' ? {} : { order }), ...(filter ? { filter } : {}), ...(selected ? { function: selected } : {}),
			...(part === 'requests' && this.requests.request ? { request: this.requests.request } : {}),
		});
	}

	/** A brush changes the selection faster than tables can be made. */
	private selectSoon(): void {
		if (rangeKey(this.app.selection) === this.shownRange) return;
		this.waiting ||= setTimeout(() => {
			this.waiting = 0;
			this.select();
		}, EVERY) as unknown as number;
	}

	private select(): void {
		this.shownRange = rangeKey(this.app.selection);
		this.ofWhole.hidden = !this.isPart(this.app.selection.recording) || verdictOf(this.app, this.app.selection.recording, 'latency').length === 0;
		this.shownPart?.select();
	}

	private showPart(recording: number, part: Part): void {
		const making = ++this.making;
		this.shown = `${recording} ${part}`;
		this.shownPart?.dispose?.();
		this.shownPart = null;
		this.body.replaceChildren(h('p', { class: 'muted', role: 'status' }, 'Reading\u2026'));
		const changed = (): void => {
			this.part = part;
			this.save();
		};
		const make = { functions: this.functionsPart, requests: this.requestsPart, locks: this.locksPart }[part];
		make.call(this, recording, changed).then((made) => {
			if (this.making !== making) return made.dispose?.();
			this.shownPart = made;
			this.select();
			this.body.replaceChildren(made.element);
			made.update?.();
		}).catch((error: Error) => {
			if (this.making !== making) return;
			this.shown = '';
			this.body.replaceChildren(h('p', { class: 'warning' }, error.message));
		});
	}

	/** Whether the selection is a part of the recording. */
	private isPart(recording: number): boolean {
		const { selection, index } = this.app;
		return selection.threads !== null || !isWholeTime(selection, index.recordings[recording]!.duration_ns);
	}

	private async functionsPart(recording: number, changed: () => void): Promise<Shown> {
		const { duration_ns, unit_ns, latency_bins } = this.app.index.recordings[recording]!, block = `r${recording}.latency`;
		const [document, calls, slow] = await Promise.all([
			this.app.json<LatencyDocument>(block), this.app.table(`${block}.calls`), this.app.table(`${block}.slow`, SIGNED_SLOW)]);
		const bins = latency_bins ?? 1, tables = callTables(calls, slow, document.functions.length, { duration_ns, unit_ns, bins });
		const part = functionsPart(document, this.functions, {
			slowest: (number) => slowestCalls(tables, number, this.app.selection, SLOWEST),
			threadName: (thread) => this.threadName(recording, thread), tidName: this.threadNames(recording),
			showTime: (from, until, thread) => this.showTime(from, until, thread),
		}, changed);
		const note = (): string => {
			const { selection } = this.app, texts: string[] = [];
			if (!isWholeTime(selection, duration_ns)) texts.push(`Calls that began in the selection, in steps of ${nsText(duration_ns / bins)}; lengths to 3%. Slow calls are the slowest 1% of the whole recording.`);
			if (selection.threads) texts.push('Of the selected threads: only the slow calls. The rest is of all threads.');
			return [...texts, classesNote(selection)].join(' ').trim();
		};
		return { element: part.element, select: () => part.select(selectCalls(document, tables, this.app.selection), note()) };
	}

	private async requestsPart(recording: number, changed: () => void): Promise<Shown> {
		const { threads, duration_ns, unit_ns } = this.app.index.recordings[recording]!, block = `r${recording}.requests`;
		const [document, columns, locks, paths] = await Promise.all([this.app.json<RequestsDocument>(block),
			this.app.has(`${block}.times`) ? this.app.table(`${block}.times`) : null, lockNames(this.app, recording),
			this.app.has(`${block}.path`) ? this.app.json<RequestPathDocument>(`${block}.path`) : null]);
		const times = columns && requestTimes(columns, unit_ns), names = this.threadNames(recording);
		const part = requestsPart(document, this.requests, {
			colors: () => ({
				...pictureColors(), cpu: this.app.color(0), io: this.app.color(1), lock: this.app.color(2), sched: this.app.color(3),
				other: this.app.color(4), holder: themeColor('--holder'),
			}),
			threadName: names,
			lockNames: locks,
			showTime: (from, until, tid) => this.showTime(from, until, threads.findIndex((one) => one.tid === tid)),
		}, changed);
		const select = (): void => {
			const { selection } = this.app, tids = selection.threads && new Set([...selection.threads].map((thread) => threads[thread]!.tid));
			const note = this.isPart(recording) ? `Requests that began in the selection${tids ? ' and that the selected threads answered' : ''}.` : '';
			part.select(selectRequests(document, times, selection, duration_ns, tids), `${note} ${classesNote(selection)}`.trim());
		};
		const element = h('div', {}, part.element, paths && requestPathPart(paths, locks));
		return { element, select, update: () => part.update(), dispose: () => part.dispose() };
	}

	private async locksPart(recording: number): Promise<Shown> {
		const part = locksPart(await this.app.json<LocksDocument>(`r${recording}.locks`), this.threadNames(recording));
		return { element: part.element, select: () => part.select(this.isPart(recording) || this.app.selection.classes !== ALL_CLASSES) };
	}

	/** Selects a time and a thread, 0 or less: none, and goes to the timeline. */
	private showTime(from: number, until: number, thread: number): void {
		const margin = (until - from) * 0.05, end = this.app.index.recordings[this.app.selection.recording]!.duration_ns;
		this.app.select({ from: Math.max(0, Math.floor(from - margin)), until: Math.min(end, Math.ceil(until + margin)), ...(thread > 0 ? { threads: new Set([thread]) } : {}) });
		this.app.go('timeline');
	}

	private threadName(recording: number, thread: number): string {
		const known = this.app.index.recordings[recording]!.threads[thread];
		return known ? threadLabel(known) : 'unknown thread';
	}

	private threadNames(recording: number): (tid: number) => string {
		const names = new Map<number, string>();
		for (const thread of this.app.index.recordings[recording]!.threads) if (!names.has(thread.tid)) names.set(thread.tid, threadLabel(thread));
		return (tid) => names.get(tid) ?? `thread/${tid}`;
	}
}

export const latency: View = {
	id: 'latency',
	title: 'Latency',
	key: '7',
	available: (app) => PARTS.some(({ block }) => app.has(`r${app.selection.recording}.${block}`)),
	mount: (root, app) => new LatencyView(root, app),
};
