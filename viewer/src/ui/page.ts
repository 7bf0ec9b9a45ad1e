// The page: head, tabs, the selection with the picture of activity, and the view.
import { isOther, type Index } from '../data/index.js';
import { startEngine, type Engine } from '../engine/client.js';
import { ALL_CLASSES, CLASSES, CLASS_NAMES, CLASS_TITLES, type App, type Selection, type View, type ViewInstance } from './app.js';
import { paintAll } from './canvas.js';
import { h } from './dom.js';
import { fragmentOf, parseFragment, wholeOf, type Address } from './fragment.js';
import { makeOverview } from './overview.js';
import { setTheme, themeValue } from './theme.js';
import { timeText, clockText } from './time.js';

const THEMES = ['system', 'light', 'dark'] as const;

function storedTheme(): string {
	try {
		return localStorage.getItem('dwell-theme') ?? 'system';
	} catch {
		return 'system';
	}
}

function applyTheme(theme: string): void {
	setTheme(theme === 'dark' || (theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches));
}

class Page implements App {
	private address: Address;
	private view: { view: View; instance: ViewInstance } | null = null;
	private readonly tabs = h('div', { class: 'page-tabs', role: 'tablist', 'aria-label': 'Views' });
	private readonly controls = h('div', { class: 'selection', role: 'group', 'aria-label': 'Selection' });
	private readonly place = h('main', { id: 'view', tabindex: '-1', 'aria-live': 'off' });
	private readonly what = h('span', { class: 'what' });
	private readonly choice = h('select', { 'aria-label': 'Recording', onchange: () => this.select({ recording: Number(this.choice.value) }) });
	private readonly status = h('div', { class: 'visually-hidden', role: 'status' });
	private readonly overview: ReturnType<typeof makeOverview>;
	private theme = storedTheme();
	private readonly history: Selection[] = [];
	private writing = 0;
	/** The fragment that was read or written last. */
	private known = location.hash;
	/** Of views that were left. */
	private readonly states = new Map<string, Record<string, string>>();
	private shownRecording = -1;

