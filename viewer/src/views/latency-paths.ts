// What slow requests did and waited for, across threads, beside those around the median: dwell path --quantile.
import { h } from '../ui/dom.js';
import { unitText } from '../data/index.js';
import { categoryText, leafText } from './path-parts.js';
import { countText, limitedRows, nsText, percentText, plainTable, tableHead } from './summary-parts.js';

export interface RequestPathNode {
	readonly tid?: number | null;
	readonly comm?: string;
	readonly frame?: string;
	readonly kernel?: boolean;
	readonly kind?: string;
	readonly object?: string | null;
	readonly category?: string;
	readonly total_ns: number;
	readonly compared_total_ns: number;
	readonly children?: readonly RequestPathNode[];
}

export interface RequestPathDocument {
	readonly wall_ns: number;
	readonly verdict: string;
	readonly categories: Readonly<Record<string, number>>;
	readonly requests: {
		readonly source: string;
		readonly shown: readonly { readonly length_ns: number }[];
		readonly compared: { readonly count: number; readonly wall_ns: number; readonly categories: Readonly<Record<string, number>> };
	};
	readonly tree: readonly RequestPathNode[];
}

/** A row of the tree: functions that only call each other share one. Times are per request. */
export interface RequestPathRow {
	readonly texts: string[];
	readonly depth: number;
	readonly slow: number;
	readonly usual: number;
}

function textOf(node: RequestPathNode, lockNames: (text: string) => string): string {
	if (node.frame !== undefined) return node.frame;
	if (node.category !== undefined) return `[${leafText(node.category)}]`;
	if (node.kind !== undefined) return `waits: ${lockNames(node.object ? `${node.kind} ${node.object}` : node.kind)}`;
	return node.tid ? `${node.comm ?? 'thread'}/${node.tid}` : `${node.comm ?? 'thread'} (several)`;
}

/** Functions of the kernel are left out, what they call is not. */
function childrenOf(node: RequestPathNode): RequestPathNode[] {
	return (node.children ?? []).flatMap((child) => child.frame !== undefined && child.kernel ? childrenOf(child) : [child]);
}

/**
 * The rows that differ most: of at least `least` of the difference between a slow request and one around the
 * median, each below what it is a part of, the largest first.
 */
export function requestPathRows(document: RequestPathDocument, least: number, lockNames: (text: string) => string = (text) => text): RequestPathRow[] {
	const slowRequests = Math.max(1, document.requests.shown.length), others = Math.max(1, document.requests.compared.count);
	const slow = (node: RequestPathNode): number => node.total_ns / slowRequests, usual = (node: RequestPathNode): number => node.compared_total_ns / others;
	const differs = (node: RequestPathNode): number => slow(node) - usual(node);
	const limit = least * Math.abs(document.wall_ns / slowRequests - document.requests.compared.wall_ns / others), rows: RequestPathRow[] = [];
	const add = (nodes: readonly RequestPathNode[], depth: number): void => {
		for (const node of nodes.filter((one) => Math.abs(differs(one)) >= limit).sort((a, b) => differs(b) - differs(a))) {
			const texts = [textOf(node, lockNames)];
			let last = node, below = childrenOf(node);
			while (last.frame !== undefined && below.length === 1 && below[0]!.frame !== undefined && Math.abs(differs(node) - differs(below[0]!)) < limit / 2) {
				last = below[0]!;
				below = childrenOf(last);
				texts.push(textOf(last, lockNames));
			}
			rows.push({ texts, depth, slow: slow(node), usual: usual(node) });
			add(below, depth + 1);
		}
	};
	add(document.tree, 0);
	return rows;
}

const signed = (ns: number): string => `${ns < 0 ? '\u2212' : '+'}${nsText(Math.abs(ns))}`;
/** Names in a row that are written out; others in the middle are counted. */
const NAMES = 5;

function chainText(texts: readonly string[]): string {
	if (texts.length <= NAMES) return texts.join(' > ');
	return [...texts.slice(0, 2), `\u2026${texts.length - 4}\u2026`, ...texts.slice(-2)].join(' > ');
}

function account(document: RequestPathDocument): HTMLElement {
	const { shown, compared } = document.requests, slowRequests = Math.max(1, shown.length), others = Math.max(1, compared.count);
	const line = (name: string, ns: number, beside: number): [string, number, number] => [name, ns / slowRequests, beside / others];
	const lines = [line('time', document.wall_ns, compared.wall_ns), ...Object.entries(document.categories)
		.map(([key, ns]) => line(categoryText(key.replace(/_ns$/, '')), ns, compared.categories[key] ?? 0))
		.filter(([, slow, usual]) => slow >= 1 || usual >= 1).sort(([, a, b], [, c, d]) => c - d - (a - b))];
	return h('div', { class: 'table-wrap' }, plainTable('Where the time of slow requests went', ['per request', 'slow#', 'median#', 'difference#'],
		lines.map(([name, slow, usual]) => [name, nsText(slow), nsText(usual), signed(slow - usual)])));
}

/** At least this share of the difference has each row of the tree. */
const LEAST = 0.02, FIRST = 40;

export function requestPathPart(document: RequestPathDocument, lockNames: (text: string) => string): HTMLElement {
	const { shown, compared, source } = document.requests, rows = requestPathRows(document, LEAST, lockNames);
	const difference = Math.abs(document.wall_ns / Math.max(1, shown.length) - compared.wall_ns / Math.max(1, compared.count)) || 1;
	const body = limitedRows(rows, FIRST, 5, (row) => {
		const cell = h('td', { class: 'text', title: row.texts.join(' > ') }, chainText(row.texts)), num = (text: string): HTMLElement => h('td', { class: 'num' }, text);
		cell.style.paddingInlineStart = `${Math.min(row.depth, 20) * 0.7}rem`;
		return h('tr', {}, num(percentText((row.slow - row.usual) / difference, 0)), num(nsText(row.slow)), num(nsText(row.usual)), num(signed(row.slow - row.usual)), cell);
	});
	return h('section', { class: 'request-path', 'aria-label': 'What slow requests did' }, h('h2', {}, 'What slow requests did and waited for'),
		h('p', { class: 'muted wide' }, `The slowest ${countText(shown.length)} requests of ${source}, beside ${countText(compared.count)} around the median, of the whole recording: dwell path --quantile 99.`),
		document.verdict ? h('p', {}, unitText(document.verdict)) : '', account(document),
		h('h3', {}, 'By function, wait, and who ended the wait'),
		h('div', { class: 'scroll-box', tabindex: '0', role: 'region', 'aria-label': 'What slow requests did' }, h('table', { class: 'plain-table' },
			h('caption', { class: 'visually-hidden' }, 'Paths of slow requests'), tableHead(['share#', 'slow#', 'median#', 'difference#', 'what']), body)));
}
