"""A survey of every kind of question in four languages: its file, how it is designed on a page,
people who answer it in a browser or elsewhere, and their true shares.
"""

import re
import tomllib
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from halftruth_shared import Survey
from playwright.sync_api import Page, expect

LANGUAGES = ("en", "de", "fr", "es")
Record = dict[str, Any]

FILE = """\
id = "every-kind"
title = {en = "Work and health", de = "Arbeit und Gesundheit", fr = "Travail et santé", \
es = "Trabajo y salud"}
languages = ["en", "de", "fr", "es"]

[mechanism]
kind = "split-questionnaire"
gamma = "19"
max_length = 2

[[attributes]]
name = "drinks"
label = {en = "How often do you drink?", de = "Wie oft trinken Sie?", \
fr = "À quelle fréquence buvez-vous ?", es = "¿Con qué frecuencia bebe?"}
categories = ["never", "weekly", "daily"]
missing = ["hush"]
answers.never = {en = "never", de = "nie", fr = "jamais", es = "nunca"}
answers.weekly = {en = "every week", de = "jede Woche", fr = "chaque semaine", es = "cada semana"}
answers.daily = {en = "every day", de = "jeden Tag", fr = "chaque jour", es = "cada día"}
answers.hush = {en = "I'd rather not say", de = "Sage ich nicht", fr = "Je préfère me taire", \
es = "Prefiero no decirlo"}

[[attributes]]
name = "smoker"
label = {en = "Do you smoke?", de = "Rauchen Sie?", fr = "Fumez-vous ?", es = "¿Fuma?"}
categories = ["no", "yes"]
answers.no = {en = "no", de = "nein", fr = "non", es = "no"}
answers.yes = {en = "yes", de = "ja", fr = "oui", es = "sí"}

[[attributes]]
name = "cigarettes"
kind = "number"
label = {en = "How many a day?", de = "Wie viele am Tag?", fr = "Combien par jour ?", \
es = "¿Cuántos al día?"}
minimum = 1
maximum = 60
step = 20
ask_if = {smoker = ["yes"]}

[[attributes]]
name = "content"
kind = "scale"
label = {en = "How content are you?", de = "Wie zufrieden sind Sie?", \
fr = "Êtes-vous satisfait ?", es = "¿Está contento?"}
categories = ["1", "2", "3", "4", "5"]
optional = true
answers.1 = {en = "not at all", de = "gar nicht", fr = "pas du tout", es = "nada"}
answers.5 = {en = "very much", de = "sehr", fr = "tout à fait", es = "mucho"}

[[attributes]]
name = "symptoms"
kind = "several"
label = {en = "Which did you have?", de = "Was hatten Sie?", fr = "Qu'avez-vous eu ?", \
es = "¿Qué ha tenido?"}
options = [
  {name = "cough", label = {en = "a cough", de = "Husten", fr = "une toux", es = "tos"}},
  {name = "fever", label = {en = "fever", de = "Fieber", fr = "de la fièvre", es = "fiebre"}},
  {name = "pain", label = {en = "pain", de = "Schmerzen", fr = "des douleurs", es = "dolor"}},
]

[[attributes]]
name = "sleep"
kind = "number"
label = {en = "Hours of sleep?", de = "Stunden Schlaf?", fr = "Heures de sommeil ?", \
es = "¿Horas de sueño?"}
minimum = 0
maximum = 14
step = "3.5"
optional = true
"""

#: Every category by attribute, in the order of tables, and what an answer has to be for it.
CATEGORIES: dict[str, list[str]] = {
    "drinks": ["never", "weekly", "daily", "hush"],
    "smoker": ["no", "yes"],
    "cigarettes": ["1 to 20", "21 to 40", "41 to 60", "not asked"],
    "content": ["1", "2", "3", "4", "5", "no answer"],
    "symptoms.cough": ["no", "yes"],
    "symptoms.fever": ["no", "yes"],
    "symptoms.pain": ["no", "yes"],
    "sleep": ["[0, 3.5)", "[3.5, 7)", "[7, 10.5)", "[10.5, 14]", "no answer"],
}


def survey(mechanism: str = "") -> Survey:
    """The survey of the file, or of the file with another mechanism."""
    return Survey.from_toml(file(mechanism) if mechanism else FILE)


def unprotected() -> Survey:
    """The same questions, of which every answer is sent as it is, so that counts are exact."""
    keep = ", ".join(f'"{name}" = "1"' for name in CATEGORIES)
    written = file(f'kind = "randomized-response"\nkeep = {{{keep}}}')
    return Survey.from_toml(re.sub("(?m)^(name = .*)$", r"\1\nsensitive = false", written))


def file(mechanism: str) -> str:
    """The file with another mechanism."""
    before, _, after = FILE.partition('kind = "split-questionnaire"\ngamma = "19"\nmax_length = 2')
    return before + mechanism + after


