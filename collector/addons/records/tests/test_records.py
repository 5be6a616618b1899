"""Weighted records as files, and estimates from them in R and Python."""

import csv
import runpy
import subprocess
from functools import partial
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from halftruth_collector import operations
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.cli import main
from halftruth_collector.collector_store import Store
from halftruth_collector.estimation.domain import Domain
from halftruth_collector.estimation.model import cached, fit_model, shares
from halftruth_collector.exporters import write_records
from halftruth_records.files import make_codebook, make_scripts
from halftruth_shared import (
    Attribute,
    ParameterError,
    RandomizedResponse,
    Schema,
    Survey,
)
from halftruth_shared.analyses.microdata import NO_PERSON, MicrodataQuery
from halftruth_shared.analyses.regression import RegressionQuery
from halftruth_shared.number import NumberRange
from halftruth_shared.protocol.reports import Report
from installed import missing, program
from sources import coefficients, source_of

SCHEMA = Schema(
    [
        Attribute("team", ["office", "workshop", 'the "rest"'], label="Where do you work?"),
        Attribute("next", ["no", "yes"], optional=True),
        Attribute("leaving.soon", ["no", "yes"], answers={"yes": "Yes, I do"}),
        Attribute("change", ["-1", "+1"]),
        Attribute("age", number=NumberRange(20, 50, 10)),
    ]
)
SURVEY = Survey("work", "Work", SCHEMA, RandomizedResponse(dict.fromkeys(SCHEMA.names, "0.85")))
QUERY = MicrodataQuery()


def records(count=6_000, seed=1):
    rng = np.random.default_rng(seed)
    team, age = rng.integers(0, 3, count), rng.integers(0, SCHEMA.shape[4], count)
    second = np.where(rng.random(count) < 0.1, 2, rng.random(count) < 0.2 + 0.2 * team)
    leaving = rng.random(count) < 0.3 + 0.3 * (second == 1)
    change = rng.random(count) < 0.2 + 0.15 * age
    return np.stack([team, second, leaving, change, age], axis=1).astype(int)


@pytest.fixture(scope="module")
def reports():
    return SURVEY.perturbation.reports(records(), np.random.default_rng(2))


@pytest.fixture(scope="module")
def counted(reports):
    return source_of(SURVEY, reports)


@pytest.fixture(scope="module")
def result(counted):
    return answer(ANALYSES["microdata"], counted, QUERY)


@pytest.fixture(scope="module")
def model(counted):
    return fit_model(SURVEY, counted.counts)


@pytest.fixture(scope="module")
def r(result, tmp_path_factory):
    """Output of R for the generated script with more estimates."""
    program("Rscript")
    if subprocess.run(["Rscript", "-e", "library(survey)"], capture_output=True).returncode:
        missing("R's package survey")
    folder = tmp_path_factory.mktemp("r")
    write_records(result, str(folder / "work.csv"))
    more = """
say <- function(name, values, errors)
  cat("\\n=", name, format(unlist(c(values, errors)), digits = 12), sep = ";")
say("script", coef(model), SE(model))
whole <- svyglm(leaving_soon ~ team + change + age, design, family = quasibinomial())
say("regression", coef(whole), SE(whole))
say("number", coef(svymean(~age_number, design)), SE(svymean(~age_number, design)))
found <- svymean(~team, design)
say("mean", coef(found), SE(found))
found <- svyby(~leaving_soon, ~change, design, svymean)
say("by", coef(found), SE(found))
table <- svytable(~team + leaving_soon, design)
say("table", t(table), c())
answered <- subset(design, !(next_ %in% c("no answer")))
found <- svymean(~I(next_ == "yes"), answered)
say("answered", coef(found), SE(found))
"""
    script = folder / "all.R"
    script.write_text((folder / "work.R").read_text(encoding="utf-8") + more, encoding="utf-8")
    ran = subprocess.run(["Rscript", script.name], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    lines = [line.split(";")[1:] for line in ran.stdout.splitlines() if line.startswith("=")]
    return {name: np.array(values, float) for name, *values in lines}


def same(found, values, errors):
    np.testing.assert_allclose(found, [*np.ravel(values), *np.ravel(errors)], rtol=1e-3)


def regressed(counted, *predictors):
    """Coefficients and standard errors for leaving soon, by the model."""
    ages = {"age": SCHEMA.attributes[4].categories[0]} if "age" in predictors else {}
    query = RegressionQuery(
        outcome="leaving.soon", predictors=list(predictors), reference=ages, estimate="model"
    )
    found = coefficients(answer(ANALYSES["regression"], counted, query))
    return [each.value for each in found], [each.standard_error for each in found]


def test_svyglm_has_the_coefficients_and_errors_of_the_model(r, counted):
    same(r["regression"], *regressed(counted, "team", "change", "age"))


def test_svymean_has_the_shares_of_the_model(r, model):
    table = shares(model, ["team"])
    same(r["mean"], table.value, np.sqrt(table.variance()))


def test_svymean_has_the_mean_of_a_number(r, model):
    table, middles = shares(model, ["age"]), SCHEMA.attributes[4].number.midpoints
    middles = np.array([float(middle) for middle in middles])
    same(r["number"], middles @ table.value, np.sqrt(middles @ table.covariance() @ middles))


def test_svyby_has_the_shares_of_groups(r, model):
    groups = [
        Domain(model.schema, {"change": group}).table(partial(shares, model), ["leaving.soon"])
        for group in ("-1", "+1")
    ]
    support = np.stack([group.value for group in groups], axis=-1)
    errors = np.stack([np.sqrt(group.variance()) for group in groups], axis=-1)
    same(r["by"], support[:2].ravel(), errors[:2].ravel())


def test_svytable_has_the_numbers_of_people(r, model, result):
    table = shares(model, ["team", "leaving.soon"])
    np.testing.assert_allclose(
        r["table"], table.value.ravel() * result.estimates.value.sum(), rtol=1e-3
    )


def test_a_subset_of_the_design_has_the_shares_of_those_who_answered(r, model):
    answered = Domain(model.schema, {}, answered=True)
    table = answered.table(partial(shares, model), ["next"])
    same(r["answered"], table.value, np.sqrt(table.variance()))


def test_the_python_script_has_the_coefficients_of_the_model(
    result, counted, tmp_path, monkeypatch
):
    pytest.importorskip("statsmodels")
    monkeypatch.chdir(tmp_path)
    write_records(result, "work.csv")
    ran = runpy.run_path("work.py")
    found = ran["estimate"](ran["coefficients"])
    same(found.to_numpy().T.ravel(), *regressed(counted, "change", "team"))
    assert ran["records"]["age_number"].to_numpy()[0] == 24.5


def test_every_file_states_that_no_row_is_a_person(result, tmp_path):
    files = write_records(result, str(tmp_path / "work.csv"))
    assert [file.name for file in files] == ["work.csv", "work-codebook.txt", "work.R", "work.py"]
    with files[0].open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["record"] for row in rows} == {NO_PERSON}
    for file in files[1:]:
        assert "No row is a person." in file.read_text(encoding="utf-8")
    assert "No row is a person" in result.caveats[0].sentence
    parquet = write_records(result, str(tmp_path / "work.parquet"))[0]
    assert pd.read_parquet(parquet)["next_"].tolist() == [row["next_"] for row in rows]


