// The address's fragment: view, selection and the view's own state.
import type { Index } from '../data/index.js';
import { ALL_CLASSES, type Selection } from './app.js';

export interface Address { view: string; selection: Selection; state: Record<string, string> }

export function wholeOf(index: Index, recording: number): Selection {
	return { recording, from: 0, until: index.recordings[recording]?.duration_ns ?? 0, threads: null, classes: ALL_CLASSES, idle: false, others: false };
}

const number = (text: string | null, otherwise: number): number => {
	const value = text === null || text === '' ? NaN : Number(text);
	return Number.isFinite(value) ? value : otherwise;
};

/** What a fragment says; what it does not say, or says wrong, is as at first. */
export function parseFragment(fragment: string, index: Index, firstView: string): Address {
	const given = new URLSearchParams(fragment.replace(/^#/, ''));
	const wanted = number(given.get('r'), 0), recording = index.recordings[wanted] ? wanted : 0;
	const selection = wholeOf(index, recording), [from, until] = (given.get('t') ?? '').split('-');
	const low = Math.round(number(from ?? null, 0)), high = Math.round(number(until ?? null, selection.until));
	if (low >= 0 && low < high && low < selection.until) Object.assign(selection, { from: low, until: Math.min(high, selection.until) });
	const threads = (given.get('threads') ?? '').split('.').map(Number).filter((thread) => thread > 0 && index.recordings[recording]?.threads[thread]);
	if (threads.length) selection.threads = new Set(threads);
	selection.classes = number(given.get('c'), ALL_CLASSES) & ALL_CLASSES || ALL_CLASSES;
	selection.idle = given.get('idle') === '1';
	selection.others = given.get('others') === '1';
	const state = Object.fromEntries([...given].filter(([key]) => !['view', 'r', 't', 'threads', 'c', 'idle', 'others'].includes(key)));
	return { view: given.get('view') ?? firstView, selection, state };
}

export function fragmentOf(index: Index, { view, selection, state }: Address): string {
	const whole = wholeOf(index, selection.recording), to = new URLSearchParams({ view });
	if (selection.recording) to.set('r', String(selection.recording));
	if (selection.from !== whole.from || selection.until !== whole.until) to.set('t', `${Math.round(selection.from)}-${Math.round(selection.until)}`);
	if (selection.threads) to.set('threads', [...selection.threads].join('.'));
	if (selection.classes !== whole.classes) to.set('c', String(selection.classes));
	if (selection.idle) to.set('idle', '1');
	if (selection.others) to.set('others', '1');
	for (const [key, value] of Object.entries(state)) if (value !== '') to.set(key, value);
	return `#${to}`;
}
