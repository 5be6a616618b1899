"""Weighting as an analysis: margins from files, estimates, and caveats."""

import csv
import io
import json

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.analyses.labels import labels_of
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.report_model import report_probabilities
from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
from halftruth_shared.analyses.weighted import WeightedQuery
from sources import source_of

WEIGHTED = ANALYSES["weighted"]
SCHEMA = Schema(
    (
        Attribute("sex", ("female", "male"), sensitive=False),
        Attribute("vote", ("left", "right: far"), label="What do you vote?"),
        Attribute("smoker", ("no", "yes")),
    )
)
SURVEY = Survey("s", "S", SCHEMA, RandomizedResponse({"sex": "1", "vote": "3/4", "smoker": "3/4"}))
MARGINS = {"sex": {"female": 0.5, "male": 0.5}}


def weighted(cells, **query):
    counts = Counts.from_cells(SURVEY, [list(cell) for cell in cells], list(cells.values()))
    counted = source_of(SURVEY, counts)
    return answer(WEIGHTED, counted, WeightedQuery(**query))


def caveats(result, code):
    return [each.values for each in result.caveats if each.code == code]


#: 800 women, of whom 500 report to vote left, and 200 men, of whom 80 do.
CELLS = {(0, 0, 0): 320, (0, 0, 1): 180, (0, 1, 0): 190, (0, 1, 1): 110,
         (1, 0, 0): 50, (1, 0, 1): 30, (1, 1, 0): 70, (1, 1, 1): 50}  # fmt: skip


def test_weighted_shares_equal_warner_estimates_of_groups_weighted_by_hand():
    result = weighted(CELLS, margins={"sex": {"female": 600, "male": 400}}, attributes=["vote"])
    of_women, of_men = ((reported - 0.25) / 0.5 for reported in (500 / 800, 80 / 200))
    left = result.find("share", answer="left")
    assert left.value == pytest.approx(0.6 * of_women + 0.4 * of_men)
    assert result.find("unweighted", answer="left").value == pytest.approx((0.58 - 0.25) / 0.5)
    # With fixed weights: the variance of the share of reports in each group, over 0.5².
    variance = 0.6**2 * (5 / 8) * (3 / 8) / 800 / 0.25 + 0.4**2 * (2 / 5) * (3 / 5) / 200 / 0.25
    assert left.standard_error**2 == pytest.approx(variance, rel=2e-3)
    # The part of it that unperturbed answers would have.
    openly = 0.6**2 * of_women * (1 - of_women) / 800 + 0.4**2 * of_men * (1 - of_men) / 200
    assert left.sampling_error**2 == pytest.approx(openly, rel=2e-3)
    assert left.perturbation_error**2 == pytest.approx(variance - openly, rel=2e-3)
    effect = result.find("design_effect", answer="left").value
    assert effect == pytest.approx(variance / (0.58 * 0.42 / 1000 / 0.25), rel=2e-3)
    [weights] = caveats(result, "weights")
    assert weights == {
        "people": 1000,
        "smallest": pytest.approx(0.6 / 0.8),
        "largest": pytest.approx(0.4 / 0.2),
        "design_effect": pytest.approx(0.6**2 / 0.8 + 0.4**2 / 0.2),
    }


def test_margins_of_a_domain_weight_as_if_only_its_people_had_been_asked():
    """Sex is unperturbed, so that the women are known."""
    cells = {(0, 0, 0): 500, (0, 1, 1): 300, (0, 0, 1): 300, (0, 1, 0): 200, (1, 0, 0): 80,
             (1, 0, 1): 40, (1, 1, 0): 40, (1, 1, 1): 120}  # fmt: skip
    margins = {"smoker": {"no": 0.5, "yes": 0.5}}
    of_group = weighted(cells, margins=margins, where={"sex": "female"})
    women = {cell: count for cell, count in cells.items() if cell[0] == 0}
    alone = weighted(women, margins=margins, attributes=["vote"])
    for given in SCHEMA.attributes[1].categories:
        found, expected = (each.find("share", answer=given) for each in (of_group, alone))
        assert found.value == pytest.approx(expected.value)
        assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-3)


