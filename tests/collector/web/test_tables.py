"""Tables of pages, sorted, searched and cut."""

import pytest
from halftruth_collector.analyses import ANALYSES, Grid
from halftruth_collector.web.pages.tables import PARAMETERS, ROWS, TableQuery, page_of
from halftruth_shared import ParameterError
from halftruth_shared.analyses.wording import percent, share_interval

SHARES = [0.5, -0.2, 12.0, 0.034, None]
GRID = Grid(
    ["answer", "share", "interval"],
    [
        ["e-mail", percent(SHARES[0], 1), share_interval((0.4, 0.6))],
        ["Alpha", percent(SHARES[1], 1), share_interval((-0.3, -0.1))],
        ["gamma", f"not usable ({percent(SHARES[2])})", share_interval((-10, 34))],
        ["beta", percent(SHARES[3], 1), share_interval((0.03, 0.04))],
        ["", percent(SHARES[4]), ""],
    ],
)


def shown(grid=GRID, **asked):
    return page_of(grid, TableQuery(**asked))


def answers(**asked):
    return [row[0] for row in shown(**asked).rows]


def test_numbers_are_sorted_as_numbers_and_words_as_words():
    assert answers(order=1) == ["Alpha", "beta", "beta", "e-mail", "gamma"]
    assert answers(order=2)[:3] == ["Alpha", "beta", "e-mail"]
    assert answers(order=-2)[:3] == ["e-mail", "beta", "Alpha"]
    assert [row[2] for row in shown(order=3).rows][-1] == ""


@pytest.mark.parametrize("order", [2, -2])
def test_what_is_not_usable_comes_after_what_is_and_then_what_is_undefined(order):
    shares = [row[1] for row in shown(order=order).rows]
    assert shares[3].startswith("not usable")
    assert shares[4] == "undefined"


def test_headings_say_how_a_table_is_sorted_and_turn_it_round():
    assert [column.order for column in shown(order=-2).columns] == ["", "descending", ""]
    assert [column.next for column in shown(order=-2).columns] == [1, 2, -3]
    assert shown(order=2).columns[1].next == -2
    # The largest numbers come first, words begin with A.
    assert [column.next for column in shown().columns] == [1, -2, -3]


def test_a_search_is_for_words_as_they_are_typed():
    assert answers(search="MAIL") == ["e-mail"]
    assert answers(search="-20.0 %") == ["Alpha"]
    assert answers(search="beta 3.4") == ["beta"]
    found = shown(search="nobody")
    assert (found.first, found.last, found.found, found.every, found.pages) == (0, 0, 0, 5, 1)


def test_an_empty_first_cell_is_the_one_above_it_wherever_the_row_goes():
    rows = [["sex" if i == 0 else "", f"answer {i:02}", str(i)] for i in range(ROWS + 2)]
    grid = Grid(["question", "answer", "share"], rows)
    assert [row[0] for row in shown(grid).rows] == ["sex", *[""] * (ROWS - 1)]
    assert [row[0] for row in shown(grid, page=2).rows] == ["sex", ""]
    assert {row[0] for row in shown(grid, order=-3).rows} == {"sex"}
    assert len(shown(grid, search="sex").rows) == ROWS


def test_every_row_is_on_exactly_one_page():
    grid = Grid(["n"], [[i] for i in range(2 * ROWS + 1)])
    pages = [shown(grid, page=number) for number in (1, 2, 3)]
    assert [row[0] for page in pages for row in page.rows] == list(range(2 * ROWS + 1))
    assert [(page.first, page.last) for page in pages] == [
        (1, ROWS),
        (ROWS + 1, 2 * ROWS),
        (2 * ROWS + 1, 2 * ROWS + 1),
    ]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"order": 4}, "order: expected the number of a column, from 1 to 3, or with a minus"),
        ({"order": 0}, "order: expected the number of a column"),
        ({"page": 2}, "page: expected 1"),
    ],
)
def test_there_are_no_other_columns_and_pages(asked, said):
    with pytest.raises(ParameterError, match=said):
        shown(**asked)


def test_no_analysis_is_asked_by_the_same_names():
    for analysis in ANALYSES.values():
        assert not {*PARAMETERS, "format"}.intersection(analysis.fields)
