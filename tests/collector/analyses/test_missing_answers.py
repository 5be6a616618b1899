"""Missing answers: listed separately in the overview, and excluded from bases on request."""

import csv
import io

import msgspec
import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.analyses.labels import labels_of
from halftruth_collector.analyses.tabular import to_csv
from halftruth_collector.estimation import Counts
from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
from halftruth_shared.analyses.base import AnsweredQuery
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.analyses.crosstab import CrosstabQuery
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.analyses.weighted import WeightedQuery
from sources import source_of

SCHEMA = Schema(
    (
        Attribute(
            "sex",
            ("female", "male", "-"),
            missing=("-",),
            label="Your sex?",
            answers={"male": "A man", "-": "Not said"},
        ),
        Attribute("vote", ("no", "yes"), optional=True),
        Attribute("town", ("big", "small")),
    )
)


@pytest.fixture(scope="module")
def records():
    """3 000 people; those who vote no state their sex less often."""
    rng = np.random.default_rng(4)
    vote = rng.choice(3, 3_000, p=[0.5, 0.3, 0.2])
    sex = np.where(rng.random(3_000) < 0.3 - 0.1 * vote, 2, rng.integers(0, 2, 3_000))
    return np.stack([sex, vote, rng.integers(0, 2, 3_000)], axis=1)


@pytest.fixture
def ask(records):
    """Return a function that analyses records with hardly any perturbation."""

    def asked(query, records=records, schema=SCHEMA):
        survey = Survey("s", "S", schema, RandomizedResponse(dict.fromkeys(schema.names, "0.999")))
        # Expected numbers of reports, so that the estimates are the true shares.
        counts = Counts.from_cells(survey, *np.unique(records, axis=0, return_counts=True))
        counted = source_of(survey, counts)
        name = type(query).__module__.rpartition(".")[2].replace("_", "-")
        return answer(ANALYSES[name], counted, query)

    return asked


def close(found, expected):
    return found == pytest.approx(expected, abs=3e-3)


def test_the_overview_lists_missing_answers_separately(ask, records):
    sex = np.bincount(records[:, 0]) / len(records)
    for missing, base in (("keep", 1.0), ("exclude", sex[:2].sum())):
        found = ask(OverviewQuery(missing=missing))
        answered = [found.rows[place] for place in found.places("share", question="sex")]
        assert [row["answer"] for row in answered] == ["female", "male"]
        assert close([row.value for row in answered], sex[:2] / base)
        [silent] = [found.rows[place] for place in found.places("missing", question="sex")]
        assert silent["answer"] == "-"
        assert close(silent.value, sex[2])
        assert len(found.places("missing", question="town")) == 0
        parts = ANALYSES["overview"].present(found).parts
        assert [part.title for part in parts] == ["Answers", "No answer", "Questions"]
        shown = [[str(cell) for cell in row[:2]] for part in parts for row in part.grid.rows[:2]]
        assert shown[:3] == [["sex", "female"], ["", "male"], ["sex", "-"]]
        table = list(csv.DictReader(io.StringIO(to_csv(found))))
        assert {row["missing_answers"] for row in table} == {missing}
        mechanism = RandomizedResponse(dict.fromkeys(SCHEMA.names, "0.9"))
        labels = labels_of(Survey("s", "S", SCHEMA, mechanism))
        [_, missed, _] = ANALYSES["overview"].present(found, labels).parts
        assert [str(cell) for cell in missed.grid.rows[0][:2]] == ["Your sex?", "Not said"]
        basis = ANALYSES["overview"].present(found, labels).basis
        assert ("leaves out" in " ".join(basis)) == (missing == "exclude")


def test_excluding_missing_answers_gives_percentages_of_those_who_answered_both(ask, records):
    found = ask(CrosstabQuery(attributes=["sex", "vote"], missing="exclude"))
    answered = records[(records[:, 0] < 2) & (records[:, 1] < 2)]
    table = np.histogram2d(answered[:, 0], answered[:, 1], bins=[2, 2])[0]
    sexes, answers = ("female", "male"), ("no", "yes")
    cells = [[found.find("share", sex=s, vote=v).value for v in answers] for s in sexes]
    assert close(np.ravel(cells), (table / table.sum(1)[:, None]).ravel())
    bases = {q: [found.find(q, sex=s, vote=None).value for s in sexes] for q in ("base", "people")}
    assert close(bases["base"], table.sum(1) / table.sum())
    assert bases["people"] == pytest.approx(table.sum(1), rel=0.01)
    joint = ask(CrosstabQuery(attributes=["sex", "vote"], percentages="joint", missing="exclude"))
    assert joint.find("people").value == pytest.approx(len(answered), rel=0.01)


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        (CrosstabQuery(attributes=["vote", "sex"], percentages="column"), (0, 1)),
        (ComparisonQuery(answer={"vote": "yes"}, groups="sex"), (0, 1)),
        (WeightedQuery(margins={"sex": {"female": 0.6, "male": 0.4}}, attributes=["vote"]), (0, 1)),
    ],
    ids=lambda query: type(query).__name__ if isinstance(query, AnsweredQuery) else "",
)
def test_excluding_missing_answers_equals_a_survey_of_those_who_answered(
    ask, records, query, columns
):
    answered = records[(records[:, list(columns)] < 2).all(axis=1)]
    alone = Schema(
        (
            Attribute("sex", ("female", "male")),
            Attribute("vote", ("no", "yes")),
            Attribute("town", ("big", "small")),
        )
    )
    found = ask(msgspec.structs.replace(query, missing="exclude"))
    expected = ask(query, answered, alone)
    compared = 0
    for ours, theirs in zip(cells_of(found), cells_of(expected), strict=True):
        for one, other in zip(ours, theirs, strict=True):
            if isinstance(other, float):
                compared += 1
                assert one == pytest.approx(other, rel=0.03, abs=0.01)
            else:
                assert one == other
    assert compared >= 4


def cells_of(result):
    """Return the rows of the table of a result, each with all of its cells."""
    return zip(*result.column_lists(), strict=True)
