// test/views-latency-paths.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";

// src/views/path-tree.ts
var ABOUT_LIMIT = 2 ** 24;
var MOST_NODES = 2 ** 20;

// src/views/path-parts.ts
var leafTexts = {
  not_sampled: "running, not sampled",
  disk_active: "disk active",
  disk_queued: "disk queued",
  sleep: "timer",
  timeout: "timed out",
  delivery: "wakeup under way from",
  other_path: "other path of",
  not_recorded: "not recorded:",
  gap: "gap: events were lost"
};
function leafText(name) {
  return leafTexts[name] ?? name.replaceAll("_", " ");
}

// src/views/latency-paths.ts
function textOf(node2, lockNames) {
  if (node2.frame !== void 0) return node2.frame;
  if (node2.category !== void 0) return `[${leafText(node2.category)}]`;
  if (node2.kind !== void 0) return `waits: ${lockNames(node2.object ? `${node2.kind} ${node2.object}` : node2.kind)}`;
  return node2.tid ? `${node2.comm ?? "thread"}/${node2.tid}` : `${node2.comm ?? "thread"} (several)`;
}
function childrenOf(node2) {
  return (node2.children ?? []).flatMap((child) => child.frame !== void 0 && child.kernel ? childrenOf(child) : [child]);
}
function requestPathRows(document3, least, lockNames = (text) => text) {
  const slowRequests = Math.max(1, document3.requests.shown.length), others = Math.max(1, document3.requests.compared.count);
  const slow = (node2) => node2.total_ns / slowRequests, usual = (node2) => node2.compared_total_ns / others;
  const differs = (node2) => slow(node2) - usual(node2);
  const limit = least * Math.abs(document3.wall_ns / slowRequests - document3.requests.compared.wall_ns / others), rows = [];
  const add = (nodes, depth) => {
    for (const node2 of nodes.filter((one) => Math.abs(differs(one)) >= limit).sort((a, b) => differs(b) - differs(a))) {
      const texts = [textOf(node2, lockNames)];
      let last = node2, below = childrenOf(node2);
      while (last.frame !== void 0 && below.length === 1 && below[0].frame !== void 0 && Math.abs(differs(node2) - differs(below[0])) < limit / 2) {
        last = below[0];
        below = childrenOf(last);
        texts.push(textOf(last, lockNames));
      }
      rows.push({ texts, depth, slow: slow(node2), usual: usual(node2) });
      add(below, depth + 1);
    }
  };
  add(document3.tree, 0);
  return rows;
}

// test/views-latency-paths.test.ts
var node = (what, slow, usual, ...children) => ({ ...what, total_ns: slow * 2, compared_total_ns: usual * 4, children });
var document2 = {
  wall_ns: 200,
  verdict: "",
  categories: {},
  requests: { source: "tcp:1", shown: [{ length_ns: 100 }, { length_ns: 100 }], compared: { count: 4, wall_ns: 80, categories: {} } },
  tree: [node(
    { comm: "server", tid: 7 },
    100,
    20,
    node({ frame: "main" }, 98, 18, node(
      { frame: "serve" },
      98,
      18,
      node({ frame: "parse" }, 12, 12),
      node({ frame: "lock" }, 80, 6, node({ frame: "entry", kernel: true }, 80, 6, node({ kind: "futex", object: "0x10" }, 80, 6, node({ comm: "writer", tid: null }, 79, 6), node({ category: "run_queue" }, 1, 0))))
    )),
    node({ category: "preempted" }, 2, 2)
  )]
};
test("rows of a path are per request, the largest differences first, without the kernel", () => {
  const rows = requestPathRows(document2, 0.02, (text) => text.replace("0x10", "the_lock"));
  assert.deepEqual(rows.map(({ texts, depth, slow, usual }) => [texts.join(" > "), depth, slow, usual]), [
    ["server/7", 0, 100, 20],
    ["main > serve", 1, 98, 18],
    ["lock", 2, 80, 6],
    ["waits: futex the_lock", 3, 80, 6],
    ["writer (several)", 4, 79, 6]
  ]);
  assert.equal(requestPathRows(document2, 0.01).some(({ texts }) => texts[0] === "[run queue]"), true);
  assert.deepEqual(requestPathRows({ ...document2, tree: [] }, 0.02), []);
});