def people(count: int, seed: int) -> list[Record]:
    """Answers as people give them; what they are not asked or leave out is not there.

    Answers depend on each other, and the ends of bins are among the numbers.
    """
    rng = np.random.default_rng(seed)
    return [_person(rng) for _ in range(count)]


def _person(rng: np.random.Generator) -> Record:
    drinks = str(rng.choice(CATEGORIES["drinks"], p=[0.35, 0.4, 0.15, 0.1]))
    smokes = rng.random() < (0.5 if drinks == "daily" else 0.25)
    record: Record = {"drinks": drinks, "smoker": "yes" if smokes else "no"}
    if smokes:
        ends = (1, 20, 21, 40, 41, 60)
        record["cigarettes"] = int(rng.choice(ends) if rng.random() < 0.3 else rng.integers(1, 41))
    if rng.random() < 0.85:
        shares = [0.25, 0.25, 0.2, 0.2, 0.1] if smokes else [0.05, 0.1, 0.25, 0.35, 0.25]
        record["content"] = str(rng.choice(CATEGORIES["content"][:5], p=shares))
    coughs = 0.5 if smokes else 0.2
    chances = {"cough": coughs, "fever": 0.1, "pain": 0.3}
    record["symptoms"] = [name for name, chance in chances.items() if rng.random() < chance]
    if rng.random() < 0.9:
        hours = rng.choice([0.0, 3.5, 7.0, 10.5, 14.0]) if rng.random() < 0.2 else rng.normal(7, 2)
        record["sleep"] = round(min(max(float(hours), 0), 14), 1)
    return record


