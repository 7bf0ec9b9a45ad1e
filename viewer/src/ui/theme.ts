// Colors of the theme for canvases, looked up once for each theme.

const values = new Map<string, string>(), mixes = new Map<string, string>();

export function setTheme(dark: boolean): void {
	document.documentElement.dataset['theme'] = dark ? 'dark' : 'light';
	values.clear();
	mixes.clear();
}

/** A custom property of the page's styles, in the theme. */
export function themeValue(name: string): string {
	let value = values.get(name);
	if (value === undefined) values.set(name, value = getComputedStyle(document.documentElement).getPropertyValue(name).trim());
	return value;
}

const channelsOf = (color: string): number[] => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));

/** `percent` of a color "#rrggbb" in another one. */
export function mixed(color: string, percent: number, other: string): string {
	const key = `${color}${percent}${other}`;
	let value = mixes.get(key);
	if (value === undefined) {
		const below = channelsOf(other);
		mixes.set(key, value = `rgb(${channelsOf(color).map((part, i) => Math.round((part * percent + below[i]! * (100 - percent)) / 100)).join(' ')})`);
	}
	return value;
}

/** A color "#rrggbb" as an element of an image's data on a little-endian machine. */
export function pixelOf(color: string, alpha = 1): number {
	const rgb = parseInt(color.slice(1), 16);
	return (Math.round(alpha * 255) << 24 | (rgb & 255) << 16 | (rgb >> 8 & 255) << 8 | rgb >> 16) >>> 0;
}
