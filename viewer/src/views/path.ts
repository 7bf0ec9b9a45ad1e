// What the command's main thread waited for, and what that waited for (Recursive Systemic Profiler): three
// pictures of one path, of the selected time, and the same as a table.
import { threadName, type RecordingInfo } from '../data/index.js';
import type { App, View, ViewInstance } from '../ui/app.js';
import { h } from '../ui/dom.js';
import { clockText } from '../ui/time.js';
import { pictureColors, themeColor } from './path-colors.js';
import type { BoxPicture } from './path-canvas.js';
import {
	namePath, pathTables, SIGNED_LEVELS, SIGNED_STEPS, waitPlaces, type CodeTables, type NamedPath, type PathInfo, type PathThread,
} from './path-data.js';
import { accountPart, leafText, makePicture, PICTURES, treeTable, type PathColors, type PathContext, type PathState } from './path-parts.js';
import type { PathTables } from './path-tree.js';
import { nsText, percentText, tabList, verdictOf } from './summary-parts.js';

interface Loaded {
	readonly recording: number;
	readonly info: PathInfo;
	readonly path: PathTables;
	readonly found: { readonly stack: ArrayLike<number>; readonly wait: ArrayLike<number> };
	readonly code: CodeTables;
	readonly threads: readonly PathThread[];
}

async function load(app: App, number: number): Promise<Loaded> {
	const recording = app.index.recordings[number]!;
	const block = (name: string): string => `r${number}.${name}`;
	const [info, levels, steps, strings, frames, nodes, stacks] = await Promise.all([
		app.json<PathInfo>(block('path')), app.table(block('path.levels'), SIGNED_LEVELS), app.table(block('path.steps'), SIGNED_STEPS),
		app.text(block('strings')), app.table(block('frames')), app.table(block('nodes')), app.table(block('stacks')),
	]);
	const path = pathTables(info, levels, steps, recording.unit_ns), places = waitPlaces(path);
	const found = await app.engine.intervalsAt(number, places.threads, places.times);
	return { recording: number, info, path, found, code: { strings, frames, nodes, stacks }, threads: threadNames(recording) };
}

function threadNames(recording: RecordingInfo): PathThread[] {
	return recording.threads.map((thread) => ({ tid: thread.tid, name: threadName(thread) }));
}

function colors(): PathColors {
	return {
		...pictureColors(), run: themeColor('--path-run'), sleep: themeColor('--path-sleep'), both: themeColor('--path-both'), io: themeColor('--path-io'),
		queue: themeColor('--path-queue'), thread: themeColor('--path-thread'), waits: themeColor('--path-waits'),
	};
}

class PathView implements ViewInstance {
	private readonly current: PathState = { picture: 'chronological', functions: true, kernel: false, root: 0 };
	private readonly head = h('div');
	private readonly body = h('div', { role: 'tabpanel', 'aria-label': 'Picture' });
	private readonly detail = h('div', { 'aria-live': 'polite' });
	private loaded: Loaded | null = null;
	private loading = -1;
	private named: NamedPath | null = null;
	private picture: BoxPicture | null = null;
	private shown = '';

	constructor(root: HTMLElement, private readonly app: App) {
		root.append(this.head, this.body);
		this.update();
	}

	update(): void {
		const { recording } = this.app.selection;
		if (this.loaded?.recording === recording) this.show();
		else if (this.loading !== recording) void this.load(recording);
	}

	state(state: Record<string, string>): void {
		const picture = PICTURES.find((one) => one.id === state['picture'])?.id ?? 'chronological';
		const functions = state['functions'] !== '0';
		const kernel = state['kernel'] === '1';
		const root = Math.max(0, Math.trunc(Number(state['root'] ?? 0))) || 0;
		const isSame = picture === this.current.picture && functions === this.current.functions && kernel === this.current.kernel && root === this.current.root;
		Object.assign(this.current, { picture, functions, kernel, root });
		if (isSame || !this.loaded) return;
		this.name();
		this.show();
	}

	destroy(): void {
		this.picture?.dispose();
	}

