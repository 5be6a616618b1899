"""Charts of results: they show what the messages say, in words as well."""

from datetime import UTC, datetime
from xml.etree import ElementTree

from halftruth_collector.analyses.measures import chart as measures_chart
from halftruth_collector.estimation.measures import MEASURES
from halftruth_shared.analyses.base import MeasureEstimate
from halftruth_shared.analyses.measures import MeasuresQuery, MeasuresResult

SVG = "{http://www.w3.org/2000/svg}"
ORIGIN = {
    "survey": "health",
    "digest": "0" * 64,
    "reports": 5000,
    "as_of": datetime(2026, 5, 9, 7, 35, tzinfo=UTC),
}


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


MEASURED = measures(
    measure("phi", 0.2, 0.05),
    measure("odds_ratio", 8.0, 6.0),
    measure("interest", 1.5, 0.1),
    measure("chi_squared", 300.0, 40.0),
    MeasureEstimate(name="g_squared", undefined="a cell has a negative estimate"),
)
CHARTS = {
    "measures": measures_chart(MEASURED),
}


def texts(svg):
    """All text that a picture shows."""
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def plain(text):
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ")


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
