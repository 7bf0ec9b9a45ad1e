// Small parts that the views of the analyses share: lists with a limit, tabs, texts of lengths.
import type { App } from '../ui/app.js';
import { h } from '../ui/dom.js';
import { timeText } from '../ui/time.js';

export type Child = Node | string | null | undefined;

export { timeText as nsText };

/** A round length, for an axis. */
export function tickText(ns: number): string {
	const units: [number, string][] = [[1e9, ' s'], [1e6, ' ms'], [1e3, ' \u00b5s']];
	for (const [size, unit] of units) if (ns >= size * 0.9999) return `${Number((ns / size).toPrecision(6))}${unit}`;
	return `${Number(ns.toPrecision(6))} ns`;
}

export function percentText(share: number, digits = 1): string {
	const text = (share * 100).toFixed(digits);
	return `${Number(text) === 0 ? text.replace('-', '') : text}%`;
}

export function countText(count: number): string {
	return Math.round(count).toLocaleString('en-US');
}

/**
 * Rows of `items`, at most `first` of them, and a button for `limit` more; `rest` is what it says if
 * `shown` are there already. Returns the table's body.
 */
export function limitedRows<T>(
	items: readonly T[], limit: number, columns: number, make: (item: T, index: number) => Node,
	first = limit, rest = (shown: number): string => `${countText(Math.min(limit, items.length - shown))} more of ${countText(items.length - shown)}`,
): HTMLElement {
	const body = h('tbody', {});
	let shown = 0;
	const add = (): void => {
		const until = Math.min(items.length, shown === 0 ? first : shown + limit);
		const rows: Node[] = [];
		for (; shown < until; shown++) rows.push(make(items[shown]!, shown));
		body.append(...rows);
		if (shown >= items.length) return;
		const button = h('button', { type: 'button', class: 'more-button' }, rest(shown));
		const row = h('tr', { class: 'more-row' }, h('td', { colspan: String(columns) }, button));
		button.addEventListener('click', () => {
			const before = shown;
			row.remove();
			add();
			const next = body.children[before];
			(next?.querySelector('button') ?? (body.lastElementChild?.querySelector('button')))?.focus();
		});
		body.append(row);
	};
	add();
	return body;
}

export interface Tab {
	readonly id: string;
	readonly title: string;
}

/** Tabs as the ARIA practices have them: arrow keys move, one is in the tab order. */
export function tabList(label: string, tabs: readonly Tab[], active: string, choose: (id: string) => void): HTMLElement {
	const list = h('div', { role: 'tablist', class: 'view-tabs', 'aria-label': label });
	const buttons = tabs.map((tab) => {
		const button = h('button', {
			type: 'button', role: 'tab', 'aria-selected': String(tab.id === active), tabindex: tab.id === active ? '0' : '-1',
		}, tab.title);
		button.addEventListener('click', () => {
			select(tab.id);
			choose(tab.id);
		});
		return button;
	});
	const select = (id: string): void => {
		tabs.forEach((tab, index) => {
			buttons[index]!.setAttribute('aria-selected', String(tab.id === id));
			buttons[index]!.tabIndex = tab.id === id ? 0 : -1;
		});
	};
	list.addEventListener('keydown', (event) => {
		const now = buttons.findIndex((button) => button === document.activeElement);
		const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
		if (by === 0 || now < 0) return;
		event.preventDefault();
		event.stopPropagation();
		const next = buttons[(now + by + buttons.length) % buttons.length]!;
		next.focus();
		next.click();
	});
	list.append(...buttons);
	return list;
}

export const DIFFERS = 'differs from what was sampled by more than chance: samples are scaled to the exact time';

/** A time, with a mark beside it if it `differs`. */
export function markedTime(text: string, differs: boolean): Child {
	return differs ? h('span', { title: DIFFERS }, text, h('span', { class: 'differs', 'aria-label': DIFFERS }, '*')) : text;
}

/** A table with a caption for screen readers; columns whose name ends with "#" hold numbers. */
export function plainTable(caption: string, columns: readonly string[], rows: readonly (readonly Child[])[], limit = 100): HTMLElement {
	const isNumber = columns.map((name) => name.endsWith('#'));
	const cell = (child: Child, index: number): HTMLElement => {
		const made = h('td', { class: isNumber[index] ? 'num' : 'text' });
		if (child !== null && child !== undefined) made.append(child);
		return made;
	};
	return h('table', { class: 'plain-table' },
		h('caption', { class: 'visually-hidden' }, caption),
		tableHead(columns),
		limitedRows(rows, limit, columns.length, (row) => {
			const made = h('tr', {});
			made.append(...row.map(cell));
			return made;
		}));
}

export function tableHead(columns: readonly string[]): HTMLElement {
	const row = h('tr', {});
	for (const name of columns) {
		const isNumber = name.endsWith('#');
		row.append(!name || name === '#' ? h('td') : h('th', { scope: 'col', class: isNumber ? 'num' : 'text' }, isNumber ? name.slice(0, -1) : name));
	}
	return h('thead', {}, row);
}

/** A description list of pairs; those without a text are left out. */
export function pairs(list: readonly (readonly [string, Child])[]): HTMLElement {
	const made = h('dl', { class: 'pairs' });
	for (const [name, value] of list) {
		if (value === null || value === undefined || value === '') continue;
		made.append(h('dt', {}, name), h('dd', {}, value));
	}
	return made;
}

/** Texts of the verdicts of a view about a recording. */
export function verdictOf(app: App, recording: number | null, view: string): string[] {
	return app.index.verdicts.filter((one) => one.recording === recording && one.view === view).map((one) => one.text);
}

/**
 * Replaces addresses of locks in a text by the names of their variables, where the analysis of locks knows
 * them.
 */
export type LockNames = (text: string) => string;

interface NamedLocks { readonly locks: readonly { readonly address: string | null; readonly variable: string | null }[] }

export async function lockNames(app: App, recording: number): Promise<LockNames> {
	const names = new Map<string, string>();
	const block = `r${recording}.locks`;
	if (app.has(block))
		for (const { address, variable } of (await app.json<NamedLocks>(block)).locks) if (address && variable) names.set(address, variable);
	return (text) => (names.size > 0 ? text.replace(/0x[0-9a-f]+/g, (address) => names.get(address) ?? address) : text);
}
