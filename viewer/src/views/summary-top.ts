// The rows of the flame graph that matter: time by function, and by wait with the function that waits.
// Pure functions.

/** What is needed of a flame graph of the engine. */
export interface TopFlame {
	readonly total: number;
	readonly labels: readonly string[];
	readonly places: readonly string[];
	readonly parent: ArrayLike<number>;
	readonly label: ArrayLike<number>;
	readonly type: ArrayLike<number>;
	readonly self: ArrayLike<number>;
	readonly channels: ArrayLike<number>;
}

export interface TopRow {
	/** Function, of waits the innermost one that is not of the kernel or the C library. */
	readonly name: string;
	readonly place: string;
	/** Of waits: what for. */
	readonly wait: string;
	readonly channel: number;
	ns: number;
}

const KERNEL = 1;
const KIND = 3;
const THREAD = 4;
const CHANNELS = 7;

/** Waits end in these files, whoever waits. */
const LIBRARY = /(^|\/)(libc|libpthread|ld-linux)[^/]*$/;

/** The innermost function at or above `node` that is neither of the kernel nor of the C library. */
function waitingFunction(flame: TopFlame, node: number): number {
	let innermost = 0;
	for (let at = node; at > 0 && flame.type[at] !== THREAD; at = flame.parent[at]!) {
		if (flame.type[at] === KERNEL) continue;
		innermost ||= at;
		if (!LIBRARY.test(flame.places[flame.label[at]!] ?? '') && !flame.labels[flame.label[at]!]!.startsWith('_')) return at;
	}
	return innermost || node;
}

/** The `most` rows with the most time of their own. */
export function topRows(flame: TopFlame, most: number): TopRow[] {
	const rows = new Map<string, TopRow>();
	for (let node = 1; node < flame.parent.length; node++) {
		const ns = flame.self[node]!;
		if (!(ns > 0)) continue;
		const isKind = flame.type[node] === KIND;
		let at = isKind ? flame.parent[node]! : node;
		if (isKind) at = waitingFunction(flame, at);
		const name = at > 0 && flame.type[at] !== THREAD ? flame.labels[flame.label[at]!]! : '';
		const wait = isKind ? flame.labels[flame.label[node]!]! : '';
		let channel = 0;
		for (let c = 1; isKind && c < CHANNELS; c++)
			if (flame.channels[node * CHANNELS + c]! > flame.channels[node * CHANNELS + channel]!) channel = c;
		const key = `${wait}\0${name}\0${channel}`;
		const row = rows.get(key);
		if (row) row.ns += ns;
		else rows.set(key, { name, place: at > 0 ? flame.places[flame.label[at]!] ?? '' : '', wait, channel, ns });
	}
	return [...rows.values()].sort((a, b) => b.ns - a.ns).slice(0, most);
}
