// What each thread did over time. A click on a wait tells what ended it, and so on, step by step.
import { latest } from '../engine/client.js';
import { threadLabel } from '../data/index.js';
import type { Row } from '../engine/bins.js';
import type { Arrow, Cause, Piece } from '../engine/follow.js';
import { ALL_CLASSES, CLASS_TITLES, IDLE, STOLEN, type App, type View, type ViewInstance } from '../ui/app.js';
import { cutText, surface, type Surface } from '../ui/canvas.js';
import { h } from '../ui/dom.js';
import { clockText, labelPlace, ticks } from '../ui/time.js';
import { pixelOf, themeValue } from '../ui/theme.js';
import { hideTip, showTip } from '../ui/tooltip.js';
import { sortableTable } from './sortable-table.js';
import { markedTime } from './summary-parts.js';
import { causePanel, pieceTip } from './timeline-parts.js';

const ROW = 20, BAR = 17, HEAD = 22, CHANNELS = STOLEN + 1, MOST_ARROWS = 200;
/** From the bottom of a row. */
const ORDER = [0, STOLEN, 3, 2, 1, 4, 5, IDLE];
const CHANNEL_NUMBERS = Array.from({ length: CHANNELS }, (_, c) => c);

interface ThreadRow { thread: number; label: string; activity: number; isFirst: boolean; process: string; ns: Float64Array }

class TimelineView implements ViewInstance {
	private threads: ThreadRow[] = [];
	private rows = new Map<number, Row>();
	private drawn = { from: 0, until: 0 };
	private arrows: Arrow[] = [];
	private showArrows = true;
	private filter = '';
	/** Thread and time of what was chosen, as in the address. */
	private at = '';
	private scroll = 0;
	private row = 0;
	private cursor = 0;
	private moved = -Infinity;
	private drag: { from: number; to: number; pan: boolean; at: number } | null = null;
	private steps: { piece: Piece; cause: Cause | null }[] = [];
	private readonly note = h('p', { class: 'muted' });
	private readonly place = h('div', { class: 'picture timeline-picture' });
	private readonly panel = h('section', { class: 'timeline-panel', 'aria-label': 'What was chosen', 'aria-live': 'polite' });
	private readonly tables = h('details', {}, h('summary', {}, 'As a table'));
	private readonly bar = document.createElement('canvas');
	private image: ImageData | null = null;
	private readonly picture: Surface;
	private readonly searchBox = h('input', { type: 'search', placeholder: 'Threads ( / )', 'aria-label': 'Only threads with this name' });

	private readonly these = h('button', {
		type: 'button', title: 'Select the threads that are listed, for all views', hidden: true, onclick: () => this.onlyThreads(this.threads.map((row) => row.thread)),
	}, 'Only these');

	constructor(root: HTMLElement, private readonly app: App) {
		const arrows = h('button', { type: 'button', 'aria-pressed': 'true', onclick: () => {
			this.showArrows = !this.showArrows;
			arrows.setAttribute('aria-pressed', String(this.showArrows));
			this.picture.draw();
		} }, 'Wakeups');
		root.append(h('div', { class: 'view-tools' }, this.searchBox, this.these, arrows, this.note),
			h('div', { class: 'timeline-columns' }, this.place, this.panel), this.tables);
		this.picture = surface(this.place, 'Timeline of threads. Up and down choose a thread, left and right a moment, Enter tells what it did, + and \u2212 zoom; a table follows.', (s) => this.paint(s));
		this.listen();
		this.update();
		this.fillPanel();
	}

	update(): void {
		this.loadThreads();
	}

	state(given: Record<string, string>): void {
		const wanted = given['named'] ?? '', at = given['at'] ?? '';
		if (wanted !== this.filter) {
			this.searchBox.value = this.filter = wanted;
			this.loadThreads();
		}
		if (at === this.at) return;
		this.at = at;
		const [thread, time] = at.split('.').map(Number);
		if (thread && time !== undefined && this.app.index.recordings[this.app.selection.recording]?.threads[thread]) void this.choose(thread, time, false);
	}

	/** Keeps what was chosen and searched for in the address. */
	private keep(): void {
		this.app.go('timeline', { at: this.at, named: this.filter });
	}

	destroy(): void {
		this.picture.destroy();
		removeEventListener('resize', this.resized);
		removeEventListener('keydown', this.globalKey);
		hideTip();
	}

	private get labelWidth(): number {
		return Math.min(210, this.picture.width * 0.28);
	}

