// What the timeline says of a piece of a thread's time, and of what ended a wait.
import type { Cause, FrameText, Piece } from '../engine/follow.js';
import { threadLabel } from '../data/index.js';
import { CLASS_NAMES, CLASS_TITLES, type App } from '../ui/app.js';
import { h } from '../ui/dom.js';
import { plainTable } from './summary-parts.js';

const MOST_FRAMES = 12;

function frameRow(frame: FrameText): HTMLElement {
	return h('li', { class: frame.kernel ? 'kernel' : '' }, `${frame.name}${frame.inlined ? ' (inlined)' : ''} `,
		frame.place && h('span', { class: 'place' }, frame.place));
}

export function stackList(stack: readonly FrameText[], most: number): HTMLElement {
	return h('ol', { class: 'stack' }, ...stack.slice(0, most).map(frameRow),
		stack.length > most && h('li', { class: 'place' }, `${stack.length - most} more`));
}

function threadText(app: App, thread: number): string {
	const known = app.index.recordings[app.selection.recording]?.threads[thread];
	return known ? threadLabel(known) : 'unknown thread';
}

export function causeText(app: App, cause: Cause): string {
	if (cause.type === 'thread') return threadText(app, cause.thread);
	if (cause.type === 'other') return cause.about || 'an interrupt';
	return cause.type === 'end' ? 'nothing: the recording ended' : 'unknown';
}

const channelName = (channel: number): string => CLASS_NAMES[channel] ?? 'other';

function stolenText(app: App, piece: Piece): (Node | string)[] {
	return piece.stolen >= 0.5 ? [', of it ', h('span', { class: 'swatch swatch-stolen' }), `${app.time(piece.stolen)} stolen by a hypervisor or interrupts`] : [];
}

function heading(app: App, piece: Piece): (Node | string)[] {
	return [piece.channel >= 0 ? h('span', { class: `swatch swatch-${channelName(piece.channel)}` }) : '', h('b', {}, piece.text),
		` ${app.time(piece.until - piece.from)}`, ...stolenText(app, piece)];
}

export function pieceTip(app: App, piece: Piece, cause: Cause | null): (Node | string)[] {
	return [h('div', {}, ...heading(app, piece)), h('div', { class: 'muted' }, threadText(app, piece.thread)),
		stackList(piece.stack, MOST_FRAMES),
		...(cause ? [h('div', {}, 'ended by ', h('b', {}, causeText(app, cause))), stackList(cause.stack, 6)] : [])];
}

/** Shares of a wait by what the thread that ended it did: they are all of the wait. */
function timesText(app: App, piece: Piece, cause: Cause): string {
	const known = cause.ns.reduce((sum, ns) => sum + ns, 0), rest = piece.until - piece.from - known;
	const parts = cause.ns.flatMap((ns, c) => ns >= 0.5 ? [`${CLASS_TITLES[c]!} ${app.time(ns)}`] : []);
	return [...parts, ...rest > Math.max(1, known * 1e-5) ? [`not there or not known ${app.time(rest)}`] : []].join(', ');
}

/** What is said of a wait's cause: who it was, its stack, and what it did meanwhile. */
function causePart(app: App, piece: Piece, cause: Cause, follow: (piece: Piece) => void): Node[] {
	const parts: Node[] = [h('p', {}, 'Ended by ', h('b', {}, causeText(app, cause)), ` after ${app.time(piece.until - piece.from)}`)];
	if (cause.stack.length) parts.push(h('details', {}, h('summary', {}, 'Its stack at the wakeup'), stackList(cause.stack, 40)));
	if (cause.type !== 'thread') return parts;
	const rows = cause.pieces.map((one) => [
		one.interval >= 0 && one.channel !== 3 ? h('button', { type: 'button', onclick: () => follow(one) }, one.text) : one.text,
		one.stack.find((frame) => !frame.kernel)?.name ?? '', app.time(one.from - piece.from), app.time(one.until - one.from)]);
	parts.push(h('p', { class: 'muted' }, `What ${causeText(app, cause)} did in these ${app.time(piece.until - piece.from)}: ${timesText(app, piece, cause)}.`),
		h('div', { class: 'table-wrap' }, plainTable('What the thread that ended the wait did', ['what', 'in', 'after#', 'for#'], rows, 20)));
	const listed = cause.pieces.reduce((ns, one) => ns + one.until - one.from, 0);
	if (cause.more) parts.push(h('p', { class: 'muted' }, `${cause.more} more, ${app.time(piece.until - piece.from - listed)} of it, are not listed.`));
	return parts;
}

/** One step of following a wait. */
export function causePanel(app: App, piece: Piece, cause: Cause | null, number: number, follow: (piece: Piece) => void, zoom: () => void): HTMLElement {
	return h('article', { class: 'step' }, h('h3', {}, `${number}. ${threadText(app, piece.thread)}`),
		h('p', {}, ...heading(app, piece), ' ', h('button', { type: 'button', onclick: zoom, title: 'Select this time' }, 'Zoom')),
		piece.idle !== 'no' && h('p', { class: 'muted' }, `A wait for work (${piece.idle}): nothing blocks the thread.`),
		h('details', { open: !cause }, h('summary', {}, piece.channel === 0 ? 'Stack of a sample in it, or at its end' : 'Stack'), stackList(piece.stack, 60)),
		...(cause ? causePart(app, piece, cause, follow) : []));
}