def test_all_questions_without_a_margin_are_weighted_by_default():
    result = weighted(CELLS, margins=MARGINS)
    rows = WEIGHTED.present(result, labels_of(SURVEY)).grid.rows
    assert [str(row[0]) for row in rows] == ["What do you vote?", "", "smoker", ""]
    chart = WEIGHTED.chart(result)
    assert chart.title == "Answers · weighted to sex · s"
    assert [group.heading for group in chart.panels] == ["vote", "smoker"]
    for _, bar in chart.panels[0].rows:
        lower, upper = chart.inner(bar)
        assert bar.drawn[0] < lower < bar.value < upper < bar.drawn[1]


def test_shares_that_cannot_be_weighted_are_undefined_with_a_reason():
    result = weighted({(0, 0, 0): 500, (0, 1, 1): 300, (1, 0, 0): 5}, margins=MARGINS)
    reason = "nothing can be weighted by the share of respondents with sex=male, which is less"
    for place in result.places("share"):
        row = result.rows[place]
        assert (row.reliability, row.value) == ("not usable", None)
        assert row.undefined.startswith(reason)
    assert caveats(result, "weights") == []
    said = f"With these margins no share is defined: {reason}"
    assert WEIGHTED.headline(result).startswith(said)
    [said] = [each for each in WEIGHTED.present(result).warnings if reason in each]
    assert said.startswith(f"Undefined, because {reason}")
    assert all(str(row[2]).startswith(reason) for row in WEIGHTED.present(result).grid.rows)


def test_calibration_warns_if_the_respondents_do_not_have_the_margins():
    far = weighted(CELLS, margins=MARGINS, method="calibration")
    assert [test.p_value < 1e-4 for test in far.tests] == [True, True]
    assert far.tests[0].p_value == pytest.approx(far.tests[1].p_value)
    # The two tests are the same one, so that there is one caveat.
    [unlikely] = caveats(far, "unlikely margins")
    assert unlikely == {"p_value": far.tests[0].p_value}
    assert "do not have these margins" in " ".join(WEIGHTED.present(far).warnings)
    near = weighted(CELLS, margins={"sex": {"female": 0.79, "male": 0.21}}, method="calibration")
    assert near.tests[0].p_value > 0.3
    assert caveats(near, "unlikely margins") == []


MISSING = Schema(
    (
        Attribute("sex", ("female", "male"), sensitive=False),
        Attribute("vote", ("left", "right", "refused"), missing=("refused",)),
        Attribute("smoker", ("no", "yes", "refused"), missing=("refused",)),
    )
)
#: Half of the men refuse to state their vote; all people state whether they smoke.
WITHHELD = {(0, 0, 0): 900, (0, 1, 1): 600, (1, 0, 0): 350, (1, 1, 1): 400, (1, 2, 0): 750}


@pytest.mark.parametrize("method", ["raking", "calibration"])
def test_each_question_has_the_weights_and_test_of_those_who_answered_it(method):
    keep = RandomizedResponse({"sex": "9/10", "vote": "9/10", "smoker": "9/10"})
    survey = Survey("s", "S", MISSING, keep)
    # Expected numbers of reports of these people.
    table = report_probabilities(
        survey.perturbation,
        np.array(
            [[[WITHHELD.get((i, j, k), 0) for k in range(3)] for j in range(3)] for i in (0, 1)]
        ),
    )
    counts = Counts.from_cells(
        survey, list(np.ndindex(2, 3, 3)), np.round(table).astype(int).ravel()
    )
    counted = source_of(survey, counts)
    results = [
        answer(
            WEIGHTED,
            counted,
            WeightedQuery(
                margins=MARGINS, attributes=list(names), method=method, missing="exclude"
            ),
        )
        for names in (("vote", "smoker"), ("smoker", "vote"), ("vote",), ("smoker",))
    ]
    both, turned, *alone = results
    rows = [*both.rows]
    assert sorted(rows, key=str) == sorted(turned.rows, key=str)
    assert rows == [row for one in alone for row in one.rows]
    assert both.tests == turned.tests[::-1] == [test for one in alone for test in one.tests]
    if method == "raking":
        # A third of those who state their vote are men, and half of all people.
        vote, smoker = caveats(both, "weights")
        assert (vote["question"], smoker["question"]) == ("vote", "smoker")
        assert vote["design_effect"] == pytest.approx(0.25 * 1.5 + 0.25 * 3, rel=0.01)
        assert smoker["design_effect"] == pytest.approx(1, abs=0.01)
        assert [each["people"] for each in (vote, smoker)] == pytest.approx([2250, 3000], rel=0.01)
        assert "design effect of 1.12" in " ".join(WEIGHTED.present(both).notes)
    else:
        vote, smoker = both.tests
        assert vote.p_value < 1e-9 < 0.5 < smoker.p_value
        [said] = [said for said in WEIGHTED.present(both).warnings if "do not have" in said]
        assert said.startswith("vote: The respondents do not have")


