"""The analyst's interface to a collector: objects and data frames."""

import numpy as np
import pytest
from halftruth_client import Analyst, Client, RequestRefused
from halftruth_collector import operations
from halftruth_shared import ParameterError
from halftruth_shared.analyses.itemsets import ItemsetsQuery


@pytest.fixture
def analyst(live, survey):
    rng = np.random.default_rng(1)
    records = [
        {"smoker": str(smoker), "drinks": str(drinks)}
        for smoker, drinks in zip(
            rng.choice(["no", "yes"], 3_000, p=[0.7, 0.3]),
            rng.choice(["never", "weekly", "daily"], 3_000, p=[0.5, 0.3, 0.2]),
            strict=True,
        )
    ]
    Client(live.url, max_gamma="19").submit_many(survey, records)
    return Analyst(live.url, operations.create_token(live.store, "analyst"))


def test_a_parameter_outside_its_range_is_named(analyst):
    with pytest.raises(ParameterError, match="min_support: expected a number above 0") as caught:
        analyst.itemsets("health", min_support=1.5)
    assert caught.value.field == "min_support"
    # Only the collector can check what depends on the survey.
    with pytest.raises(RequestRefused, match="unknown attribute 'weight'") as refused:
        analyst.table("health", ["weight"])
    assert (refused.value.status, refused.value.field) == (422, "attributes")


def test_a_query_object_gives_the_same_result_as_the_method(analyst):
    query = ItemsetsQuery(min_support=0.1, max_length=1)
    result = analyst.ask("health", query)
    assert result.query == query
    again = analyst.itemsets("health", 0.1, max_length=1)
    assert list(result.rows) == list(again.rows) != []


def test_methods_document_their_parameters_and_refuse_others(analyst):
    assert "min_support : float" in Analyst.itemsets.__doc__
    assert "Expected a number above 0 and at most 1" in Analyst.itemsets.__doc__
    with pytest.raises(TypeError, match="max_lenth"):
        analyst.itemsets("health", min_support=0.1, max_lenth=2)
