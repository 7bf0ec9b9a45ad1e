// Locks: how long they were waited for, who held them, who waited.
import { h } from '../ui/dom.js';
import { countText, limitedRows, nsText, percentText, plainTable, tableHead } from './summary-parts.js';

interface Lock {
	readonly name: string;
	readonly address: string | null;
	readonly process: number | null;
	readonly kind: string;
	readonly waits: number;
	readonly wait_ns: number;
	readonly p50_ns: number;
	readonly p99_ns: number;
	readonly max_ns: number;
	readonly contended_ns: number;
	readonly holders: readonly { readonly thread: string; readonly tid: number; readonly function: string | null; readonly releases: number; readonly ns: number }[];
	readonly waiters: readonly { readonly thread: string; readonly tid: number; readonly holder: number | null; readonly ns: number }[];
}

export interface LocksDocument {
	readonly no_address: number;
	readonly no_address_ns: number;
	readonly unclear?: number;
	readonly unclear_ns?: number;
	readonly conditions?: number;
	readonly conditions_ns?: number;
	readonly goroutines?: number;
	readonly goroutines_ns?: number;
	readonly locks: readonly Lock[];
}

const MOST = 20;

/** The rows of the first so many of a list, and one that says how many more there are, and their sums. */
export function firstRows<T extends { readonly ns: number }>(all: readonly T[], row: (one: T) => string[], rest: (more: string, left: readonly T[]) => string[]): string[][] {
	const left = all.slice(MOST);
	return [...all.slice(0, MOST).map(row), ...left.length > 0 ? [rest(`${countText(left.length)} more`, left)] : []];
}

function sumOf(list: readonly { readonly ns: number }[]): string {
	return nsText(list.reduce((sum, one) => sum + one.ns, 0));
}

/** So many locks are shown at first, of those with this share of the waiting. */
const FIRST = 25, LEAST = 0.001;

/** How many of the locks, which are sorted by waiting, are shown at first; and what a button says about the others. */
export function firstLocks(locks: readonly { readonly wait_ns: number }[]): { first: number; rest: (shown: number) => string } {
	const waiting = (from: number): number => locks.slice(from).reduce((sum, lock) => sum + lock.wait_ns, 0), all = Math.max(1, waiting(0));
	return {
		first: Math.max(1, Math.min(FIRST, locks.filter((lock) => lock.wait_ns >= LEAST * all).length)),
		rest: (shown) => `and ${countText(locks.length - shown)} more, ${percentText(waiting(shown) / all)} of the waiting`,
	};
}

export interface LocksPart {
	readonly element: HTMLElement;
	/** Says that locks are not of the selection, if that is a part. */
	select(isPart: boolean): void;
}

export function locksPart(document: LocksDocument, threadName: (tid: number) => string): LocksPart {
	const note = h('p', { class: 'muted selection-note', role: 'status' }, 'Locks: of the whole recording.');
	return { element: h('div', {}, note, locksTable(document, threadName)), select: (isPart) => { note.hidden = !isPart; } };
}

/** Whose lock it is; those of files are shared. */
function ownerText(lock: Lock): string {
	if (lock.process !== null) return ` (pid ${lock.process})`;
	return lock.kind === 'file lock' || lock.kind === 'futex' ? '' : ' (kernel)';
}

/** Which waits are not in the table, and why. */
export function leftTexts(document: LocksDocument): string[] {
	const left: [number | undefined, number | undefined, string][] = [
		[document.no_address, document.no_address_ns, 'were for locks that are not known'],
		[document.unclear, document.unclear_ns, 'were for semaphores and futexes of the program\u2019s own that do not behave like locks: queues, signals, barriers, or locks whose holders never had to wait'],
		[document.conditions, document.conditions_ns, 'were for condition variables: locks made of these are not listed'],
		[document.goroutines, document.goroutines_ns, 'were of threads of Go without a goroutine to run: which lock (sync.Mutex) or channel goroutines wait for is not seen'],
	];
	return left.filter(([n]) => n).map(([n, ns, text]) => `${countText(n ?? 0)} ${n === 1 ? 'wait' : 'waits'}, ${nsText(ns ?? 0)}, ${text}.`);
}

function locksTable(document: LocksDocument, threadName: (tid: number) => string): HTMLElement {
	const left = leftTexts(document).map((text) => h('p', { class: 'muted' }, text));
	if (document.locks.length === 0) return h('div', {}, h('p', {}, 'Nothing waited for a lock.'), ...left);
	const { first, rest } = firstLocks(document.locks), all = Math.max(1, document.locks.reduce((sum, lock) => sum + lock.wait_ns, 0));
	const body = limitedRows(document.locks, FIRST, 8, (lock) => {
		const num = (text: string): HTMLElement => h('td', { class: 'num' }, text);
		const more = h('details', {}, h('summary', {}, `${lock.name}${ownerText(lock)}`));
		// Made when it is opened: there may be many.
		more.addEventListener('toggle', () => {
			if (!more.open || more.childElementCount > 1) return;
			more.append(
				plainTable(`Holders of ${lock.name}`, ['held by', 'released in', 'times#', 'held#'], firstRows(lock.holders, (one) => [
					`${one.thread}/${one.tid}`, one.function ?? '', countText(one.releases), nsText(one.ns)],
				(more, left) => [more, '', countText(left.reduce((sum, one) => sum + one.releases, 0)), sumOf(left)])),
				plainTable(`Waiters for ${lock.name}`, ['who waited', 'for', 'time#'], firstRows(lock.waiters, (one) => [
					`${one.thread}/${one.tid}`, one.holder ? threadName(one.holder) : 'unknown', nsText(one.ns)],
				(more, left) => [more, '', sumOf(left)])));
		});
		return h('tr', {}, h('td', { class: 'text' }, more), num(countText(lock.waits)), num(nsText(lock.wait_ns)), num(percentText(lock.wait_ns / all)), num(nsText(lock.p50_ns)),
			num(nsText(lock.p99_ns)), num(nsText(lock.max_ns)), num(nsText(lock.contended_ns)));
	}, first, rest);
	body.querySelector('details')?.setAttribute('open', '');
	return h('div', {},
		...left,
		h('div', { class: 'scroll-box', tabindex: '0', role: 'region', 'aria-label': 'Table' }, h('table', { class: 'plain-table' }, h('caption', { class: 'visually-hidden' }, 'Locks by waiting time'),
			tableHead(['lock', 'waits#', 'waiting#', 'share#', 'p50#', 'p99#', 'max#', 'contended#']), body)));
}
