// What was recorded and lost, the verdicts, and the rows that matter; each leads to its view.
import { isOther, threadLabel, type RecordingInfo, type ThreadInfo } from '../data/index.js';
import { CLASS_TITLES, STOLEN, type App, type View, type ViewInstance } from '../ui/app.js';
import { h } from '../ui/dom.js';
import { themeValue } from '../ui/theme.js';
import { countText, DIFFERS, lockNames, markedTime, nsText, pairs, percentText, plainTable } from './summary-parts.js';
import { verdictWaitsPart } from './waits-parts.js';
import type { WaitsDocument } from './waits-graph.js';
import { topRows, type TopFlame, type TopRow } from './summary-top.js';

const TOP = 10;
/** The label of diagnostics about names of functions. */
const SYMBOLS = 'symbols';
/** The row of times between switches that were not seen, after those of colors. */
const NOT_SEEN = STOLEN + 1;
const titles: Readonly<Record<string, string>> = {
	waits: 'Who waits for whom', path: 'What the command waited for', causal: 'What a change would gain', latency: 'Slow calls and requests',
};

class SummaryView implements ViewInstance {
	private readonly top = h('div');
	/** What the waits of the verdict are for. */
	private readonly waits = h('div');
	private wanted = '';
	private flame: TopFlame | null = null;

	constructor(private readonly root: HTMLElement, private readonly app: App) {
		this.update();
		this.loadWaits();
	}

	update(): void {
		const { app } = this;
		const recording = app.index.recordings[app.selection.recording];
		const found = h('div', {}, this.verdicts());
		if (recording) found.append(h('section', { 'aria-label': 'Most time' }, h('h2', {}, 'Most time'), this.top));
		const grid = h('div', { class: 'summary-grid' }, found);
		if (recording) grid.append(h('div', {}, recordedPart(app, recording), timesPart(app, recording), symbolsPart(recording)));
		this.root.replaceChildren(grid);
		if (recording) void this.loadTop();
	}

	private verdicts(): HTMLElement {
		const { app } = this;
		const part = h('section', { 'aria-label': 'Verdicts' }, h('h2', {}, 'Verdicts'));
		const shown = app.index.verdicts.filter((one) => one.recording === null || one.recording === app.selection.recording);
		for (const view of Object.keys(titles)) {
			const texts = shown.filter((one) => one.view === view);
			if (texts.length === 0) continue;
			const link = h('button', { type: 'button', class: 'link-button' }, titles[view]!);
			link.addEventListener('click', () => app.go(view));
			if (view === 'path') void this.nameTarget(link);
			part.append(h('div', { class: 'verdict-card' }, h('h3', {}, link), ...texts.map((one) => h('p', {}, one.text)), view === 'waits' ? this.waits : ''));
		}
		if (part.childElementCount === 1) part.append(h('p', { class: 'muted' }, 'There are none.'));
		return part;
	}

	/** A path is that of the command, or of the thread that --of named: the title of its verdict says which. */
	private async nameTarget(title: HTMLElement): Promise<void> {
		const { recording } = this.app.selection, block = `r${recording}.path`;
		if (!this.app.has(block)) return;
		const { thread } = await this.app.json<{ thread: number }>(block), known = this.app.index.recordings[recording]!.threads[thread];
		if (known) title.textContent = `What ${threadLabel(known)} waited for`;
	}

	private loadWaits(): void {
		const { app } = this, { recording } = app.selection, block = `r${recording}.waits`;
		if (!app.has(block)) return;
		Promise.all([app.json<WaitsDocument>(block), lockNames(app, recording)]).then(([document, names]) => {
			const waits = verdictWaitsPart(document, names, (key) => {
				const [from, to] = key.split('\0');
				app.go('waits', { from: from!, to: to! });
			});
			this.waits.replaceChildren(waits ?? '');
		}, (error: Error) => this.waits.replaceChildren(h('p', { class: 'warning' }, error.message)));
	}

