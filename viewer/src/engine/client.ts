// The worker's calls, for the page.
import type { EngineCalls, Reply } from './worker.js';

declare const WORKER_SOURCE: string;

export type Engine = EngineCalls;

interface Policy { createScriptURL(url: string): string }
interface Types { createPolicy(name: string, rules: { createScriptURL(url: string): string }): Policy }

/** The only script that is made at run time: the worker, of this page's own text. */
function startWorker(): Worker {
	const url = URL.createObjectURL(new Blob([WORKER_SOURCE], { type: 'text/javascript' }));
	const types = (window as unknown as { trustedTypes?: Types }).trustedTypes;
	const policy = types?.createPolicy('dwell-worker', {
		createScriptURL: (given) => {
			if (given !== url) throw new TypeError('not the worker');
			return given;
		},
	});
	return new Worker(policy ? policy.createScriptURL(url) : url);
}

/** Blocks that pictures need first are given to the worker while the rest of the page is still read. */
function isEarly(name: string): boolean {
	const [, recording, part] = /^r(\d+)\.(intervals|samples|wakers)\b/.exec(name) ?? [];
	return part !== undefined && Number(recording) === Number(/[#&]r=(\d+)/.exec(location.hash)?.[1] ?? 0);
}

/** Gives blocks to the worker: when they are whole, which they are when something follows them. */
class Blocks {
	private readonly given = new Set<string>();
	private readonly wanted = new Set<string>();
	/** The whole page was read. */
	readonly done: Promise<void>;

	constructor(private readonly give: (name: string, text: string) => void) {
		const observer = new MutationObserver((changes) => {
			for (const { addedNodes, previousSibling } of changes)
				for (const node of [previousSibling, ...addedNodes]) if (node instanceof HTMLScriptElement && node.id && node.nextSibling) this.isThere(node);
		});
		observer.observe(document.body, { childList: true });
		this.done = new Promise((resolve) => {
			const finish = (): void => {
				observer.disconnect();
				for (const name of this.wanted) this.send(name);
				resolve();
			};
			if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', finish);
			else finish();
		});
	}

	want(name: string): void {
		if (this.given.delete(name)) return;
		if (document.readyState !== 'loading' || document.getElementById(name)?.nextSibling) this.send(name);
		else this.wanted.add(name);
	}

	private isThere(block: HTMLScriptElement): void {
		if (this.wanted.has(block.id)) this.send(block.id);
		else if (isEarly(block.id) && !this.given.has(block.id)) {
			this.given.add(block.id);
			this.give(block.id, block.textContent ?? '');
		}
	}

	private send(name: string): void {
		this.wanted.delete(name);
		this.give(name, document.getElementById(name)?.textContent ?? '');
	}
}

/** Starts the worker. `progress` gets shares while a recording is decoded; `whole`: the whole page was read. */
export function startEngine(progress: (share: number) => void): { engine: Engine; whole: Promise<void> } {
	const worker = startWorker(), waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
	const blocks = new Blocks((block, text) => worker.postMessage({ block, text }));
	let next = 1;
	worker.onmessage = (event: MessageEvent): void => {
		const reply = event.data as Reply;
		if (reply.wants !== undefined) return blocks.want(reply.wants);
		if (reply.progress !== undefined) return progress(reply.progress);
		const call = waiting.get(reply.id);
		waiting.delete(reply.id);
		if (reply.error !== undefined) call?.reject(new Error(reply.error));
		else call?.resolve(reply.result);
	};
	const engine = new Proxy({} as Engine, {
		get: (_, call: string) => (...given: unknown[]): Promise<unknown> => new Promise((resolve, reject) => {
			waiting.set(next, { resolve, reject });
			worker.postMessage({ id: next++, call, arguments: given });
		}),
	});
	return { engine, whole: blocks.done };
}

/**
 * Makes calls of `work` one at a time: while one is under way, only the latest of the next is kept, and
 * the others are never made.
 */
export function latest<A extends unknown[]>(work: (...given: A) => Promise<void>): (...given: A) => void {
	let busy = false, wanted: A | null = null;
	const run = async (given: A): Promise<void> => {
		busy = true;
		try {
			await work(...given);
		} finally {
			busy = false;
			const more = wanted;
			wanted = null;
			if (more) void run(more);
		}
	};
	return (...given) => {
		if (busy) wanted = given;
		else void run(given);
	};
}
