// The wait-for graph as a picture and as tables.
import { h } from '../ui/dom.js';
import { countText, markedTime, nsText, pairs, percentText, plainTable, type Child, type LockNames } from './summary-parts.js';
import {
	chooseGraph, edgeGain, firstShare, FRAMES, isIdleEdge, knotOf, lockText, SHARES, stackText, unrelatedVertices, userFrames, verdictWaits, vertexLabel, vertexLabels, type GraphChoice, type StackFrame, type WaitEdge, type WaitVertex,
	type WaitsDocument,
} from './waits-graph.js';
import { layoutGraph, shortened, smoothPath, type GraphLayout } from './waits-layout.js';
import { svg } from './waits-svg.js';

export interface WaitsState {
	/** Smallest share of edges that are drawn; null: as many as can be read. */
	minShare: number | null;
	/** Whether waits for work are drawn, too; null: if there are no others. */
	idle: boolean | null;
	/** "from\0to" of an edge, or the name of a vertex. */
	selected: string;
}

export interface WaitsContext {
	/** Shows the threads of a vertex in another view; null: it has none. */
	showThreads(vertex: WaitVertex): (() => void) | null;
	readonly lockNames: LockNames;
	/** Whether programs are drawn that have nothing to do with what was asked for. */
	readonly others: boolean;
	/** What of the recording is shown; null: all of it. */
	readonly part: WaitsPart | null;
}

export interface WaitsPart {
	/** "1.2 s to 1.5 s, 3 threads". */
	readonly text: string;
	/** Times are known in steps of so many ns. */
	readonly step: number;
	/** Options of dwell waits that choose the time. */
	readonly options: string;
}

const LIMIT = 80;
const READABLE = 22;

export function waitsPart(document: WaitsDocument, state: WaitsState, context: WaitsContext, changed: () => void): HTMLElement {
	const usual = firstShare(document, READABLE);
	const withIdle = (): boolean => state.idle ?? document.edges.every(isIdleEdge);
	const smallest = (): number => state.minShare ?? usual;
	const graphBox = h('div', { class: 'graph-box', tabindex: '0', role: 'region', 'aria-label': 'Graph' });
	const more = h('p', { class: 'muted' });
	const detail = h('div', { class: 'detail-panel', 'aria-live': 'polite', tabindex: '0', role: 'region', 'aria-label': 'Details' });

	const select = (key: string): void => {
		state.selected = state.selected === key ? '' : key;
		changed();
		for (const element of graphBox.querySelectorAll('[data-key]')) {
			const isSelected = element.getAttribute('data-key') === state.selected;
			element.classList.toggle('selected', isSelected);
			element.setAttribute('aria-pressed', String(isSelected));
		}
		showDetail();
	};
	const showDetail = (): void => {
		detail.replaceChildren();
		const edge = document.edges.find((one) => keyOf(one) === state.selected);
		const vertex = document.threads.find((one) => one.name === state.selected);
		if (edge) detail.append(edgeDetail(edge, document, context));
		else if (vertex) detail.append(vertexDetail(vertex, document, context, select));
		else {
			const waits = verdictWaitsPart(document, context.lockNames, select);
			if (waits) detail.append(h('h2', {}, 'Waits of the bottleneck'), waits);
			detail.append(h('p', { class: 'muted' }, 'Choose an edge to see its causes, or a vertex to see its times.'));
		}
	};
	const draw = (): void => {
		const choice = chooseGraph(document, { minShare: smallest(), idle: withIdle(), limit: LIMIT, others: context.others });
		const layout = layoutGraph(choice, vertexWidth, graphBox.clientWidth > 0 && graphBox.clientWidth < 420);
		const picture = drawGraph(document, choice, layout, state, select);
		graphBox.replaceChildren(picture);
		// Smaller, so that it fits, but not so small that it cannot be read.
		const scale = Math.min(1, Math.max(0.72, (graphBox.clientWidth - 4) / layout.width));
		picture.setAttribute('width', String(Math.ceil(layout.width * scale)));
		picture.setAttribute('height', String(Math.ceil(layout.height * scale)));
		const center = centerOf(choice, layout, document);
		graphBox.scrollLeft = center.x * scale - graphBox.clientWidth / 2;
		graphBox.scrollTop = center.y * scale - graphBox.clientHeight / 2;
		const left = document.edges.length - choice.edges.length;
		more.textContent = left > 0 ? `${countText(left)} more edges are in the table below, not in the picture.` : '';
	};

	const shares = h('select', { 'aria-label': 'Smallest share' }) as HTMLSelectElement;
	for (const share of SHARES) {
		const option = h('option', { value: String(share) }, share === 0 ? 'all' : `from ${share * 100}%`) as HTMLOptionElement;
		option.selected = share === smallest();
		shares.append(option);
	}
	shares.addEventListener('change', () => {
		state.minShare = Number(shares.value);
		changed();
		draw();
	});
	const idle = h('input', { type: 'checkbox' }) as HTMLInputElement;
	idle.checked = withIdle();
	idle.addEventListener('change', () => {
		state.idle = idle.checked;
		changed();
		draw();
	});
	queueMicrotask(draw);
	showDetail();
	return h('div', {},
		verdictPart(document, context.part),
		h('div', { class: 'control-row' }, h('label', {}, 'Edges ', shares), h('label', {}, idle, ' waits for work, too'), legend()),
		h('div', { class: 'with-detail' }, h('div', {}, graphBox, more), detail),
		h('h2', {}, 'Edges'), edgeTable(document, state, select, detail, context),
		h('h2', {}, 'Threads, devices and others'), vertexTable(document),
		h('h2', {}, 'Knots and sinks'), knotTable(document));
}

