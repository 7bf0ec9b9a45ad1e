// test/views-latency-selection.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";

// src/views/latency-shape.ts
var QUANTILE_KEYS = ["p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns"];

// src/views/latency-selection.ts
function isWholeTime(range, duration_ns) {
  return range.from <= 0 && range.until >= duration_ns;
}
var SHARES = [0.5, 0.9, 0.99, 0.999, 0.9999];
var PARTS = ["cpu_ns", "runqueue_ns", "lock_ns", "disk_ns", "network_ns", "other_ns"];
var BUCKETS = 1921;
var CALLS_SHORT = 0;
function bucketMiddle(bucket) {
  const number = bucket - 1;
  if (number < 64) return number;
  const shift = Math.floor(number / 32) - 1, width = 2 ** shift;
  return (number - 32 * shift) * width + (width - 1) / 2;
}
function firstRows(gaps2, functions) {
  const first = new Int32Array(functions + 1);
  let number = 0;
  for (const gap of gaps2) first[(number += gap) + 1]++;
  for (let i = 0; i < functions; i++) first[i + 1] += first[i];
  return first;
}
function callTables(calls2, slow2, functions, info) {
  const [callFunction, bin, bucket, count, observed, short_ns] = calls2;
  const [slowFunction, thread, gap, length, ...waits] = slow2;
  const begin = new Float64Array(length.length), cpu = length.slice();
  let time = 0;
  for (let i = 0; i < begin.length; i++) begin[i] = (time += gap[i]) * info.unit_ns;
  for (const wait of waits) for (let i = 0; i < cpu.length; i++) cpu[i] -= wait[i];
  return {
    duration_ns: info.duration_ns,
    bins: info.bins,
    cells: { bin, bucket, calls: count, observed, short_ns, first: firstRows(callFunction, functions) },
    slow: { thread, begin, length, parts: [cpu, ...waits], first: firstRows(slowFunction, functions) }
  };
}
function binShares({ duration_ns, bins }, range) {
  const from = range.from / duration_ns * bins, until = range.until / duration_ns * bins;
  return Float64Array.from({ length: bins }, (_, bin) => Math.max(0, Math.min(until, bin + 1) - Math.max(from, bin)));
}
function fillBuckets(tables2, shares, number, to) {
  const { cells } = tables2;
  to.calls.fill(0);
  to.observed.fill(0);
  to.top = -1;
  to.sum = to.seen = to.short_ns = 0;
  for (let i = cells.first[number]; i < cells.first[number + 1]; i++) {
    const share = shares[cells.bin[i]], bucket = cells.bucket[i], calls2 = cells.calls[i] / 256 * share;
    if (share === 0) continue;
    to.calls[bucket] += calls2;
    to.observed[bucket] += cells.observed[i] * share;
    to.sum += calls2;
    to.seen += cells.observed[i] * share;
    to.short_ns += cells.short_ns[i] * share;
    if (calls2 > 0) to.top = Math.max(to.top, bucket);
  }
}
function quantilesOf(buckets, longest) {
  const found = [];
  let below = 0, bucket = CALLS_SHORT;
  for (const share of SHARES) {
    while (bucket < buckets.top && below + buckets.calls[bucket] <= share * buckets.sum) below += buckets.calls[bucket++];
    found.push(bucket === CALLS_SHORT || longest === null ? null : Math.min(longest, bucketMiddle(bucket)));
  }
  found.push(longest);
  return Object.fromEntries(QUANTILE_KEYS.map((key, i) => [key, found[i]]));
}
function tailOf(buckets, p50) {
  let left = buckets.sum / 100, tail = 0;
  for (let bucket = buckets.top; bucket > CALLS_SHORT && left > 1e-9; bucket--) {
    const calls2 = buckets.calls[bucket], observed = buckets.observed[bucket];
    if (calls2 === 0) continue;
    const each = observed > 0 ? calls2 / observed : calls2, taken = Math.min(calls2, Math.ceil(left / each - 1e-9) * each);
    tail += taken * Math.max(0, bucketMiddle(bucket) - p50);
    left -= taken;
  }
  return tail;
}
function slowRows(tables2, number, range) {
  const { slow: slow2 } = tables2, rows = [];
  for (let i = slow2.first[number]; i < slow2.first[number + 1]; i++)
    if (slow2.begin[i] >= range.from && slow2.begin[i] < range.until && (!range.threads || range.threads.has(slow2.thread[i]))) rows.push(i);
  return rows;
}
function longestOf(tables2, number, range, top) {
  if (top <= CALLS_SHORT) return null;
  const { slow: slow2 } = tables2;
  let longest = 0, least = Infinity;
  for (let i = slow2.first[number]; i < slow2.first[number + 1]; i++) {
    if (slow2.begin[i] >= range.from && slow2.begin[i] < range.until) longest = Math.max(longest, slow2.length[i]);
    least = Math.min(least, slow2.length[i]);
  }
  return longest || Math.min(least, bucketMiddle(top));
}
function slowOf(tables2, rows, whole) {
  const sum2 = (numbers2) => rows.reduce((all, row) => all + numbers2[row], 0);
  const parts = Object.fromEntries(PARTS.map((key, i) => [key, sum2(tables2.slow.parts[i])]));
  return { ...whole, calls: rows.length, ns: sum2(tables2.slow.length), ...parts };
}
function selectCalls(document2, tables2, range) {
  const whole = isWholeTime(range, tables2.duration_ns), numbers2 = /* @__PURE__ */ new Map();
  if (whole && !range.threads) return { document: document2, numbers: new Map(document2.functions.map((f, number) => [f, number])) };
  const shares = binShares(tables2, range), time = { ...range, threads: null };
  const buckets = { calls: new Float64Array(BUCKETS), observed: new Float64Array(BUCKETS), top: -1, sum: 0, seen: 0, short_ns: 0 };
  const functions = document2.functions.flatMap((f, number) => {
    const slow2 = f.slow && slowOf(tables2, slowRows(tables2, number, range), f.slow);
    let made = { ...f, slow: slow2 };
    if (!whole) {
      fillBuckets(tables2, shares, number, buckets);
      if (buckets.sum < 0.5 && slowRows(tables2, number, time).length === 0) return [];
      const quantiles = quantilesOf(buckets, longestOf(tables2, number, range, buckets.top));
      const total = buckets.calls.reduce((sum2, calls2, bucket) => bucket > CALLS_SHORT && calls2 > 0 ? sum2 + calls2 * bucketMiddle(bucket) : sum2, buckets.short_ns);
      made = {
        ...made,
        ...quantiles,
        calls: buckets.sum,
        total_ns: total,
        observed: buckets.sum > 0 ? buckets.seen / buckets.sum : 0,
        tail_ns: tailOf(buckets, quantiles.p50_ns ?? 0)
      };
    }
    numbers2.set(made, number);
    return [made];
  });
  return { document: { ...document2, functions }, numbers: numbers2 };
}
function slowestCalls(tables2, number, range, most) {
  const { slow: slow2 } = tables2;
  return slowRows(tables2, number, range).sort((a, b) => slow2.length[b] - slow2.length[a] || a - b).slice(0, most).map((row) => ({
    thread: slow2.thread[row],
    begin_ns: slow2.begin[row],
    length_ns: slow2.length[row],
    parts: Object.fromEntries(PARTS.map((key, i) => [key, slow2.parts[i][row]]))
  }));
}
function requestTimes(columns, unit_ns) {
  const [gap, length, thread] = columns, begin = new Float64Array(gap.length);
  let time = 0;
  for (let i = 0; i < gap.length; i++) begin[i] = (time += gap[i]) * unit_ns;
  return { begin, length, thread };
}
function lengthQuantiles(sorted) {
  const n = sorted.length, at = (share) => n === 0 ? null : sorted[n - Math.max(1, Math.ceil(share * n))];
  return Object.fromEntries(QUANTILE_KEYS.map((key, i) => [key, at(SHARES[i] ?? 1)]));
}
function selectRequests(document2, times, range, duration_ns, tids) {
  if (isWholeTime(range, duration_ns) && !range.threads) return document2;
  const isIn = (request) => request.begin_ns >= range.from && request.begin_ns < range.until && (!tids || tids.has(request.tid));
  const requests2 = document2.requests.filter(isIn), timelines = (document2.timelines ?? []).filter(isIn);
  const lengths = times ? times.length.filter((_, i) => times.begin[i] >= range.from && times.begin[i] < range.until && (!range.threads || range.threads.has(times.thread[i]))) : Float64Array.from(requests2, (request) => request.length_ns);
  lengths.sort().reverse();
  return { ...document2, count: lengths.length, latency: lengthQuantiles(lengths), requests: requests2, timelines, lengths };
}