	private async load(recording: number): Promise<void> {
		this.loading = recording;
		this.picture?.dispose();
		this.picture = null;
		this.shown = '';
		if (!this.app.has(`r${recording}.path`)) {
			this.head.replaceChildren(h('p', {}, 'This recording has no path: it needs every wait (dwell record --trace).'));
			this.body.replaceChildren();
			return;
		}
		this.head.replaceChildren(h('p', { class: 'muted', role: 'status' }, 'Reading the path\u2026'));
		this.body.replaceChildren();
		try {
			const loaded = await load(this.app, recording);
			if (this.loading !== recording) return;
			this.loaded = loaded;
			this.name();
			this.show();
		} catch (error) {
			this.loading = -1;
			this.head.replaceChildren(h('p', { class: 'warning' }, `The path cannot be read: ${error instanceof Error ? error.message : String(error)}`));
		}
	}

	private name(): void {
		const { path, found, code, threads, recording, info } = this.loaded!;
		const waits = this.app.index.recordings[recording]!.waits.map((wait) => wait.kind);
		this.named = namePath(path, found, code, threads, waits, info.names.map(leafText), this.current);
		if (this.current.root >= this.named.tree.parent.length) this.current.root = 0;
		this.shown = '';
	}

	private save(): void {
		const { picture, functions, kernel, root } = this.current;
		this.app.go('path', {
			...(picture === 'chronological' ? {} : { picture }), ...(functions ? {} : { functions: '0' }), ...(kernel ? { kernel: '1' } : {}),
			...(picture === 'consolidated' && root > 0 ? { root: String(root) } : {}),
		});
	}

	/** What of the path is in the selection: nothing, if it ends before it begins. */
	private window(): { from: number; until: number } {
		const { path } = this.loaded!, { from, until } = this.app.selection;
		return { from: Math.max(path.from, from), until: Math.min(path.until, until) };
	}

	private context(): PathContext {
		const { path, recording, threads } = this.loaded!;
		const { tree, nodeText } = this.named!;
		return {
			path, tree, colors, nodeText,
			window: () => this.window(),
			select: (from, until) => this.app.select({ from: Math.max(0, Math.round(Math.max(path.from, from))), until: Math.round(Math.min(path.until, until)) }),
			reset: () => this.app.select({ from: 0, until: this.app.index.recordings[recording]!.duration_ns }),
			threadText: (thread) => {
				const known = threads[thread];
				return known && thread > 0 ? `${known.name}/${known.tid}` : 'unknown thread';
			},
			showThread: (thread) => {
				this.app.select({ threads: new Set([thread]) });
				this.app.go('timeline');
			},
		};
	}

	private show(): void {
		if (!this.loaded || !this.named) return;
		const { from, until } = this.window();
		if (from >= until) {
			this.picture?.dispose();
			this.picture = null;
			this.shown = '';
			this.head.replaceChildren(h('p', {}, 'Nothing of the path lies in the selected time.'));
			this.body.replaceChildren();
			this.detail.replaceChildren();
			return;
		}
		const context = this.context();
		this.showHead(context);
		const { picture, functions, kernel } = this.current;
		const key = `${picture} ${functions} ${kernel}`;
		if (picture === 'table') {
			this.picture?.dispose();
			this.picture = null;
			this.body.replaceChildren(treeTable(context));
			this.shown = key;
			return;
		}
		if (this.shown === key && this.picture) {
			this.picture.update();
			return;
		}
		this.shown = key;
		this.picture?.dispose();
		this.detail.replaceChildren();
		this.picture = makePicture(context, this.current, () => this.rootChanged(), (lines, node, range) => this.showDetail(lines, node, range));
		this.body.replaceChildren(this.picture!.element, this.hint(), this.detail);
		this.picture!.update();
	}

	private rootChanged(): void {
		this.save();
		this.picture?.update();
	}

	private hint(): HTMLElement {
		const overTime = this.current.picture !== 'consolidated';
		return h('p', { class: 'muted hint' }, overTime
			? 'Drag to select a time; Ctrl and wheel, + and - zoom, [ and ] move, 0 shows all. Arrows move between boxes, Enter shows details.' +
				(this.current.picture === 'threads' ? ' A click on a name shows the thread in the timeline.' : '')
			: 'Enter or a click shows a box in full width, again or 0 shows all. Arrows move between boxes.');
	}

