"""Tables of pages, with what scripts sort them by."""

import pytest
from flask import Flask
from halftruth_collector.analyses import ANALYSES, Grid
from halftruth_collector.web.pages.tables import PARAMETER, ROWS, rows_of
from halftruth_shared.results.layout import Lines
from halftruth_shared.results.wording import percent, share_interval


def shown(rows, asked=""):
    with Flask(__name__).test_request_context(f"/?{asked}"):
        return rows_of(Grid(["answer"], rows))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (percent(-0.2, 1), "-20.0"),
        (share_interval((-0.3, -0.1)), "-30.0"),
        ("\N{MINUS SIGN}∞ to 4", "-Infinity"),
        (3_000, "3000.0"),
        ("18-29", ""),
        (f"not usable ({percent(12.0)})", ""),
        (percent(None), ""),
        ("", ""),
    ],
)
def test_the_number_that_a_cell_says_stands_beside_it_if_it_is_to_be_relied_on(text, value):
    [[_, cell]] = shown([["answer", text]])
    assert (cell.text, cell.value) == (str(text), value)


def test_an_empty_first_cell_is_the_one_above_it_and_no_other_is():
    rows = shown([["sex", "a"], ["", ""], ["", "c"], ["age", ""]])
    assert [[cell.above for cell in row] for row in rows] == [
        ["", ""],
        ["sex", ""],
        ["sex", ""],
        ["", ""],
    ]


def test_no_row_is_formatted_that_is_not_shown():
    formatted = []

    def row(i):
        formatted.append(i)
        return [i]

    assert len(shown(Lines(row, ROWS + 2))) == ROWS
    assert formatted == [*range(ROWS)]
    assert len(shown(Lines(row, ROWS + 2), "rows=all")) == ROWS + 2


def test_no_analysis_is_asked_by_the_same_names():
    for analysis in ANALYSES.values():
        assert not {PARAMETER, "format"}.intersection(analysis.fields)
