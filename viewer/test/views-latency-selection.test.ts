import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { LatencyDocument, LatencyFunction, SlowCalls } from '../src/views/latency-functions.js';
import type { Request, RequestsDocument } from '../src/views/latency-requests.js';
import {
	bucketMiddle, callTables, requestTimes, selectCalls, selectRequests, slowestCalls, type CallTables,
} from '../src/views/latency-selection.js';

/** The same numbers in every run (mulberry32). */
function numbers(seed: number): () => number {
	let state = seed;
	return () => {
		state = state + 0x6d2b79f5 | 0;
		let t = Math.imul(state ^ state >>> 15, 1 | state);
		t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
		return ((t ^ t >>> 14) >>> 0) / 2 ** 32;
	};
}

interface Call { f: number; thread: number; begin: number; length: number; weight: number; parts: number[] }

const DURATION = 1e9, BINS = 128, WIDTH = DURATION / BINS, UNIT = 128;

/** As docs/page.md has it; 0: short. */
function bucketOf(ns: number): number {
	const shift = ns < 64 ? 0 : Math.floor(Math.log2(ns)) - 5;
	return 1 + 32 * shift + Math.floor(ns / 2 ** shift);
}

function makeCalls(functions: number, each: number): Call[] {
	const random = numbers(7), calls: Call[] = [];
	for (let f = 0; f < functions; f++)
		for (let i = 0; i < each; i++) {
			const length = Math.floor(2000 * Math.exp(12 * random() ** 3));
			const queue = Math.floor(length * random() * 0.5), lock = Math.floor(length * random() * 0.4), stolen = Math.floor(length * random() * 0.1);
			/* In units, as the page has them. */
			calls.push({
				f, thread: 1 + Math.floor(random() * 3), begin: Math.floor(random() * DURATION / UNIT) * UNIT, length, weight: f === 1 ? 4 : 1,
				parts: [length - queue - lock - stolen, queue, lock, 0, 0, 0, stolen],
			});
		}
	return calls;
}

const KEYS = ['cpu_ns', 'runqueue_ns', 'lock_ns', 'disk_ns', 'network_ns', 'other_ns', 'stolen_ns'] as const;
const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0);

function slowOf(calls: readonly Call[]): SlowCalls {
	const parts = Object.fromEntries(KEYS.map((key, i) => [key, sum(calls.map((call) => call.parts[i]!))])) as unknown as SlowCalls;
	return { ...parts, calls: calls.length, ns: sum(calls.map(({ length }) => length)), holders: [{ thread: 1, comm: 'c', function: 'h', ns: 1 }] };
}

/** Of calls of a function, `shorts` shorter than the resolution among them. */
function brute(name: string, calls: readonly Call[], shorts = 0): LatencyFunction {
	const sorted = [...calls].sort((a, b) => a.length - b.length), all = shorts + sum(sorted.map(({ weight }) => weight));
	const quantile = (q: number): number | null => {
		let below = shorts;
		for (const call of sorted) {
			if (below > q * all) break;
			below += call.weight;
			if (below > q * all) return call.length;
		}
		return null;
	};
	let left = all / 100, tail = 0;
	for (const call of [...sorted].reverse()) {
		if (left <= 1e-9) break;
		tail += call.weight * (call.length - (quantile(0.5) ?? 0));
		left -= call.weight;
	}
	return {
		name, caller: null, calls: all, total_ns: sum(sorted.map((call) => call.weight * call.length)), observed: 1, tail_ns: tail, slow: null,
		p50_ns: quantile(0.5), p90_ns: quantile(0.9), p99_ns: quantile(0.99), p999_ns: quantile(0.999), p9999_ns: quantile(0.9999), max_ns: sorted.at(-1)?.length ?? null,
	};
}

const byFunction = <T extends { f: number }>(rows: T[], rest: (a: T, b: T) => number): T[] => rows.sort((a, b) => a.f - b.f || rest(a, b));
const gaps = (values: number[]): Float64Array => Float64Array.from(values, (value, i) => value - (values[i - 1] ?? 0));

function tablesOf(calls: readonly Call[], slow: readonly Call[], shorts: readonly { f: number; bin: number; n: number; ns: number }[], functions: number): CallTables {
	const cells = new Map<string, { f: number; bin: number; bucket: number; calls: number; observed: number; ns: number }>();
	const add = (f: number, bin: number, bucket: number, n: number, observed: number, ns: number): void => {
		const key = `${f} ${bin} ${bucket}`, cell = cells.get(key) ?? { f, bin, bucket, calls: 0, observed: 0, ns: 0 };
		cell.calls += n * 256;
		cell.observed += observed;
		cell.ns += ns;
		cells.set(key, cell);
	};
	for (const call of calls) add(call.f, Math.floor(call.begin / WIDTH), bucketOf(call.length), call.weight, 1, call.weight * call.length);
	for (const { f, bin, n, ns } of shorts) add(f, bin, 0, n, n / 2, ns);
	const rows = byFunction([...cells.values()], (a, b) => a.bin - b.bin || a.bucket - b.bucket);
	const column = (key: 'bin' | 'bucket' | 'calls' | 'observed' | 'ns'): Float64Array => Float64Array.from(rows, (row) => row[key]);
	const slowest = byFunction([...slow], (a, b) => a.begin - b.begin);
	return callTables(
		[gaps(rows.map(({ f }) => f)), column('bin'), column('bucket'), column('calls'), column('observed'), column('ns')],
		[gaps(slowest.map(({ f }) => f)), Float64Array.from(slowest, ({ thread }) => thread), gaps(slowest.map(({ begin }) => begin / UNIT)),
			Float64Array.from(slowest, ({ length }) => length), ...[1, 2, 3, 4, 5, 6].map((part) => Float64Array.from(slowest, ({ parts }) => parts[part]!))],
		functions, { duration_ns: DURATION, unit_ns: UNIT, bins: BINS });
}

