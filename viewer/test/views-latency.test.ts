import assert from 'node:assert/strict';
import { test } from 'node:test';

import { firstLocks, firstRows } from '../src/views/latency-locks.js';
import {
	histogram, layoutTimeline, logScale, logTicks, tailPoints, timelineCauses, type TimelineItem,
} from '../src/views/latency-shape.js';

function item(type: string, begin_ns: number, length_ns: number, depth: number, more: Partial<TimelineItem> = {}): TimelineItem {
	return { type, begin_ns, length_ns, depth, tid: 1, function: 'f', ...more };
}

test('a logarithmic scale has its values in order, and ticks inside', () => {
	const scale = logScale(245, 4436805);
	assert.ok(scale.at(245) > 0 && scale.at(4436805) < 1 && scale.at(1000) < scale.at(2000));
	assert.deepEqual(scale.ticks, [1e3, 1e4, 1e5, 1e6]);
	assert.deepEqual(logTicks(1, 10), [1, 2, 5, 10]);
	assert.equal(logScale(0, 0).at(5), 1);
});

test('the tail has the longest and the shortest value', () => {
	const sorted = Float64Array.from({ length: 30514 }, (_, i) => 1e7 - i);
	const points = tailPoints(sorted, 50);
	assert.equal(points[0]!.ns, 1e7);
	assert.ok(Math.abs(points[0]!.above - 1 / 30514) < 1e-12);
	assert.equal(points.at(-1)!.above, 1);
	assert.ok(points.length <= 50);
	assert.equal(tailPoints([5], 50).length, 1);
	assert.deepEqual(tailPoints([], 50), []);
});

test('a histogram counts every value once', () => {
	const values = [1, 10, 100, 1000, 5000];
	assert.equal(histogram(values, logScale(1, 5000), 7).reduce((a, b) => a + b, 0), values.length);
});

test('a timeline has a lane for each thread, and its calls nested', () => {
	const layout = layoutTimeline([
		item('call', 0, 100, 0), item('call', 10, 50, 1), item('wait', 20, 30, 2, { function: null, for: 2 }),
		item('holder\'s call', 20, 30, 3, { tid: 2 }), item('holder\'s call', 25, 10, 4, { tid: 2 }),
	]);
	assert.deepEqual(layout.lanes, [
		{ tid: 1, row: 0, rows: 3, isHolder: false }, { tid: 2, row: 3, rows: 2, isHolder: true },
	]);
	assert.deepEqual(layout.boxes.map((box) => box.row), [0, 1, 2, 3, 4]);
	assert.equal(layout.rows, 5);
	assert.equal(layout.length_ns, 100);
});

test('the causes of a request add up to its length', () => {
	const items = [
		item('call', 0, 100, 0, { function: 'outer' }), item('call', 10, 50, 1, { function: 'inner' }),
		item('wait', 20, 30, 2, { function: null, kind: 'futex' }), item('holder\'s call', 20, 30, 3, { tid: 2 }),
		item('wait', 70, 5, 1, { function: null, kind: 'futex' }),
	];
	const causes = timelineCauses(items, 120);
	assert.equal(causes.reduce((sum, cause) => sum + cause.ns, 0), 120);
	assert.deepEqual(causes.map((cause) => [cause.item?.function ?? cause.item?.kind ?? 'rest', cause.ns]), [
		['outer', 45], ['futex', 35], ['inner', 20], ['rest', 20],
	]);
});

test('what is left out of a list is counted', () => {
	const list = Array.from({ length: 23 }, (_, i) => ({ ns: i }));
	const rows = firstRows(list, (one) => [String(one.ns)], (more, left) => [more, String(left.reduce((sum, one) => sum + one.ns, 0))]);
	assert.equal(rows.length, 21);
	assert.deepEqual(rows[20], ['3 more', '63']);
	assert.equal(firstRows(list.slice(0, 20), (one) => [String(one.ns)], () => []).length, 20);
});

test('locks with next to no waiting are counted, not listed', () => {
	const locks = [500, 499.6, 0.3, 0.1].map((wait_ns) => ({ wait_ns })), { first, rest } = firstLocks(locks);
	assert.equal(first, 2);
	assert.equal(rest(2), 'and 2 more, 0.0% of the waiting');
	const many = firstLocks(Array.from({ length: 100 }, () => ({ wait_ns: 10 })));
	assert.equal(many.first, 25);
	assert.equal(many.rest(25), 'and 75 more, 75.0% of the waiting');
	assert.equal(firstLocks([]).first, 1);
});