	private showHead(context: PathContext): void {
		const { info, path, recording } = this.loaded!;
		const { from, until } = context.window();
		const isAll = from === path.from && until === path.until;
		const whole = percentText(info.accounted_ns / Math.max(1, info.wall_ns));
		const active = document.activeElement;
		const hadFocus = active instanceof HTMLElement && this.head.contains(active) ? active.dataset['focus'] ?? active.textContent : null;
		const check = (name: 'functions' | 'kernel', text: string): HTMLElement => {
			const input = h('input', { type: 'checkbox', 'data-focus': name });
			input.checked = this.current[name];
			input.disabled = name === 'kernel' && !this.current.functions;
			input.addEventListener('change', () => {
				this.current[name] = input.checked;
				this.current.root = 0;
				this.name();
				this.save();
				this.show();
			});
			return h('label', {}, input, ` ${text}`);
		};
		this.head.replaceChildren(
			h('div', { class: 'verdict' },
				h('h2', {}, `What ${context.threadText(info.thread)} waited for`),
				...verdictOf(this.app, recording, 'path').map((text) => h('p', { class: 'verdict-text' }, text)),
				context.tree.isCut ? h('p', { class: 'warning' }, 'The tree of this path is too large: functions at its ends are left out, their time is not.') : null,
				h('p', { class: 'muted' }, `${nsText(info.wall_ns)}, ${whole} accounted for. ` +
					(isAll ? 'All of it is shown.' : `Shown: ${clockText(from, until - from)} to ${clockText(until, until - from)}.`))),
			accountPart(context),
			tabList('Pictures of the path', PICTURES, this.current.picture, (id) => {
				this.current.picture = id;
				this.save();
				this.show();
			}),
			...(this.current.picture === 'threads' ? [] : [h('div', { class: 'control-row' }, check('functions', 'functions'), check('kernel', 'functions of the kernel'), this.legend())]),
			...(this.current.picture === 'threads' ? [h('div', { class: 'control-row' }, this.legend())] : []),
		);
		if (hadFocus !== null)
			for (const element of this.head.querySelectorAll<HTMLElement>('button, input'))
				if ((element.dataset['focus'] ?? element.textContent) === hadFocus) element.focus();
	}

	private legend(): HTMLElement {
		const parts: [string, string][] = this.current.picture === 'threads'
			? [['run', 'runs'], ['io', 'waits for the disk'], ['queue', 'waits for a CPU'], ['sleep', 'sleeps'], ['waits', 'waits for the next thread']]
			: [['run', 'ran'], ['sleep', 'waited'], ['both', 'both'], ['io', 'disk'], ['queue', 'run queue'], ['thread', 'thread']];
		return h('span', { class: 'split-legend' }, ...parts.map(([name, text]) => h('span', {}, h('span', { class: `key path-${name}` }), text)));
	}

	private showDetail(lines: string[], node: number, range: { from: number; until: number } | null): void {
		const context = this.context();
		const { tree } = context;
		const panel = h('div', { class: 'path-detail' }, ...lines.map((line, i) => h('p', {}, i === 0 ? h('strong', {}, line) : line)));
		const chain: string[] = [];
		for (let at = node; at > 0; at = tree.parent[at]!) chain.push(context.nodeText(at));
		if (chain.length > 1) panel.append(h('p', { class: 'path-chain' }, chain.reverse().slice(-60).join(' \u203a ')));
		const row = h('div', { class: 'control-row' });
		if (range) row.append(h('button', { type: 'button', click: () => context.select(range.from, range.until) }, 'Select this time'));
		const threads = node > 0 ? this.threadsAt(node) : [];
		if (threads.length > 0) row.append(h('button', { type: 'button', click: () => {
			this.app.select({ threads: new Set(threads) });
			this.app.go('timeline');
		} }, 'Show its thread in the timeline'));
		if (row.childNodes.length > 0) panel.append(row);
		this.detail.replaceChildren(panel);
	}

	/** Threads of the nearest node of threads above. */
	private threadsAt(node: number): number[] {
		const { tree, nodeThreads } = this.named!;
		for (let at = node; at > 0; at = tree.parent[at]!) {
			const threads = nodeThreads(at);
			if (threads.length > 0) return threads;
		}
		return [];
	}
}

export const path: View = {
	id: 'path',
	title: 'Path',
	key: '5',
	available: (app) => app.has(`r${app.selection.recording}.path`),
	mount: (root, app) => new PathView(root, app),
};