	private readonly loadThreads = latest(async () => {
		const { selection } = this.app, recording = this.app.index.recordings[selection.recording]!;
		const times = await this.app.engine.threadTimes(selection.recording, {
			from: selection.from, until: selection.until, threads: selection.threads && [...selection.threads], classes: ALL_CLASSES, idle: true, others: selection.others,
		});
		const wanted = this.filter.toLowerCase(), activity = (ns: Float64Array): number => ns[0]! + ns[1]! + ns[2]! + ns[3]! + ns[4]! + ns[5]! + ns[STOLEN]!;
		const byProcess = new Map<number, number>();
		/* Threads that were there. */
		const shown = times.filter(({ thread, ns }) => selection.threads ? selection.threads.has(thread) : ns.some((length) => length > 0)).map(({ thread, ns }) => {
			const info = recording.threads[thread]!, process = recording.processes[info.process]!;
			byProcess.set(info.process, (byProcess.get(info.process) ?? 0) + activity(ns));
			return { thread, ns, activity: activity(ns), isFirst: false, number: info.process, label: threadLabel(info), process: `${process.name}/${process.pid}` };
		}).filter(({ label, process }) => `${label} ${process}`.toLowerCase().includes(wanted));
		shown.sort((a, b) => byProcess.get(b.number)! - byProcess.get(a.number)! || a.number - b.number || b.activity - a.activity || a.thread - b.thread);
		shown.forEach((row, i) => row.isFirst = i === 0 || shown[i - 1]!.number !== row.number);
		this.threads = shown;
		this.these.hidden = !this.filter || !shown.length;
		this.row = Math.min(this.row, Math.max(0, shown.length - 1));
		this.note.textContent = `${shown.length} thread${shown.length === 1 ? '' : 's'}${recording.mode === 'sampling' ? '; of waits, only those that hold a sampling point' : ''}${selection.idle ? '' : '; waits for work are pale'}.`;
		const room = Math.max(160, innerHeight - 250);
		this.picture.resize(Math.min(HEAD + shown.length * ROW + 4, room));
		this.scroll = Math.min(this.scroll, this.mostScroll());
		if (this.tables.open) this.fillTable();
		this.load();
	});

	private mostScroll(): number {
		return Math.max(0, this.threads.length * ROW + HEAD + 4 - this.picture.height);
	}

	private visible(): ThreadRow[] {
		const first = Math.floor(this.scroll / ROW), n = Math.ceil((this.picture.height - HEAD) / ROW) + 1;
		return this.threads.slice(first, first + n);
	}

	private readonly load = latest(async () => {
		const { recording, from, until } = this.app.selection, threads = this.visible().map((row) => row.thread);
		const width = Math.max(1, Math.floor((this.picture.width || this.place.clientWidth || 800) - (this.labelWidth || 200)));
		const rows = await this.app.engine.rows(recording, threads, from, until, width);
		const arrows = await this.app.engine.arrows(recording, threads, from, until, MOST_ARROWS);
		this.rows = new Map(rows.map((row) => [row.thread, row]));
		this.arrows = arrows;
		this.drawn = { from, until };
		this.place.dataset['loaded'] = `${from}-${until}`;
		this.picture.draw();
	});

	/** Pixel of a time, right of the labels. */
	private xOf(time: number): number {
		const { from, until } = this.app.selection;
		return this.labelWidth + (time - from) / (until - from) * (this.picture.width - this.labelWidth);
	}

	private timeAt(x: number): number {
		const { from, until } = this.app.selection;
		return from + (x - this.labelWidth) / (this.picture.width - this.labelWidth) * (until - from);
	}

	private rowAt(y: number): number {
		const row = Math.floor((y - HEAD + this.scroll) / ROW);
		return y < HEAD || row < 0 || row >= this.threads.length ? -1 : row;
	}

