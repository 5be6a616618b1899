"""The types of the methods of `Analyst` are those of the queries."""

import importlib.util
import inspect
from pathlib import Path

import pytest
from halftruth_client import Analyst
from halftruth_client.analyst import SurveyAnalyst
from halftruth_shared.analyses import QUERIES

CLIENT = Path(__file__).parents[2] / "client"


@pytest.fixture(scope="module")
def stub():
    spec = importlib.util.spec_from_file_location("stub", CLIENT / "stub.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_the_types_are_those_of_the_queries(stub):
    written = (CLIENT / "halftruth_client" / "analyses.pyi").read_text(encoding="utf-8")
    assert written == stub.stub(), "python client/stub.py writes the types again"


@pytest.mark.parametrize("owner", [Analyst, SurveyAnalyst])
def test_each_query_has_a_typed_method(stub, owner):
    written = {each.split("(")[0] for each in stub.methods(owner)}
    assert written == {f"    def {name.replace('-', '_')}" for name in QUERIES}
    for name in QUERIES:
        method = getattr(owner, name.replace("-", "_"))
        assert inspect.signature(method).parameters["self"]
