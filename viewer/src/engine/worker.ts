// Owns the data, and computes what views ask for. One message is one call.
import { column, decodeStrings, inflate, openTable } from '../data/blocks.js';
import type { Index } from '../data/index.js';
import { heat, rows, threadTimes } from './bins.js';
import { flame, flameBase, flameDifference, search, type FlameBase, type FlameOptions } from './flame.js';
import { arrows, causeOf, intervalsAt, pieceAt } from './follow.js';
import { loadRecording, type Recording } from './recording.js';
import type { Range } from './selection.js';

export interface Request { id: number; call: string; arguments: unknown[] }
export interface Reply { id: number; result?: unknown; error?: string; wants?: string; progress?: number }

const scope = globalThis as unknown as { postMessage(message: Reply, transfer?: Transferable[]): void; onmessage: ((event: MessageEvent) => void) | null };

let index: Index | null = null;
const recordings = new Map<number, Promise<Recording>>();
const bases = new Map<string, FlameBase>();
/** Blocks that were asked for, and who waits for them. */
const texts = new Map<string, ((text: string) => void)[]>();

/** The base64 text of a block, from the page. */
function textOf(name: string): Promise<string> {
	return new Promise((resolve) => {
		const waiting = texts.get(name);
		if (waiting) {
			waiting.push(resolve);
			return;
		}
		texts.set(name, [resolve]);
		scope.postMessage({ id: 0, wants: name });
	});
}

const bytesOf = async (name: string): Promise<Uint8Array> => inflate(await textOf(name));

function recording(number: number): Promise<Recording> {
	let loading = recordings.get(number);
	if (!loading) {
		loading = loadRecording(index!.recordings[number]!, (part) => bytesOf(`r${number}.${part}`),
			(share) => scope.postMessage({ id: 0, progress: share }));
		recordings.set(number, loading);
	}
	return loading;
}

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
	async open() { return index = JSON.parse(new TextDecoder().decode(await bytesOf('index'))) as Index; },
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
	async search(number: number, range: Range, text: string, lines: boolean) {
		return search(await recording(number), await base(number, lines), range, text);
	},
	async rows(number: number, threads: readonly number[], from: number, until: number, width: number) {
		return rows(await recording(number), threads, from, until, width);
	},
	async heat(number: number, range: Range, width: number) { return heat(await recording(number), range, width); },
	async threadTimes(number: number, range: Range) { return threadTimes(await recording(number), range); },
	async at(number: number, thread: number, time: number) { return pieceAt(await recording(number), thread, time); },
	async cause(number: number, interval: number, from: number, until: number) { return causeOf(await recording(number), interval, from, until); },
	async intervalsAt(number: number, threads: readonly number[], times: readonly number[]) { return intervalsAt(await recording(number), threads, times); },
	async arrows(number: number, threads: readonly number[], from: number, until: number, most: number) {
		return arrows(await recording(number), threads, from, until, most);
	},
};

export type EngineCalls = typeof calls;

scope.onmessage = (event: MessageEvent): void => {
	const message = event.data as Request | { block: string; text: string };
	if ('block' in message) {
		const waiting = texts.get(message.block) ?? [];
		texts.delete(message.block);
		for (const resolve of waiting) resolve(message.text);
		return;
	}
	const call = (calls as unknown as Calls)[message.call];
	Promise.resolve(call?.(...message.arguments as never[])).then(
		(result) => scope.postMessage({ id: message.id, result }),
		(error: unknown) => scope.postMessage({ id: message.id, error: error instanceof Error ? error.message : String(error) }));
};
