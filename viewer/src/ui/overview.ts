// The strip above all views: how many threads did what over the whole recording. A brush selects.
import { ALL_CLASSES, IDLE, STOLEN, type App } from './app.js';
import { surface } from './canvas.js';
import { h } from './dom.js';
import { pixelOf } from './theme.js';
import { latest } from '../engine/client.js';
import { clockText } from './time.js';

/** In pixels of the page, and of the picture of the bars. */
const HEIGHT = 46, TALL = 92, CHANNELS = STOLEN + 1;
/** From the bottom: running, then what is waited for. */
const ORDER = [0, STOLEN, 3, 2, 1, 4, 5, IDLE];

export interface Overview { element: HTMLElement; update(): void }

export function makeOverview(app: App): Overview {
	const element = h('div', { class: 'overview' });
	let bins: Float32Array | null = null, width = 0, number = 0, asked = '', drag: { from: number; to: number; hasSelected: boolean } | null = null;
	const duration = (): number => app.index.recordings[app.selection.recording]?.duration_ns ?? 1;

	const strip = surface(element, 'Activity over the whole recording. Drag to select a time; arrow keys move the selection, + and \u2212 zoom.', (s) => {
		const context = s.context, { from, until } = app.selection, scale = s.width / duration();
		context.setTransform(s.scale, 0, 0, s.scale, 0, 0);
		context.clearRect(0, 0, s.width, HEIGHT);
		if (bins) {
			paintBins(bins, width);
			context.imageSmoothingEnabled = false;
			context.drawImage(bars, 0, 0, s.width, HEIGHT);
		}
		const low = drag ? Math.min(drag.from, drag.to) : from * scale, high = drag ? Math.max(drag.from, drag.to) : until * scale;
		context.fillStyle = document.documentElement.dataset['theme'] === 'dark' ? 'rgb(0 0 0 / .55)' : 'rgb(255 255 255 / .68)';
		context.fillRect(0, 0, low, HEIGHT);
		context.fillRect(high, 0, s.width - high, HEIGHT);
		context.fillStyle = app.color(1);
		if (low > 0) context.fillRect(low - 1, 0, 1, HEIGHT);
		if (high < s.width) context.fillRect(high, 0, 1, HEIGHT);
		if (s.width !== width) ask();
	});
	strip.resize(HEIGHT);
	strip.canvas.setAttribute('role', 'slider');
	strip.canvas.setAttribute('aria-valuemin', '0');

	/** The bars, which change less often than the selection. */
	const bars = document.createElement('canvas');
	let barsOf = '';
	const paintBins = (values: Float32Array, n: number): void => {
		const visible = ORDER.filter((c) => c === IDLE ? app.selection.idle : app.selection.classes >> c % STOLEN & 1);
		const colors = visible.map((c) => pixelOf(app.color(c))), key = `${number} ${visible.join()} ${colors.join()}`;
		if (key === barsOf) return;
		barsOf = key;
		let most = 0.01;
		for (let x = 0; x < n; x++) most = Math.max(most, visible.reduce((sum, c) => sum + values[x * CHANNELS + c]!, 0));
		const image = new ImageData(n, TALL), data = new Uint32Array(image.data.buffer);
		for (let x = 0; x < n; x++) {
			let sum = 0, row = TALL;
			visible.forEach((c, i) => {
				sum += values[x * CHANNELS + c]!;
				for (const top = TALL - Math.round(sum / most * (TALL - 4)); row > top;) data[--row * n + x] = colors[i]!;
			});
		}
		bars.width = n;
		bars.height = TALL;
		bars.getContext('2d')!.putImageData(image, 0, 0);
	};

	const load = latest(async () => {
		const { recording, threads, others } = app.selection, w = Math.max(1, strip.width);
		const got = await app.engine.heat(recording, { from: 0, until: duration(), threads: threads && [...threads], classes: ALL_CLASSES, idle: true, others }, w);
		bins = got;
		width = w;
		number++;
		strip.draw();
	});
	const ask = (): void => {
		const { recording, threads, others } = app.selection;
		if (!app.index.recordings[recording]) return;
		const key = `${recording} ${strip.width} ${others} ${threads ? [...threads].join() : ''}`;
		if (key === asked || !strip.width) return;
		asked = key;
		load();
	};

	const timeAt = (x: number): number => Math.max(0, Math.min(1, x / strip.width)) * duration();
	strip.canvas.addEventListener('pointerdown', (event) => {
		if (event.button !== 0) return;
		strip.canvas.setPointerCapture(event.pointerId);
		drag = { from: event.offsetX, to: event.offsetX, hasSelected: false };
	});
	strip.canvas.addEventListener('pointermove', (event) => {
		strip.canvas.title = clockText(timeAt(event.offsetX), duration());
		if (!drag) return;
		drag.to = Math.max(0, Math.min(strip.width, event.offsetX));
		if (Math.abs(drag.to - drag.from) > 2) select();
		strip.draw();
	});
	const select = (): void => {
		if (!drag) return;
		app.select({ from: Math.floor(timeAt(Math.min(drag.from, drag.to))), until: Math.ceil(timeAt(Math.max(drag.from, drag.to))) }, drag.hasSelected);
		drag.hasSelected = true;
	};
	strip.canvas.addEventListener('pointerup', () => {
		if (drag && Math.abs(drag.to - drag.from) <= 2) app.select({ from: 0, until: duration() });
		drag = null;
		strip.draw();
	});
	strip.canvas.addEventListener('pointercancel', () => {
		drag = null;
		strip.draw();
	});
	strip.canvas.addEventListener('keydown', (event) => {
		const { from, until } = app.selection, span = until - from, whole = duration();
		const move = (by: number): void => {
			const low = Math.max(0, Math.min(whole - span, from + by));
			app.select({ from: Math.round(low), until: Math.round(low + span) });
		};
		const zoom = (factor: number): void => {
			const middle = (from + until) / 2, half = Math.max(span * factor / 2, 500);
			app.select({ from: Math.max(0, Math.round(middle - half)), until: Math.min(whole, Math.round(middle + half)) });
		};
		if (event.key === 'ArrowLeft') move(-span / 8);
		else if (event.key === 'ArrowRight') move(span / 8);
		else if (event.key === '+' || event.key === '=') zoom(0.5);
		else if (event.key === '-') zoom(2);
		else if (event.key === '0') app.select({ from: 0, until: whole });
		else return;
		event.preventDefault();
		event.stopPropagation();
	});
	return { element, update() {
		strip.canvas.setAttribute('aria-valuemax', String(duration()));
		strip.canvas.setAttribute('aria-valuenow', String(app.selection.from));
		strip.canvas.setAttribute('aria-valuetext', `${clockText(app.selection.from, duration())} to ${clockText(app.selection.until, duration())}`);
		ask();
		strip.draw();
	} };
}
