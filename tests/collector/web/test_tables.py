"""Tables of pages."""

from flask import Flask
from halftruth_collector.analyses import ANALYSES
from halftruth_collector.web.pages.results import ALL_ROWS, ROWS, rows_of
from halftruth_shared.results.layout import Cell, Grid, Lines


def shown(rows, asked=""):
    with Flask(__name__).test_request_context(f"/?{asked}"):
        return rows_of(Grid(["answer"], rows))


def test_only_shown_rows_are_formatted():
    formatted = []

    def row(i):
        formatted.append(i)
        return [Cell(str(i))]

    assert len(shown(Lines(row, ROWS + 2))) == ROWS
    assert formatted == [*range(ROWS)]
    assert len(shown(Lines(row, ROWS + 2), "rows=all")) == ROWS + 2


def test_parameters_of_pages_and_analyses_have_different_names():
    for analysis in ANALYSES.values():
        assert not {ALL_ROWS, "format"}.intersection(analysis.fields)
