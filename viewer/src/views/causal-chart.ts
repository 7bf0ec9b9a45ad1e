// The chart of a causal curve: program speedup over virtual speedup, with 95% confidence intervals.
import { linearTicks, type CausalTarget, type CurveGroup } from './causal-curve.js';
import { svg } from './waits-svg.js';

const WIDTH = 360;
const HEIGHT = 214;
const LEFT = 40;
const RIGHT = 20;
const TOP = 8;
const BOTTOM = 36;

const percent = (value: number): string => `${Math.round(value * 100) || 0}%`;

/** Marks differ in shape, too: color is not the only way to tell profiles apart. */
function mark(profile: number, x: number, y: number): SVGElement {
	const className = `curve-mark curve-${profile % 4}`;
	switch (profile % 4) {
		case 1:
			return svg('rect', { x: x - 3, y: y - 3, width: 6, height: 6, class: className });
		case 2:
			return svg('path', { d: `M${x},${y - 4}L${x + 4},${y + 3}L${x - 4},${y + 3}Z`, class: className });
		case 3:
			return svg('path', { d: `M${x},${y - 4}L${x + 4},${y}L${x},${y + 4}L${x - 4},${y}Z`, class: className });
		default:
			return svg('circle', { cx: x, cy: y, r: 3.2, class: className });
	}
}

/** The mark of a profile, for a legend. */
export function legendMark(profile: number): SVGElement {
	return svg('svg', { width: 22, height: 12, 'aria-hidden': 'true', class: 'legend-mark' },
		svg('line', { x1: 0, x2: 22, y1: 6, y2: 6, class: `curve-line curve-${profile % 4}` }), mark(profile, 11, 6));
}

export function curveChart(group: CurveGroup, range: { low: number; high: number }, label: string): SVGElement {
	const x = (value: number): number => LEFT + value * (WIDTH - LEFT - RIGHT);
	const clamp = (value: number): number => Math.min(range.high, Math.max(range.low, value));
	const y = (value: number): number =>
		TOP + ((range.high - clamp(value)) / (range.high - range.low)) * (HEIGHT - TOP - BOTTOM);
	const chart = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: 'curve-chart', role: 'img', 'aria-label': label });

	for (const tick of linearTicks(range.low, range.high, 7)) {
		const className = tick === 0 ? 'curve-zero' : 'curve-grid';
		chart.append(svg('line', { x1: LEFT, x2: WIDTH - RIGHT, y1: y(tick), y2: y(tick), class: className }));
		chart.append(svg('text', { x: LEFT - 5, y: y(tick) + 3.5, class: 'curve-tick', 'text-anchor': 'end' }, percent(tick)));
	}
	for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
		chart.append(svg('line', { x1: x(tick), x2: x(tick), y1: TOP, y2: HEIGHT - BOTTOM, class: 'curve-grid' }));
		chart.append(svg('text', { x: x(tick), y: HEIGHT - BOTTOM + 17, class: 'curve-tick', 'text-anchor': 'middle' }, percent(tick)));
	}
	chart.append(svg('text', {
		x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 4, class: 'curve-tick', 'text-anchor': 'middle',
	}, 'speedup of the target'));

	// The identity: the most that a program that does nothing else gains.
	const most = Math.min(1, range.high);
	chart.append(svg('line', { x1: x(0), y1: y(0), x2: x(most), y2: y(most), class: 'curve-identity' }));
	group.curves.forEach(({ profile, target }) => {
		chart.append(...curve(profile, group.curves.length > 1, target, x, y));
	});
	return chart;
}

function curve(
	profile: number, isCompared: boolean, target: CausalTarget, x: (value: number) => number, y: (value: number) => number,
): SVGElement[] {
	const className = `curve-${profile % 4}`;
	const sorted = [...target.results].sort((a, b) => a.speedup - b.speedup);
	const points: SVGElement[] = [];
	// No virtual speedup has no effect, by definition.
	const line = [`M${x(0).toFixed(1)},${y(0).toFixed(1)}`];
	const upper: string[] = [];
	const lower: string[] = [];
	for (const result of sorted) {
		// Compared profiles mostly have the same speedups: a little aside, so that both can be seen.
		const at = x(result.speedup) + (isCompared ? (profile % 4) * 3 - 1.5 : 0);
		const text = `${percent(result.speedup)} faster: program ${percent(result.program_speedup)} faster ` +
			`(${percent(result.low)} to ${percent(result.high)}), ${result.experiments} experiments`;
		line.push(`L${at.toFixed(1)},${y(result.program_speedup).toFixed(1)}`);
		upper.push(`${at.toFixed(1)},${y(result.high).toFixed(1)}`);
		lower.unshift(`${at.toFixed(1)},${y(result.low).toFixed(1)}`);
		points.push(
			svg('line', { x1: at, x2: at, y1: y(result.low), y2: y(result.high), class: `curve-interval ${className}` }),
			svg('g', {}, svg('title', {}, text), mark(profile, at, y(result.program_speedup))),
		);
	}
	const band = upper.length > 1 && !isCompared
		? [svg('path', { d: `M${upper.join('L')}L${lower.join('L')}Z`, class: `curve-band ${className}` })] : [];
	return [...band, svg('path', { d: line.join(''), class: `curve-line ${className} curve-shape-${target.shape}` }), ...points];
}
