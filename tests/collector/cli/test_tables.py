"""``halftruth analyse every-table``: all tables of some lengths as one file."""

import pandas as pd
import pytest
from halftruth_collector.cli import tables as module
from halftruth_collector.estimation import Estimator
from halftruth_collector.estimation.tables import Tables


@pytest.fixture
def tables(halftruth, of_ninety_reports):
    return lambda *words: halftruth("analyse", "every-table", *words)


def test_a_row_of_the_file_is_a_cell_of_a_table(tables, store):
    status, said, complaint = tables("health", "--lengths", "1,2", "--parquet", "all.parquet")
    assert (status, complaint) == (0, "")
    assert "written: all.parquet" in said
    [single, pair] = [line.split() for line in said.splitlines() if line[:1].isdigit()]
    assert (single[:2], pair[:2]) == (["1", "5"], ["2", "6"])
    frame = pd.read_parquet("all.parquet")
    assert len(frame) == 11
    assert set(frame["reports"]) == {90}
    assert set(frame["target"]) == {"population"}
    cell = frame[(frame["answer_1"] == "yes") & (frame["answer_2"] == "weekly")].iloc[0]
    assert [cell["attribute_1"], cell["attribute_2"]] == ["smoker", "drinks"]
    stored, counts, *_ = store.reports.snapshot("health")
    table = Estimator(stored.survey(), counts).table(["smoker", "drinks"])
    lower, upper = table.interval()
    assert cell["support"] == table.support[1, 1]
    assert cell["lower"] == pytest.approx(lower[1, 1])
    assert cell["upper"] == pytest.approx(upper[1, 1])
    alone = frame[frame["attribute_2"].isna()]
    assert alone["attribute_1"].tolist() == ["smoker"] * 2 + ["drinks"] * 3
    assert alone["answer_1"].tolist() == ["no", "yes", "never", "weekly", "daily"]


def test_of_a_group_the_file_says_so(tables, monkeypatch):
    monkeypatch.setenv("HALFTRUTH_MIN_REPORTS", "1")
    monkeypatch.setattr(Tables, "_check_domain", lambda _: None)
    asked = ("--length", "1", "--where", "smoker=yes", "--parquet", "some.parquet")
    assert tables("health", *asked)[0] == 0
    frame = pd.read_parquet("some.parquet")
    assert set(frame["attribute_1"]) == {"drinks"}
    assert set(frame["filter"]) == {"smoker=yes"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nobody", "--length", "1"], "there is no survey"),
        (["health", "--length", "3"], "lengths: expected lengths from 1 to 2"),
        (["health", "--length", "one"], "lengths: expected one or more integers"),
        (["health", "--length", "1", "--where", "smoker=often"], "'smoker' has no category"),
        (
            ["health", "--length", "1", "--scheduler", "here"],
            "here: expected an address",
        ),
        (
            ["health", "--length", "1", "--scheduler", "tcp://h:1", "--processes", "2"],
            "processes, scheduler: expected one of them",
        ),
    ],
)
def test_what_cannot_be_estimated_is_one_line(tables, words, said, tmp_path):
    status, out, err = tables(*words, "--parquet", "all.parquet")
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "all.parquet").exists()


def test_too_few_reports_have_no_tables(tables, monkeypatch):
    monkeypatch.setenv("HALFTRUTH_MIN_REPORTS", "91")
    status, _, err = tables("health", "--length", "1", "--parquet", "all.parquet")
    assert status == 2
    assert "90 reports have been counted; results are served of 91 or more" in err


def test_work_does_not_begin_without_what_writes_the_file(tables, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    monkeypatch.setattr(module, "every_table", None)
    status, _, err = tables("health", "--length", "1", "--parquet", "all.parquet")
    assert status == 2
    assert "parquet: expected PyArrow, which is not installed here" in err
