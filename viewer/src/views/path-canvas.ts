// A picture of labeled boxes in rows on a canvas, no taller than the window, with keyboard, pointer and a
// live text for screen readers. The boxes are those of one screen: whoever makes them bins what is
// smaller than a pixel.

export interface Box {
	readonly row: number;
	/** 0 to 1, of the width. */
	readonly x0: number;
	readonly x1: number;
	readonly fill: string;
	readonly label: string;
	/** A bar in the lower part of the row, this part of its height; 1 if left out. */
	readonly height?: number;
	/** Where the bar begins, from the bottom of the row. */
	readonly base?: number;
	/** Cannot be focused, and has no text. */
	readonly isPlain?: boolean;
}

export interface Line {
	readonly x: number;
	readonly row0: number;
	readonly row1: number;
}

export interface Scene {
	readonly boxes: readonly Box[];
	readonly rows: number;
	/** Texts left of the rows; empty for none. */
	readonly rowLabels: readonly string[];
	readonly lines: readonly Line[];
	readonly ticks: readonly { readonly x: number; readonly text: string }[];
}

export interface PictureColors {
	readonly text: string;
	readonly muted: string;
	readonly line: string;
	readonly background: string;
	readonly focus: string;
	/** Texts on light and on dark boxes. */
	readonly onLight: string;
	readonly onDark: string;
	readonly select: string;
}

export interface PictureOptions {
	readonly label: string;
	/** Height of a row in CSS pixels; and of the picture, if less than that is left of the window. */
	readonly rowHeight: number;
	readonly leastHeight: number;
	readonly colors: () => PictureColors;
	/** The scene for a width in CSS pixels. */
	scene(width: number): Scene;
	/** Lines of text about a box. */
	describe(box: Box): string[];
	activate?(box: Box): void;
	/** A range of the width was dragged over. */
	range?(x0: number, x1: number): void;
	/** `factor` below 1: show less, around x. */
	zoom?(factor: number, x: number): void;
	pan?(by: number): void;
	reset?(): void;
	/** Row labels that can be clicked. */
	activateRow?(row: number): void;
}

const AXIS = 20;
const FONT = 11;

export class BoxPicture {
	readonly element: HTMLElement;
	private readonly canvas = document.createElement('canvas');
	private readonly tip = document.createElement('div');
	private readonly live = document.createElement('div');
	private readonly more = document.createElement('div');
	private readonly observer: ResizeObserver;
	private scene: Scene = { boxes: [], rows: 0, rowLabels: [], lines: [], ticks: [] };
	private top = 0;
	private focus = -1;
	private hover = -1;
	private gutter = 0;
	private width = 0;
	private height = 0;
	private dragFrom = -1;
	private dragTo = -1;
	private frame = 0;

	constructor(private readonly options: PictureOptions) {
		this.element = document.createElement('div');
		this.element.className = 'box-picture';
		this.tip.className = 'box-tip';
		this.tip.hidden = true;
		this.tip.setAttribute('aria-hidden', 'true');
		this.live.className = 'visually-hidden';
		this.live.setAttribute('aria-live', 'polite');
		this.more.className = 'box-more';
		this.canvas.tabIndex = 0;
		this.canvas.setAttribute('role', 'application');
		this.canvas.setAttribute('aria-roledescription', 'chart');
		this.canvas.setAttribute('aria-label', options.label);
		this.element.append(this.canvas, this.tip, this.live, this.more);

		this.canvas.addEventListener('pointerdown', (event) => this.pointerDown(event));
		this.canvas.addEventListener('pointermove', (event) => this.pointerMove(event));
		this.canvas.addEventListener('pointerup', (event) => this.pointerUp(event));
		this.canvas.addEventListener('pointerleave', () => this.setHover(-1, 0, 0));
		this.canvas.addEventListener('dblclick', () => options.reset?.());
		this.canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
		this.canvas.addEventListener('keydown', (event) => this.key(event));
		this.canvas.addEventListener('focus', () => this.schedule());
		this.canvas.addEventListener('blur', () => this.schedule());
		this.observer = new ResizeObserver(() => this.update());
		this.observer.observe(this.element);
	}

	dispose(): void {
		this.observer.disconnect();
		cancelAnimationFrame(this.frame);
	}

	/** Makes the scene again, after a change of what is shown or of the size. */
	update(): void {
		const width = this.element.clientWidth;
		if (width === 0) return;
		this.gutter = 0;
		this.width = width;
		const draft = this.options.scene(Math.max(50, width));
		if (draft.rowLabels.length > 0) {
			const context = this.canvas.getContext('2d')!;
			context.font = this.font();
			let widest = 0;
			for (const label of draft.rowLabels) widest = Math.max(widest, context.measureText(label).width);
			this.gutter = Math.ceil(Math.min(widest + 10, width * 0.28));
		}
		this.scene = this.gutter > 0 ? this.options.scene(Math.max(50, width - this.gutter)) : draft;
		const full = this.scene.rows * this.options.rowHeight + AXIS;
		this.height = Math.max(AXIS + this.options.rowHeight, Math.min(full, this.room()));
		this.focus = -1;
		this.hover = -1;
		this.tip.hidden = true;
		this.scroll(0);
		this.draw();
	}

