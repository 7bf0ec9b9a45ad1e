// Latencies of a part of the time, from the tables that docs/page.md describes. Pure functions.
import type { LatencyDocument, LatencyFunction, SlowCalls } from './latency-functions.js';
import { QUANTILE_KEYS, type Quantiles } from './latency-shape.js';
import type { Request, RequestsDocument } from './latency-requests.js';

/** Of the selection: ns from the recording's start; null: all threads. */
export interface LatencyRange {
	readonly from: number;
	readonly until: number;
	readonly threads: ReadonlySet<number> | null;
}

export function isWholeTime(range: LatencyRange, duration_ns: number): boolean {
	return range.from <= 0 && range.until >= duration_ns;
}

/** Signed columns of rN.latency.slow. */
export const SIGNED_SLOW = [2];

const SHARES = [0.5, 0.9, 0.99, 0.999, 0.9999];
const PARTS = ['cpu_ns', 'runqueue_ns', 'lock_ns', 'disk_ns', 'network_ns', 'other_ns', 'stolen_ns'] as const;
const BUCKETS = 1921;
const CALLS_SHORT = 0;

/** The middle of a bucket of lengths. */
export function bucketMiddle(bucket: number): number {
	const number = bucket - 1;
	if (number < 64) return number;
	const shift = Math.floor(number / 32) - 1, width = 2 ** shift;
	return (number - 32 * shift) * width + (width - 1) / 2;
}

/** Calls by function, bin and bucket, in this order. */
interface Cells {
	readonly bin: Float64Array;
	readonly bucket: Float64Array;
	/** 256 for each. */
	readonly calls: Float64Array;
	readonly observed: Float64Array;
	readonly ns: Float64Array;
	/** The first one of each function, and the end. */
	readonly first: Int32Array;
}

/** Slow calls by function and begin. */
interface SlowTable {
	readonly thread: Float64Array;
	/** ns. */
	readonly begin: Float64Array;
	readonly length: Float64Array;
	/** In the order of PARTS. */
	readonly parts: readonly Float64Array[];
	readonly first: Int32Array;
}

export interface CallTables {
	readonly duration_ns: number;
	readonly bins: number;
	readonly cells: Cells;
	readonly slow: SlowTable;
}

/** Where the rows of each function begin, from what its number is more than that of the row before it. */
function firstRows(gaps: Float64Array, functions: number): Int32Array {
	const first = new Int32Array(functions + 1);
	let number = 0;
	for (const gap of gaps) first[(number += gap) + 1]!++;
	for (let i = 0; i < functions; i++) first[i + 1]! += first[i]!;
	return first;
}

/** Makes tables of the columns of rN.latency.calls and rN.latency.slow; SIGNED_SLOW are decoded. */
export function callTables(
	calls: readonly Float64Array[], slow: readonly Float64Array[], functions: number, info: { duration_ns: number; unit_ns: number; bins: number },
): CallTables {
	const [callFunction, bin, bucket, count, observed, ns] = calls as [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array, Float64Array];
	const [slowFunction, thread, gap, length, ...waits] = slow as [Float64Array, Float64Array, Float64Array, Float64Array];
	const begin = new Float64Array(length.length), cpu = length.slice();
	let time = 0;
	for (let i = 0; i < begin.length; i++) begin[i] = (time += gap[i]!) * info.unit_ns;
	for (const wait of waits as Float64Array[]) for (let i = 0; i < cpu.length; i++) cpu[i]! -= wait[i]!;
	return {
		duration_ns: info.duration_ns, bins: info.bins,
		cells: { bin, bucket, calls: count, observed, ns, first: firstRows(callFunction, functions) },
		slow: { thread, begin, length, parts: [cpu, ...waits], first: firstRows(slowFunction, functions) },
	};
}

/** The share of each bin of time that is in the selection, in the middle exactly 1. */
function binShares({ duration_ns, bins }: CallTables, range: LatencyRange): Float64Array {
	const from = range.from / duration_ns * bins, until = range.until / duration_ns * bins;
	return Float64Array.from({ length: bins }, (_, bin) => Math.max(0, Math.min(until, bin + 1) - Math.max(from, bin)));
}

/** Calls of a function by bucket. */
interface Buckets {
	readonly calls: Float64Array;
	readonly observed: Float64Array;
	/** From the highest that has calls down to this, -1 if there are none. */
	top: number;
	/** All calls, also short ones. */
	sum: number;
	seen: number;
	ns: number;
}