/** The heaviest waits of the verdict; null: it has none. `select` gets the key of an edge. */
export function verdictWaitsPart(document: WaitsDocument, names: LockNames, select: (key: string) => void): HTMLElement | null {
	const waits = verdictWaits(document, 3);
	if (waits.length === 0) return null;
	const labels = vertexLabels(document);
	return h('ul', { class: 'verdict-waits' }, ...waits.map(({ edge, what, where, share }) => {
		const link = h('button', { type: 'button', class: 'link-button' }, edgeTitle(edge, labels));
		link.addEventListener('click', () => select(keyOf(edge)));
		return h('li', {}, link, ` ${percentText(edge.plain_share, 0)} of the time: `,
			h('strong', { class: 'wrap' }, `${share < 0.95 ? `${percentText(share, 0)} ` : ''}${names(what)}`), where ? h('span', { class: 'muted wrap' }, ` in ${where}`) : '');
	}));
}

type Labels = (name: string) => string;

const edgeTitle = (edge: WaitEdge, labels: Labels): string => `${labels(edge.from)} \u2192 ${labels(edge.to)}`;

const keyOf = (edge: { from: string; to: string }): string => `${edge.from}\0${edge.to}`;

function vertexWidth(vertex: WaitVertex): number {
	return Math.max(64, 20 + 7.4 * Math.min(vertexLabel(vertex).length, 26), 16 + 5.7 * vertexSubtext(vertex).length);
}

/** The middle of the bottleneck, or of the picture. */
function centerOf(choice: GraphChoice, layout: GraphLayout, document: WaitsDocument): { x: number; y: number } {
	const members = new Set(document.verdict.members ?? []);
	const at = layout.vertices.filter((_, number) => members.has(choice.vertices[number]!.name));
	if (at.length === 0) return { x: layout.width / 2, y: layout.height / 2 };
	return { x: at.reduce((sum, one) => sum + one.x, 0) / at.length, y: at.reduce((sum, one) => sum + one.y, 0) / at.length };
}

function verdictPart(document: WaitsDocument, selected: WaitsPart | null): HTMLElement {
	const { verdict } = document;
	const part = h('div', { class: 'verdict' }, h('p', { class: 'verdict-text' }, selected ? 'Of the whole recording: ' : '', verdict.text));
	if (verdict.type === 'knot') part.append(h('p', {}, 'One of these waits has to become shorter before anything gets faster.'));
	if (verdict.lock) part.append(h('p', { class: 'wrap verdict-lock' }, lockText(verdict.lock, document.window_ns)));
	if (verdict.note) part.append(h('p', { class: 'muted' }, verdict.note));
	for (const text of verdict.unknown ?? []) part.append(h('p', { class: 'warning' }, text));
	if (selected) part.append(h('p', { class: 'selected-part' },
		h('strong', {}, `The graph and the tables are of the selection: ${selected.text}`),
		`, in steps of ${nsText(selected.step)}. The verdict and the knots are of the whole recording; dwell waits ${selected.options} finds those of this time.`));
	part.append(h('p', { class: 'muted' },
		`${countText(document.waits)} waits, ${document.exact ? 'all recorded' : 'weights estimated from samples'}, in ${nsText(document.window_ns)}. ` +
		'An arrow points from the waiter to what it waits for. Its label is the length of these waits, and of the waits that others have for the waiter meanwhile, as a share of the time.'));
	return part;
}

