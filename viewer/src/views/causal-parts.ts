// Causal profiles: verdict, ranking, curves.
import { unitText } from '../data/index.js';
import { h } from '../ui/dom.js';
import { curveChart, legendMark } from './causal-chart.js';
import { curveVerdict, groupCurves, isSure, shapeText, speedupRange, type CausalDocument, type CurveGroup } from './causal-curve.js';
import { countText, nsText, percentText, plainTable } from './summary-parts.js';

export interface NamedProfile {
	readonly name: string;
	readonly document: CausalDocument;
}

export interface CausalState {
	/** Progress point; empty: all. */
	point: string;
}

const FIRST = 12;

export function causalPart(profiles: readonly NamedProfile[], state: CausalState, changed: () => void): HTMLElement {
	const element = h('div', {});
	for (const [number, profile] of profiles.entries()) element.append(verdictPart(profile, number, profiles.length > 1));

	const points = [...new Set(profiles.flatMap(({ document }) => document.targets.map((target) => target.point)))];
	const charts = h('div', {});
	if (points.length > 1) {
		const select = h('select', { 'aria-label': 'Progress point' }) as HTMLSelectElement;
		for (const point of ['', ...points]) {
			const option = h('option', { value: point }, point || 'all progress points') as HTMLOptionElement;
			option.selected = point === state.point;
			select.append(option);
		}
		select.addEventListener('change', () => {
			state.point = select.value;
			changed();
			draw();
		});
		element.append(h('div', { class: 'control-row' }, h('label', {}, 'Progress point ', select)));
	}
	const draw = (): void => {
		const groups = groupCurves(profiles.map((profile) => profile.document)).filter((group) => !state.point || group.point === state.point);
		charts.replaceChildren(rankTable(groups, profiles), h('h2', {}, 'Curves'), curveGrid(groups, profiles));
	};
	draw();
	element.append(charts);
	return element;
}

function verdictPart(profile: NamedProfile, number: number, isCompared: boolean): HTMLElement {
	const { document } = profile;
	const part = h('div', { class: 'verdict' });
	if (isCompared) part.append(h('h2', {}, legendMark(number), ` ${profile.name}`));
	for (const text of document.verdict) part.append(h('p', { class: 'verdict-text' }, unitText(text)));
	const runtime = document.runs.reduce((sum, run) => sum + run.runtime_ns, 0);
	const delay = document.runs.reduce((sum, run) => sum + run.delay_ns, 0);
	part.append(h('p', { class: 'muted' },
		`${countText(document.experiments)} experiments in ${document.runs.length} run${document.runs.length === 1 ? '' : 's'} of ${nsText(runtime)}, including ${nsText(delay)} of inserted pauses` +
		(document.runs[0] ? `: ${document.runs[0].command}` : '')));
	if (document.refused.length) {
		const list = h('ul', {});
		for (const { target, point, text } of document.refused) list.append(h('li', { class: 'wrap' }, unitText(`${target}${point === null ? '' : ` at ${point}`}: ${text}`)));
		part.append(h('h3', {}, 'Refused: a prediction would rest on nothing'), list);
	}
	for (const problem of document.problems) part.append(h('p', { class: 'warning' }, unitText(problem.text)));
	const diagnostics = [...new Set(document.runs.flatMap((run) => run.diagnostics))];
	if (diagnostics.length) {
		const list = h('ul', {});
		for (const text of diagnostics) list.append(h('li', {}, unitText(text)));
		part.append(h('details', {}, h('summary', {}, 'Diagnostics of the runs'), list));
	}
	return part;
}

/** Others are listed after these, and have no number. */
const isRanked = (group: CurveGroup): boolean => group.curves.some(({ target }) => isSure(target.shape));

function title(group: CurveGroup): string {
	return group.also ? `${group.target}, with ${group.also}` : group.target;
}

function pointText(group: CurveGroup): string {
	if (group.pointKind === 'end-to-end') return 'whole runs';
	return `${group.pointKind} at ${group.point}`;
}

