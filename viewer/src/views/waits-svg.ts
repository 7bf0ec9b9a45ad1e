// SVG elements with attributes and text. Texts are text nodes, never markup.

const NAMESPACE = 'http://www.w3.org/2000/svg';

export type SvgChild = SVGElement | string | null | undefined;

export function svg(
	name: string, attributes: Readonly<Record<string, string | number | undefined>>, ...children: SvgChild[]
): SVGElement {
	const element = document.createElementNS(NAMESPACE, name);
	for (const [key, value] of Object.entries(attributes))
		if (value !== undefined) element.setAttribute(key, String(value));
	for (const child of children) if (child !== null && child !== undefined) element.append(child);
	return element;
}