	/** Draws again, with the colors that are valid now. */
	schedule(): void {
		if (this.frame) return;
		this.frame = requestAnimationFrame(() => {
			this.frame = 0;
			this.draw();
		});
	}

	private font(): string {
		return `${FONT}px ui-sans-serif, system-ui, sans-serif`;
	}

	private plotWidth(): number {
		return Math.max(1, this.width - this.gutter);
	}

	/** What is left of the window below the top of the picture, as the page is when it is not scrolled. */
	private room(): number {
		const top = this.element.getBoundingClientRect().top + window.scrollY;
		return Math.min(window.innerHeight * 0.9, Math.max(this.options.leastHeight, window.innerHeight - top - 60));
	}

	private visibleRows(): number {
		return Math.floor((this.height - AXIS) / this.options.rowHeight);
	}

	private scroll(by: number): boolean {
		const most = Math.max(0, this.scene.rows - this.visibleRows());
		const before = this.top;
		this.top = Math.min(most, Math.max(0, this.top + by));
		const below = most - this.top;
		this.more.textContent = most === 0 ? '' :
			`Rows ${this.top + 1} to ${this.top + this.visibleRows()} of ${this.scene.rows}` +
			(below > 0 ? `; ${below} more below (scroll, or Page Down)` : '');
		return this.top !== before;
	}

	private draw(): void {
		const context = this.canvas.getContext('2d');
		if (!context || this.width === 0) return;
		const ratio = window.devicePixelRatio || 1;
		const width = Math.round(this.width * ratio);
		const height = Math.round(this.height * ratio);
		if (this.canvas.width !== width || this.canvas.height !== height) {
			this.canvas.width = width;
			this.canvas.height = height;
			this.canvas.style.width = `${this.width}px`;
			this.canvas.style.height = `${this.height}px`;
		}
		const colors = this.options.colors();
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.clearRect(0, 0, this.width, this.height);
		context.font = this.font();
		context.textBaseline = 'middle';
		this.drawAxis(context, colors);
		context.save();
		context.beginPath();
		context.rect(0, AXIS, this.width, this.height - AXIS);
		context.clip();
		this.drawRowLabels(context, colors);
		this.drawLines(context, colors);
		this.drawBoxes(context, colors);
		context.restore();
		this.drawMarks(context, colors);
	}

	private drawAxis(context: CanvasRenderingContext2D, colors: PictureColors): void {
		context.strokeStyle = colors.line;
		context.fillStyle = colors.muted;
		context.lineWidth = 1;
		let last = -Infinity;
		for (const tick of this.scene.ticks) {
			const x = Math.round(this.gutter + tick.x * this.plotWidth()) + 0.5;
			context.beginPath();
			context.moveTo(x, AXIS - 4);
			context.lineTo(x, this.height);
			context.globalAlpha = 0.5;
			context.stroke();
			context.globalAlpha = 1;
			const width = context.measureText(tick.text).width;
			if (x - last < 8 || x + width + 4 > this.width) continue;
			context.fillText(tick.text, x + 3, AXIS / 2);
			last = x + width;
		}
	}

	private drawRowLabels(context: CanvasRenderingContext2D, colors: PictureColors): void {
		context.fillStyle = colors.text;
		for (let row = this.top; row < this.scene.rowLabels.length; row++) {
			const y = AXIS + (row - this.top) * this.options.rowHeight;
			if (y > this.height) break;
			context.fillText(fitText(context, this.scene.rowLabels[row]!, this.gutter - 8), 2, y + this.options.rowHeight / 2);
		}
	}

	private drawLines(context: CanvasRenderingContext2D, colors: PictureColors): void {
		context.strokeStyle = colors.muted;
		context.globalAlpha = this.scene.lines.length > 400 ? 0.25 : 0.55;
		context.lineWidth = 1;
		context.beginPath();
		for (const line of this.scene.lines) {
			const x = Math.round(this.gutter + line.x * this.plotWidth()) + 0.5;
			const middle = this.options.rowHeight / 2;
			context.moveTo(x, AXIS + (line.row0 - this.top) * this.options.rowHeight + middle);
			context.lineTo(x, AXIS + (line.row1 - this.top) * this.options.rowHeight + middle);
		}
		context.stroke();
		context.globalAlpha = 1;
	}

