// A table whose columns sort it: their heads are buttons, and say which way.
import { h } from '../ui/dom.js';
import { plainTable, type Child } from './summary-parts.js';

export interface SortableRow {
	cells: readonly Child[];
	/** What each column is sorted by: numbers the largest first, texts from A on. */
	values: readonly (number | string)[];
}

const compare = (a: number | string, b: number | string): number =>
	typeof a === 'number' && typeof b === 'number' ? b - a : String(a).localeCompare(String(b));

/** As plainTable(); first in the order of `rows`. */
export function sortableTable(caption: string, columns: readonly string[], rows: readonly SortableRow[], limit = 50): HTMLElement {
	const place = h('div', { class: 'table-wrap' });
	let by = -1, isReversed = false;
	const fill = (): void => {
		const sorted = by < 0 ? [...rows] : [...rows].sort((a, b) => compare(a.values[by]!, b.values[by]!));
		if (isReversed) sorted.reverse();
		const table = plainTable(caption, columns, sorted.map((row) => row.cells), limit);
		table.querySelectorAll('th').forEach((head, i) => {
			const button = h('button', { type: 'button', class: 'sort', onclick: () => {
				isReversed = by === i && !isReversed;
				by = i;
				fill();
				place.querySelectorAll<HTMLElement>('th button')[i]?.focus();
			} }, head.textContent);
			head.replaceChildren(button);
			if (i === by) head.setAttribute('aria-sort', (typeof rows[0]?.values[i] === 'number') === isReversed ? 'ascending' : 'descending');
		});
		place.replaceChildren(table);
	};
	fill();
	return place;
}