	private paint(s: Surface): void {
		const context = s.context, colors = CHANNEL_NUMBERS.map((c) => this.app.color(c)), { selection } = this.app;
		const shown = CHANNEL_NUMBERS.map((c) => c === IDLE || (selection.classes >> c % STOLEN & 1) === 1);
		const pixels = colors.map((color, c) => shown[c] ? pixelOf(color, c === IDLE && !selection.idle ? 0.45 : 1) : 0);
		const text = themeValue('--text'), muted = themeValue('--muted'), line = themeValue('--line-soft');
		context.setTransform(s.scale, 0, 0, s.scale, 0, 0);
		context.clearRect(0, 0, s.width, s.height);
		context.font = `11.5px ${themeValue('--sans')}`;
		context.textBaseline = 'middle';
		const first = Math.floor(this.scroll / ROW);
		this.visible().forEach((thread, i) => {
			const y = HEAD + (first + i) * ROW - this.scroll, row = this.rows.get(thread.thread);
			if (thread.isFirst && first + i) {
				context.fillStyle = themeValue('--line-strong');
				context.fillRect(0, y, s.width, 1);
			}
			if (row?.bins) this.paintBins(context, row.bins, y, pixels);
			else if (row?.items) this.paintItems(context, thread, row, y, colors, shown);
			context.fillStyle = themeValue('--background');
			context.fillRect(0, y + 1, this.labelWidth, ROW - 1);
			context.fillStyle = first + i === this.row && document.activeElement === s.canvas ? themeValue('--accent') : text;
			context.fillText(cutText(context, thread.label, this.labelWidth - 8), 2, y + ROW / 2);
			context.fillStyle = line;
			context.fillRect(0, y + ROW - 0.5, s.width, 0.5);
		});
		this.paintHead(context, s, muted);
		if (this.showArrows) this.paintArrows(context, text);
		this.paintChosen(context, text);
		if (this.drag && !this.drag.pan) {
			context.fillStyle = themeValue('--accent');
			context.globalAlpha = 0.2;
			context.fillRect(Math.min(this.drag.from, this.drag.to), 0, Math.abs(this.drag.to - this.drag.from), s.height);
			context.globalAlpha = 1;
		}
		if (document.activeElement === s.canvas && this.cursor >= selection.from && this.cursor < selection.until) {
			context.fillStyle = themeValue('--accent');
			context.fillRect(this.xOf(this.cursor), HEAD, 1, s.height - HEAD);
		}
	}

	private paintHead(context: CanvasRenderingContext2D, s: Surface, muted: string): void {
		const { from, until } = this.app.selection;
		context.fillStyle = themeValue('--surface');
		context.fillRect(0, 0, s.width, HEAD);
		context.fillStyle = muted;
		let last = 0;
		for (const at of ticks(from, until, (s.width - this.labelWidth) / 110)) {
			const x = this.xOf(at), text = clockText(at, until - from), { width } = context.measureText(text);
			context.fillRect(x, HEAD - 5, 1, 5);
			const place = labelPlace(x, width, last, s.width);
			if (place === null) continue;
			context.fillText(text, place, HEAD / 2 - 2);
			last = place + width;
		}
		context.fillStyle = themeValue('--line');
		context.fillRect(0, HEAD - 1, s.width, 1);
	}

	private paintBins(context: CanvasRenderingContext2D, bins: Float32Array, y: number, pixels: number[]): void {
		const n = bins.length / CHANNELS, { from, until } = this.drawn, tall = BAR;
		const image = this.imageOf(n), data = new Uint32Array(image.data.buffer);
		data.fill(0);
		for (let x = 0; x < n; x++) {
			let below = 0, row = tall;
			for (let i = 0; i < CHANNELS; i++) {
				const c = ORDER[i]!, share = bins[x * CHANNELS + c]!;
				if (share <= 0) continue;
				below += share;
				const top = Math.max(0, Math.round(tall * (1 - Math.min(1, below)))), pixel = pixels[c]!;
				if (pixel) for (let at = row - 1; at >= top; at--) data[at * n + x] = pixel;
				row = Math.min(row, top);
			}
		}
		this.bar.getContext('2d')!.putImageData(image, 0, 0);
		const left = this.xOf(from);
		context.imageSmoothingEnabled = false;
		context.drawImage(this.bar, left, y + 1, this.xOf(until) - left, tall);
	}

	/** An image for the bars of a row of `n` bins. */
	private imageOf(n: number): ImageData {
		if (this.image?.width !== n) {
			this.bar.width = n;
			this.bar.height = BAR;
			this.image = new ImageData(n, BAR);
		}
		return this.image;
	}

