"""Itemsets of a result: their chart, their limits and their size."""

from datetime import UTC, datetime

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES
from halftruth_collector.analyses.deciding import with_decisions
from halftruth_collector.analyses.itemsets import MAX_ITEMSETS, unexamined
from halftruth_collector.estimation.estimates import Estimates
from halftruth_collector.estimation.itemsets import Unexamined
from halftruth_shared.analyses.itemsets import ItemsetsQuery
from halftruth_shared.results import NAMES, QUANTITIES, AnswerSets, Key, Result, Selection
from halftruth_shared.results.layout import Arranged
from halftruth_shared.results.presentation import present
from msgspec.structs import replace

ITEMSETS = ANALYSES["itemsets"]
QUERY = ItemsetsQuery(min_support=0.02)


def result_of(sets, support, error, adjusted=np.nan, query=QUERY):
    """Return a result with these itemsets."""
    support = np.asarray(support, float)
    error = np.broadcast_to(error, support.shape)
    found = Result(
        survey="health",
        digest="0" * 64,
        reports=5_000,
        as_of=datetime(2026, 5, 9, tzinfo=UTC),
        query=query,
        keys=[Key(name="itemset", kind="answers", values=sets)],
        estimates=Estimates.normal(QUANTITIES["support"], support, error).columns(
            quantile=2, adjusted=np.broadcast_to(adjusted, support.shape)
        ),
        selection=Selection(candidates=1_000, listed=len(support), rate=0.05),
    )
    return with_decisions(replace(found, layout=ITEMSETS.layout(found, NAMES)), 0.05)


def drawn(result):
    return Arranged(result, result.layout[0]).chart


def plain(text):
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ")


def test_the_chart_of_itemsets_has_the_threshold_and_the_decisions():
    sets = AnswerSets.of([{"smoker": "yes"}, {"smoker": "yes", "drinks": "daily"}])
    result = result_of(sets, [0.31, 0.03], [0.01, 0.02], [0.001, 0.3])
    picture = drawn(result)
    assert [(label, row.value, picture.category(row)) for label, row in picture.rows] == [
        ("smoker=yes", 0.31, "frequent"),
        ("smoker=yes, drinks=daily", 0.03, "undecided"),
    ]
    [panel] = picture.panels
    assert (panel.reference.value, plain(panel.reference.label)) == (0.02, "min. support 2 %")
    assert [str(row[-1]) for row in Arranged(result, result.layout[0]).grid.rows] == [
        "frequent",
        "undecided",
    ]


def test_the_chart_is_limited_to_the_clearest_usable_itemsets_with_a_note():
    sets = AnswerSets.of([{"x": str(i)} for i in range(60)])
    # The first ones are large, but noise.
    support = np.where(np.arange(60) < 20, 0.9, 0.1 + np.arange(60) / 1_000)
    result = result_of(sets, support, np.where(np.arange(60) < 20, 0.4, 0.001))
    assert [label for label, _ in drawn(result).rows] == [f"x={i}" for i in range(20, 60)]
    assert len(drawn(result).rows) == MAX_ITEMSETS
    notes = present(result).chart.notes
    assert "Shown are the 40 of 60 that are most clearly above the line." in notes
    noise = result_of(sets.take(slice(0, 3)), support[:3], 0.4)
    assert [row.value for _, row in drawn(noise).rows] == [0.9] * 3
    two = result_of(sets.take(slice(19, 21)), support[19:21], [0.4, 0.001])
    assert [label for label, _ in drawn(two).rows] == ["x=20"]


@pytest.mark.parametrize(
    ("why", "said"),
    [
        (None, []),
        (
            Unexamined(3),
            [
                "Itemsets of 3 or more answers were not examined, because there are too many; set"
                " max_length to examine them."
            ],
        ),
        (
            Unexamined(2, 0.1419),
            [
                "Itemsets of 2 or more answers were not examined: sets of 2 answers are known to"
                " ±14 points at best, more than the threshold of 2 %. Set max_length to examine"
                " them."
            ],
        ),
    ],
)
def test_unexamined_itemsets_are_stated_with_the_reason(why, said):
    assert [plain(c.sentence) for c in unexamined(why, "itemsets", QUERY)] == said
