// Who waits for whom (wPerf): the graph, its knots, and what is behind each edge.
import { ALL_CLASSES, type App, type View, type ViewInstance } from '../ui/app.js';
import { h } from '../ui/dom.js';
import { clockText } from '../ui/time.js';
import { lockNames, type LockNames } from './summary-parts.js';
import type { WaitsDocument, WaitVertex } from './waits-graph.js';
import { waitsPart, type WaitsPart, type WaitsState } from './waits-parts.js';
import { selectVertex, selectWaits, waitBins, type VertexTimes, type WaitBins } from './waits-selection.js';

/** What is shown follows the selection when it has not changed for so long, in ms. */
const QUIET = 120;

class WaitsView implements ViewInstance {
	private readonly current: WaitsState = { minShare: null, idle: null, selected: '' };
	private recording = -1;
	private data: { document: WaitsDocument; bins: WaitBins | null; locks: LockNames } | null = null;
	private timer = 0;
	/** The selection that is shown. */
	private shown = '';

	constructor(private readonly root: HTMLElement, private readonly app: App) {
		this.update();
	}

	update(): void {
		const { recording } = this.app.selection;
		if (recording === this.recording) return this.showSoon();
		this.recording = recording;
		this.data = null;
		const block = `r${recording}.waits`;
		if (!this.app.has(block)) {
			this.root.replaceChildren(h('p', {}, 'This recording has no waits between threads.'));
			return;
		}
		this.root.replaceChildren(h('p', { class: 'muted', role: 'status' }, 'Reading\u2026'));
		Promise.all([this.app.json<WaitsDocument>(block), this.bins(recording), lockNames(this.app, recording)]).then(([document, bins, locks]) => {
			if (this.recording !== recording) return;
			this.data = { document, bins, locks };
			this.show();
		}, (error: Error) => this.root.replaceChildren(h('p', { class: 'warning' }, error.message)));
	}

	state(state: Record<string, string>): void {
		const minShare = state['share'] === undefined ? null : Number(state['share']);
		const selected = (state['from'] ?? '') && state['to'] !== undefined ? `${state['from']}\0${state['to']}` : state['vertex'] ?? '';
		const next = { minShare: Number.isFinite(minShare) ? minShare : null, idle: state['work'] === undefined ? null : state['work'] === '1', selected };
		const isSame = next.minShare === this.current.minShare && next.idle === this.current.idle && next.selected === this.current.selected;
		Object.assign(this.current, next);
		if (!isSame) this.show();
	}

	destroy(): void {
		clearTimeout(this.timer);
	}

	private async bins(recording: number): Promise<WaitBins | null> {
		const place = this.app.index.recordings[recording]!.wait_bins, block = `r${recording}.waits.bins`;
		return place && this.app.has(block) ? waitBins(place, await this.app.table(block)) : null;
	}

	/** A brush moves the selection many times a second. */
	private showSoon(): void {
		if (this.selectionKey() === this.shown) return;
		clearTimeout(this.timer);
		this.timer = setTimeout(() => this.show(), QUIET) as unknown as number;
	}

	private selectionKey(): string {
		const { from, until, threads, classes, others } = this.app.selection;
		return [from, until, classes, others, threads ? [...threads].join() : ''].join(' ');
	}

	private show(): void {
		const { data, recording } = this, key = this.selectionKey();
		if (!data) return;
		this.shown = key;
		this.selected().then((document) => {
			if (this.recording !== recording || this.shown !== key) return;
			const context = {
				showThreads: (vertex: WaitVertex) => this.showThreads(vertex), lockNames: data.locks, others: this.app.selection.others,
				part: document === data.document ? null : this.part(),
			};
			this.root.replaceChildren(waitsPart(document, this.current, context, () => this.save()));
		}, (error: Error) => this.root.replaceChildren(h('p', { class: 'warning' }, error.message)));
	}

	/** The document of the selection. */
	private async selected(): Promise<WaitsDocument> {
		const { document, bins } = this.data!, { from, until, threads, classes } = this.app.selection;
		if (!bins) return document;
		const numbers = new Map(document.threads.map((vertex) => [vertex.name, this.numbersOf(vertex)]));
		const vertices = threads && new Set(document.threads.filter(({ name }) => numbers.get(name)!.some((number) => threads.has(number))).map(({ name }) => name));
		const selected = selectWaits(document, bins, { from, until, classes, vertices });
		if (selected === document) return document;
		const times = await this.times(from, until);
		return { ...selected, threads: document.threads.map((vertex) => selectVertex(vertex, numbers.get(vertex.name)!.flatMap((number) => times.get(number) ?? []))) };
	}

	private async times(from: number, until: number): Promise<Map<number, VertexTimes>> {
		const { threads, unit_ns: unit } = this.app.index.recordings[this.recording]!;
		const all = await this.app.engine.threadTimes(this.recording, { from, until, threads: null, classes: ALL_CLASSES, idle: true, others: true });
		return new Map(all.map(({ thread, ns }) => {
			const { created, ended } = threads[thread]!, [cpu, io, lock, sched, other, stopped, idle] = ns as unknown as number[];
			const lifetime = Math.max(0, Math.min(until, ended * unit) - Math.max(from, created * unit));
			return [thread, { running: cpu!, runnable: sched!, blocked: io! + lock! + other! + stopped! + idle!, lifetime }];
		}));
	}

	private part(): WaitsPart {
		const { from, until, threads, classes } = this.app.selection, span = until - from;
		const seconds = (ns: number): string => (ns / 1e9).toFixed(Math.max(0, 3 - Math.floor(Math.log10(Math.max(span, 1) / 1e9))));
		const parts = [
			`${clockText(from, span)} to ${clockText(until, span)}`,
			threads ? `waits of ${threads.size} thread${threads.size === 1 ? '' : 's'}` : '', classes === ALL_CLASSES ? '' : 'some classes only',
		];
		return { text: parts.filter(Boolean).join(', '), step: this.data!.bins!.length, options: `--time ${seconds(from)},${seconds(until)}` };
	}

	private save(): void {
		const { minShare, idle, selected } = this.current;
		const [from, to] = selected.split('\0');
		this.app.go('waits', {
			...(minShare === null ? {} : { share: String(minShare) }), ...(idle === null ? {} : { work: idle ? '1' : '0' }),
			...(to !== undefined ? { from: from!, to } : selected ? { vertex: selected } : {}),
		});
	}

	/** Threads that a vertex stands for: by number, or by the name that they are merged under. */
	private numbersOf(vertex: WaitVertex): number[] {
		const { threads } = this.app.index.recordings[this.recording]!;
		const own = vertex.tid === undefined ? -1 : threads.findIndex((thread) => thread.tid === vertex.tid);
		if (own < 0) return [];
		if ((vertex.threads ?? 1) <= 1) return [own];
		const names = new Set(threads[own]!.names.map(([, name]) => name));
		return threads.flatMap((thread, number) =>
			number === own || (number > 0 && thread.parent === threads[own]!.parent && thread.names.some(([, name]) => names.has(name))) ? [number] : []);
	}

	private showThreads(vertex: WaitVertex): (() => void) | null {
		const numbers = this.numbersOf(vertex);
		if (numbers.length === 0) return null;
		return () => {
			this.app.select({ threads: new Set(numbers) });
			this.app.go('timeline');
		};
	}
}

export const waits: View = {
	id: 'waits',
	title: 'Waits',
	key: '4',
	available: (app) => app.has(`r${app.selection.recording}.waits`),
	mount: (root, app) => new WaitsView(root, app),
};
