// Owns the data, and computes what views ask for. One message is one call.
import { column, decodeStrings, inflate, openTable } from '../data/blocks.js';
import { readIndex, type Index } from '../data/index.js';
import { heat, rows, threadTimes } from './bins.js';
import { flame, flameBase, flameDifference, search, type FlameBase, type FlameOptions } from './flame.js';
import { arrows, causeOf, intervalsAt, pieceAt } from './follow.js';
import { loadStacks, loadTimes } from './load.js';
import type { Recording } from './recording.js';
import type { Range } from './selection.js';

export interface Request { id: number; call: string; arguments: unknown[] }
export interface Reply { id: number; result?: unknown; error?: string; wants?: string; progress?: number }

const scope = globalThis as unknown as { postMessage(message: Reply, transfer?: Transferable[]): void; onmessage: ((event: MessageEvent) => void) | null };

let index: Index | null = null;
/** Times are there before stacks are. */
interface Loading { times: Promise<Recording>; all: Promise<Recording> }
const recordings = new Map<number, Loading>();
const bases = new Map<string, FlameBase>();
/** Blocks that were asked for, and who waits for them. */
const wanted = new Map<string, ((bytes: Promise<Uint8Array>) => void)[]>();
/** Those that came before they were asked for. */
const early = new Map<string, Promise<Uint8Array>>();

/** The bytes of a block of the page. */
function bytesOf(name: string): Promise<Uint8Array> {
	const here = early.get(name);
	early.delete(name);
	return here ?? new Promise((resolve) => {
		const waiting = wanted.get(name);
		if (waiting) {
			waiting.push(resolve);
			return;
		}
		wanted.set(name, [resolve]);
		scope.postMessage({ id: 0, wants: name });
	});
}

async function bytesFrom(name: string, text: string): Promise<Uint8Array> {
	if (!text) throw new Error(`the block ${name} is missing`);
	return inflate(text);
}

const channel = new MessageChannel();

/** Lets other calls go first. */
const pause = (): Promise<void> => new Promise((resolve) => {
	channel.port1.onmessage = () => resolve();
	channel.port2.postMessage(0);
});

function load(number: number): Loading {
	let found = recordings.get(number);
	if (!found) {
		const loading = loadTimes(index!.recordings[number]!, (part) => bytesOf(`r${number}.${part}`), (share) => scope.postMessage({ id: 0, progress: share }));
		const all = loading.then(async (given) => {
			await pause();
			return loadStacks(given, pause);
		});
		found = { times: loading.then(({ recording }) => recording), all };
		recordings.set(number, found);
	}
	return found;
}

const times = (number: number): Promise<Recording> => load(number).times;
const recording = (number: number): Promise<Recording> => load(number).all;

async function base(number: number, lines: boolean): Promise<FlameBase> {
	const key = `${number} ${lines}`;
	let found = bases.get(key);
	if (!found) {
		found = flameBase(await recording(number), lines);
		bases.set(key, found);
	}
	return found;
}

type Calls = Record<string, (...given: never[]) => Promise<unknown>>;

const calls = {
	async open() { return index = readIndex(new TextDecoder().decode(await bytesOf('index'))); },
	async json(block: string) { return JSON.parse(new TextDecoder().decode(await bytesOf(block))) as unknown; },
	async strings(block: string) { return decodeStrings(await bytesOf(block)); },
	async table(block: string, signed: readonly number[]) {
		const table = openTable(await bytesOf(block));
		return table.widths.map((_, i) => column(table, i, signed.includes(i)));
	},
	async load(number: number) {
		const r = await recording(number);
		return { intervals: r.out.length, samples: r.sampleTime.length };
	},
	async flame(number: number, range: Range, options: FlameOptions) {
		return flame(await recording(number), await base(number, options.lines), range, options);
	},
	async difference(number: number, range: Range, other: number, otherRange: Range, options: FlameOptions) {
		return flameDifference({ r: await recording(number), base: await base(number, options.lines), range },
			{ r: await recording(other), base: await base(other, options.lines), range: otherRange }, options);
	},
	async search(number: number, range: Range, text: string, lines: boolean, focus: string | null) {
		return search(await recording(number), await base(number, lines), range, text, focus);
	},
	async rows(number: number, threads: readonly number[], from: number, until: number, width: number) {
		const bins = rows(await times(number), threads, from, until, width);
		/* Labels are of stacks. */
		return bins.every((row) => !row.items) ? bins : rows(await recording(number), threads, from, until, width);
	},
	async heat(number: number, range: Range, width: number) { return heat(await times(number), range, width); },
	async threadTimes(number: number, range: Range) { return threadTimes(await times(number), range); },
	async at(number: number, thread: number, time: number) { return pieceAt(await recording(number), thread, time); },
	async cause(number: number, interval: number, from: number, until: number) { return causeOf(await recording(number), interval, from, until); },
	async intervalsAt(number: number, threads: readonly number[], times: readonly number[]) { return intervalsAt(await recording(number), threads, times); },
	async arrows(number: number, threads: readonly number[], from: number, until: number, most: number) {
		return arrows(await times(number), threads, from, until, most);
	},
};

export type EngineCalls = typeof calls;

scope.onmessage = (event: MessageEvent): void => {
	const message = event.data as Request | { block: string; text: string };
	if ('block' in message) {
		const bytes = bytesFrom(message.block, message.text), waiting = wanted.get(message.block);
		wanted.delete(message.block);
		if (!waiting) early.set(message.block, bytes);
		bytes.catch(() => undefined);
		waiting?.forEach((resolve) => resolve(bytes));
		return;
	}
	const call = (calls as unknown as Calls)[message.call];
	Promise.resolve(call?.(...message.arguments as never[])).then(
		(result) => scope.postMessage({ id: message.id, result }),
		(error: unknown) => scope.postMessage({ id: message.id, error: error instanceof Error ? error.message : String(error) }));
};