function rankTable(groups: readonly CurveGroup[], profiles: readonly NamedProfile[]): HTMLElement {
	const points = new Set(groups.map(pointText));
	const isOnePoint = points.size === 1;
	const rows = groups.flatMap((group, rank) => group.curves.map(({ profile, target }, index) => {
		const link = h('a', { href: `#curve-${rank}`, class: 'plain-link' }, title(group));
		// The fragment is that of the page's own address: go there without changing it.
		link.addEventListener('click', (event) => {
			event.preventDefault();
			const figure = document.getElementById(`curve-${rank}`);
			figure?.scrollIntoView({ block: 'center' });
			figure?.focus();
		});
		return [
			index === 0 && isRanked(group) ? String(rank + 1) : '', link, ...(isOnePoint ? [] : [pointText(group)]), ...(profiles.length > 1 ? [h('span', {}, legendMark(profile), ` ${profiles[profile]!.name}`)] : []),
			shapeText(target.shape), percentText(target.effect, 0), `${percentText(target.effect_low, 0)} to ${percentText(target.effect_high, 0)}`, percentText(target.effect_at, 0),
			target.effect_times && target.effect > 0 ? `\u00d7${target.effect_times.toFixed(2)}` : '', countText(target.experiments), countText(target.visits),
		];
	}));
	return h('div', { class: 'scroll-box', tabindex: '0', role: 'region', 'aria-label': 'Targets by rank' }, isOnePoint ? h('p', { class: 'muted' }, `Progress: ${[...points][0]}`) : '', plainTable('Targets by rank', [
		'rank#', 'target', ...(isOnePoint ? [] : ['progress']), ...(profiles.length > 1 ? ['profile'] : []), 'shape', 'program faster#', '95%#', 'at speedup#', 'throughput#', 'experiments#', 'visits#',
	], rows));
}

function curveGrid(groups: readonly CurveGroup[], profiles: readonly NamedProfile[]): HTMLElement {
	const range = speedupRange(groups);
	const grid = h('div', { class: 'curve-grid-box' });
	const box = h('div', {}, grid);
	let shown = 0;
	const add = (): void => {
		for (const until = Math.min(groups.length, shown + FIRST); shown < until; shown++) grid.append(curveFigure(groups[shown]!, shown, range, profiles));
		const left = groups.length - shown;
		if (left <= 0) return;
		const more = h('button', { type: 'button', class: 'more-button' }, `${Math.min(left, FIRST)} more of ${left}`);
		more.addEventListener('click', () => {
			more.remove();
			add();
		});
		box.append(more);
	};
	add();
	return box;
}

function curveFigure(
	group: CurveGroup, rank: number, range: { low: number; high: number }, profiles: readonly NamedProfile[],
): HTMLElement {
	const figure = h('figure', { class: 'curve-figure', id: `curve-${rank}`, tabindex: '-1' });
	const texts = group.curves.map(({ profile, target }) =>
		profiles.length > 1 ? h('p', {}, legendMark(profile), ` ${profiles[profile]!.name}: ${curveVerdict(target)}`) : h('p', {}, `${shapeText(target.shape)}: ${curveVerdict(target)}`));
	figure.append(
		h('figcaption', {}, h('h3', { class: 'wrap' }, isRanked(group) ? `${rank + 1}. ${title(group)}` : title(group)), h('p', { class: 'muted' }, pointText(group)), ...texts),
		curveChart(group, range, `Program speedup at ${group.point} over the speedup of ${title(group)}. The table below has the numbers.`),
		h('details', {}, h('summary', {}, 'Numbers'), plainTable(title(group), [
			...(profiles.length > 1 ? ['profile'] : []), 'speedup#', 'program#', '95% from#', 'to#', 'experiments#',
		], group.curves.flatMap(({ profile, target }) => target.results.map((result) => [
			...(profiles.length > 1 ? [profiles[profile]!.name] : []),
			percentText(result.speedup, 0), percentText(result.program_speedup), percentText(result.low), percentText(result.high), countText(result.experiments),
		])))));
	return figure;
}
