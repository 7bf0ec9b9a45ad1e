// How fast the report page is in Debian's chromium: time to the first picture, and pictures a second while a brush
// moves over the recording, of each view that is drawn from all of its intervals, and while the timeline is zoomed.
//
//	node bench/page-view.mjs PAGE...	such as those that bench/page --keep FOLDER leaves
//
// Needs `make viewer`.
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { chromium } from '../viewer/node_modules/playwright-core/index.mjs';

const STEPS = 90;

/** Moves a brush of a tenth of the recording across it, a step a frame; counts what was drawn. */
async function brush(page, drawn) {
	return page.evaluate(async ({ steps, drawn }) => {
		const canvas = document.querySelector('.overview canvas'), box = canvas.getBoundingClientRect();
		const send = (type, x) => canvas.dispatchEvent(new PointerEvent(type, { bubbles: true, pointerId: 1, clientX: box.left + x, clientY: box.top + 20 }));
		canvas.setPointerCapture = () => undefined;
		let pictures = 0, longest = 0, last = performance.now();
		const place = document.querySelector(drawn), observer = new MutationObserver(() => pictures++);
		observer.observe(place, { attributes: true, attributeFilter: ['data-ms', 'data-loaded'] });
		const begin = performance.now();
		send('pointerdown', box.width * 0.05);
		for (let i = 1; i <= steps; i++) {
			send('pointermove', box.width * (0.05 + 0.9 * i / steps));
			await new Promise(requestAnimationFrame);
			longest = Math.max(longest, performance.now() - last);
			last = performance.now();
		}
		send('pointerup', box.width * 0.95);
		const took = (performance.now() - begin) / 1000;
		observer.disconnect();
		return { pictures: pictures / took, frames: steps / took, longest };
	}, { steps: STEPS, drawn });
}

/** Zooms in at a quarter of the recording, a step a frame, to a thousandth of it, and out again. */
async function zoom(page) {
	return page.evaluate(async (steps) => {
		const place = document.querySelector('.timeline-picture'), canvas = place.querySelector('canvas'), box = canvas.getBoundingClientRect();
		let pictures = 0, longest = 0, last = performance.now();
		const observer = new MutationObserver(() => pictures++);
		observer.observe(place, { attributes: true, attributeFilter: ['data-ms', 'data-loaded'] });
		const begin = performance.now();
		for (let i = 0; i < steps; i++) {
			const deltaY = (i < steps / 2 ? -1 : 1) * 200 * Math.log(1000) / (steps / 2);
			canvas.dispatchEvent(new WheelEvent('wheel', { bubbles: true, cancelable: true, ctrlKey: true, deltaY, clientX: box.left + box.width / 4, clientY: box.top + 40 }));
			await new Promise(requestAnimationFrame);
			longest = Math.max(longest, performance.now() - last);
			last = performance.now();
		}
		const took = (performance.now() - begin) / 1000;
		observer.disconnect();
		return { pictures: pictures / took, frames: steps / took, longest };
	}, STEPS);
}

const text = ({ pictures, frames, longest }) => `${pictures.toFixed(0)} pictures/s (${frames.toFixed(0)} frames/s, longest ${longest.toFixed(0)} ms)`;

async function measure(browser, file) {
	const page = await (await browser.newContext({ viewport: { width: 1280, height: 860 } })).newPage();
	page.setDefaultTimeout(180000);
	page.on('pageerror', (error) => console.log(`error: ${error.message}`));
	const begin = performance.now(), since = () => ((performance.now() - begin) / 1000).toFixed(2);
	await page.goto(`file://${resolve(file)}#view=timeline`);
	await page.waitForSelector('main .view');
	const shown = since();
	await page.waitForSelector('.timeline-picture[data-loaded]');
	const timeline = since();
	const brushed = await brush(page, '.timeline-picture');
	await page.locator('body').press('a');
	const zoomed = await zoom(page);
	await page.locator('body').press('a');
	await page.locator('body').press('2');
	await page.waitForSelector('.flame-picture[data-ms]');
	const flame = await brush(page, '.flame-picture');
	const memory = await page.evaluate(() => performance.memory?.usedJSHeapSize / 1e6);
	console.log(`${file}: ${(statSync(file).size / 1e6).toFixed(1)} MB; page after ${shown} s, timeline after ${timeline} s; timeline: brushed ${text(brushed)}, `
		+ `zoomed ${text(zoomed)}; flame graph: brushed ${text(flame)}; heap ${memory?.toFixed(0)} MB`);
	await page.context().close();
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--enable-precise-memory-info'] });
for (const file of process.argv.slice(2)) await measure(browser, file);
await browser.close();
