"""Amplifications of 900 digits, or barely above 1, are displayed, planned and refused normally.

They exceed the range of floating point, so no conversion to it may fail.
"""

from fractions import Fraction
from uuid import uuid4

import numpy as np
import pytest
from halftruth_client import Client
from halftruth_collector import operations
from halftruth_collector.estimation.planning.planner import plan
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    GammaDiagonal,
    HalftruthError,
    Protection,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    Schema,
    Survey,
    epsilon,
    worst_case_posterior,
)
from halftruth_shared.analyses.plan import PlanQuery
from halftruth_shared.protocol.reports import Report

HUGE = 10**899 + 7
ALMOST_ONE = Fraction(10**400 - 1, 10**400)
SCHEMA = Schema([Attribute("a", ["no", "yes"]), Attribute("b", ["x", "y", "z"])])
NEARLY = [[str(ALMOST_ONE), str(1 - ALMOST_ONE)], [str(1 - ALMOST_ONE), str(ALMOST_ONE)]]
MECHANISMS = {
    "gamma-diagonal": GammaDiagonal(HUGE),
    "randomized-gamma-diagonal": RandomizedGammaDiagonal(HUGE, 0, steps=1),
    "randomized-response": RandomizedResponse({"a": ALMOST_ONE, "b": ALMOST_ONE}),
    "distortion-matrices": DistortionMatrices(
        {"a": NEARLY, "b": [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]]}
    ),
}


@pytest.fixture(params=MECHANISMS)
def survey(request):
    return Survey("extreme", "Extreme", SCHEMA, MECHANISMS[request.param])


@pytest.fixture
def browser(live, survey):
    records = np.indices(SCHEMA.shape).reshape(2, -1).T.tolist()
    live.store.reports.add(
        survey.id,
        survey.digest,
        [Report(id=uuid4(), values=row) for row in records],
    )
    signed_in = live.app.test_client()
    token = operations.create_token(live.store, "analyst")
    signed_in.post("/sign-in", data={"token": token})
    return signed_in


def test_every_page_is_displayed(browser):
    for page in (
        "/",
        "/s/extreme",
        "/results/",
        "/results/extreme",
        "/results/extreme/table?attributes=a,b",
        "/results/extreme/itemsets?min_support=0.1",
        "/results/extreme/measures?attributes=a,b",
    ):
        assert browser.get(page, follow_redirects=True).status_code == 200, page


def test_plans_and_promises_are_finite(survey):
    result = plan(survey, PlanQuery(respondents=10_000, half_width=0.1))
    assert result.gamma is None
    assert any("about" in line or "e+" in line for line in result.protection)
    for each in result.margins:
        assert 0 < each.median <= each.worst < np.inf
    gamma = survey.perturbation.amplification()
    assert gamma > 10**300
    assert epsilon(gamma) > 690
    assert Fraction(99, 100) < worst_case_posterior("0.05", gamma) < 1
    assert Protection.of(survey).record.gamma == gamma


def test_the_client_refuses_it_in_one_line(live):
    with pytest.raises(HalftruthError, match="max_gamma") as caught:
        Client(live.url, max_gamma="19").survey("extreme")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
