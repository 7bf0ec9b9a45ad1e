// test/views-path.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";

// src/views/path-tree.ts
var NODE_ROOT = 0;
var NODE_THREAD = 1;
var NODE_FRAME = 2;
var NODE_WAIT = 3;
var NODE_LEAF = 4;
var DID_RUN = 1;
var DID_SLEEP = 2;
var DID_IO = 4;
var DID_QUEUE = 8;
var ABOUT_LIMIT = 2 ** 24;
function categoryMeans(name) {
  if (name === "running" || name === "not_sampled") return DID_RUN;
  if (name.startsWith("disk")) return DID_IO;
  if (name === "run_queue" || name === "preempted") return DID_QUEUE;
  return DID_SLEEP;
}
function isInFunctions(name) {
  return name === "running";
}
var MOST_NODES = 2 ** 20;
var TreeBuilder = class {
  constructor(names2) {
    this.names = names2;
  }
  names;
  parent = [-1];
  kind = [NODE_ROOT];
  id = [0];
  depth = [0];
  children = /* @__PURE__ */ new Map();
  wide = /* @__PURE__ */ new Map();
  stackEnds = /* @__PURE__ */ new Map();
  isCut = false;
  child(parent, kind, id) {
    const low = id * 8 + kind;
    let known;
    const isNarrow = low < 2 ** 28 && parent < 2 ** 25;
    if (isNarrow) known = this.children.get(parent * 2 ** 28 + low);
    else known = this.wide.get(`${parent} ${low}`);
    if (known !== void 0) return known;
    const node = this.parent.length;
    if (node >= MOST_NODES) {
      this.isCut = true;
      return parent;
    }
    this.parent.push(parent);
    this.kind.push(kind);
    this.id.push(id);
    this.depth.push(this.depth[parent] + 1);
    if (isNarrow) this.children.set(parent * 2 ** 28 + low, node);
    else this.wide.set(`${parent} ${low}`, node);
    return node;
  }
  /** The node of the innermost function of `stack` below `parent`. */
  stack(parent, stack) {
    if (stack === 0) return parent;
    const key = parent * 2 ** 26 + stack;
    const known = this.stackEnds.get(key);
    if (known !== void 0) return known;
    const frames2 = [];
    for (let at = this.names.node(stack); at !== 0; at = this.names.caller(at)) {
      const frame = this.names.frame(at);
      if (frame >= 0) frames2.push(frame);
    }
    let node = parent;
    for (let i = frames2.length; i-- > 0; ) node = this.child(node, NODE_FRAME, frames2[i]);
    if (this.stackEnds.size < MOST_NODES) this.stackEnds.set(key, node);
    return node;
  }
};
function buildPathTree(path, names2) {
  const { levels, steps } = path;
  const tree = new TreeBuilder(names2);
  const levelNode = new Int32Array(levels.thread.length);
  for (let level = 0; level < levelNode.length; level++) {
    const waiter = levels.waiter[level];
    let node = 0;
    if (waiter >= 0) {
      node = tree.stack(levelNode[waiter], names2.waitStack(level));
      node = tree.child(node, NODE_WAIT, names2.waitKind(level));
    }
    levelNode[level] = tree.child(node, NODE_THREAD, names2.threadKey(levels.thread[level]));
  }
  const count = steps.level.length;
  const leafOf = new Int32Array(count);
  const inFunctions = path.categories.map(isInFunctions);
  for (let step = 0; step < count; step++) {
    const category = steps.category[step];
    let node = tree.stack(levelNode[steps.level[step]], steps.stack[step]);
    if (!inFunctions[category] || steps.stack[step] === 0)
      node = tree.child(node, NODE_LEAF, category * ABOUT_LIMIT + steps.about[step]);
    leafOf[step] = node;
  }
  const did = Uint8Array.from(path.categories, categoryMeans);
  return { parent: tree.parent, kind: tree.kind, id: tree.id, depth: tree.depth, levelNode, leafOf, did, isCut: tree.isCut };
}
function flagAbove(kind, flags) {
  if (kind === NODE_THREAD) return DID_SLEEP;
  if (kind === NODE_FRAME) return flags;
  return flags & DID_RUN ? flags : DID_SLEEP;
}
function stepAt(path, time) {
  const from = path.steps.from;
  let low = 0;
  let high = from.length - 1;
  while (low < high) {
    const middle = low + high >>> 1;
    if (from[middle + 1] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}
function sumPath(path, tree, from, until) {
  const nodes = tree.parent.length;
  const self = new Float64Array(nodes);
  const count = new Float64Array(nodes);
  const did = new Uint8Array(nodes);
  const categories2 = new Float64Array(path.categories.length);
  const { steps } = path;
  for (let step = stepAt(path, from); step < steps.level.length; step++) {
    const begin = Math.max(from, steps.from[step]);
    const end = Math.min(until, steps.from[step + 1]);
    if (begin >= until) break;
    if (end <= begin) continue;
    const node = tree.leafOf[step];
    const category = steps.category[step];
    self[node] = self[node] + end - begin;
    count[node] = count[node] + 1;
    did[node] = did[node] | tree.did[category];
    categories2[category] = categories2[category] + end - begin;
  }
  const total = Float64Array.from(self);
  for (let node = nodes; node-- > 1; ) {
    if (total[node] === 0) continue;
    const parent = tree.parent[node];
    total[parent] = total[parent] + total[node];
    count[parent] = count[parent] + count[node];
    did[parent] = did[parent] | flagAbove(tree.kind[node], did[node]);
  }
  return { self, total, count, did, categories: categories2 };
}
function sortedChildren(tree, sums) {
  const nodes = tree.parent.length;
  const first = new Int32Array(nodes + 1);
  for (let node = 1; node < nodes; node++)
    if (sums.total[node] > 0) first[tree.parent[node] + 1]++;
  for (let node = 0; node < nodes; node++) first[node + 1] += first[node];
  const list = new Int32Array(first[nodes]);
  const next = Int32Array.from(first);
  for (let node = 1; node < nodes; node++)
    if (sums.total[node] > 0) list[next[tree.parent[node]]++] = node;
  for (let node = 0; node < nodes; node++)
    if (first[node + 1] - first[node] > 1)
      list.subarray(first[node], first[node + 1]).sort((a, b) => sums.total[b] - sums.total[a] || a - b);
  return { first, list };
}
function consolidatedBlocks(tree, sums, root, columns) {
  const blocks = [];
  const scale = columns / Math.max(1, sums.total[root]);
  const { first, list } = sortedChildren(tree, sums);
  const pending = [{ node: root, row: 0, from: 0 }];
  for (let at = pending.pop(); at; at = pending.pop()) {
    const { node, row, from } = at;
    const x0 = from * scale;
    const x1 = (from + sums.total[node]) * scale;
    if (x1 - x0 < 0.5) continue;
    const hasRow = node !== 0;
    if (hasRow) blocks.push({ node, row, x0, x1, did: sums.did[node] });
    let begin = from;
    for (let i = first[node]; i < first[node + 1]; i++) {
      const child = list[i];
      pending.push({ node: child, row: hasRow ? row + 1 : row, from: begin });
      begin += sums.total[child];
    }
  }
  return blocks;
}
function dominantSteps(path, from, until, columns) {
  const dominant = new Int32Array(columns).fill(-1);
  const longest = new Float64Array(columns);
  const width = (until - from) / columns;
  const { steps } = path;
  if (!(width > 0)) return dominant;
  for (let step = stepAt(path, from); step < steps.level.length; step++) {
    const begin = Math.max(from, steps.from[step]);
    const end = Math.min(until, steps.from[step + 1]);
    if (begin >= until) break;
    if (end <= begin) continue;
    const last = Math.min(columns - 1, Math.floor((end - from) / width));
    for (let column = Math.min(columns - 1, Math.floor((begin - from) / width)); column <= last; column++) {
      const inside = Math.min(end, from + (column + 1) * width) - Math.max(begin, from + column * width);
      if (inside <= longest[column]) continue;
      longest[column] = inside;
      dominant[column] = step;
    }
  }
  return dominant;
}
function chronologicalBlocks(path, tree, dominant) {
  const blocks = [];
  const openNode = [];
  const openAt = [];
  const openDid = [];
  const nodes = [];
  const flags = [];
  let previous = -2;
  const close = (row, column) => {
    while (openNode.length > row) {
      const did = openDid.pop();
      blocks.push({ node: openNode.pop(), row: openNode.length, x0: openAt.pop(), x1: column, did });
    }
  };
  for (let column = 0; column < dominant.length; column++) {
    const step = dominant[column];
    if (step === previous) continue;
    previous = step;
    nodes.length = flags.length = 0;
    if (step >= 0) {
      let did = tree.did[path.steps.category[step]];
      for (let node = tree.leafOf[step]; node > 0; node = tree.parent[node]) {
        nodes.push(node);
        flags.push(did);
        did = flagAbove(tree.kind[node], did);
      }
      nodes.reverse();
      flags.reverse();
    }
    let same = 0;
    while (same < nodes.length && openNode[same] === nodes[same]) {
      openDid[same] |= flags[same];
      same++;
    }
    close(same, column);
    for (let row = same; row < nodes.length; row++) {
      openNode.push(nodes[row]);
      openAt.push(column);
      openDid.push(flags[row]);
    }
  }
  close(0, dominant.length);
  return blocks;
}
var CELL_RUN = 0;
var CELL_IO = 1;
var CELL_QUEUE = 2;
var CELL_SLEEP = 3;
var CELL_WAITS = 4;
var CELL_PARTS = 5;
function pathThreads(path, from, until) {
  const { levels } = path;
  const times = /* @__PURE__ */ new Map();
  for (let level = 0; level < levels.thread.length; level++) {
    const begin = Math.max(from, levels.from[level]);
    const end = Math.min(until, levels.from[level] + levels.length[level]);
    if (begin >= until) break;
    if (end <= begin) continue;
    const thread = levels.thread[level];
    const base = levels.depth[level] === 0 ? 2 ** 60 : 0;
    times.set(thread, (times.get(thread) ?? 0) + base + end - begin);
  }
  return [...times].sort((a, b) => b[1] - a[1]).map(([thread]) => thread);
}
function cellPart(did) {
  if (did === DID_RUN) return CELL_RUN;
  if (did === DID_IO) return CELL_IO;
  if (did === DID_QUEUE) return CELL_QUEUE;
  return CELL_SLEEP;
}
function processCells(path, tree, threads, from, until, columns) {
  const rowOf = new Map(threads.map((thread, row) => [thread, row]));
  const cells = new Float32Array(threads.length * columns * CELL_PARTS);
  const change = new Float32Array(threads.length * (columns + 1));
  const width = (until - from) / columns;
  if (!(width > 0)) return cells;
  const add = (row, part, begin, end) => {
    const low = (Math.max(begin, from) - from) / width;
    const high = (Math.min(end, until) - from) / width;
    if (high <= low) return;
    const first = Math.min(columns - 1, Math.floor(low));
    const last = Math.min(columns - 1, Math.floor(high));
    const cell = row * columns;
    if (first === last) {
      cells[(cell + first) * CELL_PARTS + part] += high - low;
      return;
    }
    cells[(cell + first) * CELL_PARTS + part] += first + 1 - low;
    cells[(cell + last) * CELL_PARTS + part] += high - last;
    if (part === CELL_WAITS) {
      change[row * (columns + 1) + first + 1]++;
      change[row * (columns + 1) + last]--;
    } else for (let column = first + 1; column < last; column++) cells[(cell + column) * CELL_PARTS + part]++;
  };
  const { levels, steps } = path;
  for (let level = 0; level < levels.thread.length; level++) {
    const row = rowOf.get(levels.thread[level]);
    const begin = levels.from[level];
    const end = begin + levels.length[level];
    if (begin >= until) break;
    if (row !== void 0 && end > from) add(row, CELL_WAITS, begin, end);
  }
  for (let row = 0; row < threads.length; row++) {
    let open = 0;
    for (let column = 0; column < columns; column++) {
      open += change[row * (columns + 1) + column];
      cells[(row * columns + column) * CELL_PARTS + CELL_WAITS] += open;
    }
  }
  for (let step = stepAt(path, from); step < steps.level.length; step++) {
    const begin = steps.from[step];
    if (begin >= until) break;
    const row = rowOf.get(levels.thread[steps.level[step]]);
    if (row !== void 0) add(row, cellPart(tree.did[steps.category[step]]), begin, steps.from[step + 1]);
  }
  for (let at = 0; at < cells.length; at += CELL_PARTS) {
    let own = 0;
    for (let part = 0; part < CELL_WAITS; part++) own += cells[at + part];
    cells[at + CELL_WAITS] = Math.max(0, Math.min(1 - own, cells[at + CELL_WAITS] - own));
  }
  return cells;
}
function pathLinks(path, from, until, shortest, limit) {
  const links = [];
  const { levels } = path;
  for (let level = 0; level < levels.thread.length && links.length < limit; level++) {
    const begin = levels.from[level];
    const end = begin + levels.length[level];
    const waiter = levels.waiter[level];
    if (begin >= until) break;
    if (end < from || waiter < 0 || levels.length[level] < shortest) continue;
    const outer = levels.thread[waiter];
    const inner = levels.thread[level];
    if (outer === inner) continue;
    if (begin >= from) links.push({ time: begin, fromThread: outer, toThread: inner });
    if (end < until) links.push({ time: end, fromThread: inner, toThread: outer });
  }
  return links;
}

// src/views/path-data.ts
function pathTables(info, levels, steps, unit = 1) {
  const [thread, depth, fromGap, length, up] = levels;
  const [levelGap, stepLength, category, stack, about] = steps;
  const from = new Float64Array(fromGap.length);
  let time = 0;
  for (let i = 0; i < from.length; i++) from[i] = (time += fromGap[i]) * unit;
  const level = new Int32Array(levelGap.length);
  let row = 0;
  for (let i = 0; i < level.length; i++) level[i] = row += levelGap[i];
  const stepFrom = new Float64Array(stepLength.length + 1);
  stepFrom[0] = info.from * unit;
  for (let i = 0; i < stepLength.length; i++) stepFrom[i + 1] = stepFrom[i] + stepLength[i] * unit;
  return {
    from: info.from * unit,
    until: stepFrom[stepLength.length],
    categories: info.names,
    levels: { thread, depth, from, length: length.map((units) => units * unit), waiter: Int32Array.from(up, (rows, i) => rows > 0 ? i - rows : -1) },
    steps: { level, from: stepFrom, category, stack, about }
  };
}
function waitPlaces(path) {
  const { thread, from, waiter } = path.levels, threads = [], times = [];
  for (let level = 0; level < thread.length; level++) {
    const above = waiter[level];
    threads.push(above < 0 ? 0 : thread[above]);
    times.push(from[level]);
  }
  return { threads, times };
}

// test/views-path.test.ts
var categories = ["running", "not_sampled", "disk_active", "run_queue", "sleep"];
function pathProblems(path) {
  const problems = [];
  const { levels, steps } = path;
  const count = steps.level.length;
  if (steps.from.length !== count + 1) problems.push("steps: no end");
  if (count > 0 && steps.from[0] !== path.from) problems.push("steps do not begin with the path");
  if (count > 0 && steps.from[count] !== path.until) problems.push("steps do not end with the path");
  for (let step = 0; step < count; step++) {
    const level = steps.level[step];
    if (steps.from[step + 1] <= steps.from[step]) problems.push(`step ${step} is empty`);
    if (level < 0 || level >= levels.thread.length) problems.push(`step ${step} has no level`);
    else if (steps.from[step] < levels.from[level] || steps.from[step + 1] > levels.from[level] + levels.length[level])
      problems.push(`step ${step} is outside of its level`);
  }
  for (let level = 0; level < levels.thread.length; level++) {
    const waiter = levels.waiter[level];
    if (waiter >= level) problems.push(`level ${level} begins before the one that waits for it`);
    else if (waiter >= 0 && (levels.from[level] < levels.from[waiter] || levels.from[level] + levels.length[level] > levels.from[waiter] + levels.length[waiter]))
      problems.push(`level ${level} is longer than the wait for it`);
  }
  return problems;
}
function randomNumbers(seed) {
  let state = seed >>> 0;
  return (limit) => {
    state = Math.imul(state, 1664525) + 1013904223 >>> 0;
    return Math.floor(state / 2 ** 32 * limit);
  };
}
function randomPath(seed) {
  const random = randomNumbers(seed);
  const levels = { thread: [0], depth: [0], from: [100], length: [0], waiter: [-1] };
  const steps = { level: [], from: [100], category: [], stack: [], about: [] };
  const open = [0];
  let time = 100;
  for (let i = 0; i < 400; i++) {
    const length = 1 + random(50);
    steps.level.push(open.at(-1));
    steps.category.push(random(categories.length));
    steps.stack.push(random(6));
    steps.about.push(random(3));
    time += length;
    steps.from.push(time);
    if (random(3) === 0) {
      levels.thread.push(random(8));
      levels.depth.push(open.length);
      levels.from.push(time);
      levels.length.push(0);
      levels.waiter.push(open.at(-1));
      open.push(levels.thread.length - 1);
    } else if (random(3) === 0 && open.length > 1) levels.length[open.at(-1)] = time - levels.from[open.pop()];
  }
  steps.level.push(open.at(-1));
  steps.category.push(0);
  steps.stack.push(1);
  steps.about.push(0);
  time += 10;
  steps.from.push(time);
  for (const level of open) levels.length[level] = time - levels.from[level];
  return { from: 100, until: time, categories, levels, steps };
}
var callers = [0, 0, 1, 2, 1, 0];
var frames = [0, 1, 2, 3, 4, 5];
var names = {
  node: (stack) => stack,
  caller: (stack) => callers[stack],
  frame: (stack) => frames[stack],
  threadKey: (thread) => thread % 5,
  waitStack: (level) => level % 6,
  waitKind: (level) => level % 3
};
test("every ns of a path is in exactly one step", () => {
  for (let seed = 1; seed <= 50; seed++) {
    const path = randomPath(seed);
    assert.deepEqual(pathProblems(path), []);
    for (let time = path.from; time < path.until; time += 37) {
      const holders = path.steps.level.length;
      let found = 0;
      for (let step2 = 0; step2 < holders; step2++)
        if (path.steps.from[step2] <= time && time < path.steps.from[step2 + 1]) found++;
      assert.equal(found, 1);
      const step = stepAt(path, time);
      assert.ok(path.steps.from[step] <= time && time < path.steps.from[step + 1]);
    }
  }
});
test("tables with gaps or steps outside of their level are reported", () => {
  const path = randomPath(3);
  assert.notDeepEqual(pathProblems({ ...path, until: path.until + 1 }), []);
  const level = Array.from(path.steps.level, (_, i) => i === 0 ? path.levels.thread.length - 1 : path.steps.level[i]);
  assert.notDeepEqual(pathProblems({ ...path, steps: { ...path.steps, level } }), []);
});
test("consolidated sums equal the account, in any window", () => {
  for (let seed = 1; seed <= 30; seed++) {
    const path = randomPath(seed);
    const tree = buildPathTree(path, names);
    const random = randomNumbers(seed * 7);
    for (let i = 0; i < 10; i++) {
      const from = path.from + random(path.until - path.from);
      const until = from + 1 + random(path.until - from);
      const sums = sumPath(path, tree, from, until);
      const expected = new Float64Array(categories.length);
      for (let step = 0; step < path.steps.level.length; step++) {
        const inside = Math.min(until, path.steps.from[step + 1]) - Math.max(from, path.steps.from[step]);
        if (inside > 0) expected[path.steps.category[step]] += inside;
      }
      assert.deepEqual(sums.categories, expected);
      assert.equal(sums.total[0], until - from);
      assert.equal(sums.self.reduce((a, b) => a + b, 0), until - from);
    }
  }
});
test("a node has the time of its children and its own", () => {
  const path = randomPath(9);
  const tree = buildPathTree(path, names);
  const sums = sumPath(path, tree, path.from, path.until);
  const total = Float64Array.from(sums.self);
  for (let node = tree.parent.length; node-- > 1; ) total[tree.parent[node]] += total[node];
  assert.deepEqual(total, sums.total);
});
test("functions that ran and waited have both flags, what waited for another thread slept", () => {
  const path = {
    from: 0,
    until: 40,
    categories,
    levels: { thread: [0, 1], depth: [0, 1], from: [0, 10], length: [40, 20], waiter: [-1, 0] },
    steps: { level: [0, 1, 1, 0], from: [0, 10, 20, 30, 40], category: [0, 0, 2, 0], stack: [2, 5, 5, 2], about: [0, 0, 7, 0] }
  };
  const tree = buildPathTree(path, { ...names, threadKey: (thread) => thread, waitStack: () => 3 });
  const sums = sumPath(path, tree, 0, 40);
  const find = (kind, id) => tree.kind.findIndex((k, node) => k === kind && tree.id[node] === id);
  assert.equal(sums.did[find(NODE_FRAME, 2)], DID_RUN | DID_SLEEP);
  assert.equal(sums.did[find(NODE_FRAME, 3)], DID_SLEEP);
  assert.equal(sums.did[find(NODE_FRAME, 5)], DID_RUN | DID_SLEEP);
  assert.equal(sums.did[tree.kind.indexOf(NODE_LEAF)], DID_IO);
  assert.equal(sums.total[find(NODE_THREAD, 1)], 20);
  assert.equal(sums.total[find(NODE_FRAME, 2)], 40);
});
test("chronological blocks cover each column, nested and without overlap", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const path = randomPath(seed);
    const tree = buildPathTree(path, names);
    const columns = 200;
    const dominant = dominantSteps(path, path.from, path.until, columns);
    const blocks = chronologicalBlocks(path, tree, dominant);
    const cover = /* @__PURE__ */ new Map();
    for (const block of blocks) {
      const row = cover.get(block.row) ?? new Int32Array(columns).fill(-1);
      cover.set(block.row, row);
      for (let x = block.x0; x < block.x1; x++) {
        assert.equal(row[x], -1);
        row[x] = block.node;
      }
    }
    for (let x = 0; x < columns; x++) {
      const chain = [];
      for (let node = tree.leafOf[dominant[x]]; node > 0; node = tree.parent[node]) chain.push(node);
      chain.reverse();
      assert.deepEqual(chain, chain.map((_, row) => cover.get(row)[x]));
    }
  }
});
test("consolidated blocks lie within their parents, the longest first", () => {
  const path = randomPath(5);
  const tree = buildPathTree(path, names);
  const sums = sumPath(path, tree, path.from, path.until);
  const blocks = consolidatedBlocks(tree, sums, 0, 1e6);
  const of = new Map(blocks.map((block) => [block.node, block]));
  for (const block of blocks) {
    assert.ok(Math.abs(block.x1 - block.x0 - sums.total[block.node] / sums.total[0] * 1e6) < 1e-3);
    const parent = of.get(tree.parent[block.node]);
    if (!parent) continue;
    assert.equal(block.row, parent.row + 1);
    assert.ok(block.x0 >= parent.x0 - 1e-6 && block.x1 <= parent.x1 + 1e-6);
  }
});
test("cells of the process view add up to the steps and levels", () => {
  for (let seed = 1; seed <= 10; seed++) {
    const path = randomPath(seed);
    const tree = buildPathTree(path, names);
    const threads = pathThreads(path, path.from, path.until);
    const columns = 50;
    const cells = processCells(path, tree, threads, path.from, path.until, columns);
    let own = 0;
    for (let at = 0; at < cells.length; at += CELL_PARTS) {
      for (let part = 0; part < CELL_WAITS; part++) own += cells[at + part];
      assert.ok(cells[at + CELL_WAITS] >= 0 && cells[at + CELL_WAITS] <= 1.001);
    }
    assert.ok(Math.abs(own - columns) < 0.01, `${own} columns of ${columns}`);
  }
});
test("tables of the page become absolute times, and each level has the place of the wait for it", () => {
  const info = { thread: 1, from: 10, until: 60, wall_ns: 50, accounted_ns: 50, categories: {}, names: categories };
  const numbers = (...list) => Float64Array.from(list);
  const path = pathTables(info, [
    numbers(1, 2, 1, 2),
    numbers(0, 1, 2, 1),
    numbers(10, 10, 5, 25),
    numbers(50, 15, 5, 5),
    numbers(0, 1, 1, 3)
  ], [
    numbers(0, 1, 1, -1, -1, 3, -3),
    numbers(10, 5, 5, 5, 25, 5, 5),
    numbers(0, 0, 0, 3, 0, 0, 0),
    numbers(1, 5, 1, 5, 1, 5, 1),
    numbers(0, 0, 0, 0, 0, 0, 0)
  ]);
  assert.deepEqual([...path.levels.waiter], [-1, 0, 1, 0]);
  assert.deepEqual([...path.levels.from], [10, 20, 25, 50]);
  assert.deepEqual([...path.steps.level], [0, 1, 2, 1, 0, 3, 0]);
  assert.equal(path.until, 70);
  assert.deepEqual(waitPlaces(path), { threads: [0, 1, 2, 1], times: [10, 20, 25, 50] });
});
test("links connect the waiter and the thread that it waited for", () => {
  const path = randomPath(11);
  for (const link of pathLinks(path, path.from, path.until, 0, 1e3)) assert.notEqual(link.fromThread, link.toThread);
  assert.ok(pathLinks(path, path.from, path.until, 0, 3).length <= 4);
});
test("a path of many levels needs no stack of its own", () => {
  const depth = 5e4;
  const count = (value) => Array.from({ length: depth }, (_, i) => value(i));
  const path = {
    from: 0,
    until: depth,
    categories,
    levels: { thread: count((i) => i), depth: count((i) => i), from: count(() => 0), length: count(() => depth), waiter: count((i) => i - 1) },
    steps: { level: [depth - 1], from: [0, depth], category: [0], stack: [1], about: [0] }
  };
  const tree = buildPathTree(path, { ...names, threadKey: (thread) => thread });
  assert.equal(sumPath(path, tree, 0, depth).total[0], depth);
  assert.ok(consolidatedBlocks(tree, sumPath(path, tree, 0, depth), 0, 100).length > depth);
});
