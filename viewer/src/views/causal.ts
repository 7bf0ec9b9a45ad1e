// What a change would gain (Coz): curves of all causal profiles of the page.
import type { App, View, ViewInstance } from '../ui/app.js';
import { h } from '../ui/dom.js';
import { shortNames, type CausalDocument } from './causal-curve.js';
import { causalPart, type CausalState, type NamedProfile } from './causal-parts.js';

class CausalView implements ViewInstance {
	private readonly current: CausalState = { point: '' };
	private profiles: readonly NamedProfile[] | null = null;

	constructor(private readonly root: HTMLElement, private readonly app: App) {
		root.replaceChildren(h('p', { class: 'muted', role: 'status' }, 'Reading\u2026'));
		const names = shortNames(app.index.causal.map(({ name }) => name));
		const all = app.index.causal.map(async ({ block }, number) => ({ name: names[number]!, document: await app.json<CausalDocument>(block) }));
		Promise.all(all).then((profiles) => {
			this.profiles = profiles;
			this.show();
		}, (error: Error) => root.replaceChildren(h('p', { class: 'warning' }, error.message)));
	}

	update(): void {
		// Profiles are not of the recordings: nothing depends on the selection, and colors are those of styles.
	}

	state(state: Record<string, string>): void {
		const point = state['point'] ?? '';
		if (point === this.current.point) return;
		this.current.point = point;
		this.show();
	}

	private show(): void {
		if (!this.profiles) return;
		this.root.replaceChildren(causalPart(this.profiles, this.current, () =>
			this.app.go('causal', this.current.point ? { point: this.current.point } : {})));
	}
}

export const causal: View = {
	id: 'causal',
	title: 'Causal',
	key: '6',
	available: (app) => app.index.causal.length > 0,
	mount: (root, app) => new CausalView(root, app),
};
