// What browser tests share: Debian's chromium, a page that must ask for nothing, TAP.
import { chromium } from 'playwright-core';

let count = 0, failed = 0;

export function ok(good, what, got) {
	count++;
	if (good) return console.log(`ok ${count} - ${what}${process.env.TIMES ? ` ${performance.now().toFixed()}` : ''}`);
	failed++;
	console.log(`not ok ${count} - ${what}`);
	/* As a harness shows only this of a test that fails. */
	if (got !== undefined) console.error(`# got: ${String(got).slice(0, 500).replaceAll('\n', '\n# ')}`);
	return undefined;
}

export function is(got, expected, what) {
	ok(got === expected, what, `${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
}

export function done() {
	console.log(`1..${count}`);
	process.exitCode = failed ? 1 : 0;
}

export const launch = () => chromium.launch({
	executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
	args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
});

/**
 * Opens `file` with a fragment; `page.complaints` gets what should not be: requests, errors, dialogs. Waits
 * until a view is there.
 */
export async function open(browser, file, fragment = '', options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
	const page = await context.newPage();
	page.setDefaultTimeout(60000);
	page.complaints = [];
	page.on('request', (request) => {
		if (!/^(file|blob):/.test(request.url())) page.complaints.push(`request of ${request.url()}`);
	});
	page.on('pageerror', (error) => page.complaints.push(`error: ${error.message}`));
	page.on('console', (message) => {
		if (message.type() === 'error' || message.type() === 'warning') page.complaints.push(`console: ${message.text()}`);
	});
	page.on('dialog', (dialog) => {
		page.complaints.push(`dialog: ${dialog.message()}`);
		void dialog.dismiss();
	});
	await page.goto(`file://${file}${fragment}`);
	await page.waitForSelector('main .view');
	return page;
}

/** Goes to a view by its key. */
export async function view(page, key, id) {
	await page.locator('body').press(key);
	await page.waitForSelector(`.view-${id}`);
}

/** Waits until `find`, which runs in the page, returns something. */
export async function eventually(page, find, argument) {
	try {
		return await (await page.waitForFunction(find, argument)).jsonValue();
	} catch {
		return undefined;
	}
}

/** A length of time as the page writes it. */
export function timeText(ns) {
	if (ns === 0) return '0';
	if (ns < 1000) return `${Math.round(ns)} ns`;
	if (ns < 999.95e3) return `${(ns / 1e3).toFixed(1)} \u00b5s`;
	if (ns < 999.9995e6) return `${(ns / 1e6).toFixed(3)} ms`;
	return `${(ns / 1e9).toFixed(3)} s`;
}

/** Shows all rows of a table whose caption contains `caption`. */
export const showAllRows = async (page, caption) => await eventually(page, (wanted) => {
	const table = [...document.querySelectorAll('table')].find((one) => one.caption?.textContent.includes(wanted));
	table?.querySelector('.more-row button')?.click();
	return table && !table.querySelector('.more-row');
}, caption);

/** The cells of the rows of a table whose caption contains `caption`, once it is there; it may be folded away. */
export const rowsOf = async (page, caption) => await eventually(page, (wanted) => {
	const table = [...document.querySelectorAll('table')].find((one) => one.caption?.textContent.includes(wanted));
	return table?.tBodies[0].rows.length ? [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)) : null;
}, caption) ?? [];