function legend(): HTMLElement {
	return h('span', { class: 'split-legend' },
		h('span', {}, h('span', { class: 'key key-verdict' }), 'bottleneck'), h('span', {}, h('span', { class: 'key key-knot' }), 'other knot'),
		h('span', {}, h('span', { class: 'key key-idle' }), 'for work'));
}

function edgeLabel(edge: WaitEdge): string {
	return percentText(edge.share, edge.share < 0.1 ? 1 : 0);
}

function edgeText(edge: WaitEdge, labels: Labels): string {
	return `${labels(edge.from)} waits for ${labels(edge.to)} ${percentText(edge.plain_share)} of the time, ${percentText(edge.share)} with those who wait for it` +
		(isIdleEdge(edge) ? ', for work' : '');
}

function vertexText(vertex: WaitVertex, document: WaitsDocument): string {
	const knot = knotOf(document, vertex.name);
	const times = vertex.lifetime_ns && vertex.inferred
		? `not recorded; waited for ${percentText((vertex.running_ns ?? 0) / vertex.lifetime_ns, 0)}, not waited for ${percentText((vertex.blocked_ns ?? 0) / vertex.lifetime_ns, 0)} of the time`
		: vertex.lifetime_ns
		? `runs ${percentText((vertex.running_ns ?? 0) / vertex.lifetime_ns, 0)}, is blocked ${percentText((vertex.blocked_ns ?? 0) / vertex.lifetime_ns, 0)} of its life`
		: vertex.type;
	return `${vertexLabel(vertex)}: ${times}${knot ? (knot.isVerdict ? ', in the bottleneck' : `, in a ${knot.knot.type}`) : ''}`;
}

/** Second line in a vertex: how its time is divided. */
function vertexSubtext(vertex: WaitVertex): string {
	if (vertex.lifetime_ns && vertex.running_ns !== undefined)
		return `${percentText(vertex.running_ns / vertex.lifetime_ns, 0)} ${vertex.type === 'thread' ? 'run' : vertex.inferred ? 'waited for' : 'busy'}${vertex.threads && vertex.threads > 1 ? `, ${countText(vertex.threads)} threads` : ''}`;
	if (vertex.requests !== undefined) return `${countText(vertex.requests)} requests`;
	return vertex.recorded ? '' : vertex.type === 'thread' ? 'not recorded' : vertex.type;
}

function button(element: SVGElement, key: string, isSelected: boolean, act: () => void): SVGElement {
	element.setAttribute('data-key', key);
	element.setAttribute('role', 'button');
	element.setAttribute('tabindex', '0');
	element.setAttribute('aria-pressed', String(isSelected));
	if (isSelected) element.classList.add('selected');
	element.addEventListener('click', act);
	element.addEventListener('keydown', (event) => {
		if (event.key !== 'Enter' && event.key !== ' ') return;
		event.preventDefault();
		act();
	});
	return element;
}

/** Of lines, in pixels; and how long the head of an arrow is. */
const WIDTHS = [1, 2, 3, 4, 5, 6];
const headOf = (width: number): number => 6 + 2 * width;

