/**
 * Follows the form to another language, and takes an invitation out of the address, where everyone sees it, and gives it to the form.
 *
 * It comes behind the #, which browsers send to nobody, and stays with this entry of the history,
 * so that the page can be loaded again before the report is sent.
 */

const name = "invitation";
const brought = new URLSearchParams(location.hash.slice(1)).get(name);
const invitation = brought ?? history.state?.[name];

if (brought !== null) {
  const state = { ...history.state, [name]: brought };
  history.replaceState(state, "", location.pathname + location.search);
}
if (invitation) document.querySelector("halftruth-form")?.setAttribute(name, invitation);

// Kept with the report from here on, as long as it is needed.
addEventListener("submitted", () => {
  if (!history.state?.[name]) return;
  const { [name]: spent, ...others } = history.state;
  history.replaceState(Object.keys(others).length > 0 ? others : null, "");
});

// Another invitation was opened in this place.
addEventListener("hashchange", () => location.reload());

// The page around the form is in the language that was chosen there, also when it is loaded again.
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
