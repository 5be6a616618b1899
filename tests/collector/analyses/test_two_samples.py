"""Two samples of one question, from a file to their shares."""

import csv
import io

import numpy as np
import pytest
from halftruth_collector import regress_records
from halftruth_collector.analyses import ANALYSES, Counted, identified
from halftruth_collector.cli import main
from halftruth_collector.collector_store import Store
from halftruth_collector.files.randomized import read_randomized
from halftruth_shared import ParameterError, RecordError, SchemaError, read_survey

TWO, REGRESSION = ANALYSES["two-samples"], ANALYSES["regression"]

SURVEY = """
id = "doping"
title = "Doping"

[mechanism]
kind = "distortion-matrices"
randomized_by = "respondent"
perturbed = ["doped_A", "doped_B"]

[mechanism.designs]
doped_A = { design = "mangat", p = "3/4", not_sensitive = "no" }
doped_B = { design = "mangat", p = "1/4", not_sensitive = "no" }

[[attributes]]
name = "doped_A"
categories = ["no", "yes"]
missing = ["not asked so"]

[[attributes]]
name = "doped_B"
categories = ["no", "yes"]
missing = ["not asked so"]

[[attributes]]
name = "sex"
categories = ["female", "male"]

[[attributes]]
name = "votes"
categories = ["no", "yes"]

[[attributes]]
name = "votes_again"
categories = ["no", "yes"]
"""

