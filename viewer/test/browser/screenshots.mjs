// Pictures of every view in both themes, for docs/page/.
//
//	node screenshots.mjs FOLDER VIEW=PAGE[#FRAGMENT]...
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { launch, open } from './browser.mjs';

const [folder, ...wanted] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await launch();
for (const one of wanted)
	for (const colorScheme of ['light', 'dark']) {
		const [, view, file, fragment] = /^(\w+)=([^#]+)#?(.*)$/.exec(one);
		const page = await open(browser, resolve(file), `#view=${view}&${fragment}`, { colorScheme, viewport: { width: 1180, height: 740 } });
		await page.waitForTimeout(1500);
		await page.screenshot({ path: join(folder, `${view}-${colorScheme}.png`) });
		if (page.complaints.length) console.log(`${view}: ${page.complaints.join('\n')}`);
		await page.context().close();
	}
await browser.close();
