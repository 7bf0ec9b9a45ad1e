// test/views-latency.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";

// src/views/summary-parts.ts
function percentText(share, digits = 1) {
  const text = (share * 100).toFixed(digits);
  return `${Number(text) === 0 ? text.replace("-", "") : text}%`;
}
function countText(count) {
  return Math.round(count).toLocaleString("en-US");
}

// src/views/latency-locks.ts
var FIRST = 25;
var LEAST = 1e-3;
function firstLocks(locks) {
  const waiting = (from) => locks.slice(from).reduce((sum, lock) => sum + lock.wait_ns, 0), all = Math.max(1, waiting(0));
  return {
    first: Math.max(1, Math.min(FIRST, locks.filter((lock) => lock.wait_ns >= LEAST * all).length)),
    rest: (shown) => `and ${countText(locks.length - shown)} more, ${percentText(waiting(shown) / all)} of the waiting`
  };
}

// src/views/latency-shape.ts
function logTicks(low, high) {
  const ticks = [];
  const decades = Math.log10(high / low);
  const steps = decades <= 1.5 ? [1, 2, 5] : [1];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    for (const step of steps) {
      const tick = step * 10 ** power;
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  return ticks;
}
function logScale(low, high) {
  const from = Math.max(1, low) / 1.15;
  const to = Math.max(from * 2, high * 1.15);
  const base = Math.log(from);
  const width = Math.log(to) - base;
  return {
    low: from,
    high: to,
    at: (value) => Math.min(1, Math.max(0, (Math.log(Math.max(value, from)) - base) / width)),
    ticks: logTicks(from, to)
  };
}
function tailPoints(sorted, limit) {
  const points = [];
  const count = sorted.length;
  let last = -1;
  for (let i = 0; i < limit; i++) {
    const index = count === 1 ? 0 : Math.round(count ** (i / Math.max(1, limit - 1))) - 1;
    if (index === last || index >= count) continue;
    last = index;
    points.push({ ns: sorted[index], above: (index + 1) / count });
  }
  return points;
}
function histogram(values, scale, bins) {
  const counts = new Array(bins).fill(0);
  for (let i = 0; i < values.length; i++)
    counts[Math.min(bins - 1, Math.floor(scale.at(values[i]) * bins))]++;
  return counts;
}
function isHolderItem(item2) {
  return item2.type.startsWith("holder");
}
function layoutTimeline(items) {
  const lanes = /* @__PURE__ */ new Map();
  let length = 0;
  for (const item2 of items) {
    length = Math.max(length, item2.begin_ns + item2.length_ns);
    const lane = lanes.get(item2.tid);
    if (lane) {
      lane.low = Math.min(lane.low, item2.depth);
      lane.high = Math.max(lane.high, item2.depth);
      lane.isHolder &&= isHolderItem(item2);
    } else lanes.set(item2.tid, { low: item2.depth, high: item2.depth, isHolder: isHolderItem(item2) });
  }
  const placed = /* @__PURE__ */ new Map();
  let row = 0;
  for (const [tid, lane] of lanes) {
    const rows = lane.high - lane.low + 1;
    placed.set(tid, { tid, row, rows, isHolder: lane.isHolder });
    row += rows;
  }
  const boxes = items.map((item2) => {
    const lane = placed.get(item2.tid);
    return { item: item2, row: lane.row + item2.depth - lanes.get(item2.tid).low };
  });
  return { lanes: [...placed.values()], boxes, rows: row, length_ns: length };
}
function timelineCauses(items, length_ns) {
  const own = items.filter((item2) => !isHolderItem(item2) && item2.type !== "thread" && item2.length_ns > 0);
  const events = [];
  own.forEach((item2, index) => {
    events.push({ at: Math.max(0, item2.begin_ns), item: index, begins: true });
    events.push({ at: Math.min(length_ns, item2.begin_ns + item2.length_ns), item: index, begins: false });
  });
  events.sort((a, b) => a.at - b.at || Number(a.begins) - Number(b.begins));
  const rank = (item2) => item2.type === "call" ? item2.depth : 1e6 + item2.depth;
  const open = /* @__PURE__ */ new Set();
  const sums = /* @__PURE__ */ new Map();
  let last = 0;
  const add = (until) => {
    if (until <= last) return;
    let best = -1;
    for (const index of open) if (best < 0 || rank(own[index]) > rank(own[best])) best = index;
    const item2 = best < 0 ? null : own[best];
    const key = item2 ? `${item2.type} ${item2.kind} ${item2.object} ${item2.for} ${item2.function}` : "";
    const sum = sums.get(key);
    if (sum) sum.ns += until - last;
    else sums.set(key, { item: item2, ns: until - last });
    last = until;
  };
  for (const event of events) {
    add(event.at);
    if (event.begins) open.add(event.item);
    else open.delete(event.item);
  }
  add(length_ns);
  return [...sums.values()].sort((a, b) => b.ns - a.ns);
}

// test/views-latency.test.ts
function item(type, begin_ns, length_ns, depth, more = {}) {
  return { type, begin_ns, length_ns, depth, tid: 1, function: "f", ...more };
}
test("a logarithmic scale has its values in order, and ticks inside", () => {
  const scale = logScale(245, 4436805);
  assert.ok(scale.at(245) > 0 && scale.at(4436805) < 1 && scale.at(1e3) < scale.at(2e3));
  assert.deepEqual(scale.ticks, [1e3, 1e4, 1e5, 1e6]);
  assert.deepEqual(logTicks(1, 10), [1, 2, 5, 10]);
  assert.equal(logScale(0, 0).at(5), 1);
});
test("the tail has the longest and the shortest value", () => {
  const sorted = Float64Array.from({ length: 30514 }, (_, i) => 1e7 - i);
  const points = tailPoints(sorted, 50);
  assert.equal(points[0].ns, 1e7);
  assert.ok(Math.abs(points[0].above - 1 / 30514) < 1e-12);
  assert.equal(points.at(-1).above, 1);
  assert.ok(points.length <= 50);
  assert.equal(tailPoints([5], 50).length, 1);
  assert.deepEqual(tailPoints([], 50), []);
});
test("a histogram counts every value once", () => {
  const values = [1, 10, 100, 1e3, 5e3];
  assert.equal(histogram(values, logScale(1, 5e3), 7).reduce((a, b) => a + b, 0), values.length);
});
test("a timeline has a lane for each thread, and its calls nested", () => {
  const layout = layoutTimeline([
    item("call", 0, 100, 0),
    item("call", 10, 50, 1),
    item("wait", 20, 30, 2, { function: null, for: 2 }),
    item("holder's call", 20, 30, 3, { tid: 2 }),
    item("holder's call", 25, 10, 4, { tid: 2 })
  ]);
  assert.deepEqual(layout.lanes, [
    { tid: 1, row: 0, rows: 3, isHolder: false },
    { tid: 2, row: 3, rows: 2, isHolder: true }
  ]);
  assert.deepEqual(layout.boxes.map((box) => box.row), [0, 1, 2, 3, 4]);
  assert.equal(layout.rows, 5);
  assert.equal(layout.length_ns, 100);
});
test("the causes of a request add up to its length", () => {
  const items = [
    item("call", 0, 100, 0, { function: "outer" }),
    item("call", 10, 50, 1, { function: "inner" }),
    item("wait", 20, 30, 2, { function: null, kind: "futex" }),
    item("holder's call", 20, 30, 3, { tid: 2 }),
    item("wait", 70, 5, 1, { function: null, kind: "futex" })
  ];
  const causes = timelineCauses(items, 120);
  assert.equal(causes.reduce((sum, cause) => sum + cause.ns, 0), 120);
  assert.deepEqual(causes.map((cause) => [cause.item?.function ?? cause.item?.kind ?? "rest", cause.ns]), [
    ["outer", 45],
    ["futex", 35],
    ["inner", 20],
    ["rest", 20]
  ]);
});
test("locks with next to no waiting are counted, not listed", () => {
  const locks = [500, 499.6, 0.3, 0.1].map((wait_ns) => ({ wait_ns })), { first, rest } = firstLocks(locks);
  assert.equal(first, 2);
  assert.equal(rest(2), "and 2 more, 0.0% of the waiting");
  const many = firstLocks(Array.from({ length: 100 }, () => ({ wait_ns: 10 })));
  assert.equal(many.first, 25);
  assert.equal(many.rest(25), "and 75 more, 75.0% of the waiting");
  assert.equal(firstLocks([]).first, 1);
});
