// Elements with attributes and text. Texts are text nodes, never markup.

export type Child = Node | string | number | null | undefined | false;
export type Attributes = Readonly<Record<string, string | number | boolean | undefined | ((event: never) => void)>>;

/**
 * An element. Attributes that are functions are listeners (`onclick`); `false` and `undefined` are left
 * out.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
	tag: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
	const element = document.createElement(tag);
	for (const [key, value] of Object.entries(attributes)) {
		if (value === undefined || value === false) continue;
		if (typeof value === 'function') element.addEventListener(key.replace(/^on/, ''), value as EventListener);
		else element.setAttribute(key, value === true ? '' : String(value));
	}
	for (const child of children)
		if (child !== null && child !== undefined && child !== false) element.append(typeof child === 'number' ? String(child) : child);
	return element;
}
