// Colors of the theme for canvases, looked up once for each theme.

const seen = new Map<string, string>();

/** A custom property of the page's styles, in the theme. */
export function themeValue(name: string): string {
	const key = `${document.documentElement.dataset['theme']} ${name}`;
	let value = seen.get(key);
	if (value === undefined) seen.set(key, value = getComputedStyle(document.documentElement).getPropertyValue(name).trim());
	return value;
}

/** A color "#rrggbb" as an element of an image's data on a little-endian machine. */
export function pixelOf(color: string, alpha = 1): number {
	const rgb = parseInt(color.slice(1), 16);
	return (Math.round(alpha * 255) << 24 | (rgb & 255) << 16 | (rgb >> 8 & 255) << 8 | rgb >> 16) >>> 0;
}
