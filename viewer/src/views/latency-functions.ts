// Latencies by function: quantiles on a logarithmic axis, and what slow calls did.
import { h } from '../ui/dom.js';
import { QUANTILES, quantileStrip, SPLIT, splitBar, stripAxis } from './latency-parts.js';
import type { SelectedCalls, SlowCall } from './latency-selection.js';
import { logScale, type Quantiles } from './latency-shape.js';
import { countText, limitedRows, nsText, pairs, percentText, plainTable, tableHead, tickText } from './summary-parts.js';

export interface SlowCalls {
	readonly calls: number;
	readonly ns: number;
	readonly cpu_ns: number;
	readonly runqueue_ns: number;
	readonly lock_ns: number;
	readonly disk_ns: number;
	readonly network_ns: number;
	readonly other_ns: number;
	readonly stolen_ns: number;
	readonly uncertain_ns?: number;
	readonly holders?: readonly { readonly thread: number; readonly comm: string; readonly function: string | null; readonly ns: number }[];
	readonly waits?: readonly { readonly kind: string; readonly cause: string; readonly for: number | null; readonly function: string | null; readonly ns: number }[];
	readonly ran_instead?: readonly { readonly thread: number; readonly comm: string; readonly ns: number }[];
}

export interface LatencyFunction extends Quantiles {
	readonly name: string;
	readonly caller: string | null;
	/** Where it was called. */
	readonly file?: string | null;
	readonly line?: number | null;
	readonly calls: number;
	readonly calls_low?: number;
	readonly calls_high?: number | null;
	readonly calls_are_bound?: boolean;
	readonly total_ns: number;
	readonly mean_ns?: number;
	readonly probed?: boolean;
	readonly observed: number;
	readonly tail_ns: number;
	readonly slow: SlowCalls | null;
}

export interface LatencyDocument {
	readonly resolution_ns: number;
	readonly shortest_ns: number;
	readonly longest_gap_ns: number;
	readonly torn?: number;
	readonly calls_lost?: number;
	readonly calls_too_deep?: number;
	readonly functions: readonly LatencyFunction[];
	readonly probes?: readonly { readonly name: string; readonly calls: number; readonly cost_ns: number; readonly set_share: number }[];
}

const orders: readonly { readonly id: string; readonly name: string; readonly key: (f: LatencyFunction) => number }[] = [
	{ id: 'tail', name: 'what slow calls cost', key: (f) => f.tail_ns },
	{ id: 'total', name: 'total time', key: (f) => f.total_ns },
	{ id: 'mean', name: 'mean', key: (f) => f.mean_ns ?? 0 },
	{ id: 'p99', name: 'p99', key: (f) => f.p99_ns ?? 0 },
	{ id: 'p999', name: 'p99.9', key: (f) => f.p999_ns ?? 0 },
	{ id: 'p9999', name: 'p99.99', key: (f) => f.p9999_ns ?? 0 },
	{ id: 'max', name: 'longest call', key: (f) => f.max_ns ?? 0 },
	{ id: 'lock', name: 'locks in slow calls', key: (f) => f.slow?.lock_ns ?? 0 },
	{ id: 'calls', name: 'calls', key: (f) => f.calls },
];

export interface FunctionsState {
	order: string;
	filter: string;
	selected: string;
}

/** "file.c:12", where the function was called; '' if it is not known. */
export function siteText(f: LatencyFunction): string {
	return f.file && f.line ? `${f.file.slice(f.file.lastIndexOf('/') + 1)}:${f.line}` : '';
}

export function functionKey(f: LatencyFunction): string {
	const site = siteText(f);
	return f.caller ? `${f.name} < ${f.caller}${site && ` at ${site}`}` : f.name;
}

/** The number of calls as the text report has it: with its interval, or the bounds that are known. */
export function callsText(f: LatencyFunction): string {
	const low = Math.round(f.calls_low ?? f.calls), high = f.calls_high;
	if (high === undefined) return countText(f.calls);
	if (high === null) return `${countText(f.calls)}, at least ${countText(low)}`;
	return low < Math.round(high) ? `${countText(f.calls)} (95%: ${countText(low)} to ${countText(high)})` : countText(f.calls);
}

