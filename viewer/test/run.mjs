// Bundles each test for Node, and runs them: TAP on standard output.
//
//	node test/run.mjs FOLDER	for what is made
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url)), folder = process.argv[2] ?? join(here, '..', 'build');
const tests = readdirSync(here).filter((name) => name.endsWith('.test.ts')).sort();
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
await build({
	entryPoints: tests.map((name) => join(here, name)), bundle: true, platform: 'node', format: 'esm', outdir: folder,
	outExtension: { '.js': '.mjs' }, define: { WORKER_SOURCE: '""' }, logLevel: 'error',
});
const files = tests.map((name) => join(folder, name.replace(/\.ts$/, '.mjs')));
process.exit(spawnSync(process.execPath, ['--test', '--test-reporter=tap', ...files], { stdio: 'inherit' }).status ?? 1);
