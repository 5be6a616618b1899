"""Every kind of question from answers to estimates: encoded, perturbed, counted, estimated."""

import csv

import every_kind
import numpy as np
import pytest
from click.testing import CliRunner
from halftruth_collector.cli import main
from sources import estimator_of

KEPT = 'kind = "randomized-response"\ngamma = "1000000000000"'
MECHANISMS = [
    "",  # the split questionnaire of its file
    'kind = "randomized-response"\ngamma = "49"',
    'kind = "gamma-diagonal"\ngamma = "49"',
]


def answered(survey, count, seed):
    """Return `count` people, and the estimates from their reports."""
    people = every_kind.people(count, seed)
    codes = np.array([survey.schema.encode(record) for record in people])
    rng = np.random.default_rng(seed)
    return people, estimator_of(survey, codes, rng)


def true_shares(people, names):
    return np.array([*every_kind.shares(people, names).values()])


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_shares_of_every_kind_of_question_are_estimated(mechanism):
    people, estimator = answered(every_kind.survey(mechanism), 6_000, seed=2026)
    deviations = []
    for name in every_kind.CATEGORIES:
        table = estimator.table([name])
        error = table.value - true_shares(people, [name])
        deviations.extend(error / np.sqrt(table.variance()))
    # The largest of 27 exceeds 4 in one of 600 trials; this one is fixed by the seed.
    assert np.abs(deviations).max() < 4
    # The people are fixed, so errors are at most those of the reports.
    assert np.sqrt(np.mean(np.square(deviations))) < 1.5


def most_frequent(reports):
    """Return the most frequent value of each column."""
    columns = zip(*(report.values() for report in reports), strict=True)
    return [max(sorted(set(column)), key=column.count) for column in columns]


def test_empty_fields_of_a_record_file_are_missing_or_not_asked(tmp_path):
    (tmp_path / "kinds.toml").write_text(every_kind.file(KEPT), encoding="utf-8")
    rows = [
        ",".join(every_kind.CATEGORIES),
        *["never,no,,,yes,no,no,7.5", "daily,yes,12,2,no,no,yes,"] * 20,
    ]
    (tmp_path / "records.csv").write_text("\n".join(rows))
    out = tmp_path / "reports.csv"
    arguments = ["reports", "perturb", str(tmp_path / "kinds.toml"), str(tmp_path / "records.csv")]
    done = CliRunner().invoke(main, [*arguments, "-o", str(out)])
    assert done.exit_code == 0, done.output
    reports = list(csv.DictReader(out.read_text().splitlines()))
    # With γ = 31 per attribute, most answers are kept.
    first, second = (most_frequent(half) for half in (reports[::2], reports[1::2]))
    assert first == ["never", "no", "not asked", "no answer", "yes", "no", "no", "[7, 10.5)"]
    assert second == ["daily", "yes", "1 to 20", "2", "no", "no", "yes", "no answer"]

    (tmp_path / "records.csv").write_text(f"{rows[0]}\nnever,no,12,,yes,no,no,7.5\n")
    refused = CliRunner().invoke(main, [*arguments, "-o", str(out)])
    assert refused.exit_code != 0
    assert "line 2: attribute 'cigarettes': not asked" in refused.output
    assert "12" not in refused.output
