// Scales, order and texts of causal curves. Pure functions.

export interface CausalResult {
	readonly speedup: number;
	readonly program_speedup: number;
	readonly low: number;
	readonly high: number;
	readonly experiments: number;
	readonly disturbed: number;
	readonly visits: number;
}

export interface CausalTarget {
	readonly target: string;
	readonly kind: string;
	readonly function?: string;
	readonly caller?: string;
	readonly point: string;
	readonly point_kind: string;
	readonly also: string;
	readonly whole_run: boolean;
	readonly shape: string;
	readonly slope: number;
	readonly slope_low: number;
	readonly slope_high: number;
	readonly best: number;
	readonly best_at: number;
	readonly best_low: number;
	readonly best_high: number;
	readonly best_times: number | null;
	/** The estimate that the verdict states. */
	readonly effect: number;
	readonly effect_at: number;
	readonly effect_low: number;
	readonly effect_high: number;
	readonly effect_times: number | null;
	readonly plateau_at: number;
	readonly plateau_gain: number;
	readonly experiments: number;
	readonly disturbed: number;
	readonly visits: number;
	readonly results: readonly CausalResult[];
}

export interface CausalDocument {
	readonly verdict: readonly string[];
	readonly experiments: number;
	readonly targets: readonly CausalTarget[];
	readonly points: readonly { readonly name: string; readonly kind: string }[];
	/** Targets without a curve, and why. A null point: all. */
	readonly refused: readonly { readonly target: string; readonly point: string | null; readonly text: string }[];
	readonly problems: readonly { readonly kind: string; readonly text: string }[];
	readonly runs: readonly {
		readonly command: string;
		readonly runtime_ns: number;
		readonly delay_ns: number;
		readonly experiments: number;
		readonly diagnostics: readonly string[];
	}[];
}

/** One chart: the curves of a target at a progress point, of one or several profiles. */
export interface CurveGroup {
	readonly key: string;
	readonly target: string;
	readonly also: string;
	readonly point: string;
	readonly pointKind: string;
	readonly curves: { readonly profile: number; readonly target: CausalTarget }[];
}

export function curveKey(target: CausalTarget): string {
	return `${target.target}\0${target.also}\0${target.point}`;
}

/**
 * Charts by rank: in the order of the first profile, then what only the later ones have. Each profile's
 * own order has gains first, then contention, unsure curves and those without effect.
 */
export function groupCurves(documents: readonly CausalDocument[]): CurveGroup[] {
	const groups = new Map<string, CurveGroup>();
	documents.forEach((document, profile) => {
		for (const target of document.targets) {
			const key = curveKey(target);
			const group = groups.get(key);
			if (group) group.curves.push({ profile, target });
			else
				groups.set(key, {
					key,
					target: target.target,
					also: target.also,
					point: target.point,
					pointKind: target.point_kind,
					curves: [{ profile, target }],
				});
		}
	});
	const rank = ['gain', 'plateau', 'contention', 'unsure', 'no-effect'];
	const best = (group: CurveGroup): number =>
		Math.min(...group.curves.map((curve) => (rank.indexOf(curve.target.shape) + rank.length) % rank.length));
	// The largest gain of several profiles: each of them has its own order.
	const gain = (group: CurveGroup): number =>
		documents.length < 2 ? 0 : Math.max(0, ...group.curves.filter(({ target }) => rank.indexOf(target.shape) < 2).map(({ target }) => target.effect));
	return [...groups.values()]
		.map((group, order) => ({ group, order }))
		.sort((a, b) => shapeClass(best(a.group)) - shapeClass(best(b.group)) || gain(b.group) - gain(a.group) || a.order - b.order)
		.map(({ group }) => group);
}

/** Gains with and without a plateau rank together. */
function shapeClass(rank: number): number {
	return rank <= 1 ? 0 : rank;
}

/** Curves that are known well enough to be numbered by rank. */
export const isSure = (shape: string): boolean => shape !== 'unsure' && shape !== 'no-effect';

const shapeTexts: Readonly<Record<string, string>> = {
	gain: 'gain',
	plateau: 'gain, then a plateau',
	contention: 'contention',
	'no-effect': 'no effect',
	unsure: 'not sure yet',
};

export function shapeText(shape: string): string {
	return shapeTexts[shape] ?? shape;
}

/** Of one curve, as a sentence. */
export function curveVerdict(target: CausalTarget): string {
	const percent = (value: number): string => `${Math.round(value * 100)}%`;
	const { effect, effect_at: at } = target, range = `${Math.round(target.effect_low * 100)}..${Math.round(target.effect_high * 100)}%`;
	switch (target.shape) {
		case 'plateau':
			return `${percent(effect)} faster at ${percent(at)} (${range}); no more gain past that`;
		case 'gain':
			return `up to ${percent(effect)} faster at ${percent(at)} (${range})`;
		case 'contention':
			return `the program becomes slower: ${percent(effect)} at ${percent(at)} (${range})`;
		case 'no-effect':
			return `optimizing it gains nothing (${range})`;
		default:
			return `too few experiments (${range})`;
	}
}

/** The range of program speedups of several charts: they share it, so that curves can be compared. */
export function speedupRange(groups: readonly CurveGroup[]): { low: number; high: number } {
	let low = -0.1;
	let high = 0.2;
	for (const group of groups)
		for (const { target } of group.curves)
			for (const result of target.results) {
				// An interval of a few experiments can be very wide: it does not set the scale.
				low = Math.min(low, result.program_speedup, Math.max(result.low, result.program_speedup - 0.25));
				high = Math.max(high, result.program_speedup, Math.min(result.high, result.program_speedup + 0.25));
			}
	return { low: Math.max(-1, Math.floor(low * 10) / 10), high: Math.min(1, Math.ceil(high * 10) / 10) };
}

/** Ticks in [low, high], about `count` of them, at 1, 2 or 5 times a power of ten; 0 is among them. */
export function linearTicks(low: number, high: number, count: number): number[] {
	const rough = (high - low) / Math.max(1, count);
	const power = 10 ** Math.floor(Math.log10(rough));
	const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999)!;
	const ticks: number[] = [];
	for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(i === 0 ? 0 : i * step);
	return ticks;
}

/** Names of files without their directories, if they still differ. */
export function shortNames(names: readonly string[]): string[] {
	const short = names.map((name) => name.slice(name.lastIndexOf('/') + 1));
	return new Set(short).size === names.length ? short : [...names];
}
