"""Charts of association measures."""

from datetime import UTC, datetime

import numpy as np
from halftruth_collector.analyses import ANALYSES
from halftruth_collector.estimation.measures import NAMES
from halftruth_shared.analyses.measures import MeasuresQuery
from halftruth_shared.results import EstimateColumns, Result, Texts

ORIGIN = {
    "survey": "health",
    "digest": "0" * 64,
    "reports": 5000,
    "as_of": datetime(2026, 5, 9, 7, 35, tzinfo=UTC),
}


def charts_of(names, values):
    value = np.array(values)
    columns = EstimateColumns(
        quantity=Texts.of(names),
        value=value,
        lower=value - 0.1,
        upper=value + 0.1,
        set=Texts.of([None if np.isnan(each) else "interval" for each in values]),
        reliability=Texts.constant("usable", len(names)),
        undefined=Texts.of(["a cell is negative" if np.isnan(each) else None for each in values]),
    )
    query = MeasuresQuery(attributes=["smoker", "drinks"])
    result = Result(**ORIGIN, query=query, estimates=columns)
    return [part.chart for part in ANALYSES["measures"].present(result).parts]


def test_every_measure_is_drawn_with_its_numbers():
    values = [0.5 + i for i in range(len(NAMES))]
    charts = charts_of(NAMES, values)
    rows = [row for each in charts for _, row in each.rows]
    assert sorted((r.value, *r.drawn) for r in rows) == [
        (value, value - 0.1, value + 0.1) for value in values
    ]


def test_measures_share_an_axis_only_if_comparable():
    names = ["phi", "odds_ratio", "interest", "chi_squared", "g_squared"]
    charts = charts_of(names, [0.2, 8.0, 1.5, 300.0, np.nan])
    panels = [panel for each in charts for panel in each.panels]
    assert [[label for label, _ in panel.rows] for panel in panels] == [
        ["φ"],
        ["odds ratio", "interest"],
        ["χ²", "G²"],
    ]
    assert [panel.reference and panel.reference.value for panel in panels] == [0, 1, None]
    assert [panel.axis.scale for panel in panels] == ["linear", "log", "linear"]
    # An undefined measure has a reason instead of a value.
    [_, (_, last)] = panels[2].rows
    assert (last.value, last.undefined) == (None, "a cell is negative")
