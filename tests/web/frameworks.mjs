/**
 * Bundle a component of the manual with its framework: as a page that can be told to ask another
 * survey (app.js), and as the HTML that a server makes of it (server.html).
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

/** A development dependency of the client. */
const load = async (/** @type {string} */ name) => {
  const module = await import(pathToFileURL(require.resolve(name)).href);
  return module.default ?? module;
};

/** Imports and HTML of a server; imports of a page, and how it begins, hydrates and changes. */
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
  Preact: {
    server: ['import { h } from "preact"; import { renderToString } from "preact-render-to-string";',
      "renderToString(h(Health, first))"],
    page: [
      'import { h, hydrate, render } from "preact";',
      `(isRendered ? hydrate : render)(h(Health, first), app);
       change = (props) => render(h(Health, props), app);`,
    ],
  },
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
  Svelte: {
    server: ['import { render } from "svelte/server";', "render(Health, { props: first }).body"],
    page: [
      'import { hydrate, mount } from "svelte"; import { stateOf } from "./state.js";',
      `const props = stateOf(first);
       (isRendered ? hydrate : mount)(Health, { target: app, props });
       change = (now) => Object.assign(props, now);`,
    ],
  },
  Solid: {
    server: ['import { createComponent, generateHydrationScript, renderToString } from "solid-js/web";',
      "renderToString(() => createComponent(Health, first)) + generateHydrationScript()"],
    page: [
      `import { createSignal } from "solid-js";
       import { createComponent, hydrate, mergeProps, render } from "solid-js/web";`,
      `const [props, set] = createSignal(first);
       (isRendered ? hydrate : render)(() => createComponent(Health, mergeProps(props)), app);
       change = set;`,
    ],
  },
};

/** Compilers of what esbuild does not read. */
const COMPILERS = {
  async Vue(/** @type {string} */ source, /** @type {boolean} */ isServer) {
    const { compileScript, parse } = await load("vue/compiler-sfc");
    const isCustomElement = (/** @type {string} */ tag) => tag === "halftruth-form";
    const templateOptions = { ssr: isServer, ssrCssVars: [], compilerOptions: { isCustomElement } };
    const { descriptor } = parse(source, { filename: "Health.vue" });
    return compileScript(descriptor, { id: "health", inlineTemplate: true, templateOptions }).content;
  },
  async Svelte(/** @type {string} */ source, /** @type {boolean} */ isServer) {
    const { compile, compileModule } = await load("svelte/compiler");
    const state = "export function stateOf(first) { const props = $state(first); return props; }";
    const made = compileModule(state, { filename: "state.svelte.js" }).js.code;
    await writeFile(join(folder, "state.js"), made);
    return compile(source, { generate: isServer ? "server" : "client" }).js.code;
  },
  async Solid(/** @type {string} */ source, /** @type {boolean} */ isServer) {
    const { transformAsync } = await load("@babel/core");
    const options = { generate: isServer ? "ssr" : "dom", hydratable: true };
    const presets = [[require.resolve("babel-preset-solid"), options]];
    return (await transformAsync(source, { presets, configFile: false })).code;
  },
};

/** @param {boolean} isServer */
async function bundle(isServer) {
  const source = await readFile(join(folder, "component"), "utf8");
  const compiled = (await COMPILERS[framework]?.(source, isServer)) ?? source;
  const component = compiled.replace("export function Health", "export default function Health");
  await writeFile(join(folder, "component.jsx"), component);
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
  const contents = `${imports} import Health from "./component.jsx";
    ${isServer ? `const first = { survey: "health" }; ${server}` : page}`;
  const form = join(client, "halftruth_client/js/form/index.js");
  const entries = ["form", "react", "preact", "vue", "svelte", "solid"];
  const old = framework === "React 18" && { react: "react-18", "react-dom": "react-dom-18" };
  const required = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';
  const outfile = join(folder, isServer ? "server.mjs" : "app.js");
  await (await load("esbuild")).build({
    stdin: { contents, resolveDir: folder },
    nodePaths: [join(client, "node_modules")],
    alias: { ...old, ...Object.fromEntries(entries.map((name) => [`halftruth-client/${name}`, form])) },
    bundle: true,
    format: "esm",
    target: "es2022",
    platform: isServer ? "node" : "browser",
    jsx: "automatic",
    jsxImportSource: framework === "Preact" ? "preact" : "react",
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
