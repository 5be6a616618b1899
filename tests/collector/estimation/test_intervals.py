"""Coverage of the intervals of shares with few reports, by enumeration of all reports."""

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.estimates import shares_of_table
from halftruth_collector.estimation.intervals import SHARE, table_intervals
from halftruth_shared import Attribute, DistortionMatrices, RandomizedResponse, Schema, Survey
from mined import rows_of
from scipy.stats import binomtest, multinomial

from .definitions import survey_of, uneven_matrix

#: Designs of one yes/no question, with the number of reports and the true share of yes.
FEW = [
    ({"design": "forced-response", "yes": "1/6", "no": "1/6"}, 50, 0.0),
    ({"design": "kuk", "theta1": "4/5", "theta2": "1/20"}, 100, 0.02),
    ({"design": "triangular", "prevalence": "1/4", "not_sensitive": "no"}, 50, 0.98),
    ({"design": "mangat", "p": "49/50", "not_sensitive": "no"}, 50, 0.0),
    ({"design": "warner", "p": "3/4"}, 30, 0.02),
    ({"design": "crosswise", "prevalence": "3/20"}, 50, 0.02),
]
#: Shape, a mechanism whose reports are more than two symbols, and true shares.
SEVERAL = [
    ((3,), DistortionMatrices({"a": uneven_matrix(3)}), (0.02, 0.08, 0.9)),
    ((3,), DistortionMatrices({"a": uneven_matrix(3)}), (0.3, 0.1, 0.6)),
    ((2, 2), RandomizedResponse({"a": "4/5", "b": "3/4"}), (0.85, 0.05, 0.08, 0.02)),
    ((2, 2), RandomizedResponse({"a": "9/10", "b": "9/10"}), (0.97, 0.01, 0.01, 0.01)),
]


def of_design(design):
    """A survey of one yes/no question."""
    schema = Schema([Attribute("a", ["no", "yes"])])
    return Survey("s", "S", schema, DistortionMatrices({}, {"a": design}))


def every_count(reports, symbols):
    """Return all possible counts of this number of reports."""
    if symbols == 1:
        return [(reports,)]
    return [
        (first, *rest)
        for first in range(reports + 1)
        for rest in every_count(reports - first, symbols - 1)
    ]


def coverage(survey, shares, reports):
    """Return the probabilities that the interval of each share covers it, and that it is empty."""
    channel = survey.perturbation.channel(survey.schema.names)
    shares = np.array(shares)
    chances = channel.forward(shares.reshape(channel.shape)).ravel()
    cells = np.stack(np.unravel_index(np.arange(chances.size), channel.shape), axis=1)
    held, empty, every = np.zeros(chances.size), np.zeros(chances.size), 0.0
    for counts in every_count(reports, chances.size):
        chance = multinomial.pmf(counts, reports, chances)
        if chance < 1e-9:
            continue
        table = Estimator(survey, Counts.from_cells(survey, cells, counts)).table(
            survey.schema.names
        )
        found = rows_of(shares_of_table(table, SHARE).columns(0.95))
        for cell, each in enumerate(found):
            lower, upper = each.interval or (np.inf, -np.inf)
            held[cell] += chance * (lower <= shares[cell] + 1e-12 and shares[cell] <= upper + 1e-12)
            empty[cell] += chance * (each.set == "empty")
        every += chance
    assert every > 0.999
    return held / every, empty / every


@pytest.mark.parametrize(("design", "reports", "share"), FEW)
def test_intervals_of_a_yes_no_question_with_few_reports_keep_their_coverage(
    design, reports, share
):
    """Wald intervals (± 1.96 errors) cover the truth in only 53 to 95 % of these surveys."""
    survey = of_design(design)
    held, empty = coverage(survey, (1 - share, share), reports)
    assert ((held > 0.92) & (held < 0.97)).all()
    assert (empty < 0.025).all()


@pytest.mark.parametrize(("shape", "mechanism", "shares"), SEVERAL)
def test_intervals_of_more_answers_with_few_reports_keep_their_coverage(shape, mechanism, shares):
    """Wald intervals (± 1.96 errors) cover the truth in only 65 to 94 % of these surveys."""
    held, _ = coverage(survey_of(mechanism, shape), shares, 25)
    assert ((held > 0.92) & (held < 0.97)).all()


@pytest.mark.parametrize("yes", [0, 1, 17, 50])
def test_intervals_of_two_symbols_are_transformed_wilson_intervals(yes):
    survey = of_design(FEW[0][0])
    table = Estimator(survey, Counts.from_cells(survey, [[0], [1]], [50 - yes, yes])).table(["a"])
    lower, upper = table_intervals(table)
    wilson = binomtest(yes, 50).proportion_ci(method="wilson")
    expected = [(end - 1 / 6) / (4 / 6) for end in (wilson.low, wilson.high)]
    assert [lower[1], upper[1]] == pytest.approx(expected)
    assert [1 - upper[0], 1 - lower[0]] == pytest.approx(expected)