function drawGraph(
	document: WaitsDocument, choice: GraphChoice, layout: GraphLayout, state: WaitsState, select: (key: string) => void,
): SVGElement {
	const picture = svg('svg', {
		viewBox: `0 0 ${Math.ceil(layout.width)} ${Math.ceil(layout.height)}`, width: Math.ceil(layout.width), height: Math.ceil(layout.height),
		class: 'wait-graph', role: 'group', 'aria-label': `Wait-for graph: ${choice.vertices.length} vertices, ${choice.edges.length} edges. The tables below have the same.`,
	});
	/* Wider than the line, at whose end it begins. */
	const arrow = (kind: string, width: number): SVGElement => svg('marker', {
		id: `wait-arrow-${kind}-${width}`, viewBox: '0 0 8 8', refX: 0.5, refY: 4, markerWidth: headOf(width), markerHeight: headOf(width), orient: 'auto', markerUnits: 'userSpaceOnUse',
	}, svg('path', { d: 'M0,0.5L8,4L0,7.5Z', class: `arrow arrow-${kind}` }));
	picture.append(svg('defs', {}, ...['plain', 'verdict', 'idle'].flatMap((kind) => WIDTHS.map((width) => arrow(kind, width)))));
	const verdict = new Set((document.verdict.edges ?? []).map(keyOf)), labels = vertexLabels(document);

	choice.edges.forEach((edge, number) => {
		const kind = isIdleEdge(edge) ? 'idle' : verdict.has(keyOf(edge)) ? 'verdict' : 'plain';
		const width = 1 + Math.round(Math.min(5, Math.min(2.5, edge.share) * 2.4));
		const path = smoothPath(shortened(layout.edges[number]!, headOf(width) - 1));
		const label = layout.labels[number]!;
		const text = edgeLabel(edge);
		const group = svg('g', { class: `edge edge-${kind}`, 'aria-label': edgeText(edge, labels) },
			svg('title', {}, edgeText(edge, labels)),
			svg('path', { d: path, class: 'edge-hit' }),
			svg('path', {
				d: path, class: 'edge-line', 'stroke-width': width, 'marker-end': `url(#wait-arrow-${kind}-${width})`,
			}),
			svg('rect', { x: label.x - text.length * 3.4 - 3, y: label.y - 8, width: text.length * 6.8 + 6, height: 16, rx: 3, class: 'edge-plate' }),
			svg('text', { x: label.x, y: label.y + 4, 'text-anchor': 'middle', class: 'edge-label' }, text));
		picture.append(button(group, keyOf(edge), state.selected === keyOf(edge), () => select(keyOf(edge))));
	});
	choice.vertices.forEach((vertex, number) => {
		const at = layout.vertices[number]!;
		const knot = knotOf(document, vertex.name);
		const kind = knot?.isVerdict ? 'verdict' : knot && knot.knot.type === 'knot' ? 'knot' : knot?.knot.background ? 'background' : 'plain';
		const x = at.x - at.width / 2;
		const y = at.y - at.height / 2;
		const sub = vertexSubtext(vertex);
		const group = svg('g', { class: `vertex vertex-${kind}${vertex.recorded ? '' : ' vertex-outside'}`, 'aria-label': vertexText(vertex, document) },
			svg('title', {}, vertexText(vertex, document)),
			svg('rect', { x, y, width: at.width, height: at.height, rx: vertex.type === 'thread' ? 3 : at.height / 2 }),
			svg('text', { x: at.x, y: at.y + (sub ? -3 : 4), 'text-anchor': 'middle', class: 'vertex-name' }, shorten(vertexLabel(vertex), 26)),
			sub ? svg('text', { x: at.x, y: at.y + 12, 'text-anchor': 'middle', class: 'vertex-sub' }, sub) : null);
		if (vertex.lifetime_ns && vertex.running_ns !== undefined)
			group.append(svg('rect', { x: x + 2, y: y + at.height - 4, width: Math.max(0, ((at.width - 4) * vertex.running_ns) / vertex.lifetime_ns), height: 2.5, class: 'vertex-run' }));
		picture.append(button(group, vertex.name, state.selected === vertex.name, () => select(vertex.name)));
	});
	return picture;
}

/** So many edges of a vertex are listed. */
const MOST_EDGES = 12;

function shorten(text: string, length: number): string {
	return text.length <= length ? text : `${text.slice(0, length - 1)}\u2026`;
}

function stackList(all: readonly StackFrame[]): HTMLElement {
	const list = h('ol', { class: 'stack-list' });
	const frames = userFrames(all);
	const hidden = all.length - frames.length;
	if (hidden > 0) list.append(h('li', { class: 'kernel' }, `${hidden} function${hidden === 1 ? '' : 's'} of the kernel`));
	for (const frame of frames.slice(0, 40)) {
		const place = frame.file ? `${frame.file.slice(frame.file.lastIndexOf('/') + 1)}${frame.line ? `:${frame.line}` : ''}` : frame.dso ?? '';
		list.append(h('li', { class: frame.kernel ? 'kernel' : '' }, h('span', {}, frame.symbol), h('span', { class: 'muted' }, ` ${place}`)));
	}
	if (frames.length > 40) list.append(h('li', { class: 'muted' }, `${frames.length - 40} more`));
	return list;
}

