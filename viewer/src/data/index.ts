// The block `index`, see docs/page.md.

export interface ThreadInfo {
	tid: number;
	process: number;
	/** Each from a time on, in units. */
	names: [number, string][];
	parent: number;
	/** Else it is known only because others refer to it. */
	recorded: boolean;
	waker_only: boolean;
	/** In units. */
	created: number;
	ended: number;
	exited: boolean;
	/** By class: exact times, ns, and what calibrates sampled ones. */
	ns: number[];
	factor: number[];
	/** The classes in which the exact time differs from the sampled one by more than chance. */
	differs?: number[];
	stolen?: number;
	/** In trace mode: that of its last run alone, in units. */
	last_stolen?: number;
	not_seen?: number;
	/** In trace mode: times that are neither waits nor runs. */
	unseen?: [number, number][];
}

/** Recorded only because it woke a thread that was asked for, or was woken by one. */
export const isOther = (thread: ThreadInfo): boolean => thread.recorded && thread.waker_only;

/** The name that a thread had at last, as dwell's commands print it, and its number: in all views. */
export const threadName = (thread: ThreadInfo): string => thread.names.at(-1)?.[1] || 'thread';
export const threadLabel = (thread: ThreadInfo): string => `${threadName(thread)}/${thread.tid}`;

export interface WaitInfo {
	class: number;
	kind: string;
	/** "no", or why it is a wait for work. */
	idle: string;
	preempted: boolean;
}

export interface ChunkInfo {
	block: string;
	type: 'intervals' | 'samples';
	runs: [number, number][];
	from: number;
	until: number;
}

export interface RecordingInfo {
	name: string;
	command: string;
	machine: string;
	duration_ns: number;
	mode: 'trace' | 'sampling';
	period_ns: number;
	unit_ns: number;
	diagnostics: { label: string; text: string; well: boolean }[];
	/** As of a thread: of all together. */
	differs?: number[];
	processes: { pid: number; name: string; parent: number }[];
	threads: ThreadInfo[];
	waits: WaitInfo[];
	objects: string[];
	chunks: ChunkInfo[];
	/** Of the block `rN.waits.bins`. */
	wait_bins?: { from_ns: number; length_ns: number };
	blocks: string[];
	/** Of rN.latency.calls, if that is there. */
	latency_bins?: number;
}

export interface Index {
	version: number;
	dwell: string;
	recordings: RecordingInfo[];
	causal: { name: string; block: string }[];
	verdicts: { recording: number | null; view: string; text: string }[];
}

/** Lengths in a sentence of dwell's (`base/duration.c`, in ASCII) as the page writes them. */
export const unitText = (text: string): string => text.replace(/(\d) us\b/g, '$1 \u00b5s');

export function readIndex(json: string): Index {
	const index = JSON.parse(json) as Index;
	for (const verdict of index.verdicts) verdict.text = unitText(verdict.text);
	for (const diagnostic of index.recordings.flatMap(({ diagnostics }) => diagnostics)) diagnostic.text = unitText(diagnostic.text);
	return index;
}