#: People by sample, report and sex.
FILE = """deck,doped,sex,people,votes,votes_again
A,1,female,160,1,0
A,0,female,340,1,0
B,1,female,260,1,0
B,0,female,240,1,0
A,1,male,120,1,0
A,0,male,380,1,0
B,1,male,300,1,0
B,0,male,200,1,0
B,,male,7,1,0
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "survey.toml").write_text(SURVEY)
    (tmp_path / "data.csv").write_text(FILE)
    return tmp_path


def read(files, **options):
    survey = read_survey(str(files / "survey.toml"))
    options = {"count": "people", "samples": ("doped", "deck"), **options}
    return survey, read_randomized(str(files / "data.csv"), survey, **options)


@pytest.fixture
def counted(files):
    survey, reports = read(files)
    with Store(f"sqlite:///{files}/s.db") as store:
        store.files.count_rows(survey, reports.pages(1000))
        _, counts, as_of, _ = store.reports.snapshot(survey.id)
        return Counted(survey, counts, as_of, min_reports=1)


def ask(counted, **fields):
    query = TWO.query(**{"attributes": ["doped_A", "doped_B"], **fields})
    return TWO.compute(counted, query)


def test_a_file_with_a_column_for_the_sample_becomes_shares(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    database = f"sqlite:///{files}/c.db"
    words = "reports read data.csv --survey survey.toml --samples doped deck --count people"
    main([*words.split(), "--database", database], standalone_mode=False)
    words = "analyse two-samples doping --attributes doped_A,doped_B --design cheater-detection"
    main([*words.split(), "--database", database], standalone_mode=False)
    said = capsys.readouterr().out
    assert "counted 2007 reports" in said
    # λ is 0.28 and 0.56: honest no 0.56, honest yes 0.14.
    assert [line.split()[:3] for line in said.splitlines() if line.startswith("honest")] == [
        ["honest", "yes", "14.0"],
        ["honest", "no", "56.0"],
    ]
    assert "p-value" in said
    main([*words.split(), "--database", database, "--csv"], standalone_mode=False)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {float(row["compliance_p_value"]) < 1e-4 for row in rows} == {True}
    words = "analyse regression doping --outcome doped_A --samples doped_B --predictors sex"
    words += " --design cheater-detection"
    main([*words.split(), "--database", database], standalone_mode=False)
    said = capsys.readouterr().out
    assert "Estimated together, cheaters: " in said
    assert "the equation is of all others" in said.lower()


def test_shares_are_of_the_group_that_is_asked_about(counted):
    [prevalence, honest] = ask(counted, design="lie-detector", where={"sex": "male"}).shares
    # λ is 0.24 and 0.60.
    assert prevalence.value == pytest.approx(1 - 0.72)
    assert honest.value == pytest.approx(0.06 / 0.28)


def test_yes_is_the_answer_that_is_present(counted):
    other = ask(counted, present={"doped_A": "no", "doped_B": "no"})
    one = ask(counted)
    assert one.samples == other.samples == [1000, 1000]
    assert one.p_value == pytest.approx(other.p_value)
    assert [s.moment for s in one.shares] == pytest.approx([1 - s.moment for s in other.shares])


def test_the_page_of_two_samples_is_offered_where_there_are_two(counted):
    assert TWO in identified(counted.survey)
    assert TWO.start(counted.survey).attributes == ["doped_A", "doped_B"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"present": {"sex": "male"}}, "present: 'sex' is none of the attributes"),
        ({"present": {"doped_A": "maybe"}}, "present: 'doped_A' has no category 'maybe'"),
        ({"present": {"doped_A": "not asked so"}}, "present: 'not asked so' is no answer of"),
        ({"where": {"doped_B": "not asked so"}}, "'doped_B' is named twice"),
    ],
)
def test_answers_that_are_none_are_refused(counted, fields, message):
    with pytest.raises((ParameterError, SchemaError), match=message):
        ask(counted, **fields)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"attributes": ["doped_A", "sex"]}, "somebody answered two of the questions"),
    ],
)
def test_what_are_no_two_samples_have_no_shares(counted, fields, reason):
    result = ask(counted, **fields)
    assert all(reason in share.undefined and share.value is None for share in result.shares)
    assert result.p_value is None
    assert reason in TWO.headline(result)
    assert TWO.warnings(result) == []


@pytest.mark.parametrize(
    ("old", "new", "options", "message"),
    [
        ("B,,male", "C,,male", {}, "row 9, column 'deck': expected one of: A, B"),
        ("A,1,male", "A,3,male", {}, "row 5, column 'doped': expected one of: no, yes"),
        ("", "", {"samples": ("deck", "doped")}, "samples: the survey has 0 questions 'deck_…'"),
        ("", "", {"samples": ("doped", "sex")}, "expected columns of their own, not 'sex'"),
        ("deck", "dock", {}, "column 'deck' is missing"),
    ],
)
def test_files_that_do_not_tell_the_samples_are_refused(files, old, new, options, message):
    (files / "data.csv").write_text(FILE.replace(old, new) if old else FILE)
    with pytest.raises((ParameterError, RecordError), match=message):
        read(files, **options)


def regress(counted, **fields):
    asked = {"outcome": "doped_A", "samples": ["doped_B"], "predictors": ["sex"], **fields}
    return REGRESSION.compute(counted, REGRESSION.query(**asked))


def test_two_samples_are_regressed_on_who_is_asked(counted):
    """With a share of cheaters for all, whose likelihood is largest on a grid of that share."""
    result = regress(counted, design="cheater-detection", covariance=True)
    yes, people = np.array([[160, 260], [120, 300]]), np.full((2, 2), 500)

    def levels(cheaters, steps=5_000):
        """The best log-likelihood, with the prevalence of each sex on a grid."""
        honest = np.linspace(0, 1, steps + 1)
        found = []
        for sex in (0, 1):
            chances = (1 - cheaters) * np.array([honest + b * (1 - honest) for b in (0.25, 0.75)])
            each = yes[sex, :, None] * np.log(chances)
            each = each + (people - yes)[sex, :, None] * np.log(1 - chances)
            found.append((each.sum(axis=0).max(), honest[each.sum(axis=0).argmax()]))
        return sum(level for level, _ in found), [share for _, share in found]

    grid = np.linspace(0.25, 0.35, 201)
    best = grid[np.argmax([levels(cheaters)[0] for cheaters in grid])]
    assert result.share.value == pytest.approx(best, abs=3e-4)
    logits = np.log(np.array(levels(result.share.value, 100_000)[1]) ** -1 - 1) * -1
    values = [each.value for each in result.coefficients]
    assert values == pytest.approx([logits[0], logits[1] - logits[0]], abs=1e-3)
    *_, last = result.rows()
    assert last[0] == "cheaters"
    assert result.covariance[2][2] == pytest.approx(result.share.standard_error**2)
    assert len(list(result.rows())) == len(result.covariance) == 3


def test_a_data_frame_has_the_samples_in_a_column(counted):
    """The same regression, from records: a row for each person."""
    lines = [line.split(",") for line in FILE.splitlines()[1:-1]]
    rows = [(deck, said, sex) for deck, said, sex, people, *_ in lines for _ in range(int(people))]
    deck, said, sex = map(np.array, zip(*rows, strict=True))
    records = {"deck": deck, "doped": np.where(said == "1", "yes", "no"), "sex": sex}
    design = "lie-detector"
    result = regress_records(
        counted.survey, records, "doped", ["sex"], samples="deck", design=design
    )
    same = regress(counted, design=design)
    for one, other in zip(result.estimates(), same.estimates(), strict=True):
        assert one[1].value == pytest.approx(other[1].value, rel=1e-6)
        assert one[1].standard_error == pytest.approx(other[1].standard_error, rel=1e-6)
    with pytest.raises(ParameterError, match="'deck' has other values than the samples"):
        regress_records(counted.survey, {**records, "deck": said}, "doped", ["sex"], samples="deck")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"samples": [], "outcome": "votes", "design": "lie-detector"},
            "design: expected samples besides",
        ),
        ({"samples": ["sex"], "predictors": ["doped_B"]}, "samples: 'sex'; expected a question"),
        ({"estimate": "moment"}, "estimate: samples are regressed by likelihood"),
        ({"target": "respondents"}, "target: without a table"),
        (
            {"design": "lie-detector", "model": "multinomial"},
            "model: expected a logistic one of two answers",
        ),
    ],
)
def test_regressions_of_no_samples_are_refused(counted, fields, message):
    with pytest.raises(ParameterError, match=message):
        regress(counted, **fields)


def test_a_regression_of_people_in_both_samples_has_no_numbers(counted):
    """As where everybody was asked the other question, too."""
    result = regress(counted, outcome="votes", samples=["votes_again"])
    assert result.undefined.startswith("somebody answered two of the questions")
    assert [each.value for each in result.coefficients] == [None, None]
    assert result.share is None


def test_strata_are_weighted_by_their_sizes(counted):
    """λ is 0.32 and 0.52: Mangat's (λ − 1 + p)/p with p of 3/4 and 1/4, by hand."""
    asked = {"design": "strata", "sizes": [300, 100], "where": {"sex": "female"}}
    result = ask(counted, **asked)
    [share] = result.shares
    first, second = (0.32 - 0.25) / 0.75, (0.52 - 0.75) / 0.25
    assert share.value == share.moment == pytest.approx(0.75 * first + 0.25 * second)
    assert share.interval[0] < share.value < share.interval[1]
    assert TWO.warnings(result)[-1].startswith("Outside of 0 to 100 %")
    assert result.p_value is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"design": "strata"}, "sizes: expected 2 numbers of people"),
        ({"design": "strata", "sizes": [1]}, "sizes: expected 2 numbers of people"),
        ({"sizes": [1, 1]}, "sizes: expected none without strata"),
        ({"attributes": ["doped_A", "doped_B", "sex"]}, "attributes: 3 questions; expected two"),
    ],
)
def test_sizes_that_are_not_those_of_strata_are_refused(counted, fields, message):
    with pytest.raises(ParameterError, match=message):
        ask(counted, **fields)


