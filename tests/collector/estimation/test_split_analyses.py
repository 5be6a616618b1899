"""Analyses of reports about views."""

import numpy as np
import pytest
from halftruth_collector.estimation import Estimator
from halftruth_collector.estimation.independence import Departures
from halftruth_shared import EstimateError
from mined import associations_of, itemsets_of, measures_of, mined_rules, rows_of, rule_of
from sources import aimed, estimator_of
from weights_of_views import DIRECT, some_reports, survey_of

from .definitions import TARGETS

#: Views of attributes, with b public or not, and the largest order of a table.
STUDIES = {
    "all": ("", (("abcd", 1, 1), ("abcd", 2, 1), ("abcd", 3, 1), ("abcd", None, 2)), 4),
    "pairs": ("", (("abcd", 2, 1),), 2),
    "public": ("b", (("acd", 2, 1), ("acd", None, 1)), 4),
    "public-pairs": ("b", (("acd", 2, 1),), 2),
}


@pytest.fixture(scope="module", params=STUDIES)
def study(request):
    """Estimates from 4 000 people; a and c are associated, and d depends on c."""
    public, classes, longest = STUDIES[request.param]
    survey = survey_of(((2, 2, 2, 3), public, classes, 19, 28, "19"))
    rng = np.random.default_rng(17)
    records = rng.integers(0, 2, (4_000, 4))
    records[:, 2] = np.where(rng.random(4_000) < 0.8, records[:, 0], 1 - records[:, 0])
    records[:, 3] = np.where(rng.random(4_000) < 0.7, 2 * records[:, 2], 1)
    return estimator_of(survey, records, rng), records, longest


@pytest.mark.parametrize("target", TARGETS)
def test_itemsets_and_rules_from_views_are_near_the_truth(study, target):
    estimator, records, longest = study
    found = list(itemsets_of(aimed(estimator, target), 0.05, longest).rows)
    assert max(len(row["itemset"]) for row in found) <= longest
    for itemset in found:
        items = [(ord(name) - ord("a"), int(c[1:])) for name, c in itemset["itemset"].items()]
        share = np.all([records[:, j] == code for j, code in items], axis=0).mean()
        if itemset.standard_error is None:
            # Public answers are known exactly.
            assert itemset.value == pytest.approx(share)
        else:
            # Exceeded once in 15 million.
            assert abs(itemset.value - share) < 5.4 * itemset.standard_error + 1e-9
    rules = mined_rules(aimed(estimator, target), 0.1, 0.3, measures=["lift"])
    assert {"a": "c0"} in [rule["antecedent"] for rule in rules.rows]
    rule = rule_of(aimed(estimator, target), {"a": "c1"}, {"c": "c1"}).rows[0]
    confidence = records[records[:, 0] == 1, 2].mean()
    assert rule.interval[0] < confidence < rule.interval[1]
    [phi] = rows_of(measures_of(aimed(estimator, target), ["a", "c"], measures=["phi"]))
    truth = np.corrcoef(records[:, 0], records[:, 2])[0, 1]
    assert abs(phi.value - truth) < 4 * phi.standard_error
    assert len(associations_of(aimed(estimator, target))) == 6


def test_tests_of_independence_from_views_find_the_association(study):
    estimator, _, _ = study
    assert Departures(estimator.table(["a", "c"])).test().p_value < 1e-6
    assert Departures(estimator.table(["a", "b"])).test().p_value > 1e-3


def test_short_itemsets_need_no_report_about_all_questions():
    survey = survey_of(DIRECT)
    pairs = [v.first for v in survey.perturbation.views if len(v.positions) == 2]
    estimator = Estimator(survey, some_reports(survey, [*pairs, *pairs]))
    assert len(itemsets_of(estimator, 0.01, max_length=2)) > 0
    with pytest.raises(EstimateError, match=r"'a', 'b' and 'c' together yet; expected more"):
        itemsets_of(estimator, 0.01, max_length=3)
