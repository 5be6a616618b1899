"""Results as long tables: rows, files, and their presentation."""

import math
from datetime import UTC, datetime

import msgspec
import numpy as np
import pytest
from halftruth_shared import ParameterError
from halftruth_shared.analyses import result_of
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.analyses.table import TableQuery
from halftruth_shared.columns import AnswerSets, Texts, decode, encode
from halftruth_shared.results import Block, EstimateColumns, Key, Result, Selection, Show, warning
from halftruth_shared.results.layout import Arranged, in_words
from halftruth_shared.results.presentation import present

ORIGIN = {
    "survey": "health",
    "digest": "0" * 64,
    "reports": 5000,
    "as_of": datetime(2026, 5, 9, 7, 35, tzinfo=UTC),
}
TABLE = TableQuery(attributes=["smoker", "drinks"])
CELLS = [("no", "never"), ("no", "daily"), ("yes", "never"), ("yes", "daily")]


def key(name, values, kind="answer", question=None):
    column = AnswerSets.of(values) if kind == "answers" else Texts.of(values)
    return Key(name=name, kind=kind, question=question, values=column)


def numbers(*values):
    return np.array([math.nan if value is None else value for value in values], dtype=float)


def result(keys, blocks, query=TABLE, **columns):
    """Return a result with these columns, some of which are text."""
    texts = {"quantity", "set", "undefined", "reliability"}
    made = {
        name: Texts.of(values) if name in texts else numbers(*values)
        for name, values in columns.items()
    }
    estimates = EstimateColumns(**made)
    return Result(**ORIGIN, query=query, keys=keys, estimates=estimates, layout=blocks)


def table(*, block=None, shares=(0.5, 0.2, 0.34, -0.04)):
    shown = block or Block(
        lines=["smoker", "drinks"], shows=[Show(quantity="support")], panels=1, picture="bars"
    )
    return result(
        [key("smoker", [a for a, _ in CELLS], question="smoker"),
         key("drinks", [b for _, b in CELLS], question="drinks")],
        [shown],
        quantity=["support"] * 4,
        value=shares,
        lower=[max(share - 0.02, 0.0) for share in shares],
        upper=[max(share + 0.02, 0.01) for share in shares],
        set=["interval"] * 4,
        reliability=["usable"] * 4,
    )  # fmt: skip


def compared():
    """Return three groups, usable, undefined and too imprecise, with risk ratios to the first."""
    query = ComparisonQuery(answer={"a": "yes"}, groups="g", reference="x", effect="risk_ratio")
    shows = [Show(quantity="share"), Show(quantity="risk_ratio", parts=["value", "interval"])]
    return result(
        [key("group", ["x", "y", "z", "y", "z"], question="g"),
         key("against", [None, None, None, "x", "x"], question="g")],
        [Block(lines=["group"], shows=shows, picture="dots")],
        query=query,
        quantity=["share"] * 3 + ["risk_ratio"] * 2,
        value=[0.1, None, 9.76, None, 2.0],
        lower=[0.05, None, None, None, 1.5],
        upper=[0.2, None, None, None, math.inf],
        set=["interval", None, None, None, "interval"],
        reliability=["usable", "not usable", "not usable", "not usable", "usable"],
        undefined=[None, "nobody", None, "nobody", None],
    )  # fmt: skip


def test_a_result_survives_json_with_null_for_missing_numbers():
    found = compared()
    text = encode(found)
    assert b"NaN" not in text
    assert b"Infinity" not in text
    again = decode(text, result_of(ComparisonQuery))
    assert again.query == found.query
    assert [row.value for row in again.rows] == [0.1, None, 9.76, None, 2.0]
    assert again.rows[4].interval == (1.5, None)
    assert again.rows[4].keys == {"group": "z", "against": "x"}
    assert (again.rows[1].interval, again.rows[1].undefined) == (None, "nobody")
    assert encode(again) == text


def test_answer_sets_are_objects_in_json_and_text_in_files():
    sets = [{"sex": "male"}, {"sex": "female", "vote": "a, b"}]
    found = result(
        [key("itemset", sets, "answers")], [], quantity=["support"] * 2, value=[0.5, 0.25]
    )
    again = decode(encode(found), result_of(TableQuery))
    assert list(again.keys[0].values) == sets
    assert again.column_lists()[0] == ["sex=male", "sex=female, vote=a, b"]
    assert again.keys[0].values.sizes.tolist() == [1, 2]