	private async loadTop(): Promise<void> {
		const { selection } = this.app;
		const range = {
			from: selection.from, until: selection.until, threads: selection.threads ? [...selection.threads] : null, classes: selection.classes, idle: selection.idle, others: selection.others,
		};
		const key = JSON.stringify([selection.recording, range]);
		if (key === this.wanted) {
			if (this.flame) this.showTop(this.flame); // in the colors of the theme that is valid now
			return;
		}
		this.wanted = key;
		this.flame = null;
		if (this.top.childElementCount === 0) this.top.append(h('p', { class: 'muted', role: 'status' }, 'Reading the recording\u2026'));
		try {
			const flame = await this.app.engine.flame(selection.recording, range, { by: 'none', inverted: false, lines: false, focus: null, least: 0.0002 });
			if (key !== this.wanted) return;
			this.flame = flame;
			this.showTop(flame);
		} catch (error) {
			this.top.replaceChildren(h('p', { class: 'warning' }, error instanceof Error ? error.message : String(error)));
		}
	}

	private showTop(flame: TopFlame): void {
		const { app } = this;
		const rows = topRows(flame, TOP);
		if (rows.length === 0) {
			const left = [app.selection.idle ? '' : 'waits for work', app.selection.others || app.selection.threads ? '' : 'other programs'].filter(Boolean).join(' and ');
			this.top.replaceChildren(h('p', { class: 'muted' }, `Nothing of the selection has time${left ? `; ${left} are left out` : ''}.`));
			return;
		}
		const key = (row: TopRow): HTMLElement => {
			const square = h('span', { class: 'key' });
			square.style.background = app.color(row.channel);
			return square;
		};
		const table = plainTable('Rows of the flame graph with the most time of their own', ['function', 'where', 'what', 'time#', 'share#', ''], rows.map((row) => {
			const link = h('button', { type: 'button', class: 'link-button' }, row.name || 'no stack');
			link.addEventListener('click', () => app.go('flame', row.name ? { focus: row.name } : {}));
			return [link, h('span', { class: 'muted' }, row.place.slice(row.place.lastIndexOf('/') + 1)), h('span', {}, key(row), row.wait ? row.wait : 'running'), nsText(row.ns), percentText(row.ns / flame.total), bar(row.ns / rows[0]!.ns, app.color(row.channel))];
		}));
		table.classList.add('top-table');
		const { selection } = app;
		const recording = app.index.recordings[selection.recording]!;
		const isAll = selection.from <= 0 && selection.until >= recording.duration_ns && !selection.threads;
		this.top.replaceChildren(
			h('p', { class: 'muted' }, `${nsText(flame.total)} of all threads${isAll ? '' : ' in the selection'}${selection.idle ? '' : ', waits for work left out'}. Time of their own; waits with the function that waits.`),
			h('div', { class: 'scroll-box', tabindex: '0', role: 'region', 'aria-label': 'Table' }, table));
	}
}

function bar(share: number, color: string): HTMLElement {
	const fill = h('span');
	fill.style.width = `${(share * 100).toFixed(1)}%`;
	fill.style.background = color;
	return h('span', { class: 'share-bar', 'aria-hidden': 'true' }, fill);
}

/** Threads that are shown: those that were asked for, and the others on request. */
function shownThreads(app: App, recording: RecordingInfo): ThreadInfo[] {
	return recording.threads.filter((thread, number) => number > 0 && thread.recorded && (app.selection.others || !isOther(thread)));
}