function fillBuckets(tables: CallTables, shares: Float64Array, number: number, to: Buckets): void {
	const { cells } = tables;
	to.calls.fill(0);
	to.observed.fill(0);
	to.top = -1;
	to.sum = to.seen = to.ns = 0;
	for (let i = cells.first[number]!; i < cells.first[number + 1]!; i++) {
		const share = shares[cells.bin[i]!]!, bucket = cells.bucket[i]!, calls = cells.calls[i]! / 256 * share;
		if (share === 0) continue;
		to.calls[bucket]! += calls;
		to.observed[bucket]! += cells.observed[i]! * share;
		to.sum += calls;
		to.seen += cells.observed[i]! * share;
		to.ns += cells.ns[i]! * share;
		if (calls > 0) to.top = Math.max(to.top, bucket);
	}
}

/** Quantiles of buckets, the last of them `longest`; null: shorter than the resolution. */
function quantilesOf(buckets: Buckets, longest: number | null): Quantiles {
	const found: (number | null)[] = [];
	let below = 0, bucket = CALLS_SHORT;
	for (const share of SHARES) {
		while (bucket < buckets.top && below + buckets.calls[bucket]! <= share * buckets.sum) below += buckets.calls[bucket++]!;
		found.push(bucket === CALLS_SHORT || longest === null ? null : Math.min(longest, bucketMiddle(bucket)));
	}
	found.push(longest);
	return Object.fromEntries(QUANTILE_KEYS.map((key, i) => [key, found[i]!])) as unknown as Quantiles;
}

/** What the slowest hundredth took beyond the median; whole calls, as in analysis/latency/call_latency.c. */
function tailOf(buckets: Buckets, p50: number): number {
	let left = buckets.sum / 100, tail = 0;
	for (let bucket = buckets.top; bucket > CALLS_SHORT && left > 1e-9; bucket--) {
		const calls = buckets.calls[bucket]!, observed = buckets.observed[bucket]!;
		if (calls === 0) continue;
		const each = observed > 0 ? calls / observed : calls, taken = Math.min(calls, Math.ceil(left / each - 1e-9) * each);
		tail += taken * Math.max(0, bucketMiddle(bucket) - p50);
		left -= taken;
	}
	return tail;
}

/** Rows of the slow calls of a function that began in the selection. */
function slowRows(tables: CallTables, number: number, range: LatencyRange): number[] {
	const { slow } = tables, rows: number[] = [];
	for (let i = slow.first[number]!; i < slow.first[number + 1]!; i++)
		if (slow.begin[i]! >= range.from && slow.begin[i]! < range.until && (!range.threads || range.threads.has(slow.thread[i]!))) rows.push(i);
	return rows;
}

/** The longest call: slow ones are known exactly, and all others are no longer than any of them. */
function longestOf(tables: CallTables, number: number, range: LatencyRange, top: number): number | null {
	if (top <= CALLS_SHORT) return null;
	const { slow } = tables;
	let longest = 0, least = Infinity;
	for (let i = slow.first[number]!; i < slow.first[number + 1]!; i++) {
		if (slow.begin[i]! >= range.from && slow.begin[i]! < range.until) longest = Math.max(longest, slow.length[i]!);
		least = Math.min(least, slow.length[i]!);
	}
	return longest || Math.min(least, bucketMiddle(top));
}

/** Where the time of these slow calls went; who held and ran meanwhile is known for all of them only. */
function slowOf(tables: CallTables, rows: readonly number[], whole: SlowCalls): SlowCalls {
	const sum = (numbers: Float64Array): number => rows.reduce((all, row) => all + numbers[row]!, 0);
	const parts = Object.fromEntries(PARTS.map((key, i) => [key, sum(tables.slow.parts[i]!)]));
	return { ...whole, calls: rows.length, ns: sum(tables.slow.length), ...parts };
}

export interface SelectedCalls {
	readonly document: LatencyDocument;
	/** The number in the whole document's `functions` of each of its functions. */
	readonly numbers: ReadonlyMap<LatencyFunction, number>;
}

/**
 * The document of the calls that began in the selection; all of the time and all threads: the document
 * itself. By thread only slow calls are known.
 */