def test_files_of_all_results_have_the_same_columns_after_the_keys():
    for each, keys in ((table(), ["smoker", "drinks"]), (compared(), ["group", "against"])):
        names = [name for name, _ in each.columns]
        assert names == [*keys, *EstimateColumns.__struct_fields__]
        assert [len(column) for column in each.column_lists()] == [len(each.rows)] * len(names)
    assert table().to_pandas().index.names == ["smoker", "drinks"]
    # With several quantities, the quantity is part of the index.
    assert compared().to_pandas().index.names == ["group", "against", "quantity"]


def test_rows_are_found_by_their_keys():
    found = compared()
    assert found.find("share", group="z").value == 9.76
    assert found.places("risk_ratio", against="x").tolist() == [3, 4]
    with pytest.raises(LookupError):
        found.find("share", group="nobody")


def test_lines_are_grouped_and_keep_their_numbers_for_sorting():
    arranged = Arranged(table(), table().layout[0]).grid
    assert arranged.header == ["smoker", "drinks", "support", "95\u202f% interval"]
    texts = [[str(cell) for cell in row] for row in arranged.rows]
    assert [row[:2] for row in texts] == [["no", "never"], ["", "daily"], ["yes", "never"],
                                          ["", "daily"]]  # fmt: skip
    assert arranged.rows[1][0].above == "no"
    assert [row[2].number for row in arranged.rows] == [0.5, 0.2, 0.34, -0.04]
    assert texts[0][2:] == ["50.0\u202f%", "48.0 to 52.0\u202f%"]


def test_a_key_can_be_spread_over_columns():
    shows = [Show(quantity="support", parts=["estimate"])]
    found = table(block=Block(lines=["smoker"], across="drinks", shows=shows, picture="heat map"))
    arranged = Arranged(found, found.layout[0]).grid
    assert arranged.header == ["smoker", "never", "daily"]
    assert [str(cell) for cell in arranged.rows[1]] == [
        "yes", "34.0\u202f% (32.0 to 36.0\u202f%)", "0\u202f% (0 to 1.00\u202f%)"
    ]  # fmt: skip
    drawn = Arranged(found, found.layout[0]).chart
    assert (drawn.rows, drawn.columns) == (("no", "yes"), ("never", "daily"))
    assert [cell.value for row in drawn.cells for cell in row] == [0.5, 0.2, 0.34, -0.04]


def test_quantities_can_be_stacked():
    found = result(
        [],
        [Block(stacked=True, shows=[Show(quantity="phi"), Show(quantity="odds_ratio")])],
        quantity=["phi", "odds_ratio"],
        value=[0.2, 8.0],
    )
    assert [[str(cell) for cell in row] for row in Arranged(found, found.layout[0]).grid.rows] == [
        ["φ", "not usable (0.2)"],
        ["odds ratio", "not usable (8)"],
    ]


def test_imprecise_estimates_are_named_or_counted_in_selections():
    columns = {
        "quantity": ["phi", "odds_ratio"],
        "value": [0.2, 8.0],
        "lower": [0.0, 1.0],
        "upper": [0.6, 99.0],
        "set": ["interval"] * 2,
        "reliability": ["not usable", "usable"],
    }
    shows = [Show(quantity="phi"), Show(quantity="odds_ratio")]
    found = result([], [Block(stacked=True, shows=shows)], **columns)
    assert present(found).warnings == ["Not usable (too imprecise): φ."]
    selected = msgspec.structs.replace(
        found, selection=Selection(candidates=9, listed=2, rate=0.05)
    )
    assert present(selected).warnings == ["Not usable (too imprecise): 1 of 2 estimates."]


def test_long_lists_of_estimates_are_counted_and_named_on_demand():
    groups = [f"group {i}" for i in range(9)]
    columns = {
        "quantity": ["share"] * 9,
        "value": [0.2] * 9,
        "lower": [0.0] * 9,
        "upper": [0.6] * 9,
        "set": ["interval"] * 9,
        "reliability": [*["not usable"] * 7, *["barely usable"] * 2],
    }
    keys = [Key(name="group", kind="name", question=None, values=Texts.of(groups))]
    found = result(keys, [Block(lines=["group"], shows=[Show(quantity="share")])], **columns)
    many, some = present(found).warnings
    assert many == "Not usable (too imprecise): 7 of 9 estimates, such as group 0; group 1."
    assert many.names == tuple(groups[:7])
    assert some == "Barely usable (imprecise): group 7; group 8."
    assert not hasattr(some, "names")