function edgeDetail(edge: WaitEdge, document: WaitsDocument, context: WaitsContext): HTMLElement {
	const share = (ns: number): string => `${nsText(ns)}, ${percentText(ns / document.window_ns)} of the time`, labels = vertexLabels(document);
	const panel = h('section', { 'aria-label': edgeText(edge, labels) },
		h('h2', { class: 'wrap' }, edgeTitle(edge, labels)),
		pairs([
			['waits', share(edge.plain_ns)],
			['with those who wait for it', share(edge.weight_ns)],
			['standard error', edge.error_ns > 0 ? nsText(edge.error_ns) : null],
			['of it for work', edge.for_work_ns > 0 ? nsText(edge.for_work_ns) : null],
			['number of waits', countText(edge.count)],
		]));
	if (isIdleEdge(edge)) panel.append(h('p', { class: 'muted' }, 'It waits for work: there is nothing to gain here.'));
	const kinds = Object.entries(edge.kinds).sort((a, b) => b[1] - a[1]);
	if (kinds.length > 1) panel.append(plainTable('Kinds of wait', ['kind', 'time#'], kinds.map(([kind, ns]) => [kind, nsText(ns)])));
	for (const stack of edge.stacks) {
		const part = edge.plain_ns > 0 ? `${percentText(stack.plain_ns / edge.plain_ns, 0)} ` : '';
		panel.append(h('h3', { class: 'wrap' }, `${part}${context.lockNames(stack.what)}`),
			h('p', { class: 'muted' }, `${nsText(stack.plain_ns)} in ${countText(stack.count)} waits${stack.longest_ns === undefined ? '' : `, the longest ${nsText(stack.longest_ns)}`}`));
		if (stack.waiter.length) panel.append(h('h4', {}, 'waits in'), stackList(stack.waiter));
		if (stack.waker.length) panel.append(h('h4', {}, 'woken by'), stackList(stack.waker));
	}
	return panel;
}

function vertexDetail(vertex: WaitVertex, document: WaitsDocument, context: WaitsContext, select: (key: string) => void): HTMLElement {
	const life = vertex.lifetime_ns ?? 0;
	const share = (ns: number | undefined): string | null => (ns === undefined ? null : life > 0 ? `${nsText(ns)}, ${percentText(ns / life)}` : nsText(ns));
	const time = (name: 'running' | 'runnable' | 'blocked'): Child | null => {
		const text = share(vertex[`${name}_ns`]);
		return text === null ? null : markedTime(text, vertex.differs?.includes(name) ?? false);
	};
	const knot = knotOf(document, vertex.name), labels = vertexLabels(document);
	const panel = h('section', { 'aria-label': vertexLabel(vertex) },
		h('h2', { class: 'wrap' }, vertexLabel(vertex)),
		h('p', { class: 'muted' }, vertex.type, vertex.threads && vertex.threads > 1 ? `, ${countText(vertex.threads)} ${vertex.merged ?? 'merged'} threads` : ''),
		pairs([
			['running', time('running')], ['runnable', time('runnable')], ['blocked', time('blocked')],
			['lifetime', life ? nsText(life) : null], ['requests', vertex.requests !== undefined ? countText(vertex.requests) : null],
			['bytes', vertex.bytes !== undefined ? countText(vertex.bytes) : null], ['queued', share(vertex.queue_ns)], ['service', share(vertex.service_ns)], ['idle', share(vertex.idle_ns)],
		]));
	if (knot) panel.append(h('p', {}, knot.knot.why));
	const open = context.showThreads(vertex);
	if (open) {
		const show = h('button', { type: 'button' }, 'Show in timeline');
		show.addEventListener('click', open);
		panel.append(show);
	}
	for (const [title, list, other] of [
		['Waits for', document.edges.filter((edge) => edge.from === vertex.name), 'to'],
		['Others wait for it', document.edges.filter((edge) => edge.to === vertex.name), 'from'],
	] as const) {
		if (list.length === 0) continue;
		const sorted = [...list].sort((a, b) => edgeGain(b) - edgeGain(a)), left = sorted.slice(MOST_EDGES);
		const rows: (string | HTMLElement)[][] = sorted.slice(0, MOST_EDGES).map((edge) => {
			const link = h('button', { type: 'button', class: 'link-button' }, labels(edge[other]));
			link.addEventListener('click', () => select(keyOf(edge)));
			return [link, percentText(edge.plain_share), percentText(edge.share)];
		});
		if (left.length > 0) rows.push([`${left.length} more`, percentText(left.reduce((sum, edge) => sum + edge.plain_share, 0)), '']);
		panel.append(h('h3', {}, title), plainTable(title, ['', 'waits#', 'with others#'], rows));
	}
	return panel;
}