export function selectCalls(document: LatencyDocument, tables: CallTables, range: LatencyRange): SelectedCalls {
	const whole = isWholeTime(range, tables.duration_ns), numbers = new Map<LatencyFunction, number>();
	if (whole && !range.threads) return { document, numbers: new Map(document.functions.map((f, number) => [f, number])) };
	const shares = binShares(tables, range), time = { ...range, threads: null };
	const buckets: Buckets = { calls: new Float64Array(BUCKETS), observed: new Float64Array(BUCKETS), top: -1, sum: 0, seen: 0, ns: 0 };
	const functions = document.functions.flatMap((f, number) => {
		const slow = f.slow && slowOf(tables, slowRows(tables, number, range), f.slow);
		let made: LatencyFunction = { ...f, slow };
		if (!whole) {
			fillBuckets(tables, shares, number, buckets);
			if (buckets.sum < 0.5 && slowRows(tables, number, time).length === 0) return [];
			const quantiles = quantilesOf(buckets, longestOf(tables, number, range, buckets.top));
						made = {
				...made, ...quantiles, calls: buckets.sum, total_ns: buckets.ns, mean_ns: buckets.ns / Math.max(1, buckets.sum), observed: buckets.sum > 0 ? buckets.seen / buckets.sum : 0,
				tail_ns: tailOf(buckets, quantiles.p50_ns ?? 0),
			};
		}
		numbers.set(made, number);
		return [made];
	});
	return { document: { ...document, functions }, numbers };
}

export interface SlowCall {
	readonly thread: number;
	readonly begin_ns: number;
	readonly length_ns: number;
	/** By what SPLIT calls them. */
	readonly parts: Readonly<Record<string, number>>;
}

/** The slowest calls of a function that began in the selection, the longest first. */
export function slowestCalls(tables: CallTables, number: number, range: LatencyRange, most: number): SlowCall[] {
	const { slow } = tables;
	return slowRows(tables, number, range).sort((a, b) => slow.length[b]! - slow.length[a]! || a - b).slice(0, most).map((row) => ({
		thread: slow.thread[row]!, begin_ns: slow.begin[row]!, length_ns: slow.length[row]!,
		parts: Object.fromEntries(PARTS.map((key, i) => [key, slow.parts[i]![row]!])),
	}));
}

/** Table rN.requests.times: all requests, by begin. */
export interface RequestTimes {
	/** ns. */
	readonly begin: Float64Array;
	readonly length: Float64Array;
	readonly thread: Float64Array;
}

export function requestTimes(columns: readonly Float64Array[], unit_ns: number): RequestTimes {
	const [gap, length, thread] = columns as [Float64Array, Float64Array, Float64Array], begin = new Float64Array(gap.length);
	let time = 0;
	for (let i = 0; i < gap.length; i++) begin[i] = (time += gap[i]!) * unit_ns;
	return { begin, length, thread };
}

/** As requests__quantile(): the least length with at least that share of all up to it. */
function lengthQuantiles(sorted: ArrayLike<number>): Quantiles {
	const n = sorted.length, at = (share: number): number | null => (n === 0 ? null : sorted[n - Math.max(1, Math.ceil(share * n))]!);
	return Object.fromEntries(QUANTILE_KEYS.map((key, i) => [key, at(SHARES[i] ?? 1)])) as unknown as Quantiles;
}

/**
 * The document of the requests that began in the selection and that its threads answered; `tids`: theirs.
 * Without `times`, the document lists all requests.
 */
export function selectRequests(
	document: RequestsDocument, times: RequestTimes | null, range: LatencyRange, duration_ns: number, tids: ReadonlySet<number> | null,
): RequestsDocument {
	if (isWholeTime(range, duration_ns) && !range.threads) return document;
	const isIn = (request: Request): boolean => request.begin_ns >= range.from && request.begin_ns < range.until && (!tids || tids.has(request.tid));
	const requests = document.requests.filter(isIn), timelines = (document.timelines ?? []).filter(isIn);
	const lengths = times
		? times.length.filter((_, i) => times.begin[i]! >= range.from && times.begin[i]! < range.until && (!range.threads || range.threads.has(times.thread[i]!)))
		: Float64Array.from(requests, (request) => request.length_ns);
	lengths.sort().reverse();
	return { ...document, count: lengths.length, latency: lengthQuantiles(lengths), requests, timelines, lengths };
}
