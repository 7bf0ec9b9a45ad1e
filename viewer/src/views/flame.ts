// The flame graph over the whole of time: on and off the CPU in one.
import { latest } from '../engine/client.js';
import { TYPE_INLINED, TYPE_KERNEL, TYPE_KIND, TYPE_THREAD, type Flame, type FlameOptions } from '../engine/flame.js';
import { isOther } from '../data/index.js';
import { CLASS_TITLES, IDLE, type App, type Selection, type View, type ViewInstance } from '../ui/app.js';
import { cutText, surface, type Surface } from '../ui/canvas.js';
import { h } from '../ui/dom.js';
import { mixed, themeValue } from '../ui/theme.js';
import { hideTip, showTip } from '../ui/tooltip.js';
import { sortableTable } from './sortable-table.js';

const ROW = 18, CHANNELS = IDLE + 1;

interface State {
	by: FlameOptions['by'];
	inverted: boolean;
	lines: boolean;
	icicle: boolean;
	focus: string;
	search: string;
	/** "" or what it is compared with: "rN", or "tFROM-UNTIL" of the same recording. */
	against: string;
}

const rangeOf = (s: Selection) => ({ from: s.from, until: s.until, threads: s.threads && [...s.threads], classes: s.classes, idle: s.idle, others: s.others });
const percent = (part: number, whole: number): string => `${(whole ? part / whole * 100 : 0).toFixed(2)}%`;

class FlameView implements ViewInstance {
	private current: State = { by: 'none', inverted: false, lines: false, icicle: true, focus: '', search: '', against: '' };
	private flame: Flame | null = null;
	private children: Int32Array[] = [];
	private depths = new Int32Array(0);
	/** The node that fills the width. */
	private zoomed = 0;
	private focused = 0;
	private scroll = 0;
	private matches: Uint8Array | null = null;
	private readonly tools = h('div', { class: 'view-tools' });
	private readonly choices = h('span', { class: 'view-tools' });
	private readonly more = h('span', { class: 'view-tools' });
	private readonly note = h('p', { class: 'muted', role: 'status' });
	private readonly place = h('div', { class: 'picture flame-picture' });
	private readonly detail = h('div', { class: 'flame-detail', 'aria-live': 'polite' });
	private readonly tables = h('details', {}, h('summary', {}, 'As a table'));
	private readonly picture: Surface;
	private readonly searchBox = h('input', { type: 'search', placeholder: 'Search functions ( / )', 'aria-label': 'Search functions' });
	private readonly found = h('span', { class: 'muted found', role: 'status' });

	constructor(root: HTMLElement, private readonly app: App) {
		/* The search box stays where it is, and keeps the focus. */
		this.tools.append(this.choices, this.searchBox, this.found, this.more);
		root.append(this.tools, this.note, this.place, this.detail, this.tables);
		this.picture = surface(this.place, 'Flame graph. Arrow keys move the focus, Enter zooms, f shows callers and callees; a table follows.', (s) => this.paint(s));
		this.listen();
	}

	update(): void {
		/* What it can be compared with depends on the selection. */
		this.fillTools();
		this.load(this.app.selection);
	}

	state(given: Record<string, string>): void {
		const by = given['by'] === 'process' || given['by'] === 'thread' ? given['by'] : 'none';
		this.current = {
			by, inverted: given['inverted'] === '1', lines: given['lines'] === '1', icicle: given['flame'] !== '1',
			focus: given['focus'] ?? '', search: given['q'] ?? '', against: given['against'] ?? '',
		};
		if (document.activeElement !== this.searchBox) this.searchBox.value = this.current.search;
		this.update();
	}

	destroy(): void {
		this.picture.destroy();
		removeEventListener('keydown', this.globalKey);
		hideTip();
	}

	private change(change: Partial<State>): void {
		const s = { ...this.current, ...change };
		this.app.go('flame', {
			by: s.by === 'none' ? '' : s.by, inverted: s.inverted ? '1' : '', lines: s.lines ? '1' : '', flame: s.icicle ? '' : '1',
			focus: s.focus, q: s.search, against: s.against,
		});
	}

