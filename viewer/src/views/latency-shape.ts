// Logarithmic axes, distributions and the layout of a request's timeline. Pure functions.

export interface Quantiles {
	readonly p50_ns: number | null;
	readonly p90_ns: number | null;
	readonly p99_ns: number | null;
	readonly p999_ns: number | null;
	readonly p9999_ns: number | null;
	readonly max_ns: number | null;
}

export const QUANTILE_KEYS: readonly (keyof Quantiles)[] = ['p50_ns', 'p90_ns', 'p99_ns', 'p999_ns', 'p9999_ns', 'max_ns'];

/** Ticks of a logarithmic axis of ns that lie in [low, high]: powers of ten, with 2 and 5 if few. */
export function logTicks(low: number, high: number): number[] {
	const ticks: number[] = [];
	const decades = Math.log10(high / low);
	const steps = decades <= 1.5 ? [1, 2, 5] : [1];
	for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
		for (const step of steps) {
			const tick = step * 10 ** power;
			if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
		}
	return ticks;
}

export interface LogScale {
	readonly low: number;
	readonly high: number;
	/** Place of a value, 0 to 1. */
	at(value: number): number;
	readonly ticks: number[];
}

/** A scale from a little below `low` to a little above `high`, both above 0. */
export function logScale(low: number, high: number): LogScale {
	const from = Math.max(1, low) / 1.15;
	const to = Math.max(from * 2, high * 1.15);
	const base = Math.log(from);
	const width = Math.log(to) - base;
	return {
		low: from,
		high: to,
		at: (value) => Math.min(1, Math.max(0, (Math.log(Math.max(value, from)) - base) / width)),
		ticks: logTicks(from, to),
	};
}

/** A point of the distribution: so many of a million calls take longer than `ns`. */
export interface TailPoint {
	readonly ns: number;
	readonly above: number;
}

/**
 * The tail of `sorted` (the longest first): what share takes longer than a length, at lengths that
 * are spread evenly over its logarithm. At most `limit` points.
 */
export function tailPoints(sorted: ArrayLike<number>, limit: number): TailPoint[] {
	const points: TailPoint[] = [];
	const count = sorted.length;
	let last = -1;
	for (let i = 0; i < limit; i++) {
		const index = count === 1 ? 0 : Math.round(count ** (i / Math.max(1, limit - 1))) - 1;
		if (index === last || index >= count) continue;
		last = index;
		points.push({ ns: sorted[index]!, above: (index + 1) / count });
	}
	return points;
}

/** How many of `values` lie in each of `bins` parts of the scale that are equally wide in it. */
export function histogram(values: ArrayLike<number>, scale: LogScale, bins: number): number[] {
	const counts = new Array<number>(bins).fill(0);
	for (let i = 0; i < values.length; i++)
		counts[Math.min(bins - 1, Math.floor(scale.at(values[i]!) * bins))]!++;
	return counts;
}

/** An item of the timeline of a request, as `dwell latency requests --timeline ID --json` has it. */
export interface TimelineItem {
	readonly type: string;
	readonly begin_ns: number;
	readonly length_ns: number;
	readonly depth: number;
	readonly tid: number;
	readonly function?: string | null;
	readonly kind?: string | null;
	readonly object?: string | null;
	readonly cause?: string | null;
	readonly for?: number | null;
	readonly queue?: string | null;
}

export interface TimelineLane {
	readonly tid: number;
	/** First row and how many rows it has. */
	readonly row: number;
	readonly rows: number;
	/** A thread that did not work at the request: it held what this waited for. */
	readonly isHolder: boolean;
}

export interface TimelineBox {
	readonly item: TimelineItem;
	readonly row: number;
}

export interface TimelineLayout {
	readonly lanes: TimelineLane[];
	readonly boxes: TimelineBox[];
	readonly rows: number;
	readonly length_ns: number;
}

export function isHolderItem(item: TimelineItem): boolean {
	return item.type.startsWith('holder');
}

/** One lane for each thread, the one that begins first on top; calls below their callers. */
export function layoutTimeline(items: readonly TimelineItem[]): TimelineLayout {
	const lanes = new Map<number, { low: number; high: number; isHolder: boolean }>();
	let length = 0;
	for (const item of items) {
		length = Math.max(length, item.begin_ns + item.length_ns);
		const lane = lanes.get(item.tid);
		if (lane) {
			lane.low = Math.min(lane.low, item.depth);
			lane.high = Math.max(lane.high, item.depth);
			lane.isHolder &&= isHolderItem(item);
		} else lanes.set(item.tid, { low: item.depth, high: item.depth, isHolder: isHolderItem(item) });
	}
	const placed = new Map<number, TimelineLane>();
	let row = 0;
	for (const [tid, lane] of lanes) {
		const rows = lane.high - lane.low + 1;
		placed.set(tid, { tid, row, rows, isHolder: lane.isHolder });
		row += rows;
	}
	const boxes = items.map((item) => {
		const lane = placed.get(item.tid)!;
		return { item, row: lane.row + item.depth - lanes.get(item.tid)!.low };
	});
	return { lanes: [...placed.values()], boxes, rows: row, length_ns: length };
}

/**
 * What the time of a request went to: at each moment a wait or the run queue before the call that it
 * lies in, an inner call before its callers. Adds up to the time of the request. Items of threads that
 * held something are left out, as they count as the wait.
 */
export function timelineCauses(items: readonly TimelineItem[], length_ns: number): { item: TimelineItem | null; ns: number }[] {
	const own = items.filter((item) => !isHolderItem(item) && item.type !== 'thread' && item.length_ns > 0);
	const events: { at: number; item: number; begins: boolean }[] = [];
	own.forEach((item, index) => {
		events.push({ at: Math.max(0, item.begin_ns), item: index, begins: true });
		events.push({ at: Math.min(length_ns, item.begin_ns + item.length_ns), item: index, begins: false });
	});
	events.sort((a, b) => a.at - b.at || Number(a.begins) - Number(b.begins));

	const rank = (item: TimelineItem): number => (item.type === 'call' ? item.depth : 1e6 + item.depth);
	const open = new Set<number>();
	const sums = new Map<string, { item: TimelineItem | null; ns: number }>();
	let last = 0;
	const add = (until: number): void => {
		if (until <= last) return;
		let best = -1;
		for (const index of open) if (best < 0 || rank(own[index]!) > rank(own[best]!)) best = index;
		const item = best < 0 ? null : own[best]!;
		const key = item ? `${item.type} ${item.kind} ${item.object} ${item.for} ${item.function}` : '';
		const sum = sums.get(key);
		if (sum) sum.ns += until - last;
		else sums.set(key, { item, ns: until - last });
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
