/**
 * Hosted form: moves an invitation from the address bar to the form, and follows its language.
 *
 * The invitation is in the fragment of the address, which browsers do not send. It is stored in the
 * history entry, so that the page can be reloaded before the report is sent.
 */

const name = "invitation";
const brought = new URLSearchParams(location.hash.slice(1)).get(name);
const invitation = brought ?? history.state?.[name];

if (brought !== null) {
  const state = { ...history.state, [name]: brought };
  history.replaceState(state, "", location.pathname + location.search);
}
if (invitation) document.querySelector("halftruth-form")?.setAttribute(name, invitation);

// From here on the client stores the invitation with the report.
addEventListener("submitted", () => {
  if (!history.state?.[name]) return;
  const { [name]: spent, ...others } = history.state;
  history.replaceState(Object.keys(others).length > 0 ? others : null, "");
});

// Another invitation was opened in this tab.
addEventListener("hashchange", () => location.reload());

// Use the language of the form for the page around it, also after reloading.
addEventListener("language", ({ detail: { language, direction, title, description } }) => {
  const root = document.documentElement;
  [root.lang, root.dir] = [language, direction];
  document.title = document.title.replace(/^.* – /s, `${title} – `);
  document.querySelector("h1").textContent = title;
  const lead = document.querySelector(".lead");
  if (lead) lead.textContent = description;
  const address = new URL(location.href);
  address.searchParams.set("lang", language);
  history.replaceState(history.state, "", address);
});
