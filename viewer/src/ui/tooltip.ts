// One box beside the pointer. What it says is also in tables, so it is hidden from screen readers.
import { h } from './dom.js';

const box = h('div', { class: 'tip', 'aria-hidden': 'true', hidden: true });

export function showTip(x: number, y: number, ...content: (Node | string)[]): void {
	if (!box.isConnected) document.body.append(box);
	box.replaceChildren(...content);
	box.hidden = false;
	const { width, height } = box.getBoundingClientRect();
	const left = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
	const top = y + 16 + height > innerHeight ? y - 12 - height : y + 16;
	box.style.left = `${Math.max(4, left)}px`;
	box.style.top = `${Math.max(4, top)}px`;
}

export function hideTip(): void {
	box.hidden = true;
}
