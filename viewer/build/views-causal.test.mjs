// test/views-causal.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";

// src/views/causal-curve.ts
function curveKey(target2) {
  return `${target2.target}\0${target2.also}\0${target2.point}`;
}
function groupCurves(documents) {
  const groups = /* @__PURE__ */ new Map();
  documents.forEach((document, profile2) => {
    for (const target2 of document.targets) {
      const key = curveKey(target2);
      const group = groups.get(key);
      if (group) group.curves.push({ profile: profile2, target: target2 });
      else
        groups.set(key, {
          key,
          target: target2.target,
          also: target2.also,
          point: target2.point,
          pointKind: target2.point_kind,
          curves: [{ profile: profile2, target: target2 }]
        });
    }
  });
  const rank = ["gain", "plateau", "contention", "unsure", "no-effect"];
  const best = (group) => Math.min(...group.curves.map((curve) => (rank.indexOf(curve.target.shape) + rank.length) % rank.length));
  const gain = (group) => documents.length < 2 ? 0 : Math.max(0, ...group.curves.filter(({ target: target2 }) => rank.indexOf(target2.shape) < 2).map(({ target: target2 }) => target2.effect));
  return [...groups.values()].map((group, order) => ({ group, order })).sort((a, b) => shapeClass(best(a.group)) - shapeClass(best(b.group)) || gain(b.group) - gain(a.group) || a.order - b.order).map(({ group }) => group);
}
function shapeClass(rank) {
  return rank <= 1 ? 0 : rank;
}
function curveVerdict(target2) {
  const percent = (value) => `${Math.round(value * 100)}%`;
  const { effect, effect_at: at } = target2, range = `${Math.round(target2.effect_low * 100)}..${Math.round(target2.effect_high * 100)}%`;
  switch (target2.shape) {
    case "plateau":
      return `${percent(effect)} faster at ${percent(at)} (${range}); no more gain past that`;
    case "gain":
      return `up to ${percent(effect)} faster at ${percent(at)} (${range})`;
    case "contention":
      return `the program becomes slower: ${percent(effect)} at ${percent(at)} (${range})`;
    case "no-effect":
      return `optimizing it gains nothing (${range})`;
    default:
      return `too few experiments (${range})`;
  }
}
function speedupRange(groups) {
  let low = -0.1;
  let high = 0.2;
  for (const group of groups)
    for (const { target: target2 } of group.curves)
      for (const result of target2.results) {
        low = Math.min(low, result.program_speedup, Math.max(result.low, result.program_speedup - 0.25));
        high = Math.max(high, result.program_speedup, Math.min(result.high, result.program_speedup + 0.25));
      }
  return { low: Math.max(-1, Math.floor(low * 10) / 10), high: Math.min(1, Math.ceil(high * 10) / 10) };
}
function linearTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(i === 0 ? 0 : i * step);
  return ticks;
}

// test/views-causal.test.ts
function target(name, shape, best, more = {}) {
  return {
    target: name,
    kind: "function",
    point: "p",
    point_kind: "throughput",
    also: "",
    whole_run: false,
    shape,
    slope: best,
    slope_low: best - 0.1,
    slope_high: best + 0.1,
    best,
    best_at: 1,
    best_low: best - 0.1,
    best_high: best + 0.1,
    best_times: null,
    effect: best,
    effect_at: 1,
    effect_low: best - 0.1,
    effect_high: best + 0.1,
    effect_times: null,
    plateau_at: 0,
    plateau_gain: 0,
    experiments: 9,
    disturbed: 0,
    visits: 100,
    results: [{ speedup: 0.5, program_speedup: best, low: best - 2, high: best + 0.1, experiments: 3, disturbed: 0, visits: 30 }],
    ...more
  };
}
var profile = (...targets) => ({ verdict: [], experiments: 9, targets, points: [], problems: [], runs: [] });
test("curves of the same target and point share a chart, gains first", () => {
  const groups = groupCurves([
    profile(target("a", "gain", 0.4), target("b", "contention", -0.2), target("c", "unsure", 0)),
    profile(target("c", "plateau", 0.3), target("a", "no-effect", 0), target("d", "no-effect", 0))
  ]);
  assert.deepEqual(groups.map((group) => [group.target, group.curves.map((curve) => curve.profile)]), [
    ["a", [0, 1]],
    ["c", [0, 1]],
    ["b", [0]],
    ["d", [1]]
  ]);
});
test("a very wide interval does not set the scale", () => {
  const range = speedupRange(groupCurves([profile(target("a", "gain", 0.4))]));
  assert.ok(range.low >= -0.3 && range.high >= 0.5 && range.high <= 0.6);
});
test("ticks are round, and 0 is exact", () => {
  assert.deepEqual(linearTicks(-0.2, 0.4, 6).map((tick) => Math.round(tick * 100)), [-20, -10, 0, 10, 20, 30, 40]);
  assert.ok(linearTicks(-0.2, 0.4, 6).includes(0));
});
test("verdicts say what a shape means", () => {
  assert.match(curveVerdict(target("a", "plateau", 0.6, { effect: 0.6, effect_at: 0.75 })), /60% faster at 75%/);
  assert.match(curveVerdict(target("a", "no-effect", 0)), /gains nothing/);
  assert.match(curveVerdict(target("a", "unsure", 0)), /too few experiments/);
});