/** Names with their callers that have more than one row. */
function ambiguous(functions: readonly LatencyFunction[]): Set<string> {
	const seen = new Set<string>(), twice = new Set<string>();
	for (const f of functions) {
		const key = `${f.name} < ${f.caller ?? ''}`;
		(seen.has(key) ? twice : seen).add(key);
	}
	return twice;
}

/** What the page knows about the selection and threads. */
export interface FunctionsContext {
	/** The slowest calls of a function, by its number, in the selection. */
	slowest(number: number): SlowCall[];
	threadName(thread: number): string;
	/** The same by its tid. */
	tidName(tid: number): string;
	/** Shows a time, in ns, of a thread in another view. */
	showTime(from_ns: number, until_ns: number, thread: number): void;
}

export interface FunctionsPart {
	readonly element: HTMLElement;
	/** Shows the calls of the selection; `note` says which they are, '' that they are all. */
	select(selected: SelectedCalls, note: string): void;
}

export function functionsPart(document: LatencyDocument, state: FunctionsState, context: FunctionsContext, changed: () => void): FunctionsPart {
	const below = `< ${nsText(document.resolution_ns)}`;
	const quantile = (ns: number | null): string => (ns === null ? below : nsText(ns));
	const longest = document.functions.reduce((most, f) => Math.max(most, f.max_ns ?? 0), document.resolution_ns * 2);
	const scale = logScale(document.resolution_ns / 2, longest);
	const tableBox = h('div', { class: 'scroll-box', tabindex: '0', role: 'region', 'aria-label': 'Table' });
	const detail = h('div', { class: 'detail-panel', 'aria-live': 'polite', tabindex: '0', role: 'region', 'aria-label': 'Details' });
	const noteBox = h('p', { class: 'muted selection-note', role: 'status' });
	let selected: SelectedCalls = { document, numbers: new Map() };
	let isPart = false;

	const show = (): void => {
		const f = state.selected ? selected.document.functions.find((one) => functionKey(one) === state.selected) : undefined;
		detail.replaceChildren();
		if (f) detail.append(functionDetail(f, quantile, isPart, context, slowestTable(context.slowest(selected.numbers.get(f) ?? 0), context)));
		else if (state.selected && isPart) detail.append(h('p', { class: 'muted' }, `No call of ${state.selected} began in the selection.`));
	};
	const several = ambiguous(selected.document.functions);
	const row = (f: LatencyFunction): HTMLElement => {
		const key = functionKey(f), site = several.has(`${f.name} < ${f.caller ?? ''}`) ? siteText(f) : '';
		const name = h('button', { type: 'button', class: 'link-button', 'aria-pressed': String(state.selected === key) }, f.name);
		const made = h('tr', { class: state.selected === key ? 'selected' : '' });
		name.addEventListener('click', () => {
			state.selected = state.selected === key ? '' : key;
			changed();
			for (const other of tableBox.querySelectorAll('tr.selected')) {
				other.classList.remove('selected');
				other.querySelector('button')?.setAttribute('aria-pressed', 'false');
			}
			made.classList.toggle('selected', state.selected === key);
			name.setAttribute('aria-pressed', String(state.selected === key));
			show();
		});
		const quantiles = QUANTILES.map(({ key: k, name: n }) => `${n} ${quantile(f[k])}`).join(', ');
		const num = (text: string): HTMLElement => h('td', { class: 'num' }, text);
		made.append(
			h('td', { class: 'text function-name' }, name, f.caller ? h('span', { class: 'muted' }, `\u2039 ${f.caller}${site && ` ${site}`}`) : ''),
			h('td', { class: 'num', title: isPart ? '' : callsText(f) }, countText(f.calls)), num(nsText(f.total_ns)),
			h('td', { class: 'cell-picture' }, quantileStrip(f, scale, document.resolution_ns / 2, quantiles)),
			h('td', { class: 'cell-picture' }, f.slow ? splitBar({ ...f.slow }, splitText({ ...f.slow })) : ''),
			num(quantile(f.p50_ns)), num(quantile(f.p99_ns)), num(quantile(f.p999_ns)), num(quantile(f.max_ns)),
			num(percentText(f.observed, 0)),
		);
		return made;
	};
	const draw = (): void => {
		const order = orders.find((one) => one.id === state.order) ?? orders[0]!;
		const filter = state.filter.toLowerCase();
		const functions = selected.document.functions
			.filter((f) => !filter || functionKey(f).toLowerCase().includes(filter))
			.sort((a, b) => order.key(b) - order.key(a));
		const head = tableHead(['function \u2039 caller', 'calls#', 'total#', 'p50 to longest', 'slowest 1%', 'p50#', 'p99#', 'p99.9#', 'max#', 'seen#']);
		head.querySelectorAll('th')[3]!.append(stripAxis(scale, tickText));
		tableBox.replaceChildren(h('table', { class: 'plain-table function-table' },
			h('caption', { class: 'visually-hidden' }, 'Latencies by function'),
			head, limitedRows(functions, 40, 10, row)));
		if (functions.length === 0) tableBox.append(h('p', { class: 'muted' }, 'No function matches.'));
	};

	const orderSelect = h('select', { 'aria-label': 'Order' }) as HTMLSelectElement;
	for (const order of orders) {
		const option = h('option', { value: order.id }, order.name) as HTMLOptionElement;
		option.selected = order.id === state.order;
		orderSelect.append(option);
	}
	orderSelect.addEventListener('change', () => {
		state.order = orderSelect.value;
		changed();
		draw();
	});
	const filterInput = h('input', { type: 'search', placeholder: 'Filter functions', 'aria-label': 'Filter functions', value: state.filter }) as HTMLInputElement;
	filterInput.addEventListener('input', () => {
		state.filter = filterInput.value;
		changed();
		draw();
	});
	const legend = h('p', { class: 'split-legend' });
	for (const { name, className } of SPLIT) legend.append(h('span', {}, h('span', { class: `key ${className}` }), name));
	const element = h('div', {},
		h('p', { class: 'muted' }, resolutionText(document)), noteBox,
		h('div', { class: 'control-row' }, h('label', {}, 'Order ', orderSelect), filterInput, legend),
		h('div', { class: 'with-detail' }, tableBox, detail));
	return {
		element,
		select: (given, note) => {
			selected = given;
			isPart = note !== '';
			noteBox.textContent = note;
			noteBox.hidden = !isPart;
			draw();
			show();
		},
	};
}

