// What views share: the index, the selection, and access to the data.
import type { Index } from '../data/index.js';
import type { Engine } from '../engine/client.js';

/** What all views show. */
export interface Selection {
	recording: number;
	/** Nanoseconds since the recording's start. */
	from: number;
	until: number;
	/** Numbers in the recording's `threads`; null: all that were asked for, and the others with `others`. */
	threads: ReadonlySet<number> | null;
	/** Bits 1 << class. */
	classes: number;
	/** Idle waits are shown, too. */
	idle: boolean;
	/** Threads that were recorded only for wakeups to or from those that were asked for are shown, too. */
	others: boolean;
}

export interface App {
	readonly index: Index;
	readonly selection: Selection;
	readonly engine: Engine;
	/** Changes the selection, the address, and all views; `continues`: it is one step back with the change before. */
	select(change: Partial<Selection>, continues?: boolean): void;
	has(block: string): boolean;
	json<T>(block: string): Promise<T>;
	/** The columns of a table, in the order of docs/page.md; `signed` are the numbers of signed ones. */
	table(block: string, signed?: readonly number[]): Promise<Float64Array[]>;
	text(block: string): Promise<string[]>;
	/** Goes to a view; its state is kept in the address. */
	go(view: string, state?: Record<string, string>): void;
	className(c: number): string;
	/** The color of a class, or of idle waits (IDLE), in the theme. */
	color(c: number): string;
	time(ns: number): string;
}

export interface View {
	id: string;
	title: string;
	/** The digit that goes to it. */
	key: string;
	available(app: App): boolean;
	mount(root: HTMLElement, app: App): ViewInstance;
}

export interface ViewInstance {
	/** The selection or the theme changed, or the window's size. */
	update(): void;
	/** The state in the address changed. */
	state?(s: Record<string, string>): void;
	destroy?(): void;
}

export const CLASS_NAMES = ['cpu', 'io', 'lock', 'sched', 'other', 'stopped', 'idle', 'stolen'] as const;
export const CLASS_TITLES = ['running', 'waiting for I/O', 'waiting for a lock', 'waiting for a CPU', 'blocked otherwise', 'not allowed to run', 'waiting for work', 'stolen from runs'] as const;
/** The numbers of the colors of idle waits, and of what a hypervisor or interrupts took from runs; classes are below. */
export const CLASSES = 6, IDLE = CLASSES, STOLEN = IDLE + 1;
/** Bits 1 << class. */
export const ALL_CLASSES = (1 << CLASSES) - 1;
