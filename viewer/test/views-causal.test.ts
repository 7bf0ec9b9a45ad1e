import assert from 'node:assert/strict';
import { test } from 'node:test';

import { curveVerdict, groupCurves, linearTicks, speedupRange, type CausalDocument, type CausalTarget } from '../src/views/causal-curve.js';

function target(name: string, shape: string, best: number, more: Partial<CausalTarget> = {}): CausalTarget {
	return {
		target: name, kind: 'function', point: 'p', point_kind: 'throughput', also: '', whole_run: false, shape,
		slope: best, slope_low: best - 0.1, slope_high: best + 0.1, best, best_at: 1, best_low: best - 0.1, best_high: best + 0.1,
		best_times: null, effect: best, effect_at: 1, effect_low: best - 0.1, effect_high: best + 0.1, effect_times: null, plateau_at: 0, plateau_gain: 0, experiments: 9, disturbed: 0, visits: 100,
		results: [{ speedup: 0.5, program_speedup: best, low: best - 2, high: best + 0.1, experiments: 3, disturbed: 0, visits: 30 }],
		...more,
	};
}

const profile = (...targets: CausalTarget[]): CausalDocument =>
	({ verdict: [], experiments: 9, targets, points: [], problems: [], refused: [], runs: [] });

test('curves of the same target and point share a chart, gains first', () => {
	const groups = groupCurves([
		profile(target('a', 'gain', 0.4), target('b', 'contention', -0.2), target('c', 'unsure', 0)),
		profile(target('c', 'plateau', 0.3), target('a', 'no-effect', 0), target('d', 'no-effect', 0)),
	]);
	assert.deepEqual(groups.map((group) => [group.target, group.curves.map((curve) => curve.profile)]), [
		['a', [0, 1]], ['c', [0, 1]], ['b', [0]], ['d', [1]],
	]);
});

test('a very wide interval does not set the scale', () => {
	const range = speedupRange(groupCurves([profile(target('a', 'gain', 0.4))]));
	assert.ok(range.low >= -0.3 && range.high >= 0.5 && range.high <= 0.6);
});

test('ticks are round, and 0 is exact', () => {
	assert.deepEqual(linearTicks(-0.2, 0.4, 6).map((tick) => Math.round(tick * 100)), [-20, -10, 0, 10, 20, 30, 40]);
	assert.ok(linearTicks(-0.2, 0.4, 6).includes(0));
});

test('verdicts say what a shape means', () => {
	assert.match(curveVerdict(target('a', 'plateau', 0.6, { effect: 0.6, effect_at: 0.75 })), /60% faster at 75%/);
	assert.match(curveVerdict(target('a', 'no-effect', 0)), /gains nothing/);
	assert.match(curveVerdict(target('a', 'unsure', 0)), /too few experiments/);
});