function resolutionText(document: LatencyDocument): string {
	const parts: string[] = [];
	if (document.resolution_ns > 0)
		parts.push(`Resolution ${nsText(document.resolution_ns)}; calls shorter than ${nsText(document.shortest_ns)} are missing; at most ${nsText(document.longest_gap_ns)} without a look.`);
	if (document.calls_lost) parts.push(`${countText(document.calls_lost)} calls were lost.`);
	if (document.calls_too_deep) parts.push(`${countText(document.calls_too_deep)} calls were too deep.`);
	parts.push('"seen" is the share of the calls that was seen; the numbers are estimates for all calls.');
	return parts.join(' ');
}

function splitText(slow: Readonly<Record<string, unknown>>): string {
	const values = SPLIT.map(({ key, name }) => ({ name, ns: Number(slow[key] ?? 0) }));
	const sum = values.reduce((all, value) => all + value.ns, 0);
	if (sum === 0) return 'nothing';
	return values.filter((value) => value.ns > 0).map((value) => `${value.name} ${percentText(value.ns / sum, 0)}`).join(', ');
}

/** Each with a button that shows it in another view. */
function slowestTable(calls: readonly SlowCall[], context: FunctionsContext): HTMLElement | string {
	if (calls.length === 0) return '';
	const rows = calls.map(({ thread, begin_ns, length_ns, parts }) => {
		const button = h('button', { type: 'button', class: 'link-button', title: 'Show in the timeline' }, nsText(begin_ns));
		const where = h('span', { title: splitText(parts) });
		button.addEventListener('click', () => context.showTime(begin_ns, begin_ns + length_ns, thread));
		where.append(splitBar(parts, splitText(parts)));
		return [button, nsText(length_ns), context.threadName(thread), where];
	});
	return h('div', {}, h('h3', {}, 'The slowest calls'),
		h('div', { class: 'scroll-box', tabindex: '0', role: 'region', 'aria-label': 'The slowest calls' },
			plainTable('The slowest calls of the function', ['at#', 'length#', 'thread', 'where its time went'], rows)));
}