function edgeTable(document: WaitsDocument, state: WaitsState, select: (key: string) => void, detail: HTMLElement, context: WaitsContext): HTMLElement {
	const verdict = new Set((document.verdict.edges ?? []).map(keyOf));
	const unrelated = unrelatedVertices(document), labels = vertexLabels(document);
	const order = (edge: WaitEdge): number => (verdict.has(keyOf(edge)) ? 1e18 : unrelated.has(edge.from) || unrelated.has(edge.to) ? -1e18 : 0) + edgeGain(edge) + edge.weight_ns * 1e-6;
	const rows = [...document.edges].sort((a, b) => order(b) - order(a)).map((edge) => {
		const link = h('button', { type: 'button', class: 'link-button' }, edgeTitle(edge, labels));
		link.addEventListener('click', () => {
			if (state.selected !== keyOf(edge)) select(keyOf(edge));
			detail.scrollIntoView({ block: 'nearest' });
		});
		const first = edge.stacks[0];
		return [
			h('span', {}, link, verdict.has(keyOf(edge)) ? h('span', { class: 'muted' }, ' bottleneck') : ''), percentText(edge.plain_share), percentText(edge.share),
			edge.for_work_ns > 0 ? percentText(edge.for_work_ns / Math.max(1, edge.plain_ns), 0) : '', countText(edge.count),
			first ? `${context.lockNames(first.what)}${edge.stacks.length > 1 ? `, and ${countText(edge.stacks.length - 1)} more` : ''}` : '', first ? stackText(first.waiter, FRAMES) : '',
		];
	});
	return h('div', { class: 'scroll-box', tabindex: '0', role: 'region', 'aria-label': 'Edges' }, plainTable('Edges of the wait-for graph',
		['who waits for whom', 'waits#', 'with others#', 'for work#', 'number#', 'mostly', 'waits in'], rows, 20));
}

function vertexTable(document: WaitsDocument): HTMLElement {
	const share = (vertex: WaitVertex, time: 'running' | 'runnable' | 'blocked'): Child => {
		const ns = vertex[`${time}_ns`];
		return ns !== undefined && vertex.lifetime_ns ? markedTime(percentText(ns / vertex.lifetime_ns), vertex.differs?.includes(time) ?? false) : '';
	};
	const rows = [...document.threads]
		.sort((a, b) => Number(a.related === false) - Number(b.related === false) || (b.running_ns ?? 0) - (a.running_ns ?? 0))
		.map((vertex) => [
			vertexLabel(vertex), vertex.type, vertex.threads && vertex.threads > 1 ? `${countText(vertex.threads)} (${vertex.merged ?? 'merged'})` : '',
			share(vertex, 'running'), share(vertex, 'runnable'), share(vertex, 'blocked'),
			vertex.lifetime_ns ? nsText(vertex.lifetime_ns) : '', vertex.requests !== undefined ? countText(vertex.requests) : '',
		]);
	return h('div', { class: 'scroll-box', tabindex: '0', role: 'region', 'aria-label': 'Vertices' }, plainTable('Vertices of the wait-for graph',
		['who', 'type', 'threads#', 'running#', 'runnable#', 'blocked#', 'lifetime#', 'requests#'], rows, 20));
}

function knotTable(document: WaitsDocument): HTMLElement {
	const labels = vertexLabels(document);
	const rows = document.knots.map((knot) => [
		knot.type, knot.background ? 'background' : '', percentText(knot.active, 0), knot.members.slice(0, 8).map(labels).join(', ') + (knot.members.length > 8 ? `, ${knot.members.length - 8} more` : ''), knot.why,
	]);
	return h('div', { class: 'scroll-box', tabindex: '0', role: 'region', 'aria-label': 'Knots and sinks' }, plainTable('Knots and sinks', ['type', '', 'busy#', 'members', 'why'], rows, 20));
}