	private paintItems(context: CanvasRenderingContext2D, thread: ThreadRow, row: Row, y: number, colors: string[], shown: boolean[]): void {
		const items = row.items!, recording = this.app.index.recordings[this.app.selection.recording]!, info = recording.threads[thread.thread]!;
		const begin = Math.max(this.drawn.from, info.created * recording.unit_ns), end = Math.min(this.drawn.until, info.ended * recording.unit_ns);
		const box = (from: number, until: number, channel: number, text: string): void => {
			if (until <= from || !shown[channel]) return;
			const x = Math.max(this.labelWidth, this.xOf(from)), w = this.xOf(until) - x;
			context.globalAlpha = channel === IDLE && !this.app.selection.idle ? 0.45 : 1;
			context.fillStyle = colors[channel]!;
			context.fillRect(x, y + 2, Math.max(0.6, w - (w > 3 ? 0.6 : 0)), ROW - 4);
			const label = text && cutText(context, text, w - 6);
			context.globalAlpha = 1;
			if (!label) return;
			context.fillStyle = channel === IDLE ? themeValue('--text') : themeValue('--on-box');
			context.fillText(label, x + 3, y + ROW / 2);
		};
		/* From the bottom, as bins have it. */
		const run = (from: number, until: number, i: number, whole: number): void => {
			const stolen = items.stolen[i]!, tall = Math.max(1, (ROW - 4) * stolen / whole), x = Math.max(this.labelWidth, this.xOf(from));
			box(from, until, 0, items.run[i]!);
			if (!stolen || until <= from || !shown[STOLEN]) return;
			context.fillStyle = colors[STOLEN]!;
			context.fillRect(x, y + ROW - 2 - tall, Math.max(0.6, this.xOf(until) - x - 0.6), tall);
		};
		let time = begin;
		items.number.forEach((_, i) => {
			run(time, Math.min(items.out[i]!, end), i, items.out[i]! - (i ? items.in[i - 1]! : info.created * recording.unit_ns));
			box(items.out[i]!, items.wake[i]!, items.channel[i]!, items.text[i]!);
			box(items.wake[i]!, items.in[i]!, 3, items.text[i] ? 'run queue' : '');
			time = Math.max(time, items.in[i]!);
		});
		run(time, end, items.number.length, info.ended * recording.unit_ns - (items.in.at(-1) ?? info.created * recording.unit_ns));
	}

	private yOf(thread: number): number {
		const i = this.threads.findIndex((row) => row.thread === thread);
		return i < 0 ? NaN : HEAD + i * ROW + ROW / 2 - this.scroll;
	}

	private paintArrows(context: CanvasRenderingContext2D, color: string): void {
		context.strokeStyle = context.fillStyle = color;
		context.globalAlpha = this.arrows.length > 60 ? 0.25 : 0.55;
		context.lineWidth = 1;
		for (const arrow of this.arrows) {
			const x = this.xOf(arrow.at), from = this.yOf(arrow.from), to = this.yOf(arrow.to);
			if (!(x >= this.labelWidth) || Number.isNaN(from) || Number.isNaN(to) || from === to) continue;
			const down = Math.sign(to - from), end = to - down * (ROW / 2 - 2);
			context.beginPath();
			context.moveTo(x, from);
			context.lineTo(x, end);
			context.stroke();
			context.beginPath();
			context.moveTo(x, end);
			context.lineTo(x - 3, end - down * 5);
			context.lineTo(x + 3, end - down * 5);
			context.fill();
		}
		context.globalAlpha = 1;
	}

	private paintChosen(context: CanvasRenderingContext2D, color: string): void {
		context.strokeStyle = color;
		context.lineWidth = 2;
		for (const { piece } of this.steps) {
			const y = this.yOf(piece.thread), x = Math.max(this.labelWidth, this.xOf(piece.from)), until = this.xOf(piece.until);
			if (!Number.isNaN(y) && y > HEAD && until > this.labelWidth) context.strokeRect(x, y - ROW / 2 + 1, Math.max(2, until - x), ROW - 2);
		}
	}

	/** Chooses what `thread` did at `time`; a wait's cause is looked up. */
	private async choose(thread: number, time: number, follow: boolean): Promise<void> {
		const { recording } = this.app.selection, piece = await this.app.engine.at(recording, thread, time);
		await this.chosePiece(piece, follow);
		this.at = `${thread}.${Math.round(time)}`;
		this.keep();
	}

	private async chosePiece(piece: Piece, follow: boolean): Promise<void> {
		const { recording } = this.app.selection;
		const isWait = piece.interval >= 0 && piece.channel !== 3;
		const cause = isWait ? await this.app.engine.cause(recording, piece.interval, piece.from, piece.until) : null;
		this.steps = follow ? [...this.steps, { piece, cause }] : [{ piece, cause }];
		this.fillPanel();
		this.picture.draw();
	}