	private readonly load = latest(async (selection: Selection) => {
		const s = this.current, options: FlameOptions = {
			by: s.by, inverted: s.inverted, lines: s.lines, focus: s.focus || null, least: 1 / 4000,
		};
		const engine = this.app.engine, range = rangeOf(selection), other = this.otherSide(selection);
		const started = performance.now();
		const flame = other ? await engine.difference(selection.recording, range, other.recording, other.range, options)
			: await engine.flame(selection.recording, range, options);
		this.place.dataset['ms'] = (performance.now() - started).toFixed(1);
		this.take(flame);
		this.place.dataset['drawn'] = `${selection.from}-${selection.until}`;
		if (s.search) {
			const hits = await engine.search(selection.recording, range, s.search, s.lines, s.focus || null);
			this.found.textContent = `${this.app.time(hits.ns)}, ${percent(hits.ns, hits.total)}`;
		} else this.found.textContent = '';
	});

	private otherSide(selection: Selection) {
		const { against } = this.current, recording = /^r(\d+)$/.exec(against), time = /^t(\d+)-(\d+)$/.exec(against);
		if (recording && this.app.index.recordings[Number(recording[1])]) {
			const number = Number(recording[1]), until = this.app.index.recordings[number]!.duration_ns;
			return { recording: number, range: { ...rangeOf(selection), from: 0, until, threads: null } };
		}
		if (time) return { recording: selection.recording, range: { ...rangeOf(selection), from: Number(time[1]), until: Number(time[2]) } };
		return null;
	}

	/** Shows another graph; what was zoomed to stays so if it is there. */
	private take(flame: Flame): void {
		const path = this.flame ? this.pathOf(this.zoomed) : [];
		const lists: number[][] = Array.from({ length: flame.parent.length }, () => []);
		this.depths = new Int32Array(flame.parent.length);
		for (let node = 1; node < flame.parent.length; node++) {
			lists[flame.parent[node]!]!.push(node);
			this.depths[node] = this.depths[flame.parent[node]!]! + 1;
		}
		this.flame = flame;
		this.children = lists.map((list) => Int32Array.from(list));
		this.zoomed = 0;
		for (const label of path) {
			const next = lists[this.zoomed]!.find((node) => flame.labels[flame.label[node]!] === label);
			if (next === undefined) break;
			this.zoomed = next;
		}
		this.focused = this.zoomed;
		const wanted = this.current.search.toLowerCase(), hits = flame.labels.map((label) => wanted !== '' && label.toLowerCase().includes(wanted));
		this.matches = wanted ? Uint8Array.from(flame.label, (label) => Number(hits[label])) : null;
		/* They are about the graph before. */
		this.detail.replaceChildren();
		hideTip();
		this.fillNote();
		if (this.tables.open) this.fillTable();
		this.picture.resize(Math.max(ROW * 8, Math.min((flame.depth + 1) * ROW + 2, innerHeight - 250)));
		this.scroll = 0;
	}

	private pathOf(node: number): string[] {
		const path: string[] = [];
		for (let at = node; at > 0; at = this.flame!.parent[at]!) path.unshift(this.flame!.labels[this.flame!.label[at]!]!);
		return path;
	}

	private fillNote(): void {
		const flame = this.flame!, recording = this.app.index.recordings[this.app.selection.recording]!;
		const parts = [`${this.app.time(flame.total)} in all`];
		if (flame.compared) parts.push(`compared with ${this.app.time(flame.compared)}: red has a larger share than there, blue a smaller one; width is the mean of both`);
		if (this.current.focus) parts.push(`only with ${this.current.focus}: ${this.current.inverted ? 'what calls it' : 'what it calls'}`);
		if (!this.app.selection.idle) parts.push('waits for work are left out');
		if (!this.app.selection.others && !this.app.selection.threads && recording.threads.some(isOther)) parts.push('other programs are left out');
		if (recording.mode === 'sampling') parts.push('estimated from samples');
		this.note.textContent = `${parts.join('; ')}.`;
	}

	private fillTools(): void {
		const s = this.current, toggle = (text: string, on: boolean, change: Partial<State>, title = '') => h('button', {
			type: 'button', 'aria-pressed': String(on), title, onclick: () => this.change(change),
		}, text);
		const by = h('select', { 'aria-label': 'Group by', onchange: () => this.change({ by: by.value as State['by'] }) },
			...(['none', 'process', 'thread'] as const).map((value) => h('option', { value }, value === 'none' ? 'all threads' : `by ${value}`)));
		by.value = s.by;
		const { from, until } = this.app.selection, others = this.app.index.recordings.flatMap((recording, i) =>
			i === this.app.selection.recording ? [] : [h('option', { value: `r${i}` }, `compare with ${recording.name}`)]);
		const against = h('select', { 'aria-label': 'Compare with', onchange: () => this.change({ against: against.value }) },
			h('option', { value: '' }, 'compare with nothing'), ...others,
			/^t/.test(s.against) && h('option', { value: s.against }, 'compare with the time marked'),
			h('option', { value: `t${Math.round(from)}-${Math.round(until)}` }, 'mark this time, to compare others with it'));
		against.value = s.against;
		this.choices.replaceChildren(by,
			toggle('Inverted', s.inverted, { inverted: !s.inverted }, 'From the innermost function to its callers'),
			toggle('Lines', s.lines, { lines: !s.lines }, 'Functions apart by source line'),
			toggle(s.icicle ? 'Icicle' : 'Flame', false, { icicle: !s.icicle }, 'Which way it grows'));
		this.more.replaceChildren(against);
		if (s.focus) this.more.append(h('button', { type: 'button', onclick: () => this.change({ focus: '' }) }, `Not only ${s.focus}`));
	}

