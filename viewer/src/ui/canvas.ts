// A canvas as wide as its place, sharp on all screens, and drawn once a frame at most.

export interface Surface {
	canvas: HTMLCanvasElement;
	context: CanvasRenderingContext2D;
	/** In CSS pixels. */
	width: number;
	height: number;
	scale: number;
	/** Draws at the next frame. */
	draw(): void;
	resize(height: number): void;
	destroy(): void;
}

const painters = new Set<() => void>();

/** Paints all at once, as printing does not wait for a frame. */
export function paintAll(): void {
	for (const paint of painters) paint();
}

export function surface(place: HTMLElement, label: string, paint: (s: Surface) => void): Surface {
	const canvas = document.createElement('canvas');
	canvas.tabIndex = 0;
	canvas.setAttribute('role', 'img');
	canvas.setAttribute('aria-label', label);
	place.append(canvas);
	let frame = 0;
	const made: Surface = {
		canvas, context: canvas.getContext('2d')!, width: 0, height: 0, scale: 1,
		draw() {
			frame ||= requestAnimationFrame(() => {
				frame = 0;
				now();
			});
		},
		resize(height) {
			made.height = height;
			made.draw();
		},
		destroy() {
			observer.disconnect();
			painters.delete(now);
			cancelAnimationFrame(frame);
		},
	};
	const fit = (): void => {
		const width = Math.max(1, Math.floor(place.clientWidth)), scale = devicePixelRatio || 1;
		if (width === made.width && scale === made.scale && canvas.height === Math.round(made.height * scale)) return;
		made.width = width;
		made.scale = scale;
		canvas.width = Math.round(width * scale);
		canvas.height = Math.round(made.height * scale);
		canvas.style.width = `${width}px`;
		canvas.style.height = `${made.height}px`;
	};
	const now = (): void => {
		if (!canvas.isConnected) return;
		fit();
		paint(made);
	};
	painters.add(now);
	const observer = new ResizeObserver(() => made.draw());
	observer.observe(place);
	return made;
}

const widths = new Map<string, number>();

/** `text` cut to `room` pixels; "" if not even a few letters fit. */
export function cutText(context: CanvasRenderingContext2D, text: string, room: number): string {
	if (room < 16) return '';
	const key = context.font;
	let letter = widths.get(key);
	if (letter === undefined) widths.set(key, letter = context.measureText('abcdefghijklmnopqrstuvwxyz').width / 26);
	if (text.length * letter * 1.25 < room) return text;
	if (context.measureText(text).width <= room) return text;
	let n = Math.min(text.length, Math.floor(room / letter * 1.1));
	while (n > 1 && context.measureText(`${text.slice(0, n)}\u2026`).width > room) n--;
	return n > 1 ? `${text.slice(0, n)}\u2026` : '';
}