def category(record: Record, name: str) -> str:
    """Which category an answer is, by what the survey's author meant."""
    if name.startswith("symptoms."):
        return "yes" if name.removeprefix("symptoms.") in record["symptoms"] else "no"
    if name not in record:
        return "not asked" if name == "cigarettes" else "no answer"
    if name == "cigarettes":
        return CATEGORIES[name][(record[name] - 1) // 20]
    if name == "sleep":
        return CATEGORIES[name][min(int(record[name] / 3.5), 3)]
    return str(record[name])


def shares(records: Sequence[Record], names: Sequence[str]) -> dict[tuple[str, ...], float]:
    """True shares of all combinations of answers, in row-major order."""
    found = [tuple(category(record, name) for name in names) for record in records]
    cells = product(*(CATEGORIES[name] for name in names))
    return {cell: found.count(cell) / len(records) for cell in cells}


# What an operator does on the designer's page.


def design(page: Page) -> None:
    """Write the file with the controls of the designer, question by question, and publish it."""
    wanted = tomllib.loads(FILE)
    _step(page, "Publish")
    _fill(page, "Id", wanted["id"])
    _step(page, "Around the questions")
    _fill(page, "Languages", " ".join(LANGUAGES))
    _fill_each(page, "Title", wanted["title"])
    _step(page, "Protection")
    _fill(page, "The same as an exact γ", wanted["mechanism"]["gamma"])
    _step(page, "Questions")
    for name in ("first", "second"):
        _press(page, f"Remove {name}")
        expect(page.get_by_role("button", name=f"Remove {name}")).to_have_count(0)
    for question in wanted["attributes"]:
        _press(page, f"Add a question: {question.get('kind', 'choice')}")
        expect(page.get_by_label("Name", exact=True)).to_have_value(re.compile("question"))
        _fill(page, "Name", question["name"])
        expect(page.get_by_role("group", name=question["name"], exact=True)).to_be_visible()
        _describe(page, question)
    _step(page, "Publish")
    _press(page, "Publish")
    expect(page.get_by_role("heading", name=wanted["title"]["en"])).to_be_visible()


def _step(page: Page, name: str) -> None:
    page.get_by_role("radio", name=name, exact=True).check(force=True)


def _describe(page: Page, question: dict[str, Any]) -> None:
    _fill_each(page, "Question", question["label"])
    if question.get("optional"):
        page.get_by_label("Optional", exact=True).check()
    for key, label in {
        "minimum": "Least number",
        "maximum": "Largest number",
        "step": "Width of a bin",
    }.items():
        if key in question:
            _fill(page, label, str(question[key]))
    codes = question.get("categories", [])
    shown = [question.get("answers", {}).get(code) for code in codes + question.get("missing", [])]
    if codes:
        _fill(page, "Answers, one per line", "\n".join(codes))
    if "missing" in question:
        page.get_by_text("Help, page, short labels, missing answers").click()
        _fill(page, "Missing answers, one per line", "\n".join(question["missing"]))
    if "options" in question:
        names = [option["name"] for option in question["options"]]
        _fill(page, "Options, one per line", "\n".join(names))
        shown = [option["label"] for option in question["options"]]
    if any(shown):
        texts = {k: "\n".join(text[k] if text else "" for text in shown) for k in LANGUAGES}
        _fill_each(page, "Shown as, line by line", texts)
    for name, answers in question.get("ask_if", {}).items():
        page.get_by_text("Asked after some answers only").click()
        for answer in answers:
            page.get_by_role("group", name=name).get_by_label(answer, exact=True).check()


def _press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def _fill(page: Page, label: str, text: str) -> None:
    page.get_by_label(label, exact=True).fill(text)


def _fill_each(page: Page, label: str, texts: dict[str, str]) -> None:
    for language in LANGUAGES:
        page.get_by_role("button", name=language, exact=True).click()
        _fill(page, f"{label} ({language})", texts[language])


# What respondents do on the form, one after the other on one device.

_ANSWER = """
async (records) => {
  const root = document.querySelector("halftruth-form").shadowRoot;
  const shown = (isThere) => new Promise((resolve, reject) => {
    const look = () => {
      if (!isThere()) return;
      seen.disconnect();
      resolve();
    };
    const seen = new MutationObserver(look);
    setTimeout(reject, 60_000, new Error("the form did not go on"));
    seen.observe(root, { childList: true, subtree: true });
    look();
  });
  const find = (css) => root.querySelector(css);
  const choose = (name, value) => {
    const [by, of] = [`[name="${CSS.escape(name)}"]`, `[value="${CSS.escape(value)}"]`];
    find(`input${by}${of}`)?.click();
  };
  const enter = (name, value) => {
    const input = find(`input[inputmode][name="${name}"]`);
    if (input === null) return;
    input.value = value;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const asked = [];
  for (const [i, record] of records.entries()) {
    await shown(() => find("form") && !find("progress"));
    find("button.main").click();
    await shown(() => find("progress"));
    for (const [name, answer] of Object.entries(record)) {
      if (typeof answer === "number") enter(name, answer);
      else if (!Array.isArray(answer)) choose(name, answer);
      else if (!find(`[name="${name}"]`)) continue;
      else {
        for (const option of answer) choose(name, `${name}.${option}`);
        if (!find(`[name="${name}"]:checked`)) choose(name, "no");
      }
    }
    asked.push([...root.querySelectorAll("legend, .label")].map((each) => each.textContent.trim()));
    find("form button.main").click();
    if (find("progress")) throw new Error(`person ${i} may not go on`);
    find("button.main").click();
    await shown(() => find(".sent"));
    if (i + 1 === records.length) return asked;
    const buttons = [...root.querySelectorAll("button")];
    buttons[buttons.length - 1].click();
    find("button.main").click();
  }
}
"""


def answer(page: Page, records: Sequence[Record]) -> list[list[str]]:
    """Answer the form of a page as these people, and send; the value is what each was asked."""
    found: list[list[str]] = page.evaluate(_ANSWER, records)
    return found


_FOCUSED = """() => {
  const at = document.querySelector("halftruth-form").shadowRoot.activeElement;
  return at && [at.matches("button.main"), at.name ?? "", at.type ?? "", at.value ?? ""];
}"""


def answer_by_keyboard(page: Page, record: Record) -> None:
    """Answer the form as this person with keys alone, and send."""
    form = page.locator("halftruth-form")
    expect(form.locator("button.main")).to_be_visible()
    _go_on(page)
    expect(form.locator("progress")).to_be_attached()
    for name, given in record.items():
        controls = form.locator(f'input[name="{name}"]')
        if controls.count() == 0:
            continue
        if isinstance(given, list):
            for code in [f"{name}.{option}" for option in given] or ["no"]:
                if form.locator(f'input[name="{name}"][value="{code}"]').count():
                    _tab_to(page, lambda at, code=code: at[3] == code)
                    page.keyboard.press("Space")
            if form.locator(f'input[name="{name}"]:checked').count() == 0:
                _tab_to(page, lambda at, name=name: (at[1], at[3]) == (name, "no"))
                page.keyboard.press("Space")
            continue
        _tab_to(page, lambda at, name=name: at[1] == name)
        if isinstance(given, str):
            page.keyboard.press("Space")
            for _ in CATEGORIES[name]:
                if page.evaluate(_FOCUSED)[3] != given:
                    page.keyboard.press("ArrowDown")
        else:
            page.keyboard.type(str(given))
    _go_on(page)
    expect(form.locator(".card")).to_be_visible()
    _go_on(page)
    expect(form.locator(".sent")).to_be_visible()


def _tab_to(page: Page, is_there: Callable[[list[Any]], bool]) -> None:
    """Press Tab until a control has the focus."""
    for _ in range(60):
        at = page.evaluate(_FOCUSED)
        if at and is_there(at):
            return
        page.keyboard.press("Tab")
    raise AssertionError("the control cannot be reached by keyboard")


def _go_on(page: Page) -> None:
    _tab_to(page, lambda at: at[0])
    page.keyboard.press("Enter")


def next_person(page: Page) -> None:
    """Leave the form to another person, after a report was sent."""
    form = page.locator("halftruth-form")
    form.locator("button").last.click()
    form.locator("button.main").click()
