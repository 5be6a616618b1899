"""Results of questions with 150 characters and no short labels."""

from dataclasses import replace
from datetime import UTC, date, datetime

import msgspec
import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, AnalysisContext, answer
from halftruth_collector.analyses.labels import labels_of
from halftruth_collector.analyses.survey_report import survey_report
from halftruth_collector.estimation import Counts
from halftruth_shared import Survey
from halftruth_shared.results.charts import EstimateChart

#: Maximum number of consecutive characters of a question in a sentence or a title.
MOST = 40

QUESTIONS = {
    name: f"Thinking of the last twelve months as a whole, and without regard to what others may"
    f" think of it or of you, would you say that, all in all, {end}?".ljust(150, "?")
    for name, end in {
        "smoker": "you smoke",
        "drinks": "you drink",
        "region": "home is far",
        "hours": "work is long",
        "ill": "you were ill",
        "armed": "you are armed",
    }.items()
}

#: Definition of the answers to each question.
KINDS = {
    "smoker": 'categories = ["no", "yes"]',
    "drinks": 'categories = ["never", "weekly", "daily"]\nordered = true',
    "region": 'categories = ["north", "south", "west"]',
    "hours": 'kind = "number"\nminimum = 0\nmaximum = 60\nstep = 20',
    "ill": 'kind = "several"\noptions = [{ name = "cough" }, { name = "flu" }]',
    "armed": 'categories = ["no", "yes"]\nmissing = ["hush"]',
}

NAMES = ("smoker", "drinks", "region", "hours", "ill.cough", "ill.flu", "armed")

SURVEY = Survey.from_toml(
    """
id = "long"
title = "Work and health"
series = { id = "long", wave = 1, total_gamma = "1000000000000", origin = "https://a.test" }

[mechanism]
kind = "randomized-response"

[mechanism.keep]
"""
    + "".join(f'"{name}" = "0.9"\n' for name in NAMES)
    + "".join(
        f'[[attributes]]\nname = "{name}"\nlabel = "{QUESTIONS[name]}"\n{kind}\n'
        for name, kind in KINDS.items()
    )
)

#: Queries other than those with which pages start.
ASKED = [
    ("table", {"attributes": ["smoker", "drinks"], "where": {"region": "north"}}),
    (
        "comparison",
        {
            "answer": {"smoker": "yes"},
            "groups": "ill.flu",
            "estimate": "model",
            "modelled": ["smoker", "ill.flu"],
        },
    ),
    ("microdata", {"modelled": ["smoker", "drinks"], "attributes": ["smoker", "drinks"]}),
    ("regression", {"outcome": "hours", "predictors": ["smoker", "drinks"], "model": "linear"}),
    ("waves", {"groups": "region"}),
]


def counted(survey, seed):
    rng = np.random.default_rng(seed)
    smoker = rng.random(6_000) < 0.3 + 0.1 * seed
    drinks = np.where(rng.random(6_000) < 0.5, 2 * smoker, rng.integers(0, 3, 6_000))
    columns = [smoker, drinks, *(rng.integers(0, n, 6_000) for n in (3, 3, 2, 2, 3))]
    records = np.stack(columns, axis=1).astype(int)
    reports = survey.perturbation.reports(records, rng)
    days = {date(2026, 1, 1): 2_000, date(2026, 1, 2): 4_000}
    now = datetime(2026, 1, 3, tzinfo=UTC)
    return AnalysisContext(
        survey, Counts.from_reports(survey, reports), now, min_reports=1, days=days
    )


@pytest.fixture(scope="module")
def study():
    waves = [
        counted(
            replace(
                SURVEY, id=f"long-{wave}", series=msgspec.structs.replace(SURVEY.series, wave=wave)
            ),
            wave,
        )
        for wave in (1, 2)
    ]
    return replace(waves[0], waves=lambda: waves)


def pieces():
    """Return every substring of a question that is too long for a sentence."""
    return {text[i : i + MOST] for text in QUESTIONS.values() for i in range(len(text) - MOST + 1)}


def of_chart(chart):
    yield from (chart.title, *chart.notes)
    if isinstance(chart, EstimateChart):
        for panel in chart.panels:
            yield from (panel.heading, panel.axis.label, *(label for label, _ in panel.rows))


def said(analysis, result):
    shown = analysis.present(result, labels_of(SURVEY, result.query))
    yield from (shown.title, *shown.sentences, *map(str, shown.grid.header))
    yield from (str(cell) for row in shown.grid.rows for cell in row)
    if (drawn := shown.chart) is not None:
        yield from of_chart(drawn)


@pytest.mark.parametrize(
    ("name", "asked"),
    # The model of all questions is slow.
    [*((name, None) for name in ANALYSES if name != "microdata"), *ASKED],
)
def test_no_sentence_or_title_contains_the_full_text_of_a_question(study, name, asked):
    analysis = ANALYSES[name]
    query = analysis.start(SURVEY) if asked is None else analysis.query(**asked)
    result = answer(analysis, study, query)
    found = [*said(analysis, result)]
    assert any(name in text for text in found for name in QUESTIONS)
    assert not any("Thinking" in text for text in found)
    long = pieces()
    assert not [text for text in found if any(piece in text for piece in long)]


def test_a_report_quotes_full_questions_only_on_their_own(study):
    report = survey_report(study)
    long = pieces()
    sentences = [report.title, report.lead, report.summary]
    sentences += [*report.findings, *report.precision, *report.unknown]
    sentences += [text for chart in report.charts for text in of_chart(chart)]
    sentences += [str(cell) for row in report.associations.rows for cell in row]
    quoting = {text for text in sentences if any(piece in text for piece in long)}
    assert {QUESTIONS["smoker"], QUESTIONS["hours"]} <= quoting
    assert quoting <= {question.label_in() for question in SURVEY.schema.questions}


def test_questions_with_long_labels_are_called_by_their_names():
    labels, schema = labels_of(SURVEY).questions, SURVEY.schema
    assert labels["smoker"] == "smoker"
    assert labels.keys() == {*schema.names, *schema.options}
    assert len(set(labels.values())) == len(labels)