	private drawBoxes(context: CanvasRenderingContext2D, colors: PictureColors): void {
		const rowHeight = this.options.rowHeight;
		const plot = this.plotWidth();
		for (const box of this.scene.boxes) {
			const row = box.row - this.top;
			if (row < 0 || row * rowHeight > this.height) continue;
			const x = this.gutter + box.x0 * plot;
			const width = (box.x1 - box.x0) * plot;
			const space = rowHeight - 1;
			const height = space * (box.height ?? 1);
			const y = AXIS + row * rowHeight + space - height - space * (box.base ?? 0);
			context.fillStyle = box.fill;
			context.fillRect(x, y, Math.max(width - (width > 3 ? 0.5 : 0), 0.5), height);
			if (width < 24 || !box.label) continue;
			context.fillStyle = isLight(box.fill) ? colors.onLight : colors.onDark;
			const text = fitText(context, box.label, width - 6);
			if (text) context.fillText(text, x + 3, AXIS + row * rowHeight + rowHeight / 2);
		}
	}

	private drawMarks(context: CanvasRenderingContext2D, colors: PictureColors): void {
		for (const index of [this.hover, document.activeElement === this.canvas ? this.focus : -1]) {
			const box = this.scene.boxes[index];
			if (!box || box.row < this.top) continue;
			const x = this.gutter + box.x0 * this.plotWidth();
			context.strokeStyle = colors.focus;
			context.lineWidth = index === this.focus ? 2 : 1;
			context.strokeRect(
				x, AXIS + (box.row - this.top) * this.options.rowHeight,
				Math.max(2, (box.x1 - box.x0) * this.plotWidth()), this.options.rowHeight - 1,
			);
		}
		if (this.dragFrom >= 0 && Math.abs(this.dragTo - this.dragFrom) > 3) {
			context.fillStyle = colors.select;
			context.globalAlpha = 0.25;
			context.fillRect(Math.min(this.dragFrom, this.dragTo), 0, Math.abs(this.dragTo - this.dragFrom), this.height);
			context.globalAlpha = 1;
		}
	}

	private boxAt(x: number, y: number): number {
		const row = Math.floor((y - AXIS) / this.options.rowHeight) + this.top;
		const at = (x - this.gutter) / this.plotWidth();
		if (y < AXIS || at < 0) return -1;
		const slack = 1 / this.plotWidth();
		let best = -1;
		for (let i = 0; i < this.scene.boxes.length; i++) {
			const box = this.scene.boxes[i]!;
			if (box.row !== row || box.isPlain || at < box.x0 || at > Math.max(box.x1, box.x0 + slack)) continue;
			best = i;
		}
		return best;
	}

	private setHover(index: number, x: number, y: number): void {
		const box = this.scene.boxes[index];
		this.tip.hidden = !box;
		if (box) {
			if (index !== this.hover) this.tip.replaceChildren(...this.options.describe(box).map(textLine));
			const left = Math.min(x + 14, Math.max(0, this.width - this.tip.offsetWidth - 4));
			this.tip.style.left = `${left}px`;
			this.tip.style.top = `${y + 16}px`;
		}
		if (index !== this.hover) {
			this.hover = index;
			this.canvas.style.cursor = box && this.options.activate ? 'pointer' : 'default';
			this.schedule();
		}
	}

	private pointerDown(event: PointerEvent): void {
		if (event.button !== 0) return;
		this.dragFrom = this.dragTo = event.offsetX;
		this.canvas.setPointerCapture(event.pointerId);
	}

	private pointerMove(event: PointerEvent): void {
		if (this.dragFrom >= 0 && this.options.range) {
			this.dragTo = event.offsetX;
			this.schedule();
		}
		this.setHover(this.boxAt(event.offsetX, event.offsetY), event.offsetX, event.offsetY);
	}

	private pointerUp(event: PointerEvent): void {
		if (this.dragFrom < 0) return;
		const from = (Math.min(this.dragFrom, this.dragTo) - this.gutter) / this.plotWidth();
		const to = (Math.max(this.dragFrom, this.dragTo) - this.gutter) / this.plotWidth();
		const isDrag = Math.abs(this.dragTo - this.dragFrom) > 4;
		this.dragFrom = -1;
		this.schedule();
		if (isDrag && this.options.range) {
			this.options.range(Math.max(0, from), Math.min(1, to));
			return;
		}
		if (event.offsetX < this.gutter && event.offsetY > AXIS) {
			const row = Math.floor((event.offsetY - AXIS) / this.options.rowHeight) + this.top;
			if (row < this.scene.rows) this.options.activateRow?.(row);
			return;
		}
		const index = this.boxAt(event.offsetX, event.offsetY);
		if (index < 0) return;
		this.focus = index;
		this.options.activate?.(this.scene.boxes[index]!);
	}