	private fillTable(): void {
		const flame = this.flame!, times = new Map<number, { self: number; all: number; other: number }>();
		for (let node = 1; node < flame.label.length; node++) {
			const entry = times.get(flame.label[node]!) ?? { self: 0, all: 0, other: 0 };
			entry.self += flame.self[node]!;
			let above = flame.parent[node]!;
			while (above > 0 && flame.label[above] !== flame.label[node]) above = flame.parent[above]!;
			if (above <= 0) {
				entry.all += flame.ns[node]!;
				entry.other += flame.compared ? flame.other[node]! : 0;
			}
			times.set(flame.label[node]!, entry);
		}
		/* Inverted, what is innermost is outermost: then self is that of no function. */
		const own = (ns: number): (number | string)[][] => this.current.inverted ? [] : [[ns, this.app.time(ns)], [ns, percent(ns, flame.total)]];
		const compared = (all: number, other: number): (number | string)[][] => {
			if (!flame.compared) return [];
			const change = (all / Math.max(1, flame.total) - other / flame.compared) * 100;
			return [[other, this.app.time(other)], [other, percent(other, flame.compared)], [change, `${change < 0 ? '\u2212' : '+'}${Math.abs(change).toFixed(2)}`]];
		};
		const rows = [...times].sort((a, b) => b[1].all - a[1].all).map(([label, { self, all, other }]) => {
			const values = [...own(self), [all, this.app.time(all)], [all, percent(all, flame.total)], ...compared(all, other)];
			return {
				values: [flame.labels[label]!, flame.places[label]!, ...values.map(([value]) => value!)],
				cells: [h('button', { type: 'button', onclick: () => this.change({ focus: flame.names[label]! }) }, flame.labels[label]!), flame.places[label]!,
					...values.map(([, text]) => String(text))],
			};
		});
		const columns = [...this.current.inverted ? ['time#', 'share#'] : ['self#', 'share#', 'with callees#', 'share#'],
			...flame.compared ? ['compared with#', 'share#', 'points#'] : []];
		this.tables.replaceChildren(h('summary', {}, 'As a table'), sortableTable('Functions by time', ['function', 'in', ...columns], rows));
	}

	/** Left edge and width of a node, in pixels. */
	private boxOf(node: number, width: number): [number, number] {
		const flame = this.flame!, whole = this.sizeOf(this.zoomed) || 1, from = flame.start[this.zoomed]!;
		return [(flame.start[node]! - from) / whole * width, this.sizeOf(node) / whole * width];
	}

	private sizeOf(node: number): number {
		return this.flame!.size[node]!;
	}

	private ancestors(node: number): Set<number> {
		const all = new Set<number>();
		for (let at = node; at >= 0; at = this.flame!.parent[at]!) all.add(at);
		return all;
	}

	private yOf(depth: number, height: number): number {
		const y = depth * ROW - this.scroll;
		return this.current.icicle ? y + 1 : height - y - ROW - 1;
	}

	private fillOf(node: number): string {
		const flame = this.flame!;
		if (flame.compared) {
			const before = flame.other[node]! / flame.compared, now = flame.ns[node]! / Math.max(1, flame.total);
			const change = Math.max(-1, Math.min(1, (now - before) / Math.max(now, before, 1e-9)));
			const strength = Math.round(Math.abs(change) * 70);
			return mixed(this.app.color(change > 0 ? 2 : 1), strength, themeValue('--path-thread'));
		}
		if (flame.type[node] === TYPE_THREAD) return themeValue('--path-thread');
		let largest = 0;
		for (let c = 1; c < CHANNELS; c++) if (flame.channels[node * CHANNELS + c]! > flame.channels[node * CHANNELS + largest]!) largest = c;
		const share = flame.channels[node * CHANNELS + largest]! / Math.max(1, flame.ns[node]!);
		const strength = flame.type[node] === TYPE_KIND ? 100 : 36 + Math.round(share * 34) - (flame.type[node] === TYPE_KERNEL ? 12 : 0);
		return mixed(this.app.color(largest), strength, themeValue('--surface'));
	}

