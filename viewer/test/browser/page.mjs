// The report page in a browser, against what the commands print.
//
//	node page.mjs FOLDER	with the pages and JSON documents that tests/e2e/91-html-page.t makes
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { done, eventually, is, launch, ok, open, rowsOf, showAllRows, timeText, view } from './browser.mjs';

const folder = process.argv[2];
const json = (name) => JSON.parse(readFileSync(join(folder, name), 'utf8'));
const file = (name) => join(folder, name);
const report = json('report.json'), children = json('children.json'), waits = json('waits.json'), path = json('path.json');
const threads = json('threads.json'), browser = await launch();
const totalOf = (symbol) => children.rows.filter((row) => row.symbol === symbol).reduce((sum, row) => sum + row.total_ns, 0);
const flameNote = (page, text) => eventually(page, (wanted) => {
	const note = document.querySelector('.view-flame p[role=status]')?.textContent ?? '';
	return note.startsWith(wanted) && note;
}, text);

/** As the page names an edge: a single thread with its number. */
function edgeName(document, { from, to }) {
	const label = (name) => {
		const vertex = document.threads.find((one) => one.name === name);
		return vertex?.type === 'thread' && vertex.tid && (vertex.threads ?? 1) <= 1 && !name.endsWith(`/${vertex.tid}`) ? `${name}/${vertex.tid}` : name;
	};
	return `${label(from)} \u2192 ${label(to)}`;
}

async function summary(page) {
	is(await page.title(), `Summary \u2013 ${report.command}`, 'the title says what was recorded');
	const text = await eventually(page, () => document.querySelector('.view-summary')?.textContent.includes('Verdicts') && document.querySelector('.view-summary').textContent);
	ok(text?.includes(waits.verdict.text ?? waits.verdict), 'the verdict of waits', text);
	const rows = await eventually(page, () => document.querySelectorAll('.view-summary table tbody tr').length > 8);
	ok(rows, 'the rows that matter');
}

async function flame(page) {
	await view(page, '2', 'flame');
	ok(await flameNote(page, `${timeText(report.total_ns)} in all`), 'flame graph: the time of dwell report', await page.textContent('.view-flame p[role=status]'));
	await page.locator('.view-flame summary').click();
	await rowsOf(page, 'Functions by time');
	while (await page.locator('.view-flame .more-button').count()) await page.locator('.view-flame .more-button').click();
	const rows = await rowsOf(page, 'Functions by time');
	for (const symbol of ['compute_heavy', 'compute_light', 'do_reads', 'pthread_join']) {
		const row = rows.find((cells) => cells[0] === symbol);
		is(row?.[4], timeText(totalOf(symbol)), `flame graph: time of ${symbol} with callees is that of dwell report --children`);
	}
	const picture = page.locator('.flame-picture canvas');
	await picture.focus();
	for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight', 'Enter']) await picture.press(key);
	ok((await page.textContent('.flame-detail')).includes('% of all'), 'flame graph: the keyboard moves and zooms');
	await picture.press('Escape');
	await page.locator('body').press('/');
	ok(await page.evaluate(() => document.activeElement.matches('input[type=search]')), 'flame graph: / goes to the search');
	await page.keyboard.type('compute_');
	const found = timeText(totalOf('compute_heavy') + totalOf('compute_light'));
	ok(await eventually(page, (wanted) => document.querySelector('.view-flame .found')?.textContent.startsWith(wanted), found),
		'flame graph: the time of what was found', `${await page.textContent('.view-flame .view-tools')}, expected ${found}`);
	ok(page.url().includes('q=compute_'), 'flame graph: the search is in the address');
	await page.keyboard.press('Escape');
	ok(await eventually(page, () => !location.hash.includes('q=')), 'flame graph: Escape clears the search');
	for (const change of ['inverted=1', 'by=thread', 'by=process', 'lines=1', 'flame=1']) {
		await page.evaluate((wanted) => location.hash = `#view=flame&${wanted}`, change);
		ok(await flameNote(page, `${timeText(report.total_ns)} in all`), `flame graph: ${change} has the same time`);
	}
	await page.evaluate(() => location.hash = '#view=flame&focus=compute_heavy');
	ok(await flameNote(page, `${timeText(totalOf('compute_heavy'))} in all`), 'flame graph: only one function');
	await page.evaluate(() => location.hash = '#view=flame&t=0-1000000000&against=t1000000000-2000000000');
	const compared = await eventually(page, () => /compared with ([\d.]+ \S+):/.exec(document.querySelector('.view-flame p[role=status]')?.textContent ?? '')?.[1]);
	is(compared, timeText(json('second.json').total_ns), 'flame graph: compared with another time');
	/* A function of both times: on a busy machine, the program may do only one thing in a second. */
	const second = json('second-children.json').rows;
	while (await page.locator('.view-flame .more-button').count()) await page.locator('.view-flame .more-button').click();
	const known = ['pread', 'do_reads', 'compute_heavy', 'compute_light'].filter((symbol) => second.some((row) => row.symbol === symbol));
	const beside = (await rowsOf(page, 'Functions by time')).find((cells) => known.includes(cells[0])), name = beside?.[0];
	is(beside?.[6], timeText(second.filter((row) => row.symbol === name).reduce((sum, row) => sum + row.total_ns, 0)), `flame graph: the table has the other time of ${name}, too`);
	await page.evaluate(() => location.hash = '#view=flame&inverted=1');
	await flameNote(page, `${timeText(report.total_ns)} in all`);
	await view(page, '4', 'waits');
	await view(page, '2', 'flame');
	ok(page.url().includes('inverted=1'), 'flame graph: is as it was left', page.url());
	await page.evaluate(() => location.hash = '#view=flame');
	await flameNote(page, `${timeText(report.total_ns)} in all`);
}

