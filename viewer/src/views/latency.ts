// Which calls make the slow requests slow (LDB): functions, requests, locks.
import type { App, View, ViewInstance } from '../ui/app.js';
import { h } from '../ui/dom.js';
import { functionsPart, type FunctionsState, type LatencyDocument } from './latency-functions.js';
import { locksPart, type LocksDocument } from './latency-locks.js';
import { requestsPart, type RequestsDocument, type RequestsPart, type RequestsState } from './latency-requests.js';
import { pictureColors, themeColor } from './path-colors.js';
import { lockNames, mainName, tabList, verdictOf } from './summary-parts.js';

const PARTS = [
	{ id: 'functions', title: 'Functions', block: 'latency' },
	{ id: 'requests', title: 'Requests', block: 'requests' },
	{ id: 'locks', title: 'Locks', block: 'locks' },
] as const;

type Part = (typeof PARTS)[number]['id'];

class LatencyView implements ViewInstance {
	private part: Part | '' = '';
	private readonly functions: FunctionsState = { order: 'tail', filter: '', selected: '' };
	private readonly requests: RequestsState = { request: '' };
	private readonly body = h('div', { role: 'tabpanel', 'aria-label': 'Part' });
	private shown = '';
	private requestsPart: RequestsPart | null = null;

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
		const key = `${recording} ${part.id}`;
		if (this.shown === key) {
			this.requestsPart?.update();
			return;
		}
		this.shown = key;
		this.root.replaceChildren(
			...verdictOf(this.app, recording, 'latency').map((text) => h('div', { class: 'verdict' }, h('p', { class: 'verdict-text' }, text))),
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
		this.shown = '';
		this.update();
	}

	destroy(): void {
		this.requestsPart?.dispose();
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

	private showPart(recording: number, part: Part): void {
		this.shown = `${recording} ${part}`;
		this.requestsPart?.dispose();
		this.requestsPart = null;
		this.body.replaceChildren(h('p', { class: 'muted', role: 'status' }, 'Reading\u2026'));
		const { block } = PARTS.find(({ id }) => id === part)!;
		const changed = (): void => {
			this.part = part;
			this.save();
		};
		this.app.json<unknown>(`r${recording}.${block}`).then((document) => {
			if (this.shown !== `${recording} ${part}`) return;
			if (part === 'functions') this.body.replaceChildren(functionsPart(document as LatencyDocument, this.functions, changed));
			else if (part === 'locks') this.body.replaceChildren(locksPart(document as LocksDocument, this.threadNames(recording)));
			else return this.showRequests(document as RequestsDocument, recording, changed);
		}).catch((error: Error) => this.body.replaceChildren(h('p', { class: 'warning' }, error.message)));
	}

	private async showRequests(document: RequestsDocument, recording: number, changed: () => void): Promise<void> {
		const locks = await lockNames(this.app, recording);
		if (this.shown !== `${recording} requests`) return;
		const { threads } = this.app.index.recordings[recording]!;
		this.requestsPart = requestsPart(document, this.requests, {
			colors: () => ({
				...pictureColors(), cpu: this.app.color(0), io: this.app.color(1), lock: this.app.color(2), sched: this.app.color(3),
				other: this.app.color(4), holder: themeColor('--holder'),
			}),
			threadName: this.threadNames(recording),
			lockNames: locks,
			showTime: (from, until, tid) => {
				const thread = threads.findIndex((one) => one.tid === tid);
				const margin = (until - from) * 0.05;
				this.app.select({ from: Math.max(0, Math.floor(from - margin)), until: Math.ceil(until + margin), ...(thread > 0 ? { threads: new Set([thread]) } : {}) });
				this.app.go('timeline');
			},
		}, changed);
		this.body.replaceChildren(this.requestsPart.element);
		this.requestsPart.update();
	}

	private threadNames(recording: number): (tid: number) => string {
		const names = new Map<number, string>();
		for (const thread of this.app.index.recordings[recording]!.threads) if (!names.has(thread.tid)) names.set(thread.tid, mainName(thread));
		return (tid) => {
			const name = names.get(tid);
			return name ? `${name}/${tid}` : `thread ${tid}`;
		};
	}
}

export const latency: View = {
	id: 'latency',
	title: 'Latency',
	key: '7',
	isWhole: true,
	available: (app) => PARTS.some(({ block }) => app.has(`r${app.selection.recording}.${block}`)),
	mount: (root, app) => new LatencyView(root, app),
};