	private fillPanel(): void {
		if (!this.steps.length) {
			this.panel.replaceChildren(h('p', { class: 'muted' }, 'A click on a wait tells what it waited for, and what ended it. Drag to select a time; Ctrl and wheel zoom.'));
			return;
		}
		this.panel.replaceChildren(...this.steps.map((step, i) => causePanel(this.app, step.piece, step.cause, i + 1,
			(piece) => {
				this.steps.length = i + 1;
				void this.chosePiece(piece, true);
			},
			() => this.app.select({ from: Math.floor(step.piece.from), until: Math.max(Math.floor(step.piece.from) + 1, Math.ceil(step.piece.until)) }))));
		this.panel.lastElementChild?.scrollIntoView({ block: 'nearest' });
	}

	/** Whether the exact time of the thread in a class differs from the sampled one. */
	private differs(thread: number, cls: number): boolean {
		const { recording } = this.app.selection;
		return this.app.index.recordings[recording]!.threads[thread]!.differs?.includes(cls) ?? false;
	}

	private fillTable(): void {
		const rows = this.threads.map((row) => ({ values: [row.label, row.process, ...row.ns], cells: [h('button', { type: 'button', title: 'Only this thread, or all again', onclick: () => this.onlyThreads([row.thread]) }, row.label), row.process, ...CHANNEL_NUMBERS.map((c) => markedTime(this.app.time(row.ns[c]!), this.differs(row.thread, c)))] }));
		this.tables.replaceChildren(h('summary', {}, 'As a table'), 
			sortableTable('Threads and what they did in the selected time', ['thread', 'process', ...CLASS_TITLES.map((title) => `${title}#`)], rows));
	}

	/** Zooming and panning without a rest are one step. */
	private isMoving(): boolean {
		const before = this.moved;
		this.moved = performance.now();
		return this.moved - before < 400;
	}

	private zoom(factor: number, around: number): void {
		const { from, until, recording } = this.app.selection, whole = this.app.index.recordings[recording]!.duration_ns;
		const span = Math.max(200, Math.min(whole, (until - from) * factor)), share = (around - from) / (until - from);
		const low = Math.max(0, Math.min(whole - span, around - span * share));
		this.app.select({ from: Math.round(low), until: Math.round(low + span) }, this.isMoving());
	}

	private pan(by: number): void {
		const { from, until, recording } = this.app.selection, whole = this.app.index.recordings[recording]!.duration_ns, span = until - from;
		const low = Math.max(0, Math.min(whole - span, from + by));
		if (Math.round(low) !== from) this.app.select({ from: Math.round(low), until: Math.round(low + span) }, this.isMoving());
	}

	/** Selects threads for all views; if they are all that is selected, all threads. */
	private onlyThreads(threads: readonly number[]): void {
		const { selection } = this.app;
		const isSame = selection.threads?.size === threads.length && threads.every((thread) => selection.threads!.has(thread));
		this.app.select({ threads: isSame ? null : new Set(threads) });
	}

	private scrollTo(scroll: number): void {
		this.scroll = Math.max(0, Math.min(this.mostScroll(), scroll));
		this.load();
		this.picture.draw();
	}

	private key(event: KeyboardEvent): void {
		const { from, until } = this.app.selection, span = until - from;
		if (this.cursor < from || this.cursor >= until) this.cursor = (from + until) / 2;
		const moveRow = (by: number): void => {
			this.row = Math.max(0, Math.min(this.threads.length - 1, this.row + by));
			const y = this.row * ROW;
			this.scrollTo(y < this.scroll ? y : Math.max(this.scroll, y + ROW + HEAD + 4 - this.picture.height));
		};
		const moveCursor = (by: number): void => {
			this.cursor = Math.max(0, this.cursor + by);
			if (this.cursor < from || this.cursor >= until) this.pan(by * 20);
			this.picture.draw();
		};
		if (event.key === 'ArrowDown') moveRow(1);
		else if (event.key === 'ArrowUp') moveRow(-1);
		else if (event.key === 'ArrowRight') moveCursor(span / (event.shiftKey ? 10 : 100));
		else if (event.key === 'ArrowLeft') moveCursor(-span / (event.shiftKey ? 10 : 100));
		else if (event.key === '+' || event.key === '=' || event.key === 'w') this.zoom(0.5, this.cursor);
		else if (event.key === '-' || event.key === 's') this.zoom(2, this.cursor);
		else if (event.key === '0') this.zoom(Infinity, this.cursor);
		else if (event.key === 'Enter' && this.threads[this.row]) void this.choose(this.threads[this.row]!.thread, this.cursor, false);
		else if (event.key === 't' && this.threads[this.row]) this.onlyThreads([this.threads[this.row]!.thread]);
		else if (event.key === 'Escape' && this.steps.length) {
			this.steps.pop();
			if (!this.steps.length) {
				this.at = '';
				this.keep();
			}
			this.fillPanel();
			this.picture.draw();
		} else return;
		event.preventDefault();
		event.stopPropagation();
	}