async function selection(page) {
	const strip = page.locator('.overview canvas'), box = await strip.boundingBox();
	await page.mouse.move(box.x + box.width * 0.4, box.y + 20);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width * 0.5, box.y + 20, { steps: 5 });
	await page.mouse.move(box.x + box.width * 0.6, box.y + 20, { steps: 5 });
	await page.mouse.up();
	const time = await eventually(page, () => /t=(\d+)-(\d+)/.exec(location.hash)?.slice(1).map(Number));
	ok(time && time[1] > time[0], 'a brush selects a time, which is in the address', page.url());
	await page.waitForTimeout(500);
	const brushed = page.url();
	await page.locator('body').press('Backspace');
	ok(await eventually(page, () => !/[&#]t=/.test(location.hash)), 'Backspace undoes all of the brush', page.url());
	await page.goto(brushed);
	/* A reload has the same, once the address has the last of the brush, and the picture, too. */
	await page.waitForTimeout(400);
	await eventually(page, () => location.hash.includes(`t=${document.querySelector('.flame-picture').dataset.drawn}`));
	const before = await eventually(page, () => /^(?!Reading).+ in all/.exec(document.querySelector('.view-flame p[role=status]')?.textContent ?? '')?.[0]);
	await page.reload();
	await page.waitForSelector('.view-flame');
	is(await eventually(page, () => /.+ in all/.exec(document.querySelector('.view-flame p[role=status]')?.textContent ?? '')?.[0]), before, 'a link keeps the selection');
	await page.evaluate(() => location.hash = '#view=flame&t=1000000000-2000000000');
	ok(await flameNote(page, `${timeText(json('second.json').total_ns)} in all`), 'a selected second has the time of dwell report --time 1,2', await page.textContent('.view-flame p[role=status]'));
	await page.evaluate(() => location.hash = '#view=flame&t=1000000000-2000000000&c=6');
	ok(await flameNote(page, `${timeText(json('second-waits.json').total_ns)} in all`), 'and of some classes that of --class io,lock');
	await page.locator('[data-control=all]').click();
	ok(await flameNote(page, `${timeText(report.total_ns)} in all`), 'Select all selects all');
	await page.locator('[data-control=idle]').click();
	ok(await flameNote(page, `${timeText(json('idle.json').total_ns)} in all`), 'idle waits are shown on request');
	await page.locator('body').press('i');
	ok(await flameNote(page, `${timeText(report.total_ns)} in all`), 'and hidden by a key');
}

/* The address is written a moment after the selection changed; one that was given meanwhile is not lost. */
async function addressGiven() {
	const page = await open(browser, file('trace.html'), '#view=flame&t=1000000000-2000000000');
	ok(await flameNote(page, `${timeText(json('second.json').total_ns)} in all`), 'address: a second is selected');
	await page.evaluate(() => {
		const { setTimeout } = window, due = [];
		window.setTimeout = (work, ...rest) => rest[0] === 200 ? due.push(work) : setTimeout(work, ...rest);
		document.querySelector('[data-control=all]').click();
		window.setTimeout = setTimeout;
		location.hash = '#view=flame&focus=compute_heavy';
		for (const work of due) work();
		document.documentElement.dataset.due = due.length;
	});
	is(await page.evaluate(() => document.documentElement.dataset.due), '1', 'address: it is still to be written');
	ok(await flameNote(page, `${timeText(totalOf('compute_heavy'))} in all`), 'address: one that is given meanwhile is shown', page.url());
	await page.context().close();
}

/* A thread has one name in all views. */
async function names(page) {
	const tids = new Map(threads.rows.map((row) => [row.comm, row.tid])), wanted = ['T1', 'T2'].map((comm) => `${comm}/${tids.get(comm)}`);
	await view(page, '3', 'timeline');
	await page.locator('.view-timeline > details > summary').click();
	const listed = (await rowsOf(page, 'Threads and what they did')).map(([cell]) => cell);
	for (const name of wanted) ok(listed.includes(name), `timeline: ${name}`, listed.slice(0, 30));
	await view(page, '4', 'waits');
	await showAllRows(page, 'Vertices of the wait-for graph');
	const vertices = (await rowsOf(page, 'Vertices of the wait-for graph')).map(([cell]) => cell);
	for (const name of wanted) ok(vertices.includes(name), `waits: ${name}`, vertices);
}

/* The verdict of a path says whose it is, by --of, too. */
async function target() {
	const { name, tid } = json('of.json'), title = `What ${name}/${tid} waited for`;
	const page = await open(browser, file('of.html'));
	ok(await eventually(page, (wanted) => [...document.querySelectorAll('.verdict-card h3')].some((one) => one.textContent === wanted), title), `summary: ${title}`, await page.textContent('.view-summary'));
	await view(page, '5', 'path');
	ok(await eventually(page, (wanted) => document.querySelector('.view-path .verdict h2')?.textContent === wanted, title), `path: ${title}`);
	is(page.complaints.join('\n'), '', 'of: no complaint');
	await page.context().close();
}

/* Threads that were recorded only for their wakeups: one switch for all views, and a sentence. */
async function otherPrograms(page) {
	const { count, ns } = json('others.json'), with_ = json('wakers.json').total_ns;
	await page.evaluate(() => location.hash = '#view=summary');
	const sentence = () => eventually(page, () => document.querySelector('.others-note')?.textContent);
	ok((await sentence())?.startsWith(`${count.toLocaleString('en-US')} more, with ${timeText(ns)}, `), 'summary: how many threads are left out, and their time', `${await sentence()}, expected ${count} with ${timeText(ns)}`);
	await view(page, '3', 'timeline');
	const few = Number(await eventually(page, () => document.querySelector('.view-timeline .view-tools p')?.textContent.match(/^([0-9]+) threads/)?.[1]));
	await page.locator('[data-control=others]').click();
	ok(await eventually(page, (before) => Number(document.querySelector('.view-timeline .view-tools p')?.textContent.match(/^([0-9]+) threads/)?.[1]) > before, few), 'timeline: they are shown on request', few);
	ok(/[&#]others=1/.test(await eventually(page, () => location.hash.includes('others') && location.hash) ?? ''), 'which is in the address', page.url());
	await view(page, '2', 'flame');
	ok(await flameNote(page, `${timeText(with_)} in all`), 'flame graph: the time of dwell report --wakers', `${await page.textContent('.view-flame p[role=status]')}, expected ${timeText(with_)}`);
	await view(page, '1', 'summary');
	ok((await eventually(page, () => document.querySelector('.others-note')?.textContent.includes('shown, too')
		&& document.querySelector('.others-note').textContent))?.startsWith(`${count.toLocaleString('en-US')} of them`), 'summary: they are among the threads that are shown');
	await view(page, '4', 'waits');
	const drawn = () => eventually(page, () => document.querySelector('.view-waits .graph-box svg') && document.querySelectorAll('.view-waits .graph-box svg .vertex').length);
	ok(await drawn(), 'waits: the graph with all of them');
	await page.locator('body').press('2');
	await page.locator('body').press('o');
	ok(await flameNote(page, `${timeText(report.total_ns)} in all`), 'and left out by a key', await page.textContent('.view-flame p[role=status]'));
}

async function timeline(page) {
	await view(page, '3', 'timeline');
	await page.waitForSelector('.timeline-picture[data-loaded]');
	await page.locator('.view-timeline > details > summary').click();
	const rows = await rowsOf(page, 'Threads and what they did'), names = ['cpu', 'io', 'lock', 'sched', 'other'];
	for (const name of ['T1', 'T2']) {
		const { tid } = threads.rows.find((row) => row.comm === name), thread = threads.rows.filter((row) => row.tid === tid), row = rows.find((cells) => cells[0] === `${name}/${tid}`);
		for (const [c, cls] of names.entries())
			if (c) is(row?.[2 + c], timeText(thread.filter((one) => one.class === cls).reduce((sum, one) => sum + one.self_ns, 0)), `timeline: ${name}, ${cls}`);
	}
	const picture = page.locator('.timeline-picture canvas');
	await picture.focus();
	/* T1 waits for T2 at the barrier: the longest of its waits for a lock. */
	await page.evaluate((at) => location.hash = `#view=timeline&at=${at}`, json('wait.json').at);
	await page.waitForSelector('.timeline-panel .step');
	ok(await eventually(page, (tid) => new RegExp(`Ended by [^/]*/${tid} `).test(document.querySelector('.timeline-panel')?.textContent), json('wait.json').by),
		'timeline: a wait is followed to the thread that ended it', await page.textContent('.timeline-panel'));
	const button = page.locator('.timeline-panel .step button:not([title]):not(.more-button)').first();
	if (await button.count()) {
		await button.click();
		ok(await eventually(page, () => document.querySelectorAll('.timeline-panel .step').length === 2), 'timeline: and on to what that thread waited for');
	}
	await picture.focus();
	for (let i = 0; i < 2; i++) await picture.press('Escape');
	ok(await eventually(page, () => !location.hash.includes('at=')), 'timeline: Escape steps back');
	const box = await picture.boundingBox();
	await page.mouse.click(box.x + box.width * 0.5, box.y + 30);
	ok(await eventually(page, () => /[&#]at=\d+\.\d+/.test(location.hash)), 'timeline: what was chosen is in the address', page.url());
	const chosen = await eventually(page, () => document.querySelector('.timeline-panel .step b')?.textContent);
	await page.reload();
	is(await eventually(page, () => document.querySelector('.timeline-panel .step b')?.textContent), chosen, 'timeline: and is so after a reload');
	await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
	is(await page.evaluate(() => document.documentElement.dataset.theme), 'light', 'printing is light');
	await page.evaluate(() => dispatchEvent(new Event('afterprint')));
	await picture.focus();
	await picture.press('t');
	ok(await eventually(page, () => /[&#]threads=\d+(&|$)/.test(location.hash)), 'timeline: t selects the thread', page.url());
	await picture.press('t');
	ok(await eventually(page, () => !/[&#]threads=/.test(location.hash)), 'timeline: and all of them again');
	await page.locator('.view-timeline > details > summary').click();
	await page.locator('.view-timeline th button', { hasText: 'waiting for a lock' }).click();
	is(await page.evaluate(() => document.querySelector('.view-timeline th[aria-sort]')?.getAttribute('aria-sort')), 'descending', 'timeline: the table is sorted by a column');
	await picture.focus();
	await picture.press('Escape');
	for (const key of ['ArrowDown', 'ArrowUp', 'ArrowRight', 'Enter']) await picture.press(key);
	ok(await eventually(page, () => document.querySelectorAll('.timeline-panel .step').length === 1), 'timeline: Enter tells what a thread did');
	await picture.press('+');
	ok(await eventually(page, () => /t=\d+-\d+/.test(location.hash)), 'timeline: + zooms, for all views');
	await picture.press('0');
	ok(await eventually(page, () => !/[&#]t=/.test(location.hash)), 'timeline: 0 zooms out');
	await page.locator('body').press('/');
	await page.keyboard.type('T2');
	ok(await eventually(page, () => document.querySelector('.view-timeline .muted')?.textContent.startsWith('1 thread;')), 'timeline: threads are found by name');
	await page.keyboard.press('Escape');
}

/* Of a part of the time, the page has what dwell waits --time says. */
async function waitsOfSelection(page) {
	const { from, until, edge, other } = json('part.json'), name = edgeName(waits, edge);
	await page.evaluate((time) => location.hash = `#view=waits&t=${time}`, `${from}-${until}`);
	ok(await eventually(page, () => document.querySelector('.view-waits .selected-part')), 'waits: it says that they are of the selection');
	await showAllRows(page, 'Edges of the wait-for graph');
	const rows = await rowsOf(page, 'Edges of the wait-for graph'), row = rows.find((cells) => cells[0].startsWith(name));
	for (const [cell, key] of [[1, 'plain_share'], [2, 'share']])
		ok(Math.abs(parseFloat(row?.[cell]) - 100 * edge[key]) < 0.2, `waits: ${key} of ${name} is that of dwell waits --time`, `${row?.[cell]} for ${edge[key]}`);
	await page.evaluate((time) => location.hash = `#view=waits&t=${time}`, `${from}-${until}&c=${other}`);
	ok(await eventually(page, (shown) => ![...document.querySelectorAll('.view-waits table')].some((table) => table.textContent.includes(shown)), name), 'waits: those of a class only');
	await page.locator('[data-control=all]').click();
	ok(await eventually(page, () => !document.querySelector('.view-waits .selected-part')), 'waits: of all again');
}

async function others(page) {
	await view(page, '4', 'waits');
	ok(await eventually(page, (text) => document.querySelector('.view-waits')?.textContent.includes(text), waits.verdict.text ?? waits.verdict), 'waits: the verdict');
	ok(await eventually(page, () => document.querySelectorAll('.view-waits svg text').length > 3), 'waits: the graph is drawn');
	const edge = page.locator('.view-waits table tbody tr').first();
	ok(await edge.count(), 'waits: edges are in a table, too');
	await waitsOfSelection(page);
	await view(page, '5', 'path');
	const text = await eventually(page, () => document.querySelector('.view-path .account')?.textContent);
	ok(text, 'path: the account');
	for (const key of ['running_ns', 'disk_active_ns', 'run_queue_ns']) {
		const ns = path.categories[key];
		if (ns > 1e6) ok(text?.includes(timeText(ns)), `path: ${key} is that of dwell path`, `${timeText(ns)} in ${text}`);
	}
	for (const tab of await page.locator('.view-path [role=tab]').all()) {
		await tab.click();
		ok(await page.locator('.view-path canvas, .view-path table').count(), `path: ${await tab.textContent()}`);
	}
}

async function scaled() {
	const page = await open(browser, file('scaled.html'), '#view=path'), ns = path.categories.running_ns * 128;
	const text = await eventually(page, () => document.querySelector('.view-path .account')?.textContent);
	ok(text?.includes(timeText(ns)), 'path: in the units of a long recording', `${timeText(ns)} in ${text}`);
	const [from, until] = [0.7, 0.8].map((part) => Math.round(path.wall_ns * 256 * part));
	await page.evaluate((wanted) => location.hash = `#view=path&t=${wanted}`, `${from}-${until}`);
	ok(await eventually(page, () => document.querySelector('.view-path')?.textContent.includes('Nothing of the path')), 'path: a time outside of it says so');
	await page.locator('[data-control=all]').click();
	ok(await eventually(page, (wanted) => document.querySelector('.view-path .account')?.textContent.includes(wanted), timeText(ns)), 'path: and all of it is back');
	await view(page, '1', 'summary');
	const symbols = await eventually(page, () => {
		const note = document.querySelector('.symbols-note'), times = document.querySelector('section[aria-label="Time of all threads"]');
		return note && { isOpen: note.open, isAfter: (times.compareDocumentPosition(note) & 4) === 4, text: note.textContent, recorded: document.querySelector('section[aria-label=Recorded]').textContent };
	});
	ok(symbols?.text.includes('no names for code in 71%') && !symbols.isOpen && symbols.isAfter, 'summary: what lacks names of functions is folded away after the figures', JSON.stringify(symbols));
	ok(symbols?.recorded.includes('duration') && !symbols.recorded.includes('no names for code'), 'summary: and not above them');
	const verdict = await page.textContent('.verdict-card');
	ok(verdict.includes('9.6 \u00b5s') && !/\d us\b/.test(await page.textContent('.view-summary')), 'summary: lengths have one unit', verdict);
	is(page.complaints.join('\n'), '', 'scaled: no complaint');
	await page.context().close();
}

/* Of a knot: the verdict's waits, and what they are for, lead to their edges. */
async function knot() {
	const waits = json('knot.json'), page = await open(browser, file('knot.html'));
	const name = (edge) => edgeName(waits, edge), ofVerdict = new Set(waits.verdict.edges.map(name)), gain = (edge) => edge.weight_ns - edge.for_work_ns;
	const [heaviest] = waits.edges.filter((edge) => ofVerdict.has(name(edge)) && edge.for_work_ns <= edge.plain_ns / 2).sort((a, b) => gain(b) - gain(a));
	const [longest] = heaviest.stacks.filter((stack) => !stack.for_work).sort((a, b) => b.plain_ns - a.plain_ns);
	const shown = await eventually(page, () => document.querySelector('.view-summary .verdict-waits li')?.textContent) ?? '';
	ok(shown.startsWith(`${name(heaviest)} `) && shown.includes(longest.what), 'summary: the heaviest wait of the verdict, and what it is for', shown);
	ok(shown.includes('flush_record'), 'summary: and the function that waits', shown);
	await page.locator('.verdict-waits button').first().click();
	ok(await eventually(page, (wanted) => document.querySelector('.view-waits .detail-panel h2')?.textContent === wanted, name(heaviest)), 'summary: a click shows the edge in the Waits view');
	is(await page.locator('.view-waits .edge.selected').count(), 1, 'waits: which is selected in the picture');
	is(page.complaints.join('\n'), '', 'no request, error or violation of the policy');
	await page.context().close();
}

/* Functions and requests are of the selection: as computed from the tables of the page. */
async function latencies() {
	const expected = json('calls.json'), { from, until, requests } = expected;
	const page = await open(browser, file('calls.html'), '#view=latency&part=functions&order=calls');
	const caption = 'Latencies by function', number = (text) => Number(text.replaceAll(',', ''));
	const cellsOf = (rows, { name, caller }) => rows.find(([cell]) => cell === `${name}${caller ? `\u2039 ${caller}` : ''}`);
	const all = await rowsOf(page, caption);
	ok(expected.functions.length > 0, 'latency: functions have calls in the selection', expected.functions.length);
	for (const one of expected.functions) ok(Math.abs(number(cellsOf(all, one)?.[1] ?? '') - one.all) <= 0.51, `latency: calls of ${one.name}`, cellsOf(all, one));
	await page.evaluate((wanted) => location.hash = `#view=latency&part=functions&order=calls&t=${wanted}`, `${from}-${until}`);
	ok(await eventually(page, () => document.querySelector('.view-latency .selection-note:not([hidden])')?.textContent.startsWith('Calls that began in the selection')), 'latency: which calls are selected is said');
	const rows = await rowsOf(page, caption);
	ok(expected.functions.some(({ calls, all: before }) => calls < before * 0.9), 'latency: a selection has fewer calls');
	for (const one of expected.functions.filter(({ calls }) => calls >= 1)) {
		const cells = cellsOf(rows, one), isLength = (text, ns) => ns === null || ns === undefined ? text?.startsWith('< ') : text === timeText(ns);
		ok(Math.abs(number(cells?.[1] ?? '') - one.calls) <= 0.51, `latency: calls of ${one.name} in the selection`, `${cells}, expected ${one.calls}`);
		ok(isLength(cells?.[5], one.p50) && isLength(cells?.[8], one.max), `latency: the median and the longest call of ${one.name} in the selection`, `${cells}, expected ${one.p50}, ${one.max}`);
	}
	await page.locator('.function-table tbody button').first().click();
	ok(await eventually(page, () => document.querySelector('.detail-panel h2')), 'latency: details of a function');
	const widths = () => page.evaluate(() => {
		const box = document.querySelector('.view-latency .with-detail > .scroll-box');
		return [box.scrollWidth, box.clientWidth];
	});
	for (const width of [1160, 1280, 1460]) {
		await page.setViewportSize({ width, height: 900 });
		const [needed, there] = await widths();
		ok(needed <= there, `latency: all columns are seen beside the details at ${width} pixels`, `${needed} of ${there}`);
	}
	await page.locator('[role=tab]', { hasText: 'Requests' }).click();
	const line = `${requests.count.toLocaleString('en-US')} request${requests.count === 1 ? '' : 's'}: p50 ${timeText(requests.p50 ?? 0)}`;
	const text = await eventually(page, () => document.querySelector('.request-quantiles')?.textContent);
	ok(requests.count === 0 ? text?.startsWith('No request') : text?.startsWith(line) && text.includes(`p99 ${timeText(requests.p99)}`) && text.endsWith(`max ${timeText(requests.max)}`),
		'latency: requests of the selection', `${text}, expected ${line}`);
	await requestPaths(page);
	await page.locator('[data-control=all]').click();
	const whole = `${requests.all.toLocaleString('en-US')} request${requests.all === 1 ? '' : 's'}: `;
	ok(await eventually(page, (wanted) => document.querySelector('.request-quantiles')?.textContent.startsWith(wanted), whole), 'latency: and all of them again');
	await slowest(page);
	is(page.complaints.join('\n'), '', 'latency: no complaint');
	await page.context().close();
}

/* What slow requests did is what dwell path --quantile says. */
async function requestPaths(page) {
	const expected = json('calls-path.json'), { shown, compared } = expected.requests, slow = expected.wall_ns / shown.length, usual = compared.wall_ns / compared.count;
	const [time] = await rowsOf(page, 'Where the time of slow requests went');
	is(time?.slice(0, 3).join(), ['time', timeText(slow), timeText(usual)].join(), 'latency: the time of slow requests, beside that of others');
	const [first] = await rowsOf(page, 'Paths of slow requests'), [node] = [...expected.tree].sort((a, b) => b.total_ns - a.total_ns);
	ok(first?.[4].startsWith(node.tid ? `${node.comm}/${node.tid}` : `${node.comm} (several)`), 'latency: the thread that answers them', first);
	is(first?.[1], timeText(node.total_ns / shown.length), 'latency: and its time per request');
	await page.setViewportSize({ width: 320, height: 256 });
	/* Pictures have the new width at the next frame. */
	ok(await eventually(page, () => document.documentElement.scrollWidth <= 321), 'latency: paths of requests need no scrolling to the side at 400%', await page.evaluate(() => document.documentElement.scrollWidth));
	await page.setViewportSize({ width: 1280, height: 900 });
	ok((await page.textContent('.request-path')).includes(expected.verdict.replace(/(\d) us\b/g, '$1 \u00b5s')), 'latency: and the verdict', expected.verdict);
}

/* The slowest call of a function leads to the timeline. */
async function slowest(page) {
	await page.evaluate(() => {
		window.made = 0;
		new MutationObserver((changes) => {
			for (const node of changes.flatMap(({ addedNodes }) => [...addedNodes])) window.made += node.querySelectorAll?.('.function-table').length ?? 0;
		}).observe(document.querySelector('.view-latency'), { subtree: true, childList: true });
		[...document.querySelectorAll('[role=tab]')].find((tab) => tab.textContent === 'Functions').click();
		location.hash = '#view=latency&part=functions';
	});
	await page.waitForSelector('.function-table tbody button');
	await page.locator('.function-table tbody button').first().click();
	const [, length, thread] = (await rowsOf(page, 'The slowest calls of the function'))[0], longest = (await rowsOf(page, 'Latencies by function'))[0][8];
	is(length, longest, 'latency: the slowest call is the longest');
	is(await page.evaluate(() => window.made), 1, 'latency: an address that is given while a table is read does not make it twice');
	await page.locator('.detail-panel td .link-button').first().click();
	await page.waitForSelector('.view-timeline');
	const [, begin, end] = await eventually(page, () => /[&#]t=(\d+)-(\d+)/.exec(location.hash)) ?? [];
	/* With a margin of a twentieth on both sides; near the edges of the recording it is less. */
	const [digits, unit] = length.split(' '), ns = digits * { ns: 1, '\u00b5s': 1e3, ms: 1e6, s: 1e9 }[unit], share = (end - begin) / ns;
	ok(share > 0.94 && share < 1.16, 'latency: and is shown in the timeline', `${end - begin} for ${length}`);
	const tid = await eventually(page, () => /[&#]threads=(\d+)(&|$)/.exec(location.hash)?.[1]);
	ok(tid, `latency: with its thread, ${thread}`, page.url());
}

async function themesAndSizes() {
	for (const colorScheme of ['light', 'dark']) {
		const page = await open(browser, file('trace.html'), '', { colorScheme });
		is(await page.evaluate(() => document.documentElement.dataset.theme), colorScheme, `the ${colorScheme} theme is that of the system`);
		await page.context().close();
	}
	/* 400% of 1280 by 1024. */
	for (const id of ['summary', 'flame', 'timeline', 'waits', 'path', 'latency']) {
		const page = await open(browser, file('trace.html'), `#view=${id}`, { viewport: { width: 320, height: 256 } });
		await page.waitForTimeout(300);
		const wide = await page.evaluate(() => [...document.querySelectorAll('body *')]
			.filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.table-wrap, .picture, svg')).map((one) => `${one.tagName}.${one.className}`).slice(0, 4).join(' '));
		const width = await page.evaluate(() => document.documentElement.scrollWidth);
		ok(width <= 321, `${id} needs no scrolling to the side at 400%`, `${width} pixels: ${wide}`);
		const unnamed = await page.evaluate(() => [...document.querySelectorAll('button, select, input, canvas, a')]
			.filter((one) => !one.hidden && !(one.textContent.trim() || one.getAttribute('aria-label') || one.title || one.labels?.length)).length);
		is(unnamed, 0, `${id}: all controls and pictures have names`);
		await page.context().close();
	}
}

async function hostile() {
	const page = await open(browser, file('hostile.html'), '#view=timeline');
	await page.waitForSelector('.timeline-picture[data-loaded]');
	for (const key of ['1', '2', '3', '4', '5', '7']) {
		await page.locator('body').press(key);
		await page.waitForTimeout(300);
	}
	await view(page, '3', 'timeline');
	await page.waitForSelector('.timeline-picture[data-loaded]');
	await page.locator('.view-timeline > details > summary').click();
	const names = (await rowsOf(page, 'Threads and what they did')).map((cells) => cells[0]).join('\n');
	for (const name of json('hostile.json')) ok(names.includes(name), `a name is a text: ${name.replace(/[^ -~]/g, '?')}`, names);
	is(await page.evaluate(() => window.broken), undefined, 'and nothing of it was executed');
	is(await page.evaluate(() => document.querySelectorAll('img, iframe, b[x]').length), 0, 'or became an element');
	is(page.complaints.join('\n'), '', 'no request, error or violation of the policy');
	await page.context().close();
}

async function several() {
	const page = await open(browser, file('both.html'), '#view=flame');
	await page.locator('select[aria-label=Recording]').selectOption('1');
	ok(await eventually(page, () => document.title.endsWith(' true') && document.querySelector('.page-head .what').textContent === 'true'), 'the head is that of the recording that is chosen', await page.title());
	is(await page.locator('select[aria-label="Compare with"] option').nth(1).textContent(), 'compare with trace.data', 'and it can be compared with the other one');
	is(page.complaints.join('\n'), '', 'several: no complaint');
	await page.context().close();
}

/* One figure for a target, those that are not sure without a rank, and no label upon another. */
async function causalNumbers(profile) {
	const whole = (share) => `${Math.round(share * 100)}%`;
	for (const viewport of [{ width: 1280, height: 900 }, { width: 320, height: 256 }]) {
		const page = await open(browser, file('causal.html'), '#view=causal', { viewport });
		const rows = await rowsOf(page, 'Targets by rank');
		profile.targets.slice(0, rows.length).forEach((target, i) => {
			const isSure = !/^(unsure|no-effect)$/.test(target.shape), cells = rows[i];
			ok(cells.includes(whole(target.effect)) && cells.includes(`${whole(target.effect_low)} to ${whole(target.effect_high)}`), `causal: the effect of ${target.target} is that of dwell causal report`, cells.join(' | '));
			is(cells[0] !== '', isSure, `causal: ${target.target} has ${isSure ? 'a' : 'no'} rank`);
		});
		const overlap = await page.evaluate(() => [...document.querySelectorAll('.curve-chart')].flatMap((chart) => {
			const boxes = [...chart.querySelectorAll('.curve-tick')].map((tick) => ({ text: tick.textContent, box: tick.getBoundingClientRect() }));
			return boxes.flatMap((one, i) => boxes.slice(i + 1).filter(({ box }) => box.left < one.box.right && box.right > one.box.left && box.top < one.box.bottom && box.bottom > one.box.top)
				.map((other) => `${one.text} on ${other.text}`));
		}).join(', '));
		is(overlap, '', `causal: labels do not overlap at ${viewport.width} pixels`);
		const width = await page.evaluate(() => document.documentElement.scrollWidth);
		ok(width <= viewport.width + 1, `causal: needs no scrolling to the side at ${viewport.width} pixels`, width);
		await page.context().close();
	}
}

async function alone() {
	const causal = await open(browser, file('causal.html'));
	const profile = json('causal.json');
	await view(causal, '6', 'causal');
	ok(await eventually(causal, () => document.querySelector('.view-causal svg, .view-causal canvas')), 'a causal profile alone shows its curves');
	ok((await causal.textContent('.view-causal')).length > 100 && Object.keys(profile).length, 'and what they mean');
	is(causal.complaints.join('\n'), '', 'causal: no complaint');
	await causalNumbers(profile);
	const sampled = await open(browser, file('sampled.html'), '#view=timeline');
	ok(await eventually(sampled, () => document.querySelector('.view-timeline')?.textContent.includes('only those that hold a sampling point')), 'a recording in sampling mode says what the timeline lacks');
	await view(sampled, '2', 'flame');
	ok(await flameNote(sampled, `${timeText(json('sampled.json').total_ns)} in all`), 'and its flame graph has the time of dwell report');
	is(sampled.complaints.join('\n'), '', 'sampling: no complaint');
	const empty = await open(browser, file('true.html'));
	await empty.waitForTimeout(300);
	is(empty.complaints.join('\n'), '', 'a recording without samples: no complaint');
	const damaged = await browser.newPage();
	await damaged.goto(`file://${file('damaged.html')}`);
	ok(await eventually(damaged, () => document.body.textContent.includes('cannot be read')), 'a page that was cut short says so');
}

try {
	const page = await open(browser, file('trace.html'));
	await summary(page);
	await flame(page);
	await selection(page);
	await names(page);
	await otherPrograms(page);
	await timeline(page);
	await others(page);
	await view(page, '7', 'latency');
	/* Whether threads meet at the program's mutex is a matter of chance. */
	const locks = json('locks.json').locks.length;
	ok(await eventually(page, (any) => any ? document.querySelector('.view-latency table') : document.querySelector('.view-latency')?.textContent.includes('Nothing waited for a lock'), locks > 0),
		'latency: locks of any recording');
	await page.locator('body').press('?');
	ok(await page.locator('dialog[open] table tr').count() > 10, '? lists the keys');
	is(page.complaints.join('\n'), '', 'no request, error or violation of the policy');
	await addressGiven();
	await scaled();
	await target();
	await knot();
	if (existsSync(file('calls.html'))) await latencies();
	await themesAndSizes();
	await hostile();
	await several();
	await alone();
} catch (error) {
	ok(false, 'the test came to its end', error.stack);
}
await browser.close();
done();