const FUNCTIONS = 3, calls = makeCalls(FUNCTIONS, 6000);
const of = (f: number): Call[] => calls.filter((call) => call.f === f);
const slow = [0, 1, 2].flatMap((f) => of(f).sort((a, b) => b.length - a.length).slice(0, 60));
const document = {
	resolution_ns: 1000, shortest_ns: 100, longest_gap_ns: 1,
	functions: [0, 1, 2].map((f) => ({ ...brute(`f${f}`, of(f)), slow: slowOf(slow.filter((call) => call.f === f)) })),
} satisfies LatencyDocument;
const tables = tablesOf(calls, slow, [], FUNCTIONS);
const isNear = (got: number | null, expected: number | null, share: number, what: string): void => {
	assert.equal(got === null, expected === null, `${what}: ${got}, expected ${expected}`);
	if (got !== null && expected !== null) assert.ok(Math.abs(got - expected) <= share * expected + 1, `${what}: ${got}, expected ${expected}`);
};

test('buckets are at most 1/32 wide and follow each other', () => {
	assert.deepEqual([0, 1, 63, 64, 65, 66].map(bucketOf), [1, 2, 64, 65, 65, 66]);
	for (const ns of [0, 5, 63, 64, 100, 127, 128, 999, 4096, 1e6 + 1, 123456789, 2 ** 40 + 5]) {
		const middle = bucketMiddle(bucketOf(ns));
		assert.ok(Math.abs(middle - ns) <= ns / 64, `${ns}: ${middle}`);
		assert.equal(bucketOf(Math.round(middle)), bucketOf(ns));
	}
});

test('all of the time and all threads: the document itself', () => {
	const selected = selectCalls(document, tables, { from: 0, until: DURATION, threads: null });
	assert.equal(selected.document, document);
	assert.deepEqual([...selected.numbers.values()], [0, 1, 2]);
});

test('calls that began in a selection of whole bins are those of brute force', () => {
	for (const [first, last] of [[0, 16], [16, 48], [100, 128], [64, 65]] as const) {
		const range = { from: first * WIDTH, until: last * WIDTH, threads: null };
		const isIn = (call: Call): boolean => call.begin >= range.from && call.begin < range.until;
		const selected = selectCalls(document, tables, range);
		assert.equal(selected.document.functions.length, FUNCTIONS);
		for (const f of selected.document.functions) {
			const number = selected.numbers.get(f)!, expected = brute(f.name, of(number).filter(isIn)), what = `${first} to ${last}, ${f.name}`;
			assert.equal(f.calls, expected.calls, what);
			isNear(f.total_ns, expected.total_ns, 1 / 64, `${what}, total`);
			for (const key of ['p50_ns', 'p90_ns', 'p99_ns', 'p999_ns', 'p9999_ns'] as const) isNear(f[key], expected[key], 1 / 64, `${what}, ${key}`);
			isNear(f.tail_ns, expected.tail_ns, 1 / 32, `${what}, tail`);
			isNear(f.observed, expected.observed / (number === 1 ? 4 : 1), 1e-9, `${what}, observed`);
			const chosen = slow.filter((call) => call.f === number && isIn(call));
			assert.deepEqual(f.slow, slowOf(chosen), `${what}, slow calls`);
			/* Known exactly where one of the slow calls is in the selection. */
			isNear(f.max_ns, expected.max_ns, chosen.length ? 0 : 1 / 64, `${what}, max`);
			const listed = slowestCalls(tables, number, range, 5), longest = [...chosen].sort((a, b) => b.length - a.length || a.begin - b.begin).slice(0, 5);
			assert.deepEqual(listed, longest.map((call) => ({
				thread: call.thread, begin_ns: call.begin, length_ns: call.length, parts: Object.fromEntries(KEYS.map((key, i) => [key, call.parts[i]])),
			})), `${what}, the slowest calls`);
		}
	}
});

test('a part of a bin counts by its share', () => {
	const bin = (number: number): number => of(0).filter((call) => Math.floor(call.begin / WIDTH) === number).length;
	const [f] = selectCalls(document, tables, { from: 10.75 * WIDTH, until: 12.5 * WIDTH, threads: null }).document.functions;
	assert.ok(Math.abs(f!.calls - (bin(10) / 4 + bin(11) + bin(12) / 2)) < 1e-6);
	const [inside] = selectCalls(document, tables, { from: 10.25 * WIDTH, until: 10.5 * WIDTH, threads: null }).document.functions;
	assert.ok(Math.abs(inside!.calls - bin(10) / 4) < 1e-6);
});

