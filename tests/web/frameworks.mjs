/**
 * Bundle a component of the manual with its framework: as a page that can switch to another survey
 * (app.js), and as server-rendered HTML (server.html).
 *
 * `node frameworks.mjs FRAMEWORK FOLDER`, with the component in the folder, as `component`.
 */

import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const client = fileURLToPath(new URL("../../client/", import.meta.url));
const require = createRequire(join(client, "package.json"));
const [framework, folder] = process.argv.slice(2);

/** Load a development dependency of the client. */
const load = async (/** @type {string} */ name) => {
  const module = await import(pathToFileURL(require.resolve(name)).href);
  return module.default ?? module;
};

/** Imports and HTML of a server; imports, start, hydration and update of a page. */
const REACT = {
  server: ['import { createElement } from "react"; import { renderToString } from "react-dom/server";',
    "renderToString(createElement(Health, first))"],
  page: [
    'import { createElement } from "react"; import { createRoot, hydrateRoot } from "react-dom/client";',
    `const made = (props) => createElement(Health, props);
     const root = isRendered ? hydrateRoot(app, made(first)) : createRoot(app);
     if (!isRendered) root.render(made(first));
     change = (props) => root.render(made(props));`,
  ],
};
const PROGRAMS = {
  "React 19": REACT,
  "React 18": REACT,
  Vue: {
    server: ['import { createSSRApp } from "vue"; import { renderToString } from "vue/server-renderer";',
      "await renderToString(createSSRApp(Health, first))"],
    page: [
      'import { createApp, createSSRApp, h, shallowRef } from "vue";',
      `const props = shallowRef(first);
       (isRendered ? createSSRApp : createApp)({ render: () => h(Health, props.value) }).mount(app);
       change = (now) => { props.value = now; };`,
    ],
  },
};

/** Compile a Vue component to a TypeScript module. */
async function compileVue(/** @type {string} */ source, /** @type {boolean} */ isServer) {
  const { compileScript, parse } = await load("vue/compiler-sfc");
  const isCustomElement = (/** @type {string} */ tag) => tag === "halftruth-form";
  const templateOptions = { ssr: isServer, ssrCssVars: [], compilerOptions: { isCustomElement } };
  const { descriptor } = parse(source, { filename: "Health.vue" });
  return compileScript(descriptor, { id: "health", inlineTemplate: true, templateOptions }).content;
}

/** @param {boolean} isServer */
async function bundle(isServer) {
  const source = await readFile(join(folder, "component"), "utf8");
  const component = framework === "Vue"
    ? await compileVue(source, isServer)
    : source.replace("export function Health", "export default function Health");
  await writeFile(join(folder, "component.tsx"), component);
  const [imports, body] = PROGRAMS[framework][isServer ? "server" : "page"];
  const server = `globalThis.made = ${body};`;
  const page = `
    const app = document.querySelector("#app");
    const isRendered = app.firstElementChild !== null;
    let change;
    const propsOf = (survey) => ({
      survey,
      onSubmitted: ({ detail }) => heard.push([survey, detail.status, Object.keys(detail).join()]),
    });
    const first = propsOf("health");
    ${body}
    window.heard = [];
    window.ask = (survey) => change(propsOf(survey));`;
  const contents = `${imports} import Health from "./component.tsx";
    ${isServer ? `const first = { survey: "health" }; ${server}` : page}`;
  const form = join(client, "halftruth_client/js/form/index.js");
  const old = framework === "React 18" && { react: "react-18", "react-dom": "react-dom-18" };
  const required = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';
  const outfile = join(folder, isServer ? "server.mjs" : "app.js");
  await (await load("esbuild")).build({
    stdin: { contents, resolveDir: folder },
    nodePaths: [join(client, "node_modules")],
    alias: { ...old, "halftruth-client/form": form },
    bundle: true,
    format: "esm",
    target: "es2022",
    platform: isServer ? "node" : "browser",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    banner: isServer ? { js: required } : {},
    outfile,
    logLevel: "error",
  });
  return outfile;
}

await bundle(false);
await import(pathToFileURL(await bundle(true)).href);
await writeFile(join(folder, "server.html"), globalThis.made);
