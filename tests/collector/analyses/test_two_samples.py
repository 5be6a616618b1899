"""Two samples of one question, from a file to their shares."""

import pytest
from halftruth_collector.analyses import ANALYSES, Counted, identified
from halftruth_collector.campaign.randomized import read_randomized
from halftruth_collector.cli import main
from halftruth_collector.collector_store import Store
from halftruth_shared import ParameterError, RecordError, SchemaError, read_survey

TWO = ANALYSES["two-samples"]

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
"""

#: People by sample, report and sex.
FILE = """deck,doped,sex,people
A,1,female,160
A,0,female,340
B,1,female,260
B,0,female,240
A,1,male,120
A,0,male,380
B,1,male,300
B,0,male,200
B,,male,7
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
        store.count_rows(survey, reports.pages(1000))
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
        ({"attributes": ["doped_A", "sex"]}, "somebody answered both questions"),
    ],
)
def test_what_are_no_two_samples_have_no_shares(counted, fields, reason):
    result = ask(counted, **fields)
    assert all(reason in share.undefined and share.value is None for share in result.shares)
    assert result.p_value is None
    assert TWO.warnings(result)[0].startswith("Undefined, as")


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
