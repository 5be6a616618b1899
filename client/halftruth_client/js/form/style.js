/**
 * Style sheet of the form. Pages can set the custom properties that start with `--halftruth`. The
 * form follows the `color-scheme` of the page.
 */

const CSS = `
:host {
  --accent: var(--halftruth-accent, light-dark(#0b5c8a, #7cc4f0));
  --on-accent: var(--halftruth-on-accent, light-dark(#ffffff, #0c1a24));
  --text: var(--halftruth-text, light-dark(#1d2329, #e8ecf0));
  --muted: var(--halftruth-muted, light-dark(#56616b, #a5b1bc));
  --surface: var(--halftruth-surface, light-dark(#ffffff, #1a2128));
  --quiet: var(--halftruth-quiet, light-dark(#f2f5f7, #232c35));
  --line: var(--halftruth-line, light-dark(#7d8891, #7d8994));
  --alarm: var(--halftruth-alarm, light-dark(#a3230f, #ff9d8a));
  --radius: var(--halftruth-radius, 0.5rem);
  display: block;
  color: var(--text);
  font: var(--halftruth-font, 1rem/1.5 system-ui, sans-serif);
  /* Of the text around it, nothing else either is inherited. */
  letter-spacing: normal;
  text-align: start;
  text-indent: 0;
  text-transform: none;
  white-space: normal;
  word-spacing: normal;
}
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
.language { display: flex; flex-wrap: wrap; align-items: center; justify-content: flex-end; gap: 0.3em 0.7em; margin: 0 0 1.2em; }
.language select { inline-size: auto; }
/* Words of another language than the questions keep their own direction, at the side of the others. */
.foreign :is(p, h2, h3, li, dt, dd, span, strong, legend, label, button) { unicode-bidi: plaintext; }
h2 { font-size: 1.35em; line-height: 1.25; margin: 0 0 0.8em; }
h3 { font-size: 1em; margin: 0 0 0.6em; }
h2:focus { outline: none; }
p { margin: 0 0 1em; max-inline-size: 62ch; text-wrap: pretty; }
.muted { color: var(--muted); }
fieldset { border: 0; margin: 0 0 2em; padding: 0; min-inline-size: 0; }
.question { margin: 0 0 2em; }
progress { display: block; inline-size: 100%; block-size: 0.4rem; margin: -0.4em 0 1.6em; accent-color: var(--accent); }
[hidden] { display: none !important; }
.aside { color: var(--muted); font-weight: 400; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: 0 0.5rem; max-inline-size: 28rem; }
.apart { margin-block-start: 0.8em; }
.apart .option { border-style: dashed; }
.scale { display: grid; gap: 0.4rem; grid-auto-columns: minmax(0, 1fr) }
.scale.tiny { grid-template-columns: repeat(auto-fit, minmax(2.4rem, 1fr)); gap: 0.25rem; }
.scale.tiny .option { flex-direction: column; justify-content: center; gap: 0.3em; padding: 0.5em 0.2em; margin: 0; }
@media (min-width: 40rem) {
  .scale:not(.tiny) { grid-auto-flow: column; }
  .scale:not(.tiny) .option { flex-direction: column; text-align: center; gap: 0.4em; padding: 0.6em 0.3em; margin: 0; line-height: 1.25; }
}
.ends { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1.5em; margin: 0.4em 0 0; max-inline-size: none; color: var(--muted); font-size: 0.9em; }
input.number {
  font: inherit; color: inherit; background: var(--surface); inline-size: 100%; max-inline-size: 12rem;
  min-block-size: 2.75rem; padding: 0.4em 0.8em; border: 1px solid var(--line); border-radius: var(--radius);
}
button.quiet { border-color: transparent; padding-inline: 0; font-weight: 400; text-decoration: underline; }
legend, .label { display: block; font-weight: 600; margin: 0 0 0.25em; padding: 0; }
.help { color: var(--muted); margin: 0 0 0.6em; }
.problem { color: var(--alarm); font-weight: 600; margin: 0 0 0.6em; }
.option {
  display: flex; align-items: center; gap: 0.7em; min-block-size: 2.75rem;
  padding: 0.4em 0.8em; margin: 0 0 0.4em;
  border: 1px solid var(--line); border-radius: var(--radius); background: var(--surface);
  cursor: pointer; overflow-wrap: anywhere;
}
.option:has(:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
.option:has(:disabled) { color: var(--muted); cursor: not-allowed; }
.option:has(:focus-visible), select:focus-visible, button:focus-visible, summary:focus-visible, a:focus-visible {
  outline: 3px solid var(--accent); outline-offset: 2px;
}
input[type="radio"], input[type="checkbox"] { accent-color: var(--accent); inline-size: 1.2em; block-size: 1.2em; flex: none; margin: 0; }
input:focus-visible { outline: none; }
input.number:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
select {
  font: inherit; color: inherit; background: var(--surface); inline-size: 100%;
  min-block-size: 2.75rem; padding: 0.4em 0.8em; border: 1px solid var(--line); border-radius: var(--radius);
}
.buttons { display: flex; flex-wrap: wrap; gap: 0.75rem; margin-block-start: 1.5em; }
button {
  font: inherit; font-weight: 600; min-block-size: 2.75rem; padding: 0.5em 1.3em; cursor: pointer;
  border: 1px solid var(--accent); border-radius: var(--radius); background: transparent; color: var(--accent);
}
button.main { background: var(--accent); color: var(--on-accent); }
button[disabled] { opacity: 0.6; cursor: progress; }
.card { margin: 0 0 1.25em; border: 1px solid var(--line); border-radius: var(--radius); padding: 1rem 1.1rem; background: var(--surface); }
.card.sent { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); background: var(--quiet); }
fieldset[aria-invalid] .option, fieldset [aria-invalid], .option:has([aria-invalid]) { border-color: var(--alarm); }
h3 { margin-block-start: 1.5em; }
.card h3, .opening .card h3 { margin-block-start: 0; }
.opening { line-height: 1.4; }
@media (max-width: 30rem) { .opening { font-size: 0.94em; line-height: 1.35; } }
.opening h2 { margin-block-end: 0.4em; }
.opening h3 { margin-block: 0.5em 0.1em; }
.opening p { margin-block: 0 0.4em; }
.opening .buttons { margin-block-start: 0.5em; }
.asker dt, .asker dd { display: inline; margin: 0; font: inherit; }
.asker dt::after { content: ": "; }
.asker dt:lang(fr)::after { content: "\\202f: "; }
.links { display: flex; flex-wrap: wrap; gap: 0 1.2em; }
.happens { margin: 0 0 0.5em; padding-inline-start: 1.1em; max-inline-size: 60ch; }
.happens li { margin: 0 0 0.1em; }
.figures { list-style: none; margin: 0 0 0.4em; padding: 0; max-inline-size: 40rem; }
.figures li { display: grid; grid-template-columns: 1fr auto; align-items: end; column-gap: 0.5em; margin: 0 0 0.1em; }
.figures strong { font-variant-numeric: tabular-nums; }
.bar { grid-column: 1 / -1; block-size: 0.4rem; border-radius: 0.25rem; background: var(--quiet); border: 1px solid var(--line); overflow: hidden; }
.bar span { display: block; block-size: 100%; background: var(--accent); }
details { margin: 0 0 1.25em; }
summary { cursor: pointer; padding: 0.6em 0; color: var(--accent); }
[role="status"] { min-block-size: 1.5em; margin-block: 1em; }
.pair { display: grid; gap: 0 1.25rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); align-items: start; }
a { color: var(--accent); overflow-wrap: anywhere; }
dl { margin: 0; }
dt { color: var(--muted); font-size: 0.9em; }
dd { margin: 0 0 0.7em; font-weight: 600; overflow-wrap: anywhere; white-space: pre-line; text-wrap: pretty; }
dd:last-child { margin-block-end: 0; }
@media (prefers-reduced-motion: no-preference) { button { transition: filter 0.15s; } button:hover { filter: brightness(1.1); } }
`;

/** Create the style sheet by script, which a strict Content-Security-Policy for styles allows. */
export function styleSheet() {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(CSS);
  return sheet;
}