	constructor(private readonly root: HTMLElement, readonly index: Index, readonly engine: Engine, private readonly views: readonly View[]) {
		applyTheme(this.theme);
		this.address = parseFragment(location.hash, index, views[0]!.id);
		this.overview = makeOverview(this);
		this.root.append(this.head(), this.tabs, this.controls, this.overview.element, this.status, this.place);
		addEventListener('hashchange', () => this.readAddress());
		addEventListener('keydown', (event) => this.key(event));
		addEventListener('beforeprint', () => {
			setTheme(false);
			paintAll();
			this.view?.instance.update();
		});
		addEventListener('afterprint', () => this.themeChanged());
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.themeChanged());
		this.show();
	}

	get selection(): Selection {
		return this.address.selection;
	}

	has(block: string): boolean {
		return document.getElementById(block) !== null;
	}

	json<T>(block: string): Promise<T> {
		return this.engine.json(block) as Promise<T>;
	}

	table(block: string, signed: readonly number[] = []): Promise<Float64Array[]> {
		return this.engine.table(block, signed);
	}

	text(block: string): Promise<string[]> {
		return this.engine.strings(block);
	}

	className(c: number): string {
		return CLASS_TITLES[c] ?? '';
	}

	color(c: number): string {
		return themeValue(`--class-${CLASS_NAMES[c] ?? 'other'}`);
	}

	time(ns: number): string {
		return timeText(ns);
	}

	select(change: Partial<Selection>, continues = false): void {
		const before = this.selection;
		const isOther = change.recording !== undefined && change.recording !== before.recording;
		const next = { ...isOther ? wholeOf(this.index, change.recording!) : before, ...change };
		if ((Object.keys(next) as (keyof Selection)[]).every((key) => next[key] === before[key])) return;
		this.address = { ...this.address, selection: next, ...isOther ? { state: {} } : {} };
		if (!continues) this.history.push(before);
		if (this.history.length > 50) this.history.shift();
		this.writeSoon();
		this.changed();
	}

	go(view: string, given?: Record<string, string>): void {
		const moved = view !== this.address.view;
		/* As it was when it was left. */
		const state = given ?? this.states.get(view) ?? {};
		if (moved) {
			this.states.set(this.address.view, this.address.state);
			this.writeNow();
		}
		this.address = { ...this.address, view, state };
		this.writeAddress(!moved);
		if (moved) this.show();
		else this.view?.instance.state?.(state);
	}

	/** Browsers refuse more than some changes a second, as a brush makes. */
	private writeSoon(): void {
		this.writing ||= setTimeout(() => this.writeNow(), 200) as unknown as number;
	}

	/** What is still to be written belongs to the entry that is left, unless that is another one, which is still to be read. */
	private writeNow(): void {
		if (!this.writing) return;
		clearTimeout(this.writing);
		this.writing = 0;
		if (location.hash === this.known) this.writeAddress(true);
	}

	private writeAddress(replace: boolean): void {
		const fragment = fragmentOf(this.index, this.address);
		if (replace) history.replaceState(null, '', fragment);
		else history.pushState(null, '', fragment);
		this.known = location.hash;
	}

	private readAddress(): void {
		const before = this.address;
		this.known = location.hash;
		this.address = parseFragment(location.hash, this.index, before.view);
		if (this.address.view !== before.view) return this.show();
		this.view?.instance.state?.(this.address.state);
		this.changed();
	}

	/** What the head says: of the recording that is shown. */
	private fillHead(): void {
		const recording = this.index.recordings[this.selection.recording];
		this.what.textContent = recording ? recording.command || recording.name : this.index.causal.map((profile) => profile.name).join(', ');
		this.choice.value = String(this.selection.recording);
		document.title = `${this.view?.view.title ?? ''} \u2013 ${this.what.textContent || 'dwell'}`;
	}

	private changed(): void {
		/* Views, and what they were about, are of a recording. */
		if (this.selection.recording !== this.shownRecording) return this.show();
		this.fillHead();
		this.fillControls();
		this.overview.update();
		this.view?.instance.update();
	}

	private themeChanged(): void {
		applyTheme(this.theme);
		this.changed();
	}

	private head(): HTMLElement {
		const select = this.choice;
		select.append(
			...this.index.recordings.map((recording, i) => h('option', { value: i }, recording.name)));
		select.hidden = this.index.recordings.length < 2;
		const theme = h('select', { 'aria-label': 'Theme', onchange: () => {
			this.theme = theme.value;
			try {
				localStorage.setItem('dwell-theme', this.theme);
			} catch { /* It lasts as long as the page. */ }
			this.themeChanged();
		} }, ...THEMES.map((name) => h('option', { value: name }, name)));
		theme.value = this.theme;
		return h('header', { class: 'page-head' }, h('h1', { class: 'name' }, 'dwell'), this.what, select, theme,
			h('button', { type: 'button', onclick: () => this.help(), title: 'Keys' }, '?'));
	}

	private show(): void {
		this.view?.instance.destroy?.();
		if (this.selection.recording !== this.shownRecording) this.states.clear();
		this.shownRecording = this.selection.recording;
		const available = this.views.filter((view) => view.available(this));
		const view = available.find((one) => one.id === this.address.view) ?? available[0] ?? this.views[0]!;
		this.tabs.replaceChildren(...this.views.map((one) => h('button', {
			type: 'button', role: 'tab', id: `tab-${one.id}`, 'aria-controls': 'view', 'aria-selected': String(one === view),
			tabindex: one === view ? '0' : '-1', disabled: !one.available(this),
			title: one.available(this) ? undefined : 'not in this recording', onclick: () => this.go(one.id),
		}, one.title, h('kbd', { 'aria-hidden': 'true' }, one.key))));
		this.tabs.onkeydown = (event) => this.tabKey(event);
		this.place.setAttribute('aria-labelledby', `tab-${view.id}`);
		this.place.replaceChildren();
		const root = h('div', { class: `view view-${view.id}` });
		this.place.append(root);
		this.address = { ...this.address, view: view.id };
		this.overview.update();
		this.view = { view, instance: view.mount(root, this) };
		this.view.instance.state?.(this.address.state);
		this.fillHead();
		this.fillControls();
	}

	private tabKey(event: KeyboardEvent): void {
		const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
		if (!by) return;
		const usable = this.views.filter((view) => view.available(this));
		const now = usable.findIndex((view) => view.id === this.address.view), next = usable[(now + by + usable.length) % usable.length]!;
		event.preventDefault();
		event.stopPropagation();
		this.go(next.id);
		document.getElementById(`tab-${next.id}`)?.focus();
	}

	private fillControls(): void {
		const { selection } = this, recording = this.index.recordings[selection.recording];
		this.controls.hidden = this.overview.element.hidden = !recording;
		if (!recording) return;
		const focused = (document.activeElement as HTMLElement | null)?.dataset['control'];
		const span = selection.until - selection.from, whole = wholeOf(this.index, selection.recording);
		const classes = CLASS_NAMES.slice(0, CLASSES).map((name, c) => h('button', {
			type: 'button', 'data-control': `class-${name}`, 'aria-pressed': String((selection.classes >> c & 1) === 1), title: CLASS_TITLES[c],
			onclick: () => this.select({ classes: selection.classes ^ 1 << c || ALL_CLASSES }),
		}, h('span', { class: `swatch swatch-${name}` }), name));
		const idle = h('button', {
			type: 'button', 'data-control': 'idle', 'aria-pressed': String(selection.idle), title: 'Waits for work',
			onclick: () => this.select({ idle: !selection.idle }),
		}, h('span', { class: 'swatch swatch-idle' }), 'idle');
		const stolen = recording.mode === 'trace' && recording.threads.some((thread) => thread.stolen) && h('span', {
			class: 'muted', title: 'Time of runs that a hypervisor or interrupts took: with cpu',
		}, h('span', { class: 'swatch swatch-stolen' }), 'stolen');
		const others = recording.threads.some(isOther) && h('button', {
			type: 'button', 'data-control': 'others', 'aria-pressed': String(selection.others),
			title: 'Threads that were recorded only because they woke those that were asked for, or were woken by them: in all views',
			onclick: () => this.select({ others: !selection.others }),
		}, 'other programs, too');
		const threads = selection.threads, { idle: isIdle, others: hasOthers } = selection;
		const parts: (Node | string | null | false)[] = [
			h('span', { class: 'range' }, `${clockText(selection.from, span)} to ${clockText(selection.until, span)} (${timeText(span)})`),
			h('span', { class: 'classes', role: 'group', 'aria-label': 'Classes' }, ...classes, idle, stolen), others,
			threads && h('span', {}, `${threads.size} of ${recording.threads.filter((thread) => thread.recorded && (selection.others || !isOther(thread))).length} threads`),
			(span < whole.until || threads || selection.classes !== ALL_CLASSES) && h('button', {
				type: 'button', 'data-control': 'all', onclick: () => this.select({ ...whole, idle: isIdle, others: hasOthers }),
			}, 'Select all'),
			this.history.length > 0 && h('button', { type: 'button', 'data-control': 'back', title: 'The selection before (Backspace)', onclick: () => this.back() }, 'Back'),
		];
		this.controls.replaceChildren(...parts.filter((part): part is Node => part instanceof Node));
		if (focused) this.controls.querySelector<HTMLElement>(`[data-control="${focused}"]`)?.focus();
	}

	private back(): void {
		const before = this.history.pop();
		if (!before) return;
		this.address = { ...this.address, selection: before };
		this.writeAddress(true);
		this.changed();
	}

	private key(event: KeyboardEvent): void {
		const target = event.target as HTMLElement | null;
		if (event.ctrlKey || event.metaKey || event.altKey || target?.matches('input, select, textarea') || document.querySelector('dialog[open]')) return;
		const view = this.views.find((one) => one.key === event.key && one.available(this));
		if (view) this.go(view.id);
		else if (event.key === '?') this.help();
		else if (event.key === 'Backspace') this.back();
		else if (event.key === 'i') this.select({ idle: !this.selection.idle });
		else if (event.key === 'o') this.select({ others: !this.selection.others });
		else if (event.key === 'a') this.select({ ...wholeOf(this.index, this.selection.recording), idle: this.selection.idle, others: this.selection.others });
		else return;
		event.preventDefault();
	}

	private help(): void {
		const keys: [string, string][] = [
			...this.views.map((view): [string, string] => [view.key, view.title]),
			['/', 'search'], ['+ \u2212', 'zoom in and out'], ['\u2190 \u2192 \u2191 \u2193', 'move'], ['Enter', 'zoom to, or follow, what has the focus'],
			['Esc', 'one step back, or clear the search'], ['0', 'zoom out to all'], ['a', 'select all'], ['Backspace', 'the selection before'],
			['i', 'show idle waits, or not'], ['o', 'show other programs, or not'], ['f', 'flame graph: only the function, with what it calls or, inverted, what calls it'],
			['t', 'timeline: only the thread, or all again'], ['?', 'this list'],
		];
		const dialog = h('dialog', { 'aria-label': 'Keys', onclose: () => dialog.remove() }, h('h2', {}, 'Keys'),
			h('table', { class: 'plain-table' }, h('tbody', {}, ...keys.map(([key, text]) => h('tr', {}, h('td', {}, h('kbd', {}, key)), h('td', {}, text))))),
			h('p', {}, h('button', { type: 'button', autofocus: true, onclick: () => dialog.close() }, 'Close')));
		document.body.append(dialog);
		dialog.showModal();
	}
}

/** Opens the data of the page, and shows it. */
export async function startPage(root: HTMLElement, views: readonly View[]): Promise<void> {
	const share = h('p', { class: 'view-loading', role: 'status' }, 'Reading\u2026');
	applyTheme(storedTheme());
	root.append(share);
	const { engine, whole } = startEngine((done) => {
		share.textContent = done < 1 ? `Reading\u2026 ${Math.round(done * 100)}%` : '';
	});
	try {
		const [index] = await Promise.all([engine.open(), whole]);
		share.remove();
		new Page(root, index, engine, views);
	} catch (error) {
		share.textContent = `The data of this page cannot be read: ${error instanceof Error ? error.message : String(error)}`;
	}
}
