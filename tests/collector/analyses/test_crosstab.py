"""Cross-tabulations against pandas, their presentation, and their warnings."""

import numpy as np
import pandas as pd
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.estimation import Estimator
from halftruth_collector.estimation.independence import Departures
from halftruth_shared import (
    Attribute,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.crosstab import CrosstabQuery
from halftruth_shared.results.charts import HeatMap
from mined import measures_of, rows_of
from respondents import SCHEMA, SURVEYS, codes_of, drawn_counts, independent_people, people
from sources import source_of

CROSSTAB = ANALYSES["crosstab"]
SHARES = {"joint": "all", "row": "index", "column": "columns"}
OPEN = Survey("open", "Open", SCHEMA, RandomizedResponse(dict.fromkeys(SCHEMA.names, "9999/10000")))


def counted(survey, asked, seed=5):
    return source_of(survey, codes_of(asked), np.random.default_rng(seed))


def result(survey, *attributes, asked=None, **query):
    given = CrosstabQuery(attributes=list(attributes), **query)
    return answer(CROSSTAB, counted(survey, people() if asked is None else asked), given)


def shares_of(found):
    return [row for row in found.rows if row.quantity == "share"]


def base_of(found, share, quantity="base"):
    """Return the row of the base of a share."""
    return next(
        row
        for row in found.rows
        if row.quantity == quantity
        and all(value in (None, share[name]) for name, value in row.keys.items())
    )


def table_of(found):
    grid = CROSSTAB.present(found).grid
    return grid.header, [[str(cell) for cell in row] for row in grid.rows]


def plain(text):
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ")


@pytest.mark.parametrize("percentages", SHARES)
@pytest.mark.parametrize("layers", [[], ["town"]])
def test_shares_and_bases_with_little_perturbation_equal_those_of_pandas(percentages, layers):
    asked = people()
    found = result(OPEN, "sex", "vote", *layers, percentages=percentages)
    for layer in SCHEMA.attributes[2].categories if layers else [None]:
        some = asked if layer is None else asked[asked["town"] == layer]
        expected = pd.crosstab(some["sex"], some["vote"], normalize=SHARES[percentages])
        if percentages == "joint":
            expected *= len(some) / len(asked)
        for sex in expected.index:
            for vote in expected.columns:
                in_layer = {"town": layer} if layer else {}
                cell = found.find("share", sex=sex, vote=vote, **in_layer)
                assert cell.value == pytest.approx(expected.loc[sex, vote], abs=0.003)
                base = {
                    "joint": asked,
                    "row": some[some["sex"] == sex],
                    "column": some[some["vote"] == vote],
                }[percentages]
                assert base_of(found, cell, "people").value == pytest.approx(len(base), abs=3)
                if percentages != "joint":
                    of_all = base_of(found, cell).value
                    assert of_all == pytest.approx(len(base) / 3000, abs=0.001)


def test_a_crosstab_of_two_questions_has_the_test_and_measures_of_association():
    source = counted(SURVEYS["split-questionnaire"], people())
    found = answer(CROSSTAB, source, CrosstabQuery(attributes=["sex", "vote"]))
    test = Departures(source.estimator.table(["sex", "vote"])).test()
    said = found.tests[0]
    assert (said.statistic, said.p_value) == (test.statistic, test.p_value)
    assert (said.df, said.undefined) == (test.degrees_of_freedom, None)
    measures = ["cramers_v", "concentration", "uncertainty_coefficient", "mutual_information"]
    assert [row.quantity for row in found.rows][-4:] == measures
    every = rows_of(measures_of(source.estimator, ["sex", "vote"], measures=measures))
    assert [row.interval for row in found.rows[-4:]] == [each.interval for each in every]
    binary = answer(CROSSTAB, source, CrosstabQuery(attributes=["sex", "town"]))
    of_presence = ["phi", "odds_ratio", "risk_difference"]
    assert [row.quantity for row in binary.rows][-7:] == [*of_presence, *measures]
    assert "sex and vote are associated: χ² = " in CROSSTAB.headline(found)
    _, strength = CROSSTAB.present(found).parts
    assert str(strength.grid.rows[0][0]) == "Cramér’s V"
    layered = answer(CROSSTAB, source, CrosstabQuery(attributes=["sex", "vote", "town"]))
    assert layered.tests[0].df == 2 * 2
    assert {row.quantity for row in layered.rows} == {"share", "base", "people"}


@pytest.mark.parametrize("kind", SURVEYS)
@pytest.mark.parametrize("percentages", SHARES)
def test_the_sampling_error_of_a_share_is_that_of_unperturbed_answers(kind, percentages):
    """That of r among n people is √(r(1 − r)/n), up to views of other questions."""
    source = counted(SURVEYS[kind], people())
    asked = {"attributes": ["sex", "vote"], "percentages": percentages}
    found = answer(CROSSTAB, source, CrosstabQuery(**asked))
    cells = shares_of(found)
    for cell in cells:
        base = 1 if percentages == "joint" else base_of(found, cell).value
        openly = cell.value * (1 - cell.value) / base / (3_000 - 1)
        assert cell.sampling_error == pytest.approx(np.sqrt(openly), rel=2e-3)
        total = cell.sampling_error**2 + cell.perturbation_error**2
        assert cell.standard_error == pytest.approx(np.sqrt(total))
    chart = CROSSTAB.chart(found)
    bars = [bar for _, bar in chart.rows]
    for bar in bars:
        lower, upper = chart.inner(bar)
        assert bar.drawn[0] < lower < upper < bar.drawn[1]
    # The thick part is as long as the normal interval of unperturbed shares.
    for cell, bar in zip(cells, bars, strict=True):
        length = 2 * 1.959964 * cell.sampling_error
        assert np.diff(chart.inner(bar)) == pytest.approx(length)
    of_these = answer(CROSSTAB, source, CrosstabQuery(**asked, target="respondents"))
    for cell, before in zip(shares_of(of_these), cells, strict=True):
        assert cell.sampling_error == 0
        assert cell.perturbation_error == pytest.approx(before.perturbation_error)


@pytest.mark.nightly
def test_perturbation_errors_equal_the_spread_of_estimates_for_the_same_people():
    """With 400 surveys, a standard deviation has an error of 3.5 %; 14 % is four such errors."""
    shares = np.einsum("i,ij,k->ijk", [0.6, 0.4], [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], [0.7, 0.3])
    survey = SURVEYS["randomized-response"]
    _, surveys = drawn_counts(survey, shares, 6_000, 400, target="respondents")
    found, foretold = [], []
    for counts in surveys:
        source = source_of(survey, counts)
        cells = shares_of(answer(CROSSTAB, source, CrosstabQuery(attributes=["sex", "vote"])))
        found.append([cell.value for cell in cells])
        foretold.append([cell.perturbation_error for cell in cells])
    assert np.mean(foretold, axis=0) == pytest.approx(np.std(found, axis=0), rel=0.14)


def test_rows_columns_and_layers_are_in_the_requested_order():
    survey = SURVEYS["randomized-response"]
    header, rows = table_of(result(survey, "sex", "vote"))
    assert header == ["sex", "left", "right", "none", "people"]
    assert [line[0] for line in rows] == ["female", "male"]
    header, columns = table_of(result(survey, "vote", "sex", percentages="column"))
    assert header == ["vote", "female", "male"]
    assert [line[0] for line in columns] == ["left", "right", "none", "people"]
    # The transposed table has the same numbers and marks.
    assert [list(line) for line in zip(*columns, strict=True)][1:] == [line[1:] for line in rows]
    header, layered = table_of(result(survey, "sex", "vote", "town", percentages="column"))
    assert header == ["town", "sex", "left", "right", "none"]
    lines = ("female", "male", "people")
    assert [line[1] for line in layered] == [*lines, *lines]
    assert [line[0] for line in layered] == ["big", "", "", "small", "", ""]


def test_departures_from_independence_are_marked_with_their_direction():
    found = result(OPEN, "town", "vote")
    table = pd.crosstab(people()["town"], people()["vote"])
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / 3_000
    # All six departures are far from 0.
    for line, departures in zip(table_of(found)[1], table.to_numpy() - expected, strict=True):
        marks = [text[-1] for text in line[1:-1]]
        assert marks == ["▲" if departure > 0 else "▼" for departure in departures]
    # In each vote both towns depart equally; the headline names the cell with more people.
    assert "occurs more often than under independence" in CROSSTAB.headline(
        result(OPEN, "vote", "town")
    )
    notes = plain(" ".join(CROSSTAB.present(found).notes))
    assert "under independence (false discovery rate 5 % among the cells)" in notes
    _, unrelated = table_of(result(OPEN, "vote", "town", asked=independent_people()))
    assert not any("▲" in text for line in unrelated for text in line)


def test_shares_in_a_group_that_may_be_empty_are_not_usable_with_a_reason():
    """One of 300 people lives in the small town, under γ = 19."""
    asked = people(300)
    asked["town"] = pd.Categorical.from_codes([1, *[0] * 299], SCHEMA.attributes[2].categories)
    found = result(SURVEYS["gamma-diagonal"], "town", "vote", asked=asked)
    for cell in shares_of(found):
        if cell["town"] == "small":
            assert cell.set != "interval"
            assert (cell.standard_error, cell.statistic) == (None, None)
            assert cell.reliability == "not usable"
        else:
            assert cell.set == "interval"
    [notice] = [said for said in CROSSTAB.present(found).warnings if "within these groups" in said]
    assert notice.endswith("the size of the group is not significantly above zero: town=small.")
    assert found.tests[0].p_value is None
    assert " cannot be tested: a category of town" in CROSSTAB.headline(found)
    line = table_of(found)[1][1]
    assert all(text.startswith("not usable") for text in line[1:-1])
    assert all(bar.doubtful for _, bar in CROSSTAB.chart(found).panels[1].rows)


def test_small_crosstabs_are_charted_as_bars_and_large_ones_as_heat_maps():
    survey = SURVEYS["randomized-response"]
    bars = CROSSTAB.chart(result(survey, "vote", "sex", percentages="column"))
    assert bars.bars
    assert [group.heading for group in bars.panels] == ["vote=left", "vote=right", "vote=none"]
    assert [label for label, _ in bars.panels[0].rows] == ["female", "male"]
    assert bars.panels[0].axis.label == "share of those with the same sex"
    layered = CROSSTAB.chart(result(survey, "sex", "vote", "town"))
    assert layered.panels[1].heading == "town=big, sex=male"

    schema = Schema([Attribute(name, [f"c{i}" for i in range(7)]) for name in "ab"])
    many = Survey("many", "Many", schema, RandomizedResponse({"a": "0.7", "b": "0.7"}))
    reports = np.random.default_rng(1).integers(0, 7, (2_000, 2))
    for percentages in SHARES:
        asked = CrosstabQuery(attributes=["a", "b"], percentages=percentages)
        found = answer(CROSSTAB, source_of(many, reports), asked)
        heat_map = CROSSTAB.chart(found)
        assert isinstance(heat_map, HeatMap)
        assert (heat_map.rows, heat_map.columns) == (schema.attributes[0].categories,) * 2
        drawn = [mark for line in heat_map.cells for mark in line]
        assert [mark.value for mark in drawn] == [cell.value for cell in shares_of(found)]
        unusable = [cell.reliability == "not usable" for cell in shares_of(found)]
        assert [mark.doubtful for mark in drawn] == unusable


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["randomized-response", "gamma-diagonal"])
def test_conditional_independence_is_rejected_in_one_of_twenty_surveys(kind):
    """With 600 surveys, the rate has an error of 0.9 points. Marginally they are associated."""
    survey = SURVEYS[kind]
    first, second = np.outer([0.6, 0.4], [0.5, 0.3, 0.2]), np.outer([0.3, 0.7], [0.25, 0.35, 0.4])
    shares = np.stack([0.6 * first, 0.4 * second], axis=2)
    _, surveys = drawn_counts(survey, shares, 6_000, 600, seed=5)
    tables = (Estimator(survey, counts).table(["sex", "vote", "town"]) for counts in surveys)
    p_values = np.array([Departures(table).test().p_value for table in tables])
    assert 0.03 <= np.mean(p_values < 0.05) <= 0.07


def test_excluding_missing_answers_changes_no_base_if_none_can_be_missing():
    schema = Schema([Attribute(name, ("no", "yes")) for name in "abc"])
    mechanism = SplitQuestionnaire.designed(schema, "19", (), {1: 1.0, 2: 1.0})
    survey, rng = Survey("s", "S", schema, mechanism), np.random.default_rng(3)
    source = source_of(survey, rng.integers(0, 2, (2_000, 3)), rng)
    kept, left_out = (
        answer(
            CROSSTAB,
            source,
            CrosstabQuery(attributes=["a", "b"], percentages="joint", missing=missing),
        )
        for missing in ("keep", "exclude")
    )
    assert left_out.find("people") == kept.find("people")
    assert left_out.find("people").value == 2_000
