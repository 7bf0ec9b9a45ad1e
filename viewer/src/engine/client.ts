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

const blockText = (name: string): string => document.getElementById(name)?.textContent ?? '';

/** Starts the worker. `progress` gets shares while a recording is decoded. */
export function startEngine(progress: (share: number) => void): Engine {
	const worker = startWorker(), waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
	let next = 1;
	worker.onmessage = (event: MessageEvent): void => {
		const reply = event.data as Reply;
		if (reply.wants !== undefined) return worker.postMessage({ block: reply.wants, text: blockText(reply.wants) });
		if (reply.progress !== undefined) return progress(reply.progress);
		const call = waiting.get(reply.id);
		waiting.delete(reply.id);
		if (reply.error !== undefined) call?.reject(new Error(reply.error));
		else call?.resolve(reply.result);
	};
	return new Proxy({} as Engine, {
		get: (_, call: string) => (...given: unknown[]): Promise<unknown> => new Promise((resolve, reject) => {
			waiting.set(next, { resolve, reject });
			worker.postMessage({ id: next++, call, arguments: given });
		}),
	});
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
