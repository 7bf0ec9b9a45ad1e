// Lengths of time, as dwell prints them: base/duration.c.

export function timeText(ns: number): string {
	const size = Math.abs(ns);
	if (size === 0) return '0';
	if (size < 1000) return `${Math.round(ns)} ns`;
	if (size < 999.95e3) return `${(ns / 1e3).toFixed(1)} \u00b5s`;
	if (size < 999.9995e6) return `${(ns / 1e6).toFixed(3)} ms`;
	return `${(ns / 1e9).toFixed(3)} s`;
}

/** A time since the start, with as many digits as a window of `span` needs. */
export function clockText(ns: number, span: number): string {
	const digits = Math.max(0, Math.min(9, 2 - Math.floor(Math.log10(Math.max(span, 1) / 1e9))));
	return `${(ns / 1e9).toFixed(digits)} s`;
}

/**
 * Where the label of a tick at `x` begins, which is `width` wide: right of the tick, or left of it at the `end`
 * of the axis; null: there is no room after `last`, the end of the label before.
 */
export function labelPlace(x: number, width: number, last: number, end: number): number | null {
	const place = x + 3 + width <= end ? x + 3 : x - 3 - width;
	return place >= last + 4 ? place : null;
}

/** Round times in [from, until), about `count` of them. */
export function ticks(from: number, until: number, count: number): number[] {
	const rough = (until - from) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(Math.max(rough, 1e-9)));
	const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
	const list: number[] = [];
	for (let at = Math.ceil(from / step) * step; at < until; at += step) list.push(at);
	return list;
}
