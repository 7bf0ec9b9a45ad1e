// Colors of the theme, for canvases: custom properties of the page's styles.
import type { PictureColors } from './path-canvas.js';

export function themeColor(name: string): string {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || '#888';
}

export function pictureColors(): PictureColors {
	return {
		text: themeColor('--text'), muted: themeColor('--muted'), line: themeColor('--line'), background: themeColor('--background'),
		focus: themeColor('--accent'), onLight: '#101214', onDark: '#f2f4f6', select: themeColor('--accent'),
	};
}