def test_equal_margins_are_flagged_as_placeholders():
    even, known = (
        weighted(CELLS, margins={"sex": {"female": share, "male": 1 - share}})
        for share in (0.5, 0.52)
    )
    assert WEIGHTED.present(even).warnings[0].startswith("Placeholders with equal shares")
    assert caveats(known, "even margins") == []
    said = WEIGHTED.present(even, labels_of(SURVEY)).notes[0].replace("\u202f", " ")
    assert said == "Margins: sex (female 50.0 %, male 50.0 %)."


FILES = {
    "margins.toml": "[smoker]\nno = 0.6\nyes = 0.4\n\n[age]\nyoung = 1\nmiddle = 2\nold = 1\n",
    "margins.csv": "attribute,category,count\nsmoker,no,2.4\nsmoker,yes,1.6\n"
    "age,young,1\nage,middle,2\nage,old,1\n",
    "shares.csv": "attribute,category,share\nsmoker,no,0.6\nsmoker,yes,0.4\n\n"
    "age,young,0.25\nage,middle,0.5\nage,old,0.25\n",
}


@pytest.mark.parametrize("file", FILES)
def test_the_command_reads_margins_from_files(study, halftruth, tmp_path, file):
    path = tmp_path / file
    path.write_text(FILES[file])
    status, printed, complaint = halftruth(
        "analyse", "weighted", "study", "--margins", str(path), "--json"
    )
    assert (status, complaint) == (0, "")
    margins = {
        "smoker": {"no": 0.6, "yes": 0.4},
        "age": {"young": 0.25, "middle": 0.5, "old": 0.25},
    }
    asked = study.analyst.weighted("study", margins=margins)
    answer = json.loads(printed)
    assert answer["estimates"]["value"] == pytest.approx(asked.estimates.value)
    printed = halftruth("analyse", "weighted", "study", "--margins", str(path), "--csv")[1]
    assert len(list(csv.reader(io.StringIO(printed)))) == 1 + 3 * 5


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("missing.toml", None, "No such file"),
        ("margins.toml", "smoker = 0.4\n", "'smoker' is no table of categories and numbers"),
        ("margins.toml", "[smoker", "margins.toml: "),
        ("margins.toml", '[smoker]\nno = "many"\nyes = 1\n', "attribute=category:number"),
        ("margins.csv", "smoker,no,0.4\n", "attribute, category, and share or count"),
        ("margins.csv", "", "attribute, category, and share or count"),
        ("margins.csv", "attribute,category,share\nsmoker,no\n", "three columns"),
    ],
)
def test_a_file_without_valid_margins_is_refused_in_one_line(halftruth, tmp_path, file, text, said):
    path = tmp_path / file
    if text is not None:
        path.write_text(text)
    status, printed, complaint = halftruth("analyse", "weighted", "study", "--margins", str(path))
    assert (status, printed, complaint.count("\n")) == (2, "", 1)
    assert complaint.startswith("halftruth: margins: expected ")
    assert said in complaint