test('threads select slow calls; the rest stays exact', () => {
	const selected = selectCalls(document, tables, { from: 0, until: DURATION, threads: new Set([2]) });
	for (const [number, f] of selected.document.functions.entries()) {
		const { slow: whole, ...rest } = document.functions[number]!, { slow: got, ...same } = f;
		assert.deepEqual(same, rest);
		assert.deepEqual(got, slowOf(slow.filter((call) => call.f === number && call.thread === 2)));
		assert.ok(got!.calls < whole.calls && got!.calls > 0);
	}
});

test('short calls count below all others', () => {
	const shorts = [{ f: 0, bin: 3, n: 50, ns: 5000 }, { f: 1, bin: 3, n: 1e6, ns: 1e8 }, { f: 2, bin: 90, n: 7, ns: 700 }];
	const range = { from: 0, until: 4 * WIDTH, threads: null };
	const selected = selectCalls(document, tablesOf(calls, slow, shorts, FUNCTIONS), range);
	for (const f of selected.document.functions) {
		const number = selected.numbers.get(f)!, own = shorts.filter((one) => one.f === number && one.bin < 4);
		const expected = brute(f.name, of(number).filter((call) => call.begin < range.until), sum(own.map(({ n }) => n)));
		assert.equal(f.calls, expected.calls);
		isNear(f.total_ns, expected.total_ns + sum(own.map(({ ns }) => ns)), 1 / 64, 'total');
		for (const key of ['p50_ns', 'p90_ns', 'p99_ns', 'p999_ns', 'p9999_ns'] as const) isNear(f[key], expected[key], 1 / 64, `${f.name} ${key}`);
	}
	assert.equal(selected.document.functions[1]!.p50_ns, null);
});

test('functions without a call in the selection are left out', () => {
	const early = calls.filter((call) => call.f !== 1 || call.begin < DURATION / 2), late = { from: 0.75 * DURATION, until: DURATION, threads: null };
	const selected = selectCalls(document, tablesOf(early, slow.filter((call) => early.includes(call)), [], FUNCTIONS), late);
	assert.deepEqual(selected.document.functions.map((f) => selected.numbers.get(f)), [0, 2]);
});

const requests = calls.map((call, id): Request => ({ id, source: 's', begin_ns: call.begin, length_ns: call.length, unread_ns: 0, tid: 100 + call.thread, peer: null }))
	.sort((a, b) => b.length_ns - a.length_ns);

function bruteRequests(range: { from: number; until: number }, threads: readonly number[] | null): { count: number; latency: RequestsDocument['latency'] } {
	const lengths = requests.filter((one) => one.begin_ns >= range.from && one.begin_ns < range.until && (!threads || threads.includes(one.tid - 100)))
		.map((one) => one.length_ns).sort((a, b) => a - b);
	const at = (share: number): number | null => lengths[Math.max(1, Math.ceil(share * lengths.length)) - 1] ?? null;
	return { count: lengths.length, latency: { p50_ns: at(0.5), p90_ns: at(0.9), p99_ns: at(0.99), p999_ns: at(0.999), p9999_ns: at(0.9999), max_ns: at(1) } };
}

test('requests that began in the selection are exact, listed or from the table', () => {
	const all = bruteRequests({ from: 0, until: Infinity }, null), timelines = requests.slice(0, 20).map((one) => ({ ...one, items: [] }));
	const listed: RequestsDocument = { ...all, requests, timelines }, cut: RequestsDocument = { ...all, requests: requests.slice(0, 500), timelines };
	const inOrder = [...requests].sort((a, b) => a.begin_ns - b.begin_ns);
	const times = requestTimes([gaps(inOrder.map((one) => one.begin_ns / UNIT)), Float64Array.from(inOrder, (one) => one.length_ns), Float64Array.from(inOrder, (one) => one.tid - 100)], UNIT);
	for (const document of [listed, cut])
		for (const threads of [null, [2], [1, 3]])
			for (const range of [{ from: 0, until: DURATION }, { from: 123456789, until: 456789123 }, { from: 5, until: 6 }]) {
				const given = { ...range, threads: threads && new Set(threads) }, tids = threads && new Set(threads.map((thread) => 100 + thread));
				const got = selectRequests(document, document === cut ? times : null, given, DURATION, tids), expected = bruteRequests(range, threads);
				assert.deepEqual({ count: got.count, latency: got.latency }, expected);
				const isIn = (one: Request): boolean => one.begin_ns >= range.from && one.begin_ns < range.until && (!tids || tids.has(one.tid));
				assert.deepEqual(got.requests, document.requests.filter(isIn));
				assert.deepEqual(got.timelines, timelines.filter(isIn));
				if (range.from === 0 && !threads) assert.equal(got, document);
				else assert.equal(got.lengths!.length, got.count);
			}
});
