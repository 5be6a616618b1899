"""Whether true shares are in their 95 % intervals as often as they should be, the whole way.

A survey of every kind of question in four languages is designed in the browser, published, answered
by people in the browser and through Python, and analysed. Further surveys of other people are
simulated, so that the share of hits could be told from 95 %; it exits 1 if it can.
``python tests/bench/every_kind_of_question.py``, some two minutes, needs Chromium.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

import numpy as np
from halftruth_client import Analyst, Client
from halftruth_collector import Counts, Estimator
from halftruth_collector.cli.output import print_table
from halftruth_collector.collector_store import Store
from halftruth_collector.demo.process import collector_process
from halftruth_shared.analyses.table import TableQuery
from halftruth_shared.protocol.terms import Terms
from playwright.sync_api import Browser, Page, expect, sync_playwright
from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from every_kind import (
    CATEGORIES,
    LANGUAGES,
    Record,
    answer,
    answer_by_keyboard,
    category,
    design,
    next_person,
    people,
    shares,
    survey,
)

IN_BROWSER, IN_PYTHON, SURVEYS = 200, 5_000, 100
#: People who share a browser, of whom the first one answers by keyboard.
SHARING = 25
PHONE, DESK = {"width": 360, "height": 700}, {"width": 1280, "height": 800}
SETS = {
    "answers": [(name,) for name in CATEGORIES],
    "pairs of answers": list(combinations(CATEGORIES, 2)),
}

#: Shares and whether their intervals hold them, by set.
Hits = dict[str, np.ndarray]
Intervals = Callable[[tuple[str, ...]], tuple[Iterable[float], Iterable[float]]]


def hits(records: Sequence[Record], intervals: Intervals) -> Hits:
    """Whether each true share of these people is inside of its interval."""
    found: Hits = {}
    for title, sets in SETS.items():
        inside: list[bool] = []
        for names in sets:
            true = shares(records, names).values()
            ends = zip(*intervals(names), true, strict=True)
            inside += [lower <= share <= upper for lower, upper, share in ends]
        found[title] = np.array(inside)
    return found


@contextmanager
def timed(what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - began:.0f} s", flush=True)


def designed(browser: Browser, url: str, token: str) -> None:
    """Write the survey with the controls of the designer, and publish it."""
    page = browser.new_page()
    page.goto(f"{url}/operate/design")
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    design(page)
    page.close()


def answered(browser: Browser, url: str, records: Sequence[Record]) -> None:
    """Let people answer: on several devices, in each language, on narrow and on wide screens."""
    for device, first in enumerate(range(0, len(records), SHARING)):
        language = LANGUAGES[device % len(LANGUAGES)]
        screen = PHONE if device % 3 else DESK
        context = browser.new_context(locale=language, viewport=screen)
        page: Page = context.new_page()
        page.goto(f"{url}/s/every-kind")
        by_keyboard, *others = records[first : first + SHARING]
        answer_by_keyboard(page, by_keyboard)
        if others:
            next_person(page)
            answer(page, others)
        context.close()


def analysed(url: str, token: str, records: Sequence[Record]) -> Hits:
    """Hits of the survey as an analyst asks for its tables."""
    analyst = Analyst(url, token)

    def intervals(names: tuple[str, ...]) -> tuple[list[float], list[float]]:
        query = TableQuery(attributes=list(names), target="respondents")
        cells = analyst.ask("every-kind", query).cells
        lower, upper = zip(*(cell.interval or (np.nan, np.nan) for cell in cells), strict=True)
        return list(lower), list(upper)

    return hits(records, intervals)


def simulated(seed: int) -> Hits:
    """Hits of a survey of other people, whose reports are drawn here."""
    made, records = survey(), people(IN_PYTHON, seed)
    codes = [[CATEGORIES[n].index(category(record, n)) for n in CATEGORIES] for record in records]
    drawn = made.mechanism.perturb_many(made.schema, np.array(codes), np.random.default_rng(seed))
    estimator = Estimator(made, Counts.from_reports(made, drawn))

    def intervals(names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = estimator.table(names).interval(0.95, "respondents")
        return lower.ravel(), upper.ravel()

    return hits(records, intervals)


def row(title: str, of: str, inside: np.ndarray) -> list[str]:
    """How many are inside, with the interval that they would have if each were by itself."""
    ends = stats.binomtest(int(inside.sum()), inside.size).proportion_ci(method="exact")
    share = f"{100 * inside.mean():.2f}"
    return [title, of, str(inside.size), share, f"{100 * ends.low:.2f} … {100 * ends.high:.2f}"]


def survey_of_people(browser: Browser) -> Hits:
    """Hits of the survey that is designed, answered and analysed."""
    records = people(IN_BROWSER + IN_PYTHON, seed=2026)
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{Path(folder) / 'every-kind.db'}"
        with Store(database) as store:
            operator, analyst = (store.tokens.create(role) for role in ("operator", "analyst"))
            with collector_process(database, "--quiet") as url:
                with timed("designed with controls and published"):
                    designed(browser, url, operator)
                assert store.surveys.get("every-kind").survey() == survey()
                store.surveys.set_terms("every-kind", Terms(shared_devices=True))
                with timed(f"{IN_BROWSER} people answered in the browser"):
                    answered(browser, url, records[:IN_BROWSER])
                assert store.reports.counts("every-kind")[1].reports == IN_BROWSER
                with timed(f"{IN_PYTHON} people answered through Python"):
                    client = Client(url, max_gamma="19")
                    client.submit_many(client.survey("every-kind"), records[IN_BROWSER:])
                assert store.reports.counts("every-kind")[1].reports == len(records)
                with timed("analysed"):
                    return analysed(url, analyst, records)


def main() -> int:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        print("no Chromium on the path", file=sys.stderr)
        return 2
    # On a busy machine, too.
    expect.set_options(timeout=60_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        asked = survey_of_people(browser)
        browser.close()
    with timed(f"{SURVEYS} surveys of {IN_PYTHON} people simulated"):
        others = [simulated(seed) for seed in range(SURVEYS)]
    rows, missed = [], False
    for title in SETS:
        each = np.array([found[title].mean() for found in others])
        rows.append(row("designed and answered", title, asked[title]))
        rows.append(row(f"{SURVEYS} simulated", title, np.concatenate([o[title] for o in others])))
        # Shares of one survey hang together; surveys do not, so that their means tell.
        low, high = stats.t.interval(0.95, SURVEYS - 1, each.mean(), stats.sem(each))
        rows[-1].append(f"{100 * low:.2f} … {100 * high:.2f}")
        rows[-2].append(f"{int((each < asked[title].mean()).sum())} of {SURVEYS} have fewer")
        # False alarms: one run in a thousand for each set.
        missed |= bool(stats.ttest_1samp(each, 0.95).pvalue < 0.001)
    print_table(["survey", "of", "shares", "inside %", "binomial 95 %", "by surveys"], rows)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
