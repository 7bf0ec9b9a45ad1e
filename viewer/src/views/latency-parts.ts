// Pictures of the latency view that are small enough for SVG.
import { histogram, QUANTILE_KEYS, tailPoints, type LogScale, type Quantiles } from './latency-shape.js';
import { svg } from './waits-svg.js';

const QUANTILE_NAMES = ['p50', 'p90', 'p99', 'p99.9', 'p99.99', 'max'];

export const QUANTILES = QUANTILE_KEYS.map((key, i) => ({ key, name: QUANTILE_NAMES[i]! }));

/** What slow calls did, in the order in which the bars have it. */
export const SPLIT: readonly { readonly key: string; readonly name: string; readonly className: string }[] = [
	{ key: 'cpu_ns', name: 'CPU', className: 'split-cpu' },
	{ key: 'runqueue_ns', name: 'run queue', className: 'split-queue' },
	{ key: 'lock_ns', name: 'locks', className: 'split-lock' },
	{ key: 'disk_ns', name: 'disk', className: 'split-disk' },
	{ key: 'network_ns', name: 'network', className: 'split-network' },
	{ key: 'other_ns', name: 'other', className: 'split-other' },
	{ key: 'stolen_ns', name: 'stolen', className: 'split-stolen' },
];

/** Quantiles on a logarithmic axis: a line from the median to the longest call. Unknown ones are at `unknown`. */
export function quantileStrip(quantiles: Quantiles, scale: LogScale, unknown: number, label: string): SVGElement {
	const width = 200;
	const height = 18;
	const x = (ns: number): number => 4 + scale.at(ns) * (width - 8);
	const strip = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, class: 'quantile-strip', role: 'img', 'aria-label': label });
	for (const tick of scale.ticks)
		strip.append(svg('line', { x1: x(tick), x2: x(tick), y1: 0, y2: height, class: 'strip-grid' }));
	const known = QUANTILES.map(({ key, name }) => ({ name, ns: quantiles[key], at: x(quantiles[key] ?? unknown) }));
	strip.append(svg('line', { x1: known[0]!.at, x2: known.at(-1)!.at, y1: height / 2, y2: height / 2, class: 'strip-line' }));
	const p50 = known[0]!;
	const p99 = known[2]!;
	strip.append(svg('rect', { x: p50.at, y: height / 2 - 3, width: Math.max(1, p99.at - p50.at), height: 6, class: 'strip-body' }));
	known.forEach(({ ns, at }, index) => {
		const isEnd = index === known.length - 1;
		if (ns === null) strip.append(svg('circle', { cx: at, cy: height / 2, r: 2, class: 'strip-unknown' }));
		else if (isEnd) strip.append(svg('circle', { cx: at, cy: height / 2, r: 2.5, class: 'strip-max' }));
		else strip.append(svg('line', { x1: at, x2: at, y1: index === 0 ? 2 : 4, y2: index === 0 ? height - 2 : height - 4, class: 'strip-mark' }));
	});
	return strip;
}

/** The width of the text at a tick, about. */
const TICK = 40;

/** The axis that belongs to strips. */
export function stripAxis(scale: LogScale, text: (ns: number) => string): SVGElement {
	const width = 200;
	const axis = svg('svg', { viewBox: `0 0 ${width} 12`, width, height: 12, class: 'quantile-strip', 'aria-hidden': 'true' });
	const step = Math.ceil(scale.ticks.length / 4);
	for (const [number, tick] of scale.ticks.entries()) if (number % step === 0)
		axis.append(svg('text', { x: Math.min(width - TICK / 2, Math.max(TICK / 2, 4 + scale.at(tick) * (width - 8))), y: 10, class: 'strip-tick', 'text-anchor': 'middle' }, text(tick)));
	return axis;
}

/** Shares of the time of slow calls, as a bar. */
export function splitBar(slow: Readonly<Record<string, unknown>>, label: string): SVGElement {
	const width = 120;
	const height = 12;
	const values = SPLIT.map(({ key }) => Number(slow[key] ?? 0));
	const sum = values.reduce((a, b) => a + b, 0);
	const bar = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, class: 'split-bar', role: 'img', 'aria-label': label });
	bar.append(svg('rect', { x: 0, y: 0, width, height, class: 'split-none' }));
	let x = 0;
	if (sum > 0) SPLIT.forEach(({ className }, index) => {
		const part = (values[index]! / sum) * width;
		if (part > 0) bar.append(svg('rect', { x, y: 0, width: part, height, class: className }));
		x += part;
	});
	return bar;
}

/** Histogram of lengths, and above it the share of requests that take longer, both over log(length). */
export function distributionChart(
	sorted: ArrayLike<number>, quantiles: Quantiles, scale: LogScale, text: (ns: number) => string, label: string,
): SVGElement {
	const width = 760;
	const height = 190;
	const left = 48;
	const right = 12;
	const top = 18;
	const bottom = 24;
	const x = (ns: number): number => left + scale.at(ns) * (width - left - right);
	const chart = svg('svg', { viewBox: `0 0 ${width} ${height}`, class: 'distribution', role: 'img', 'aria-label': label });
	const decades = Math.max(1, Math.ceil(Math.log10(Math.max(10, sorted.length))));
	const y = (share: number): number => top + (-Math.log10(share) / decades) * (height - top - bottom);

	for (let decade = 0; decade <= decades; decade++) {
		const at = y(10 ** -decade);
		chart.append(svg('line', { x1: left, x2: width - right, y1: at, y2: at, class: 'curve-grid' }));
		chart.append(svg('text', { x: left - 5, y: at + 3.5, class: 'curve-tick', 'text-anchor': 'end' }, shareText(decade)));
	}
	for (const tick of scale.ticks) {
		chart.append(svg('line', { x1: x(tick), x2: x(tick), y1: top, y2: height - bottom, class: 'curve-grid' }));
		chart.append(svg('text', { x: x(tick), y: height - bottom + 14, class: 'curve-tick', 'text-anchor': 'middle' }, text(tick)));
	}
	const bins = 90;
	const counts = histogram(sorted, scale, bins);
	const most = Math.max(1, ...counts);
	counts.forEach((count, bin) => {
		if (count === 0) return;
		const binWidth = (width - left - right) / bins;
		const barHeight = Math.max(1, (count / most) * (height - top - bottom));
		chart.append(svg('rect', { x: left + bin * binWidth, y: height - bottom - barHeight, width: binWidth - 1, height: barHeight, class: 'distribution-bar' }));
	});
	const points = tailPoints(sorted, 120);
	const line = points.map((point, i) => `${i === 0 ? 'M' : 'L'}${x(point.ns).toFixed(1)},${y(point.above).toFixed(1)}`);
	chart.append(svg('path', { d: line.join(''), class: 'distribution-tail' }));
	let last = -Infinity;
	for (const { key, name } of QUANTILES) {
		const ns = quantiles[key];
		if (ns === null) continue;
		chart.append(svg('line', { x1: x(ns), x2: x(ns), y1: top - 3, y2: height - bottom, class: 'distribution-quantile' }));
		if (x(ns) - last < 38) continue;
		last = x(ns);
		chart.append(svg('text', { x: x(ns), y: 10, class: 'curve-tick', 'text-anchor': 'middle' }, name));
	}
	return chart;
}

/** 1, 0.1, 0.01 of all, as percent. */
function shareText(decade: number): string {
	return `${decade <= 2 ? 10 ** (2 - decade) : (10 ** (2 - decade)).toFixed(decade - 2)}%`;
}