def test_headings_keep_the_capitals_of_labels():
    shows = [Show(quantity="share", label="share of sex=Male"), Show(quantity="risk_ratio")]
    found = compared()
    drawn = Arranged(found, Block(lines=["group"], shows=shows, picture="dots")).chart
    headings = [panel.heading for panel in drawn.panels]
    assert headings == ["Share of sex=Male", "Risk ratio"]


def test_a_chart_has_a_panel_for_each_quantity_and_group():
    bars = Arranged(table(), table().layout[0]).chart
    assert [(panel.heading, [label for label, _ in panel.rows]) for panel in bars.panels] == [
        ("smoker=no", ["never", "daily"]),
        ("smoker=yes", ["never", "daily"]),
    ]
    assert bars.bars
    shares, ratios = Arranged(compared(), compared().layout[0]).chart.panels
    assert (shares.axis.shares, ratios.axis.scale) == (True, "log")
    assert [(row.value, row.drawn, row.doubtful) for _, row in shares.rows] == [
        (0.1, (0.05, 0.2), False),
        (None, None, False),
        (9.76, None, True),
    ]
    assert shares.rows[1][1].undefined == "nobody"
    assert ratios.rows[1][1].drawn == (1.5, math.inf)
    assert ratios.reference.value == 1


def test_imprecise_undefined_and_impossible_estimates_are_noted_once():
    said = present(compared())
    assert "Undefined, because nobody: share and risk ratio of y." in said.warnings
    text = repr(compared())
    assert "not usable (100\u202f%)" in text
    assert "from 1.5 on" in text
    [note] = present(table()).notes
    assert note.startswith("An unbiased estimate outside the possible range is shown as the end")
    assert not present(table(shares=(0.4, 0.2, 0.3, 0.1))).notes


def test_caveats_are_warnings_or_notes_and_appear_in_the_chart():
    found = table(shares=(0.4, 0.2, 0.3, 0.1))
    found = Result(
        **{name: getattr(found, name) for name in found.__struct_fields__}
        | {
            "caveats": [warning("precision", reliability="not usable", margin=0.2)],
            "selection": Selection(candidates=10, listed=4, rate=0.05),
        }
    )
    said = present(found)
    assert said.warnings == [
        "Not usable: shares are known only to ±20 points, and those up to 20.0\u202f% are not"
        " significantly above zero."
    ]
    assert said.warnings[0] in said.chart.notes
    assert said.notes[0].startswith("4 of 10 possible table are listed")


def test_an_empty_result_has_no_chart():
    found = result([], [Block(shows=[Show(quantity="support")])], quantity=[], value=[])
    assert repr(found).endswith("No matching rows.")
    with pytest.raises(ParameterError, match=r"^plot: table has no estimates with intervals"):
        found.plot()


def test_differences_of_shares_are_in_percentage_points():
    found = result(
        [], [], quantity=["difference"], value=[-0.12], lower=[-0.18], upper=[-0.06],
        set=["interval"], reliability=["usable"],
    )  # fmt: skip
    assert in_words(found.rows[0]) == "−12.0 (−18.0 to −6.0) points"


def test_only_the_displayed_rows_are_formatted():
    many = 300_000
    sets = AnswerSets(np.arange(2 * many).reshape(many, 2) % 3, ["a", "b"], ["xyz", "xyz"])
    estimates = EstimateColumns(quantity=Texts.constant("support", many), value=np.full(many, 0.5))
    found = Result(
        **ORIGIN,
        query=TABLE,
        keys=[Key(name="itemset", kind="answers", values=sets)],
        estimates=estimates,
    )
    arranged = Arranged(found, Block(lines=["itemset"], shows=[Show(quantity="support")])).grid
    assert len(arranged.rows) == many
    assert [str(row[0]) for row in arranged.rows[:2]] == ["a=x, b=y", "a=z, b=x"]