function functionDetail(f: LatencyFunction, quantile: (ns: number | null) => string, isPart: boolean, context: FunctionsContext, slowest: HTMLElement | string): HTMLElement {
	const panel = h('section', { 'aria-label': f.name },
		h('h2', { class: 'wrap' }, f.name),
		h('p', { class: 'muted wrap' }, f.caller ? `called by ${f.caller}` : '', siteText(f) && ` at ${siteText(f)}`, f.probed ? ' measured by probes' : ''),
		plainTable('Quantiles', ['', 'length#'], QUANTILES.map(({ key, name }) => [name, quantile(f[key])])));
	if (!isPart) panel.append(h('p', { class: 'muted' }, `Calls: ${callsText(f)}.${f.calls_are_bound ? ' Some are too short to be seen.' : ''}`));
	const { slow } = f;
	if (!slow) return panel;
	const ofWhole = isPart ? ' in the whole recording' : '';
	const all = Math.max(1, slow.ns);
	const ns = (key: string): number => Number((slow as unknown as Record<string, unknown>)[key] ?? 0);
	panel.append(
		h('h3', {}, isPart ? `${countText(slow.calls)} of the slowest calls began in the selection: ${nsText(slow.ns)}`
			: `The slowest ${countText(slow.calls)} call${slow.calls === 1 ? '' : 's'}: ${nsText(slow.ns)}`),
		pairs(SPLIT.map(({ key, name }) => [name, ns(key) > 0 ? `${nsText(ns(key))}, ${percentText(ns(key) / all, 0)}` : null] as const)));
	if (!isPart && ns('uncertain_ns') > all / 20)
		panel.append(h('p', { class: 'muted' }, `Uncertain by ±${nsText(ns('uncertain_ns'))}: the scanner had no CPU when calls began or ended.`));
	panel.append(slowest);
	if (slow.holders?.length)
		panel.append(h('h3', {}, `Who held the locks${ofWhole}`), plainTable('Holders of locks', ['thread', 'released in', 'waited#'],
			slow.holders.map((one) => [`${one.comm}/${one.thread}`, one.function ?? '', nsText(one.ns)])));
	const others = (slow.waits ?? []).filter((wait) => wait.kind !== 'futex' || !slow.holders?.length);
	if (others.length)
		panel.append(h('h3', {}, `Waits${ofWhole}`), plainTable('Waits', ['wait', 'for', 'time#'],
			others.map((one) => [one.kind, waitCause(one, context), nsText(one.ns)])));
	if (slow.ran_instead?.length)
		panel.append(h('h3', {}, `Who had the CPU meanwhile${ofWhole}`), plainTable('Threads that ran instead', ['thread', 'time#'],
			slow.ran_instead.map((one) => [`${one.comm}/${one.thread}`, nsText(one.ns)])));
	return panel;
}

function waitCause(wait: { cause: string; for: number | null; function: string | null }, context: FunctionsContext): string {
	const thread = wait.for ? context.tidName(wait.for) : wait.cause;
	return wait.function ? `${thread} in ${wait.function}` : thread;
}
