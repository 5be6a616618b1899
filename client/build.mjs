/**
 * Builds the form that a collector serves: `node build.mjs`, into the collector's package.
 *
 * One module has the client and the form, and each language but English is a module of its own. A name
 * has the hash of the contents, so that browsers need not ask for a file again. Each file is compressed
 * here, as much as possible, and not by the server. `manifest.json` has the names, and the hash of the
 * sources: a collector serves no build of other sources than it has.
 */

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "esbuild";

const SOURCES = fileURLToPath(new URL("halftruth_client/js", import.meta.url));
const BUILT = fileURLToPath(new URL("../collector/halftruth_collector/web/built", import.meta.url));
const WORDS = "form/words";

/** @type {import("esbuild").BuildOptions} */
const OPTIONS = { bundle: true, minify: true, format: "esm", target: "es2022", write: false, logLevel: "warning" };

/** @param {string | Uint8Array} data */
const hashOf = (data) => createHash("sha256").update(data).digest("hex");

/** @type {(name: string, contents: Uint8Array) => Promise<string>} */
async function write(name, contents) {
  const file = `${name}.${hashOf(contents).slice(0, 16)}.js`;
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: contents.length };
  await writeFile(join(BUILT, file), contents);
  await writeFile(join(BUILT, `${file}.br`), brotliCompressSync(contents, { params }));
  await writeFile(join(BUILT, `${file}.gz`), gzipSync(contents, { level: 9 }));
  return file;
}

/** @type {(source: string, plugins?: import("esbuild").Plugin[]) => Promise<Uint8Array>} */
async function bundle(source, plugins = []) {
  const { outputFiles } = await build({ ...OPTIONS, entryPoints: [join(SOURCES, source)], plugins });
  return outputFiles[0].contents;
}

/** Hash of all modules with their names, in the order of these. */
async function hashOfSources() {
  const names = (await readdir(SOURCES, { recursive: true })).filter((name) => name.endsWith(".js")).sort();
  const hash = createHash("sha256");
  for (const name of names) hash.update(`${name}\0`).update(await readFile(join(SOURCES, name)));
  return hash.digest("hex");
}

await rm(BUILT, { recursive: true, force: true });
await mkdir(BUILT, { recursive: true });
/** Files by language. @type {Record<string, string>} */
const words = {};
for (const file of (await readdir(join(SOURCES, WORDS))).sort()) {
  const language = file.replace(/\.js$/, "");
  words[language] = await write(language, await bundle(`${WORDS}/${file}`));
}
const named = {
  name: "languages by their hashed names",
  /** @param {import("esbuild").PluginBuild} to */
  setup(to) {
    to.onResolve({ filter: /^\.\/words\/\w+\.js$/ }, ({ path }) => ({
      path: `./${words[path.slice("./words/".length, -".js".length)]}`,
      external: true,
    }));
  },
};
const form = await write("halftruth", await bundle("bundle.js", [named]));
const manifest = { sources: await hashOfSources(), form, words };
await writeFile(join(BUILT, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