@pytest.mark.parametrize("added", [0, 1])
def test_every_file_states_the_assumptions_of_the_model_and_contradicting_reports(
    added, monkeypatch
):
    """Two answers determine the third, which no table of two questions shows."""
    schema = Schema([Attribute(name, ["no", "yes"]) for name in "abc"])
    rng = np.random.default_rng(4)
    first, second = rng.integers(0, 2, (2, 8_000))
    people = np.stack([first, second, first ^ second], axis=1)
    mechanism = RandomizedResponse(dict.fromkeys("abc", "0.9"))
    found = source_of(Survey("xor", "Xor", schema, mechanism), people, rng)
    monkeypatch.setattr(cached, "MOST_ADDED", added)
    result = answer(ANALYSES["microdata"], found, QUERY)
    said = [
        "The model has no interaction of three or more questions; the reports contradict",
        "The interaction a:b:c was added because the reports speak against the model without it",
    ]
    for text in (make_codebook(result), *(text for _, text in make_scripts(result, "records.csv"))):
        plain = " ".join(text.replace("#", " ").split())
        assert said[added] in plain
        assert "Not for quantiles" in plain
        assert "Rao-Scott" in plain
    against = "" if added else ", by a model that the reports contradict"
    assert {*result.column_lists()[0]} == {NO_PERSON + against}


def test_records_depend_only_on_the_counts_of_perturbed_reports(counted, reports, result):
    """Post-processing of the reports, which leaves their protection unchanged."""
    shuffled = np.random.default_rng(9).permutation(reports)
    again = source_of(SURVEY, shuffled)
    assert answer(ANALYSES["microdata"], again, QUERY) == result


def test_records_have_known_margins(counted):
    query = MicrodataQuery(margins={"change": {"-1": 300, "+1": 700}}, attributes=["age", "change"])
    found = answer(ANALYSES["microdata"], counted, query)
    assert found.estimates.value.sum() == pytest.approx(1_000)
    less = found.places("weight", change="-1")
    assert found.estimates.value[less].sum() == pytest.approx(300)
    assert any("known margins of change" in each.sentence for each in found.caveats)
    query = MicrodataQuery(margins={"change": {"-1": 300, "+1": 700}}, attributes=["age"])
    with pytest.raises(ParameterError, match="none of the attributes of these records"):
        answer(ANALYSES["microdata"], counted, query)


def test_the_command_writes_files_side_by_side(reports, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with Store("sqlite:///halftruth.db") as store:
        operations.publish_survey(store, SURVEY)
        store.reports.add(
            "work",
            SURVEY.digest,
            [Report(id=UUID(int=i), values=row) for i, row in enumerate(reports.tolist())],
        )

    def run(*words):
        try:
            main(["analyse", "microdata", "work", *words])
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
        return (status, *capsys.readouterr())

    status, said, _ = run("--output", "work.csv")
    assert status == 0
    assert said.endswith(
        "written: work.csv\nwritten: work-codebook.txt\nwritten: work.R\nwritten: work.py\n"
    )
    assert "No row is a person" in said
    for words, complaint in (
        (
            ["--output", "work.xls"],
            "output: expected a file that ends in one of .codebook.txt, .csv, .parquet",
        ),
        (
            ["--output", "nowhere/work.csv"],
            "output: expected a file that can be written: No such file",
        ),
        (
            ["--output", "work.csv", "--json"],
            "output: expected without --json, --csv and --parquet",
        ),
    ):
        status, said, complained = run(*words)
        assert status == 2
        assert complaint in complained
