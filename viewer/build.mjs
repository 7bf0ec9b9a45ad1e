// Builds the page: scripts, styles and licences in one file that needs nothing else.
//
//	node build.mjs FILE
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(fileURLToPath(import.meta.url));
const output = process.argv[2];
if (!output) {
	console.error('usage: node build.mjs FILE');
	process.exit(2);
}

const common = { bundle: true, minify: true, write: false, target: 'es2022', charset: 'ascii', legalComments: 'none', absWorkingDir: root };

async function bundle(entry, more = {}) {
	const result = await build({ ...common, entryPoints: [entry], format: 'iife', ...more });
	return result.outputFiles[0].text.trim();
}

/** Styles of the page and of each view. */
function styles() {
	const files = ['src/ui', 'src/views'].flatMap((folder) => readdirSync(join(root, folder)).sort()
		.filter((name) => name.endsWith('.css')).map((name) => join(root, folder, name)));
	return files.map((file) => readFileSync(file, 'utf8')).join('\n');
}

/** The licences of what is bundled. */
function licences(metafile) {
	const packages = new Set(Object.keys(metafile.inputs)
		.map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]).filter(Boolean));
	return [...packages].sort().map((name) => {
		const folder = join(root, 'node_modules', name);
		const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
		const file = readdirSync(folder).sort().find((entry) => /^licen[cs]e/i.test(entry));
		return `${name} ${version}\n\n${file ? readFileSync(join(folder, file), 'utf8').trim() : 'no licence file'}`;
	}).join('\n\n');
}

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
/** Text within a script: what would end it is escaped, as strings of scripts can. */
const inScript = (text) => text.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');

const worker = await bundle('src/engine/worker.ts');
const meta = await build({ ...common, entryPoints: ['src/main.ts'], format: 'iife', metafile: true,
	define: { WORKER_SOURCE: JSON.stringify(worker) } });
const script = inScript(meta.outputFiles[0].text.trim());
const css = (await build({ ...common, stdin: { contents: styles(), loader: 'css' }, bundle: false })).outputFiles[0].text.trim();
const policy = [
	"default-src 'none'", `script-src ${hash(script)}`, 'worker-src blob:', `style-src ${hash(css)}`,
	"style-src-attr 'unsafe-inline'", 'img-src data: blob:', "connect-src 'none'", "base-uri 'none'", "form-action 'none'",
	"require-trusted-types-for 'script'", 'trusted-types dwell-worker',
].join('; ');

writeFileSync(output, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>dwell</title>
<style>${css}</style>
</head>
<body>
<noscript>This page needs JavaScript.</noscript>
<div id="app"></div>
<script>${script}</script>
<!--DATA-->
<!--
The page contains these modules:

${licences(meta.metafile).replaceAll('--', '- -')}
-->
</body>
</html>
`);
