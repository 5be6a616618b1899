"""Charts of results: they show what the messages say, in words as well."""

from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest
from halftruth_collector.analyses.itemsets import MAX_ITEMSETS
from halftruth_collector.analyses.itemsets import chart as itemsets_chart
from halftruth_collector.analyses.measures import chart as measures_chart
from halftruth_collector.charts.rendering import to_svg
from halftruth_collector.estimation.measures import MEASURES
from halftruth_shared.analyses.base import MeasureEstimate
from halftruth_shared.analyses.itemsets import (
    ItemsetEstimate,
    ItemsetsQuery,
    ItemsetsResult,
    Precision,
)
from halftruth_shared.analyses.measures import MeasuresQuery, MeasuresResult
from msgspec.structs import replace

SVG = "{http://www.w3.org/2000/svg}"
ORIGIN = {
    "survey": "health",
    "digest": "0" * 64,
    "reports": 5000,
    "as_of": datetime(2026, 5, 9, 7, 35, tzinfo=UTC),
}


def itemset(items, support, error, decision="frequent"):
    interval = None if error is None else (support - 2 * error, support + 2 * error)
    return ItemsetEstimate(
        items=items,
        value=support,
        standard_error=error,
        interval=interval,
        decision=decision,
        reliability="usable",
    )


def itemsets(*found, precision=(), **query):
    return ItemsetsResult(
        **ORIGIN,
        query=ItemsetsQuery(**{"min_support": 0.02, **query}),
        candidates=1000,
        listed=len(found),
        precision=list(precision),
        itemsets=list(found),
    )


def measures(*estimates, **query):
    return MeasuresResult(
        **ORIGIN,
        query=MeasuresQuery(attributes=["smoker", "drinks"], **query),
        attributes=["smoker", "drinks"],
        present={"smoker": "yes", "drinks": "daily"},
        measures=list(estimates),
    )


def measure(name, value, error):
    return MeasureEstimate(
        name=name,
        reliability="usable",
        value=value,
        standard_error=error,
        interval=(value - 2 * error, value + 2 * error),
    )


SMOKERS = itemsets(
    itemset({"smoker": "yes"}, 0.31, 0.01),
    itemset({"drinks": "daily"}, 0.03, 0.02, "undecided"),
    itemset({"smoker": "yes", "drinks": "daily"}, 0.45, 0.02),
)
MEASURED = measures(
    measure("phi", 0.2, 0.05),
    measure("odds_ratio", 8.0, 6.0),
    measure("interest", 1.5, 0.1),
    measure("chi_squared", 300.0, 40.0),
    MeasureEstimate(name="g_squared", undefined="a cell has a negative estimate"),
)
CHARTS = {
    "itemsets": itemsets_chart(SMOKERS),
    "measures": measures_chart(MEASURED),
}


def texts(svg):
    """All text that a picture shows."""
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def plain(text):
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ")


def test_itemsets_keep_their_numbers_largest_first():
    assert [(r.label, r.value, r.lower, r.upper, r.category) for r in CHARTS["itemsets"].rows] == [
        (
            ", ".join(f"{name}={value}" for name, value in entry.items.items()),
            entry.value,
            *entry.interval,
            entry.decision,
        )
        for entry in sorted(SMOKERS.itemsets, key=lambda entry: -entry.value)
    ]


def test_itemsets_stand_against_the_threshold():
    [panel] = CHARTS["itemsets"].panels
    assert panel.reference.value == 0.02
    assert plain(panel.reference.label) == "min. support 2 %"
    assert "min. support 2 %" in map(plain, texts(to_svg(CHARTS["itemsets"])))


def test_of_many_itemsets_the_clearest_are_shown_and_the_chart_says_so():
    noise = [itemset({"smoker": "yes", "x": str(i)}, 3.0 + i, 1.5) for i in range(20)]
    clear = [itemset({"x": str(i)}, 0.1 + i / 1000, 0.001) for i in range(MAX_ITEMSETS)]
    chart = itemsets_chart(itemsets(*noise, *clear))
    assert {row.label for row in chart.rows} == {f"x={i}" for i in range(MAX_ITEMSETS)}
    assert "Shown are the 40 of 60 itemsets that are the most standard errors" in chart.description


def test_itemsets_that_are_not_usable_are_drawn_only_where_no_other_is():
    noise = replace(itemset({"smoker": "yes", "x": "1"}, 3.4, 0.8), reliability="not usable")
    clear = itemset({"x": "2"}, 0.1, 0.04)
    assert [row.label for row in itemsets_chart(itemsets(noise, clear)).rows] == ["x=2"]
    assert [row.value for row in itemsets_chart(itemsets(noise)).rows] == [3.4]


def test_a_length_that_is_not_usable_is_named():
    known = [(0.001, "usable"), (0.5, "not usable"), (0.9, "not usable")]
    verdicts = [
        Precision(
            length=length,
            examined=9,
            half_width=width,
            reliability=word,
            verdict=f"{word}: {width}",
        )
        for length, (width, word) in enumerate(known, start=1)
    ]
    notes = itemsets_chart(itemsets(*SMOKERS.itemsets, precision=verdicts)).notes
    assert [note for note in notes if note.startswith("Itemsets of length")] == [
        "Itemsets of length 2: not usable: 0.5."
    ]


def test_an_itemset_without_interval_is_a_dot_and_the_chart_says_so():
    chart = itemsets_chart(itemsets(itemset({"smoker": "yes"}, 0.3, None, "undecided")))
    [row] = chart.rows
    assert (row.value, row.lower, row.upper) == (0.3, None, None)
    assert "Without interval, as the error is undefined: 1 of 1." in chart.description


def test_no_itemset_is_a_chart_that_says_so():
    assert "No itemset was found" in to_svg(itemsets_chart(itemsets()))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"target": "respondents"}, "for exactly these respondents"),
        ({"confidence": 0.999}, "99.9 % intervals, widened for selection"),
        ({}, "significantly above the threshold (false discovery rate 2.5 %)"),
        ({"estimate": "likelihood"}, "Best guesses have no intervals"),
    ],
)
def test_the_notes_say_what_the_intervals_hold_for(query, said):
    assert said in plain(itemsets_chart(itemsets(*SMOKERS.itemsets, **query)).description)


def test_every_measure_has_a_scale_and_keeps_its_numbers():
    result = measures(*(measure(m.name, 0.5 + i, 0.1) for i, m in enumerate(MEASURES)))
    chart = measures_chart(result)
    assert "Other" not in [panel.heading for panel in chart.panels]
    assert sorted((r.value, r.lower, r.upper) for r in chart.rows) == [
        (m.value, *m.interval) for m in result.measures
    ]


def test_a_measure_of_a_newer_collector_has_its_own_panel():
    chart = measures_chart(measures(measure("new_one", 5.0, 1.0), measure("phi", 0.2, 0.1)))
    assert [[row.label for row in panel.rows] for panel in chart.panels] == [["φ"], ["new one"]]


def test_measures_share_an_axis_only_where_they_can_be_compared():
    panels = CHARTS["measures"].panels
    assert [[row.label for row in panel.rows] for panel in panels] == [
        ["φ"],
        ["odds ratio", "interest"],
        ["χ²", "G²"],
    ]
    assert [panel.reference and panel.reference.value for panel in panels] == [0, 1, None]
    assert [panel.axis.scale for panel in panels] == ["linear", "log", "linear"]


def test_what_is_undefined_is_a_word_with_its_reason():
    chart = CHARTS["measures"]
    [row] = [row for row in chart.rows if row.label == "G²"]
    assert row.value is None
    assert row.reason == "a cell has a negative estimate"