	private paint(s: Surface): void {
		const flame = this.flame, context = s.context;
		context.setTransform(s.scale, 0, 0, s.scale, 0, 0);
		context.clearRect(0, 0, s.width, s.height);
		if (!flame) return;
		context.font = `11.5px ${themeValue('--sans')}`;
		context.textBaseline = 'middle';
		const above = this.ancestors(this.zoomed), stack = [0];
		while (stack.length) {
			const node = stack.pop()!, depth = this.depths[node]!, isAbove = above.has(node);
			const [x, w] = isAbove ? [0, s.width] : this.boxOf(node, s.width);
			if (w < 0.4) continue;
			const y = this.yOf(depth, s.height);
			if (y > -ROW && y < s.height) this.paintNode(context, node, x, y, w, isAbove && node !== this.zoomed);
			const below = this.children[node]!;
			if (isAbove && node !== this.zoomed) stack.push(...[...below].filter((child) => above.has(child)));
			else for (let i = below.length - 1; i >= 0; i--) stack.push(below[i]!);
		}
	}

	private paintNode(context: CanvasRenderingContext2D, node: number, x: number, y: number, w: number, dim: boolean): void {
		const flame = this.flame!, hit = this.matches?.[node];
		context.globalAlpha = dim || (this.matches && !hit) ? 0.45 : 1;
		context.fillStyle = this.fillOf(node);
		context.fillRect(x + 0.25, y, Math.max(0.3, w - 0.6), ROW - 1);
		if (hit) {
			context.globalAlpha = 1;
			context.fillStyle = themeValue('--search');
			context.fillRect(x + 0.25, y + ROW - 4, Math.max(0.6, w - 0.6), 3);
		}
		if (node === this.focused && document.activeElement === this.picture.canvas) {
			context.strokeStyle = themeValue('--accent');
			context.lineWidth = 2;
			context.strokeRect(x + 1, y + 0.5, Math.max(2, w - 2), ROW - 2);
		}
		const label = flame.labels[flame.label[node]!]!, shown = cutText(context, flame.type[node] === TYPE_INLINED ? `${label} (inlined)` : label, w - 8);
		if (shown) {
			context.fillStyle = flame.type[node] === TYPE_KIND && !flame.compared ? themeValue('--on-box') : themeValue('--text');
			context.fillText(shown, x + 4, y + ROW / 2);
		}
		context.globalAlpha = 1;
	}

	private nodeAt(x: number, y: number): number {
		const flame = this.flame, s = this.picture;
		if (!flame) return -1;
		const depth = Math.floor((this.current.icicle ? y - 1 + this.scroll : s.height - y - 1 + this.scroll) / ROW);
		let node = 0;
		const above = this.ancestors(this.zoomed);
		while (this.depths[node]! < depth) {
			const next = [...this.children[node]!].find((child) => {
				if (this.depths[child]! <= this.depths[this.zoomed]!) return above.has(child);
				const [left, width] = this.boxOf(child, s.width);
				return x >= left && x < left + width;
			});
			if (next === undefined) return -1;
			node = next;
		}
		return this.depths[node] === depth ? node : -1;
	}

	private describe(node: number): (Node | string)[] {
		const flame = this.flame!, label = flame.labels[flame.label[node]!]!, place = flame.places[flame.label[node]!]!;
		const parts = CLASS_TITLES.slice(0, CHANNELS).flatMap((title, c) => {
			const ns = flame.channels[node * CHANNELS + c]!;
			return ns ? [`${title} ${this.app.time(ns)}`] : [];
		});
		return [h('b', {}, label), place ? h('div', { class: 'place' }, place) : '',
			h('div', {}, `${this.app.time(flame.ns[node]!)}, ${percent(flame.ns[node]!, flame.total)} of all${this.current.inverted ? '' : `; self ${this.app.time(flame.self[node]!)}`}`),
			flame.compared ? h('div', {}, `compared: ${this.app.time(flame.other[node]!)}, ${percent(flame.other[node]!, flame.compared)}`) : '',
			h('div', { class: 'muted' }, parts.join(', '))];
	}