/** How many threads were not asked for, their time, and a button that shows or hides them; null: there are none. */
function othersPart(app: App, recording: RecordingInfo): HTMLElement | null {
	const others = recording.threads.filter(isOther), isShown = app.selection.others;
	if (others.length === 0) return null;
	const ns = others.reduce((sum, thread) => sum + thread.ns.reduce((a, b) => a + b, 0), 0), running = others.reduce((sum, thread) => sum + thread.ns[0]!, 0);
	const isOne = others.length === 1, [them, they] = isOne ? ['it', 'it'] : ['them', 'they'];
	const sentence = `${countText(others.length)} ${isShown ? 'of them' : 'more'}, with ${nsText(ns)}, ${nsText(running)} of it running, ${isOne ? 'was' : 'were'} recorded only because ${they} woke ` +
		`a thread that was asked for, or ${isOne ? 'was' : 'were'} woken by one: ${isShown ? 'shown, too' : 'left out, except in the view Waits'}. `;
	return h('span', { class: 'wrap others-note' }, sentence,
		h('button', { type: 'button', class: 'link-button', onclick: () => app.select({ others: !isShown }) }, isShown ? `Leave ${them} out` : `Show ${them}, too`));
}

function recordedPart(app: App, recording: RecordingInfo): HTMLElement {
	const threads = shownThreads(app, recording);
	const processes = new Set(threads.map((thread) => thread.process)).size;
	const part = h('section', { 'aria-label': 'Recorded' }, h('h2', {}, 'Recorded'), pairs([
		['command', h('span', { class: 'wrap' }, recording.command)],
		['machine', recording.machine],
		['duration', nsText(recording.duration_ns)],
		['mode', recording.mode === 'trace' ? `every interval, a sampling point every ${nsText(recording.period_ns)}` : `sampling points every ${nsText(recording.period_ns)}`],
		['threads', `${countText(threads.length)} of ${countText(processes)} process${processes === 1 ? '' : 'es'}`],
		['', othersPart(app, recording)],
		...recording.diagnostics.filter(({ label }) => label !== SYMBOLS).map((one) => [one.label, h('span', { class: one.well ? 'wrap' : 'wrap warning' }, one.text)] as const),
	]));
	return part;
}

/** What is to be done for more names of functions: nothing in the figures depends on it. */
function symbolsPart(recording: RecordingInfo): HTMLElement | string {
	const texts = recording.diagnostics.filter(({ label }) => label === SYMBOLS);
	if (texts.length === 0) return '';
	return h('details', { class: 'symbols-note' }, h('summary', {}, `${countText(texts.length)} ${texts.length === 1 ? 'file has' : 'files have'} functions without names`),
		...texts.map(({ text, well }) => h('p', { class: well ? 'wrap' : 'wrap warning' }, text)));
}

/** Exact times of all threads by class. */
function timesPart(app: App, recording: RecordingInfo): HTMLElement {
	const sums = [0, 0, 0, 0, 0, 0, 0, 0], shown = shownThreads(app, recording);
	for (const thread of shown) {
		thread.ns.forEach((ns, c) => sums[c]! += ns);
		sums[STOLEN]! += thread.stolen ?? 0;
		sums[NOT_SEEN]! += thread.not_seen ?? 0;
	}
	const all = Math.max(1, sums.reduce((a, b) => a + b, 0));
	const rows = sums.map((ns, c) => ({ ns, c })).filter(({ ns }) => ns > 0).map(({ ns, c }) => {
		const square = h('span', { class: 'key' });
		square.style.background = c === NOT_SEEN ? 'none' : app.color(c);
		return [h('span', {}, square, CLASS_TITLES[c] ?? 'not seen'), markedTime(nsText(ns), recording.differs?.includes(c) ?? false), percentText(ns / all), bar(ns / all, c === NOT_SEEN ? themeValue('--line') : app.color(c))];
	});
	return h('section', { 'aria-label': 'Time of all threads' }, h('h2', {}, 'Time of all threads'),
		plainTable('Exact times of all threads by class, waits for work included', ['', 'time#', 'share#', ''], rows),
		h('p', { class: 'muted hint' }, 'Exact, of the whole recording; waits for work are included.', recording.differs?.length ? ` * ${DIFFERS}.` : ''));
}

export const summary: View = {
	id: 'summary',
	title: 'Summary',
	key: '1',
	available: () => true,
	mount: (root, app) => new SummaryView(root, app),
};
