/** Adds the main findings to each survey of a list, one after the other, since each takes a moment. */

for (const place of document.querySelectorAll("[data-findings]")) {
  try {
    const answer = await fetch(place.dataset.findings);
    const { findings } = answer.ok ? await answer.json() : { findings: [] };
    place.replaceChildren(
      ...findings.map((sentence) => Object.assign(document.createElement("p"), { textContent: sentence })),
    );
  } catch {
    // The pages of the survey have its findings, too.
  }
}