// test/views-latency-selection.test.ts
function numbers(seed) {
  let state = seed;
  return () => {
    state = state + 1831565813 | 0;
    let t = Math.imul(state ^ state >>> 15, 1 | state);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return ((t ^ t >>> 14) >>> 0) / 2 ** 32;
  };
}
var DURATION = 1e9;
var BINS = 128;
var WIDTH = DURATION / BINS;
var UNIT = 128;
function bucketOf(ns) {
  const shift = ns < 64 ? 0 : Math.floor(Math.log2(ns)) - 5;
  return 1 + 32 * shift + Math.floor(ns / 2 ** shift);
}
function makeCalls(functions, each) {
  const random = numbers(7), calls2 = [];
  for (let f = 0; f < functions; f++)
    for (let i = 0; i < each; i++) {
      const length = Math.floor(2e3 * Math.exp(12 * random() ** 3));
      const queue = Math.floor(length * random() * 0.5), lock = Math.floor(length * random() * 0.5);
      calls2.push({
        f,
        thread: 1 + Math.floor(random() * 3),
        begin: Math.floor(random() * DURATION / UNIT) * UNIT,
        length,
        weight: f === 1 ? 4 : 1,
        parts: [length - queue - lock, queue, lock, 0, 0, 0]
      });
    }
  return calls2;
}
var KEYS = ["cpu_ns", "runqueue_ns", "lock_ns", "disk_ns", "network_ns", "other_ns"];
var sum = (values) => values.reduce((a, b) => a + b, 0);
function slowOf2(calls2) {
  const parts = Object.fromEntries(KEYS.map((key, i) => [key, sum(calls2.map((call) => call.parts[i]))]));
  return { ...parts, calls: calls2.length, ns: sum(calls2.map(({ length }) => length)), holders: [{ thread: 1, comm: "c", function: "h", ns: 1 }] };
}
function brute(name, calls2, shorts = 0) {
  const sorted = [...calls2].sort((a, b) => a.length - b.length), all = shorts + sum(sorted.map(({ weight }) => weight));
  const quantile = (q) => {
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
    name,
    caller: null,
    calls: all,
    total_ns: sum(sorted.map((call) => call.weight * call.length)),
    observed: 1,
    tail_ns: tail,
    slow: null,
    p50_ns: quantile(0.5),
    p90_ns: quantile(0.9),
    p99_ns: quantile(0.99),
    p999_ns: quantile(0.999),
    p9999_ns: quantile(0.9999),
    max_ns: sorted.at(-1)?.length ?? null
  };
}
var byFunction = (rows, rest) => rows.sort((a, b) => a.f - b.f || rest(a, b));
var gaps = (values) => Float64Array.from(values, (value, i) => value - (values[i - 1] ?? 0));
function tablesOf(calls2, slow2, shorts, functions) {
  const cells = /* @__PURE__ */ new Map();
  const add = (f, bin, bucket, n, observed, ns) => {
    const key = `${f} ${bin} ${bucket}`, cell = cells.get(key) ?? { f, bin, bucket, calls: 0, observed: 0, short_ns: 0 };
    cell.calls += n * 256;
    cell.observed += observed;
    cell.short_ns += ns;
    cells.set(key, cell);
  };
  for (const call of calls2) add(call.f, Math.floor(call.begin / WIDTH), bucketOf(call.length), call.weight, 1, 0);
  for (const { f, bin, n, ns } of shorts) add(f, bin, 0, n, n / 2, ns);
  const rows = byFunction([...cells.values()], (a, b) => a.bin - b.bin || a.bucket - b.bucket);
  const column = (key) => Float64Array.from(rows, (row) => row[key]);
  const slowest = byFunction([...slow2], (a, b) => a.begin - b.begin);
  return callTables(
    [gaps(rows.map(({ f }) => f)), column("bin"), column("bucket"), column("calls"), column("observed"), column("short_ns")],
    [
      gaps(slowest.map(({ f }) => f)),
      Float64Array.from(slowest, ({ thread }) => thread),
      gaps(slowest.map(({ begin }) => begin / UNIT)),
      Float64Array.from(slowest, ({ length }) => length),
      ...[1, 2, 3, 4, 5].map((part) => Float64Array.from(slowest, ({ parts }) => parts[part]))
    ],
    functions,
    { duration_ns: DURATION, unit_ns: UNIT, bins: BINS }
  );
}
var FUNCTIONS = 3;
var calls = makeCalls(FUNCTIONS, 6e3);
var of = (f) => calls.filter((call) => call.f === f);
var slow = [0, 1, 2].flatMap((f) => of(f).sort((a, b) => b.length - a.length).slice(0, 60));
var document = {
  resolution_ns: 1e3,
  shortest_ns: 100,
  longest_gap_ns: 1,
  functions: [0, 1, 2].map((f) => ({ ...brute(`f${f}`, of(f)), slow: slowOf2(slow.filter((call) => call.f === f)) }))
};
var tables = tablesOf(calls, slow, [], FUNCTIONS);
var isNear = (got, expected, share, what) => {
  assert.equal(got === null, expected === null, `${what}: ${got}, expected ${expected}`);
  if (got !== null && expected !== null) assert.ok(Math.abs(got - expected) <= share * expected + 1, `${what}: ${got}, expected ${expected}`);
};
test("buckets are at most 1/32 wide and follow each other", () => {
  assert.deepEqual([0, 1, 63, 64, 65, 66].map(bucketOf), [1, 2, 64, 65, 65, 66]);
  for (const ns of [0, 5, 63, 64, 100, 127, 128, 999, 4096, 1e6 + 1, 123456789, 2 ** 40 + 5]) {
    const middle = bucketMiddle(bucketOf(ns));
    assert.ok(Math.abs(middle - ns) <= ns / 64, `${ns}: ${middle}`);
    assert.equal(bucketOf(Math.round(middle)), bucketOf(ns));
  }
});
test("all of the time and all threads: the document itself", () => {
  const selected = selectCalls(document, tables, { from: 0, until: DURATION, threads: null });
  assert.equal(selected.document, document);
  assert.deepEqual([...selected.numbers.values()], [0, 1, 2]);
});
test("calls that began in a selection of whole bins are those of brute force", () => {
  for (const [first, last] of [[0, 16], [16, 48], [100, 128], [64, 65]]) {
    const range = { from: first * WIDTH, until: last * WIDTH, threads: null };
    const isIn = (call) => call.begin >= range.from && call.begin < range.until;
    const selected = selectCalls(document, tables, range);
    assert.equal(selected.document.functions.length, FUNCTIONS);
    for (const f of selected.document.functions) {
      const number = selected.numbers.get(f), expected = brute(f.name, of(number).filter(isIn)), what = `${first} to ${last}, ${f.name}`;
      assert.equal(f.calls, expected.calls, what);
      isNear(f.total_ns, expected.total_ns, 1 / 64, `${what}, total`);
      for (const key of ["p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns"]) isNear(f[key], expected[key], 1 / 64, `${what}, ${key}`);
      isNear(f.tail_ns, expected.tail_ns, 1 / 32, `${what}, tail`);
      isNear(f.observed, expected.observed / (number === 1 ? 4 : 1), 1e-9, `${what}, observed`);
      const chosen = slow.filter((call) => call.f === number && isIn(call));
      assert.deepEqual(f.slow, slowOf2(chosen), `${what}, slow calls`);
      isNear(f.max_ns, expected.max_ns, chosen.length ? 0 : 1 / 64, `${what}, max`);
      const listed = slowestCalls(tables, number, range, 5), longest = [...chosen].sort((a, b) => b.length - a.length || a.begin - b.begin).slice(0, 5);
      assert.deepEqual(listed, longest.map((call) => ({
        thread: call.thread,
        begin_ns: call.begin,
        length_ns: call.length,
        parts: Object.fromEntries(KEYS.map((key, i) => [key, call.parts[i]]))
      })), `${what}, the slowest calls`);
    }
  }
});
test("a part of a bin counts by its share", () => {
  const bin = (number) => of(0).filter((call) => Math.floor(call.begin / WIDTH) === number).length;
  const [f] = selectCalls(document, tables, { from: 10.75 * WIDTH, until: 12.5 * WIDTH, threads: null }).document.functions;
  assert.ok(Math.abs(f.calls - (bin(10) / 4 + bin(11) + bin(12) / 2)) < 1e-6);
  const [inside] = selectCalls(document, tables, { from: 10.25 * WIDTH, until: 10.5 * WIDTH, threads: null }).document.functions;
  assert.ok(Math.abs(inside.calls - bin(10) / 4) < 1e-6);
});
test("threads select slow calls; the rest stays exact", () => {
  const selected = selectCalls(document, tables, { from: 0, until: DURATION, threads: /* @__PURE__ */ new Set([2]) });
  for (const [number, f] of selected.document.functions.entries()) {
    const { slow: whole, ...rest } = document.functions[number], { slow: got, ...same } = f;
    assert.deepEqual(same, rest);
    assert.deepEqual(got, slowOf2(slow.filter((call) => call.f === number && call.thread === 2)));
    assert.ok(got.calls < whole.calls && got.calls > 0);
  }
});
test("short calls count below all others", () => {
  const shorts = [{ f: 0, bin: 3, n: 50, ns: 5e3 }, { f: 1, bin: 3, n: 1e6, ns: 1e8 }, { f: 2, bin: 90, n: 7, ns: 700 }];
  const range = { from: 0, until: 4 * WIDTH, threads: null };
  const selected = selectCalls(document, tablesOf(calls, slow, shorts, FUNCTIONS), range);
  for (const f of selected.document.functions) {
    const number = selected.numbers.get(f), own = shorts.filter((one) => one.f === number && one.bin < 4);
    const expected = brute(f.name, of(number).filter((call) => call.begin < range.until), sum(own.map(({ n }) => n)));
    assert.equal(f.calls, expected.calls);
    isNear(f.total_ns, expected.total_ns + sum(own.map(({ ns }) => ns)), 1 / 64, "total");
    for (const key of ["p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns"]) isNear(f[key], expected[key], 1 / 64, `${f.name} ${key}`);
  }
  assert.equal(selected.document.functions[1].p50_ns, null);
});
test("functions without a call in the selection are left out", () => {
  const early = calls.filter((call) => call.f !== 1 || call.begin < DURATION / 2), late = { from: 0.75 * DURATION, until: DURATION, threads: null };
  const selected = selectCalls(document, tablesOf(early, slow.filter((call) => early.includes(call)), [], FUNCTIONS), late);
  assert.deepEqual(selected.document.functions.map((f) => selected.numbers.get(f)), [0, 2]);
});
var requests = calls.map((call, id) => ({ id, source: "s", begin_ns: call.begin, length_ns: call.length, unread_ns: 0, tid: 100 + call.thread, peer: null })).sort((a, b) => b.length_ns - a.length_ns);
function bruteRequests(range, threads) {
  const lengths = requests.filter((one) => one.begin_ns >= range.from && one.begin_ns < range.until && (!threads || threads.includes(one.tid - 100))).map((one) => one.length_ns).sort((a, b) => a - b);
  const at = (share) => lengths[Math.max(1, Math.ceil(share * lengths.length)) - 1] ?? null;
  return { count: lengths.length, latency: { p50_ns: at(0.5), p90_ns: at(0.9), p99_ns: at(0.99), p999_ns: at(0.999), p9999_ns: at(0.9999), max_ns: at(1) } };
}
test("requests that began in the selection are exact, listed or from the table", () => {
  const all = bruteRequests({ from: 0, until: Infinity }, null), timelines = requests.slice(0, 20).map((one) => ({ ...one, items: [] }));
  const listed = { ...all, requests, timelines }, cut = { ...all, requests: requests.slice(0, 500), timelines };
  const inOrder = [...requests].sort((a, b) => a.begin_ns - b.begin_ns);
  const times = requestTimes([gaps(inOrder.map((one) => one.begin_ns / UNIT)), Float64Array.from(inOrder, (one) => one.length_ns), Float64Array.from(inOrder, (one) => one.tid - 100)], UNIT);
  for (const document2 of [listed, cut])
    for (const threads of [null, [2], [1, 3]])
      for (const range of [{ from: 0, until: DURATION }, { from: 123456789, until: 456789123 }, { from: 5, until: 6 }]) {
        const given = { ...range, threads: threads && new Set(threads) }, tids = threads && new Set(threads.map((thread) => 100 + thread));
        const got = selectRequests(document2, document2 === cut ? times : null, given, DURATION, tids), expected = bruteRequests(range, threads);
        assert.deepEqual({ count: got.count, latency: got.latency }, expected);
        const isIn = (one) => one.begin_ns >= range.from && one.begin_ns < range.until && (!tids || tids.has(one.tid));
        assert.deepEqual(got.requests, document2.requests.filter(isIn));
        assert.deepEqual(got.timelines, timelines.filter(isIn));
        if (range.from === 0 && !threads) assert.equal(got, document2);
        else assert.equal(got.lengths.length, got.count);
      }
});
