// Who waits for whom (wPerf): the graph, its knots, and what is behind each edge.
import type { App, View, ViewInstance } from '../ui/app.js';
import { h } from '../ui/dom.js';
import { lockNames, type LockNames } from './summary-parts.js';
import type { WaitsDocument } from './waits-graph.js';
import { waitsPart, type WaitsState } from './waits-parts.js';

class WaitsView implements ViewInstance {
	private readonly current: WaitsState = { minShare: null, idle: null, selected: '' };
	private recording = -1;
	private document: WaitsDocument | null = null;
	private locks: LockNames = (text) => text;

	constructor(private readonly root: HTMLElement, private readonly app: App) {
		this.update();
	}

	update(): void {
		const { recording } = this.app.selection;
		if (recording === this.recording) return;
		this.recording = recording;
		this.document = null;
		const block = `r${recording}.waits`;
		if (!this.app.has(block)) {
			this.root.replaceChildren(h('p', {}, 'This recording has no waits between threads.'));
			return;
		}
		this.root.replaceChildren(h('p', { class: 'muted', role: 'status' }, 'Reading\u2026'));
		Promise.all([this.app.json<WaitsDocument>(block), lockNames(this.app, recording)]).then(([document, locks]) => {
			if (this.recording !== recording) return;
			this.document = document;
			this.locks = locks;
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

	private show(): void {
		if (this.document) this.root.replaceChildren(waitsPart(this.document, this.current, { showThreads: (vertex) => this.showThreads(vertex), lockNames: this.locks }, () => this.save()));
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
	private showThreads(vertex: { name: string; tid?: number; pid?: number; threads?: number }): (() => void) | null {
		const { threads } = this.app.index.recordings[this.recording]!;
		const numbers = new Set<number>();
		if (vertex.tid === undefined) return null;
		const isMerged = (vertex.threads ?? 1) > 1;
		const own = threads.findIndex((thread) => thread.tid === vertex.tid);
		if (own < 0) return null;
		numbers.add(own);
		const names = new Set(threads[own]!.names.map(([, name]) => name));
		if (isMerged) threads.forEach((thread, number) => {
			if (number > 0 && thread.parent === threads[own]!.parent && thread.names.some(([, name]) => names.has(name))) numbers.add(number);
		});
		return () => {
			this.app.select({ threads: numbers });
			this.app.go('timeline');
		};
	}
}

export const waits: View = {
	id: 'waits',
	title: 'Waits',
	key: '4',
	isWhole: true,
	available: (app) => app.has(`r${app.selection.recording}.waits`),
	mount: (root, app) => new WaitsView(root, app),
};