	/** Shows only what a function calls, or is called by. */
	private only(node: number): void {
		const flame = this.flame!, type = flame.type[node];
		if (node > 0 && type !== TYPE_KIND && type !== TYPE_THREAD) this.change({ focus: flame.names[flame.label[node]!]! });
	}

	private zoom(node: number): void {
		this.zoomed = this.focused = node;
		this.scroll = 0;
		this.picture.draw();
	}

	private focus(node: number): void {
		this.focused = node;
		this.detail.replaceChildren(...this.describe(node));
		const y = this.depths[node]! * ROW;
		if (y < this.scroll) this.scroll = y;
		else if (y + ROW > this.scroll + this.picture.height) this.scroll = y + ROW - this.picture.height;
		this.picture.draw();
	}

	private key(event: KeyboardEvent): void {
		const flame = this.flame;
		if (!flame) return;
		const inward = this.current.icicle ? 'ArrowDown' : 'ArrowUp', outward = this.current.icicle ? 'ArrowUp' : 'ArrowDown';
		const siblings = this.children[flame.parent[this.focused]!] ?? Int32Array.of(0), at = siblings.indexOf(this.focused);
		if (event.key === inward) this.focus(this.children[this.focused]![0] ?? this.focused);
		else if (event.key === outward) this.focus(Math.max(0, flame.parent[this.focused]!));
		else if (event.key === 'ArrowRight') this.focus(siblings[at + 1] ?? this.focused);
		else if (event.key === 'ArrowLeft') this.focus(siblings[at - 1] ?? this.focused);
		else if (event.key === 'Enter' || event.key === '+' || event.key === '=') this.zoom(this.focused);
		else if (event.key === '-') this.zoom(Math.max(0, flame.parent[this.zoomed]!));
		else if (event.key === '0') this.zoom(0);
		else if (event.key === 'f') this.only(this.focused);
		else if (event.key === 'Escape' && this.zoomed) this.zoom(0);
		else if (event.key === 'Escape' && this.current.search) this.change({ search: '' });
		else return;
		event.preventDefault();
		event.stopPropagation();
	}

	private readonly globalKey = (event: KeyboardEvent): void => {
		if (event.key === '/' && !(event.target as HTMLElement).matches('input')) {
			event.preventDefault();
			this.searchBox.focus();
		}
	};

	private listen(): void {
		const canvas = this.picture.canvas;
		this.tables.addEventListener('toggle', () => this.tables.open && this.flame && this.fillTable());
		canvas.addEventListener('pointermove', (event) => {
			const node = this.nodeAt(event.offsetX, event.offsetY);
			canvas.style.cursor = node > 0 ? 'pointer' : 'default';
			if (node >= 0) showTip(event.clientX, event.clientY, ...this.describe(node));
			else hideTip();
		});
		canvas.addEventListener('pointerleave', hideTip);
		canvas.addEventListener('click', (event) => {
			/* The second click of two: the first one has moved what is under the pointer. */
			if (event.detail > 1) return;
			const node = this.nodeAt(event.offsetX, event.offsetY);
			if (node >= 0) {
				this.zoom(node);
				this.focus(node);
			}
		});
		canvas.addEventListener('dblclick', () => this.only(this.focused));
		canvas.addEventListener('wheel', (event) => {
			const most = Math.max(0, ((this.flame?.depth ?? 0) + 1) * ROW + 2 - this.picture.height);
			const next = Math.max(0, Math.min(most, this.scroll + (this.current.icicle ? event.deltaY : -event.deltaY)));
			if (next === this.scroll) return;
			event.preventDefault();
			this.scroll = next;
			this.picture.draw();
		}, { passive: false });
		canvas.addEventListener('keydown', (event) => this.key(event));
		canvas.addEventListener('focus', () => this.focus(this.focused));
		canvas.addEventListener('blur', () => this.picture.draw());
		let timer = 0;
		this.searchBox.addEventListener('input', () => {
			clearTimeout(timer);
			timer = setTimeout(() => this.change({ search: this.searchBox.value }), 120) as unknown as number;
		});
		this.searchBox.addEventListener('keydown', (event) => {
			if (event.key !== 'Escape') return;
			this.searchBox.value = '';
			this.change({ search: '' });
			canvas.focus();
		});
		addEventListener('keydown', this.globalKey);
	}
}

export const flameView: View = {
	id: 'flame', title: 'Flame graph', key: '2',
	available: (app) => app.index.recordings.length > 0,
	mount: (root, app) => new FlameView(root, app),
};
