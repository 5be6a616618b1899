/** Sorts and searches a table by the numeric values in its data attributes, and walks through the marks of charts. */

const table = document.querySelector("#table table");
const bar = document.querySelector("#table .bar");

/** Tables with at most this number of rows have no search field. */
const FEW = 10;

/** Normalize spaces and minus signs of a text to those of a keyboard. */
const plain = (text) => text.replaceAll("\u202f", " ").replaceAll("\u2212", "-").toLowerCase();

const number = ({ dataset }) => ("value" in dataset ? Number(dataset.value) : NaN);

/** Rows in the original order; an empty first cell repeats the cell above it. */
function read(row) {
  const cells = [...row.cells];
  const texts = cells.map((cell) => cell.dataset.above ?? cell.textContent);
  return { row, texts, first: cells[0].textContent, values: cells.map(number) };
}

/** Compare numbers, then words, then empty cells; descending order does not move empty cells. */
function comparison(column, sign) {
  const rank = ({ texts, values }) => (Number.isNaN(values[column]) ? (texts[column] ? 1 : 2) : 0);
  return (a, b) =>
    rank(a) - rank(b) ||
    sign * (a.values[column] - b.values[column] || a.texts[column].localeCompare(b.texts[column]));
}

function enliven() {
  const rows = [...table.tBodies[0].rows].map(read);
  const search = bar.querySelector("input");
  let order = null;

  function show() {
    const words = plain(search.value).split(/\s+/).filter(Boolean);
    const holds = ({ texts }) => words.every((word) => plain(texts.join(" ")).includes(word));
    const found = rows.filter(holds);
    if (order) found.sort(order);
    for (const { row, texts, first } of found) {
      // A cell with a text may be a link.
      if (!first) row.cells[0].textContent = order || words.length ? texts[0] : "";
    }
    table.tBodies[0].replaceChildren(...found.map(({ row }) => row));
    const said = found.length ? `${found.length} of ${rows.length} rows` : `No row of ${rows.length} holds this`;
    bar.querySelector("[role=status]").textContent = said;
  }

  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = document.createElement("button");
    button.className = "plain";
    button.textContent = heading.textContent || "↕";
    if (!heading.textContent) button.ariaLabel = `Sort by column ${column + 1}`;
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const numbers = rows.filter(({ values }) => !Number.isNaN(values[column])).length;
      // The largest numbers are what people look for; words are read from A on.
      const begin = 2 * numbers > rows.length ? "descending" : "ascending";
      const other = begin === "ascending" ? "descending" : "ascending";
      const next = heading.ariaSort === begin ? other : begin;
      for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", next);
      order = comparison(column, next === "ascending" ? 1 : -1);
      show();
    });
  });
  search.addEventListener("input", show);
  bar.addEventListener("submit", (event) => event.preventDefault());
  bar.hidden = rows.length <= FEW;
  show();
}

/** Of the answers to all questions, first the question, then those to it. */
function inTwoSteps(answers) {
  const groups = [...answers.querySelectorAll("optgroup")];
  const every = groups.map((group) => [...group.children]);
  const question = document.createElement("select");
  question.ariaLabel = "Question";
  question.append(...groups.map(({ label }) => new Option(label)));
  const offer = (chosen) => {
    const options = every[question.selectedIndex];
    answers.replaceChildren(...options);
    // Those at the ends are often rare.
    answers.value = (chosen ?? options[options.length >> 1]).value;
  };
  const chosen = answers.selectedOptions[0];
  question.selectedIndex = every.findIndex((options) => options.includes(chosen));
  question.addEventListener("change", () => offer());
  answers.before(question);
  offer(chosen);
}

/** Move through the marks of a chart by the keys of arrows, Home and End; one of them can be tabbed to. */
function walkable(chart) {
  const marks = [...chart.querySelectorAll(".mark")];
  const columns = chart.classList.contains("grid") ? chart.querySelector("tbody tr").querySelectorAll(".mark").length : 1;
  const steps = { ArrowDown: columns, ArrowUp: -columns, ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
  chart.addEventListener("keydown", (event) => {
    const place = marks.indexOf(event.target), step = steps[event.key];
    if (place < 0 || !step || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const next = marks[Math.min(Math.max(place + step, 0), marks.length - 1)];
    marks[place].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
  for (const mark of marks) mark.tabIndex = -1;
  if (marks.length) marks[0].tabIndex = 0;
}

if (table) enliven();
for (const chart of document.querySelectorAll("figure.chart")) walkable(chart);
for (const answers of document.querySelectorAll("select[data-answers]")) inTwoSteps(answers);