	private readonly globalKey = (event: KeyboardEvent): void => {
		if (event.key !== '/' || (event.target as HTMLElement).matches('input')) return;
		event.preventDefault();
		this.searchBox.focus();
	};

	private readonly hover = latest(async (x: number, y: number, time: number, thread: number) => {
		const piece = await this.app.engine.at(this.app.selection.recording, thread, time);
		const cause = piece.interval >= 0 && piece.channel !== 3
			? await this.app.engine.cause(this.app.selection.recording, piece.interval, piece.from, piece.until) : null;
		if (this.place.matches(':hover') && !this.drag) showTip(x, y, ...pieceTip(this.app, piece, cause));
	});

	private listen(): void {
		const canvas = this.picture.canvas;
		this.tables.addEventListener('toggle', () => this.tables.open && this.fillTable());
		canvas.addEventListener('pointerdown', (event) => {
			if (event.offsetX < this.labelWidth || event.button !== 0) return;
			canvas.setPointerCapture(event.pointerId);
			this.drag = { from: event.offsetX, to: event.offsetX, pan: event.shiftKey, at: this.app.selection.from };
			hideTip();
		});
		canvas.addEventListener('pointermove', (event) => {
			const row = this.rowAt(event.offsetY), drag = this.drag;
			if (drag) {
				const x = Math.max(this.labelWidth, Math.min(this.picture.width, event.offsetX));
				if (drag.pan) this.pan(this.timeAt(drag.to) - this.timeAt(x));
				drag.to = x;
				this.picture.draw();
			} else if (row >= 0 && event.offsetX > this.labelWidth) this.hover(event.clientX, event.clientY, this.timeAt(event.offsetX), this.threads[row]!.thread);
			else hideTip();
		});
		canvas.addEventListener('pointerleave', hideTip);
		canvas.addEventListener('pointerup', (event) => {
			const drag = this.drag, row = this.rowAt(event.offsetY);
			this.drag = null;
			if (drag && !drag.pan && Math.abs(drag.to - drag.from) > 3) {
				const from = Math.floor(this.timeAt(Math.min(drag.from, drag.to))), until = Math.ceil(this.timeAt(Math.max(drag.from, drag.to)));
				this.app.select({ from, until: Math.max(until, from + 1) });
			} else if (drag && !drag.pan && row >= 0) {
				this.row = row;
				this.cursor = this.timeAt(event.offsetX);
				void this.choose(this.threads[row]!.thread, this.cursor, false);
			}
			this.picture.draw();
		});
		canvas.addEventListener('dblclick', (event) => {
			const row = this.rowAt(event.offsetY);
			if (row >= 0 && event.offsetX < this.labelWidth) this.onlyThreads([this.threads[row]!.thread]);
		});
		canvas.addEventListener('wheel', (event) => {
			event.preventDefault();
			if (event.ctrlKey || event.metaKey || this.mostScroll() === 0 && !event.shiftKey && Math.abs(event.deltaX) < 1)
				this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), this.timeAt(event.offsetX));
			else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
				this.pan((event.deltaX || event.deltaY) / this.picture.width * (this.app.selection.until - this.app.selection.from));
			else this.scrollTo(this.scroll + event.deltaY);
		}, { passive: false });
		canvas.addEventListener('keydown', (event) => this.key(event));
		canvas.addEventListener('focus', () => this.picture.draw());
		canvas.addEventListener('blur', () => this.picture.draw());
		this.searchBox.addEventListener('input', () => {
			this.filter = this.searchBox.value;
			this.keep();
			this.loadThreads();
		});
		this.searchBox.addEventListener('keydown', (event) => {
			if (event.key !== 'Escape') return;
			this.searchBox.value = this.filter = '';
			this.keep();
			this.loadThreads();
			canvas.focus();
		});
		addEventListener('keydown', this.globalKey);
		addEventListener('resize', this.resized);
	}

	private readonly resized = (): void => this.loadThreads();
}

export const timelineView: View = {
	id: 'timeline', title: 'Timeline', key: '3',
	available: (app) => app.index.recordings.length > 0,
	mount: (root, app) => new TimelineView(root, app),
};
