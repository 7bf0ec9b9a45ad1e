// test/views-summary.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";

// src/data/index.ts
var unitText = (text) => text.replace(/(\d) us\b/g, "$1 \xB5s");
function readIndex(json) {
  const index = JSON.parse(json);
  for (const verdict of index.verdicts) verdict.text = unitText(verdict.text);
  for (const diagnostic of index.recordings.flatMap(({ diagnostics }) => diagnostics)) diagnostic.text = unitText(diagnostic.text);
  return index;
}

// src/ui/time.ts
function labelPlace(x, width, last, end) {
  const place = x + 3 + width <= end ? x + 3 : x - 3 - width;
  return place >= last + 4 ? place : null;
}

// src/views/summary-top.ts
var KERNEL = 1;
var KIND = 3;
var THREAD = 4;
var CHANNELS = 6;
var LIBRARY = /(^|\/)(libc|libpthread|ld-linux)[^/]*$/;
function waitingFunction(flame2, node) {
  let innermost = 0;
  for (let at = node; at > 0 && flame2.type[at] !== THREAD; at = flame2.parent[at]) {
    if (flame2.type[at] === KERNEL) continue;
    innermost ||= at;
    if (!LIBRARY.test(flame2.places[flame2.label[at]] ?? "") && !flame2.labels[flame2.label[at]].startsWith("_")) return at;
  }
  return innermost || node;
}
function topRows(flame2, most) {
  const rows = /* @__PURE__ */ new Map();
  for (let node = 1; node < flame2.parent.length; node++) {
    const ns = flame2.self[node];
    if (!(ns > 0)) continue;
    const isKind = flame2.type[node] === KIND;
    let at = isKind ? flame2.parent[node] : node;
    if (isKind) at = waitingFunction(flame2, at);
    const name = at > 0 && flame2.type[at] !== THREAD ? flame2.labels[flame2.label[at]] : "";
    const wait = isKind ? flame2.labels[flame2.label[node]] : "";
    let channel = 0;
    for (let c = 1; isKind && c < CHANNELS; c++)
      if (flame2.channels[node * CHANNELS + c] > flame2.channels[node * CHANNELS + channel]) channel = c;
    const key = `${wait}\0${name}\0${channel}`;
    const row = rows.get(key);
    if (row) row.ns += ns;
    else rows.set(key, { name, place: at > 0 ? flame2.places[flame2.label[at]] ?? "" : "", wait, channel, ns });
  }
  return [...rows.values()].sort((a, b) => b.ns - a.ns).slice(0, most);
}

// test/views-summary.test.ts
var FUNCTION = 0;
var KERNEL2 = 1;
var KIND2 = 3;
var THREAD2 = 4;
function flame(rows) {
  const nodes = [[-1, "", "", THREAD2, 0, 0], ...rows];
  const channels = new Float64Array(nodes.length * 6);
  nodes.forEach(([, , , , self, channel], node) => channels[node * 6 + channel] = self);
  return {
    total: nodes.reduce((sum, node) => sum + node[4], 0),
    labels: nodes.map((node) => node[1]),
    places: nodes.map((node) => node[2]),
    parent: nodes.map((node) => node[0]),
    label: nodes.map((_, node) => node),
    type: nodes.map((node) => node[3]),
    self: nodes.map((node) => node[4]),
    channels
  };
}
test("time is gathered by function, and waits are those of the function that calls the library", () => {
  const rows = topRows(flame([
    [0, "T1", "", THREAD2, 0, 0],
    [1, "work", "prog", FUNCTION, 50, 0],
    [2, "read", "/usr/lib/libc.so.6", FUNCTION, 0, 0],
    [3, "vfs_read", "[kernel]", KERNEL2, 5, 0],
    [4, "disk read", "", KIND2, 30, 1],
    [0, "T2", "", THREAD2, 0, 0],
    [6, "work", "prog", FUNCTION, 20, 0],
    [7, "pread", "libc.so.6", FUNCTION, 0, 0],
    [8, "disk read", "", KIND2, 7, 1]
  ]), 10);
  assert.deepEqual(rows.map((row) => [row.name, row.wait, row.channel, row.ns]), [
    ["work", "", 0, 70],
    ["work", "disk read", 1, 37],
    ["vfs_read", "", 0, 5]
  ]);
});
test("waits whose stack has only the kernel or the library keep what there is", () => {
  const rows = topRows(flame([
    [0, "kthread", "[kernel]", KERNEL2, 0, 0],
    [1, "idle", "", KIND2, 9, 5],
    [0, "nanosleep", "libc.so.6", FUNCTION, 0, 0],
    [3, "sleep", "", KIND2, 4, 4]
  ]), 1);
  assert.deepEqual(rows.map((row) => [row.name, row.wait]), [["kthread", "idle"]]);
});
test("the label of the last tick of an axis is left of it, and labels do not lie upon each other", () => {
  assert.equal(labelPlace(100, 40, 0, 500), 103);
  assert.equal(labelPlace(457, 40, 300, 500), 460);
  assert.equal(labelPlace(490, 40, 300, 500), 447);
  assert.equal(labelPlace(490, 40, 446, 500), null);
  assert.equal(labelPlace(200, 40, 199, 500), 203);
});
test("lengths in sentences are in the units of the page, and nothing else is changed", () => {
  assert.equal(unitText("now once in 3.5 us, 9.6 us; bus 5 users"), "now once in 3.5 \xB5s, 9.6 \xB5s; bus 5 users");
  const index = readIndex(JSON.stringify({
    version: 1,
    dwell: "",
    causal: [],
    recordings: [{ diagnostics: [{ label: "period", text: "at most 12.0 us", well: true }] }],
    verdicts: [{ recording: 0, view: "latency", text: "those at p50 143.2 us" }]
  }));
  assert.equal(index.verdicts[0].text, "those at p50 143.2 \xB5s");
  assert.equal(index.recordings[0].diagnostics[0].text, "at most 12.0 \xB5s");
});