ANCHORED = """
id = "anchored"
title = "Crosswise with an anchor"

[mechanism]
kind = "distortion-matrices"
randomized_by = "respondent"
perturbed = ["cheated", "anchor"]

[mechanism.designs]
cheated = { design = "crosswise", prevalence = "0.15", answer = "same" }
anchor = { design = "crosswise", prevalence = "0.15", answer = "same" }

[[attributes]]
name = "cheated"
categories = ["different", "same"]

[[attributes]]
name = "anchor"
categories = ["same", "different"]
"""


def test_an_anchor_question_is_answered_by_the_same_people(tmp_path, counted):
    """The example of cWise; reports of “same” are yes to both, whatever their order."""
    (tmp_path / "survey.toml").write_text(ANCHORED)
    numbers = {("same", "same"): 1118, ("same", "different"): 309}
    numbers |= {("different", "same"): 423, ("different", "different"): 150}
    lines = [f"{first},{second},{people}" for (first, second), people in numbers.items()]
    (tmp_path / "data.csv").write_text("\n".join(["cheated,anchor,people", *lines]))
    survey = read_survey(str(tmp_path / "survey.toml"))
    reports = read_randomized(str(tmp_path / "data.csv"), survey, count="people")
    with Store(f"sqlite:///{tmp_path}/a.db") as store:
        store.files.count_rows(survey, reports.pages(1000))
        _, counts, as_of, _ = store.reports.snapshot(survey.id)
    asked = {"attributes": ["cheated", "anchor"], "design": "anchor", "present": {"anchor": "same"}}
    result = TWO.compute(Counted(survey, counts, as_of, min_reports=1), TWO.query(**asked))
    assert [round(share.value, 4) for share in result.shares] == [0.1054, 0.7729]
    assert result.samples == [2000, 2000]
    assert result.p_value < 1e-9
    assert "nobody answers at random" in TWO.warnings(result)[-1]
    assert "some do not follow the instructions" in TWO.headline(result)
    nobody = ask(counted, design="anchor")
    assert nobody.shares[0].undefined == "nobody answered both questions; expected the same people"
