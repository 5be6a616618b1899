"""Every kind of question from people to estimates: encoded, perturbed, counted, estimated."""

import csv

import numpy as np
import pytest
from click.testing import CliRunner
from halftruth_collector import Counts, Estimator
from halftruth_collector.cli import main
from halftruth_shared import Survey

QUESTIONS = """
[[attributes]]
name = "smoker"
categories = ["no", "yes"]
missing = ["prefer not to say"]

[[attributes]]
name = "cigarettes"
kind = "number"
minimum = 1
maximum = 60
step = 20
ask_if = { smoker = ["yes"] }

[[attributes]]
name = "content"
kind = "scale"
categories = ["1", "2", "3"]
optional = true

[[attributes]]
name = "symptoms"
kind = "several"
options = [{ name = "cough" }, { name = "fever" }]

[[attributes]]
name = "sleep"
kind = "number"
minimum = 0
maximum = 14
step = "3.5"
"""
MECHANISMS = {
    "split-questionnaire": "max_length = 2",
    "randomized-response": "",
    "gamma-diagonal": "",
}
PEOPLE = 6_000
SMOKES = ("no", "yes", "prefer not to say")


def survey(mechanism):
    return Survey.from_toml(
        f'id = "kinds"\ntitle = "Kinds"\n[mechanism]\nkind = "{mechanism}"\ngamma = "49"\n'
        f"{MECHANISMS[mechanism]}\n{QUESTIONS}"
    )


def person(rng):
    """Answers as people give them, with what they leave out left out."""
    smoker = str(rng.choice(SMOKES, p=[0.6, 0.3, 0.1]))
    record = {"smoker": smoker, "sleep": round(float(rng.normal(7, 1.5)), 1)}
    record["symptoms"] = [name for name, p in (("cough", 0.4), ("fever", 0.1)) if rng.random() < p]
    if smoker == "yes":
        record["cigarettes"] = int(rng.integers(1, 41))
    if rng.random() < 0.8:
        record["content"] = str(rng.choice(["1", "2", "3"], p=[0.2, 0.3, 0.5]))
    return record


def truth(people):
    """Shares of every category, counted from the answers themselves."""

    def share(test):
        return sum(map(test, people)) / len(people)

    cigarettes = [share(lambda p, i=i: 20 * i < p.get("cigarettes", 0) <= 20 * (i + 1))
                  for i in range(3)]  # fmt: skip
    ends = (0, 3.5, 7, 10.5, 15)
    return {
        "smoker": [share(lambda p, a=a: p["smoker"] == a) for a in SMOKES],
        "cigarettes": [*cigarettes, share(lambda p: "cigarettes" not in p)],
        "content": [share(lambda p, a=a: p.get("content") == a) for a in ("1", "2", "3", None)],
        "symptoms.cough": [share(lambda p: "cough" not in p["symptoms"]),
                           share(lambda p: "cough" in p["symptoms"])],
        "symptoms.fever": [share(lambda p: "fever" not in p["symptoms"]),
                           share(lambda p: "fever" in p["symptoms"])],
        "sleep": [share(lambda p, i=i: ends[i] <= p["sleep"] < ends[i + 1]) for i in range(4)],
    }  # fmt: skip


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(2026)
    return [person(rng) for _ in range(PEOPLE)]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_shares_of_every_kind_of_question_are_estimated(mechanism, people):
    rng = np.random.default_rng(2027)
    made = survey(mechanism)
    codes = np.array([made.schema.encode(record) for record in people])
    reports = made.mechanism.perturb_many(made.schema, codes, rng)
    estimator = Estimator(made, Counts.from_reports(made, reports))
    deviations = []
    for name, shares in truth(people).items():
        table = estimator.table([name])
        deviations.extend((table.support - shares) / table.standard_error())
    # The largest of 21 exceeds 4 in one of 800 trials, of which this one is fixed.
    assert np.abs(deviations).max() < 4
    # People are fixed here, so that errors are at most those of reports.
    assert np.sqrt(np.mean(np.square(deviations))) < 1.5


def most_frequent(reports):
    """The value that each column has most often."""
    columns = zip(*(report.values() for report in reports), strict=True)
    return [max(sorted(set(column)), key=column.count) for column in columns]


def test_a_file_of_records_leaves_empty_what_is_not_asked_or_passed_over(tmp_path):
    (tmp_path / "kinds.toml").write_text(
        'id = "kinds"\ntitle = "Kinds"\n[mechanism]\nkind = "randomized-response"\n'
        f'gamma = "1000000000000"\n{QUESTIONS}'
    )
    rows = [
        "smoker,cigarettes,content,symptoms.cough,symptoms.fever,sleep",
        *["no,,,yes,no,7.5", "yes,12,2,no,no,3.5"] * 20,
    ]
    (tmp_path / "records.csv").write_text("\n".join(rows))
    out = tmp_path / "reports.csv"
    arguments = ["perturb", str(tmp_path / "kinds.toml"), str(tmp_path / "records.csv")]
    done = CliRunner().invoke(main, [*arguments, "-o", str(out)])
    assert done.exit_code == 0, done.output
    reports = list(csv.DictReader(out.read_text().splitlines()))
    # Of γ = 100 an attribute, most answers stay.
    first, second = (most_frequent(half) for half in (reports[::2], reports[1::2]))
    assert first == ["no", "not asked", "no answer", "yes", "no", "[7, 10.5)"]
    assert second == ["yes", "1 to 20", "2", "no", "no", "[3.5, 7)"]

    (tmp_path / "records.csv").write_text(f"{rows[0]}\nno,12,,yes,no,7.5\n")
    refused = CliRunner().invoke(main, [*arguments, "-o", str(out)])
    assert refused.exit_code != 0
    assert "line 2: attribute 'cigarettes': not asked" in refused.output
    assert "12" not in refused.output