	private wheel(event: WheelEvent): void {
		const x = Math.max(0, (event.offsetX - this.gutter) / this.plotWidth());
		if (event.ctrlKey && this.options.zoom) {
			event.preventDefault();
			this.options.zoom(event.deltaY > 0 ? 1.25 : 0.8, x);
		} else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && this.options.pan) {
			event.preventDefault();
			this.options.pan(event.deltaX / this.plotWidth());
		} else if (this.scroll(Math.sign(event.deltaY) * 3)) {
			event.preventDefault();
			this.schedule();
		}
	}

	private key(event: KeyboardEvent): void {
		if (event.altKey || event.metaKey || event.ctrlKey) return;
		const moves: Record<string, () => void> = {
			ArrowLeft: () => this.moveFocus(-1, 0),
			ArrowRight: () => this.moveFocus(1, 0),
			ArrowUp: () => this.moveFocus(0, -1),
			ArrowDown: () => this.moveFocus(0, 1),
			PageDown: () => void this.scroll(Math.max(1, this.visibleRows() - 1)),
			PageUp: () => void this.scroll(-Math.max(1, this.visibleRows() - 1)),
			'+': () => this.options.zoom?.(0.5, this.focusPlace()),
			'=': () => this.options.zoom?.(0.5, this.focusPlace()),
			'-': () => this.options.zoom?.(2, this.focusPlace()),
			'[': () => this.options.pan?.(-0.25),
			']': () => this.options.pan?.(0.25),
			'0': () => this.options.reset?.(),
			Enter: () => {
				const box = this.scene.boxes[this.focus];
				if (box) this.options.activate?.(box);
			},
		};
		const move = moves[event.key];
		if (!move) return;
		event.preventDefault();
		event.stopPropagation();
		move();
		this.schedule();
	}

	private focusPlace(): number {
		const box = this.scene.boxes[this.focus];
		return box ? (box.x0 + box.x1) / 2 : 0.5;
	}

	/** To the nearest box in a direction. */
	private moveFocus(dx: number, dy: number): void {
		const { boxes } = this.scene;
		const now = boxes[this.focus];
		let best = -1;
		let nearest = Infinity;
		for (let i = 0; i < boxes.length; i++) {
			const box = boxes[i]!;
			if (box.isPlain || i === this.focus) continue;
			let distance = box.row * 2 + box.x0; // without a focus: the first one
			if (now && dx !== 0) {
				if (box.row !== now.row || Math.sign(box.x0 - now.x0) !== dx) continue;
				distance = Math.abs(box.x0 - now.x0);
			} else if (now) {
				if (Math.sign(box.row - now.row) !== dy) continue;
				const overlap = Math.min(box.x1, now.x1) - Math.max(box.x0, now.x0);
				distance = Math.abs(box.row - now.row) * 4 + (overlap > 0 ? 1 - Math.min(1, overlap) : 2 - overlap);
			}
			if (distance < nearest) {
				nearest = distance;
				best = i;
			}
		}
		if (best < 0) return;
		this.focus = best;
		const row = boxes[best]!.row;
		if (row < this.top) this.scroll(row - this.top);
		else if (row >= this.top + this.visibleRows()) this.scroll(row - this.top - this.visibleRows() + 1);
		this.live.textContent = this.options.describe(boxes[best]!).join(', ');
		const x = this.gutter + boxes[best]!.x0 * this.plotWidth();
		this.setHover(best, x, AXIS + (row - this.top) * this.options.rowHeight);
	}
}

const lightness = new Map<string, boolean>();

/** Whether black is easier to read on a color (#rrggbb) than white: relative luminance, WCAG 2. */
export function isLight(color: string): boolean {
	const known = lightness.get(color);
	if (known !== undefined) return known;
	const [red, green, blue] = [1, 3, 5].map((at) => {
		const part = parseInt(color.slice(at, at + 2), 16) / 255;
		return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
	}) as [number, number, number];
	const light = !(0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.179);
	lightness.set(color, light);
	return light;
}

function textLine(text: string): HTMLElement {
	const line = document.createElement('div');
	line.textContent = text;
	return line;
}

/** `text`, cut with an ellipsis so that it fits; empty if nothing does. */
export function fitText(context: CanvasRenderingContext2D, text: string, width: number): string {
	if (width < 8) return '';
	// No text of more characters than this can fit: measuring long names takes long.
	const most = Math.ceil(width / 3);
	const start = text.length > most ? text.slice(0, most) : text;
	if (start === text && context.measureText(text).width <= width) return text;
	let low = 0;
	let high = start.length;
	while (low < high) {
		const middle = (low + high + 1) >>> 1;
		if (context.measureText(`${start.slice(0, middle)}\u2026`).width <= width) low = middle;
		else high = middle - 1;
	}
	return low > 2 ? `${start.slice(0, low)}\u2026` : '';
}
