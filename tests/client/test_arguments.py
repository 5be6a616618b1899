"""Every public function of the clients refuses wrong arguments by one line that names them."""

import inspect

import pytest
import requests
from halftruth_client import Analyst, Client, RecordError
from halftruth_client.analyses import Analyses
from halftruth_shared import HalftruthError, ParameterError
from halftruth_shared.analyses.plan import PlanQuery
from requests.adapters import BaseAdapter

from .conftest import URL


class Silent(BaseAdapter):
    """An adapter that fails the test: nothing may be sent for a wrong argument."""

    def send(self, request, *_, **__):
        raise AssertionError(f"{request.method} {request.url}")

    def close(self):
        pass


@pytest.fixture
def session():
    made = requests.Session()
    made.mount("http://", Silent())
    return made


@pytest.fixture
def given(survey, record, session):
    """Valid arguments by name, for all functions."""
    return {
        "url": URL,
        "token": "ht_token",
        "session": session,
        "max_gamma": "19",
        "survey": survey,
        "id": "health",
        "record": record,
        "records": [record],
        "respondent": "ada",
        "query": PlanQuery(respondents=9),
        "respondents": 5_000,
    }


#: Wrong values: of another kind than all that is accepted, and what is easily taken for it.
MISTAKEN = {
    ("Client.survey", "id"): ("survey", 5, ""),
    ("Client.submit", "survey"): ("health", None),
    ("Client.submit", "record"): (["no"], "no", None),
    ("Client.submit_many", "survey"): ("health", None),
    ("Client.submit_many", "records"): ("record", 5, "no", [5]),
    ("Client.submit_many", "invitations"): ("00" * 16, 5),
    ("Client.fetch_tickets", "survey"): ("health", None),
    ("Client.fetch_tickets", "count"): ("5", -1, 0.5),
    ("Client.fetch_tickets", "invitations"): ("00" * 16, 5),
    ("Client", "unprotected"): ("smoker", 5, [5]),
    ("Client", "digests"): ("00" * 32, 5),
    ("Client", "operator_keys"): ("00" * 32, 5, [5]),
    ("Client", "retries"): ("5", -1, 0.5, True),
    ("Client", "timeout"): ("5", -1, float("nan")),
    ("Analyst", "token"): (None, 5),
    ("Analyst.survey", "id"): ("survey", 5, ""),
    ("Analyst.ask", "survey"): ("survey", 5),
    ("Analyst.ask", "query"): ("table", PlanQuery, None),
    ("Analyst.plan", "survey"): ("health", None),
    ("Analyst.plan", "respondents"): ("many", 1),
}

#: Fields of errors that differ from the name of the parameter.
FIELDS = {"id": "survey", "invitations": "invitation", "records": None, "record": None}


def functions():
    """Yield each public function of both classes, by name."""
    for kind in (Client, Analyst):
        yield kind.__name__, kind
        for name, function in inspect.getmembers(kind, inspect.isfunction):
            # The methods of analyses follow from queries, see below.
            if not name.startswith("_") and name not in vars(Analyses):
                yield f"{kind.__name__}.{name}", function


CASES = [
    (name, parameter.name)
    for name, function in functions()
    for parameter in inspect.signature(function).parameters.values()
    if parameter.name != "self" and parameter.kind is not parameter.VAR_KEYWORD
]


@pytest.mark.parametrize(("name", "wrong"), CASES)
def test_a_wrong_argument_is_refused_by_one_line(name, wrong, given, tmp_path):
    kind, _, method = name.partition(".")
    make = {"Client": Client, "Analyst": Analyst}[kind]
    known = {**given, "outbox": tmp_path / "outbox.db"}
    if name == "Analyst.ask":
        known["survey"] = "health"

    def call(value):
        chosen = known | {wrong: value}

        def accepted(function, *names):
            parameters = inspect.signature(function).parameters
            required = [each.name for each in parameters.values() if each.default is each.empty]
            return {n: chosen[n] for n in {*required, *names} if n in parameters and n in chosen}

        if not method:
            return make(**accepted(make, "session", wrong))
        called = make(**{n: known[n] for n in accepted(make, "session", "outbox")})
        return getattr(called, method)(**accepted(getattr(make, method), wrong))

    confused = [
        given[each] if each in ("survey", "record") else each
        for each in MISTAKEN.get((name, wrong), ())
    ]
    for value in (object(), *confused):
        with pytest.raises((ParameterError, RecordError)) as refused:
            call(value)
        said = str(refused.value)
        assert "\n" not in said
        assert "expected" in said
        assert "<object" not in said
        field = FIELDS.get(wrong, wrong)
        if field is not None:
            assert (refused.value.field or "").startswith(field), said


def test_the_survey_and_its_id_are_not_confused(given):
    client = Client(URL, max_gamma="19", session=given["session"])
    with pytest.raises(ParameterError) as refused:
        client.submit("health", given["record"])
    assert str(refused.value) == (
        "survey: expected a Survey, such as client.survey(id) returns, got str"
    )
    with pytest.raises(ParameterError) as refused:
        client.survey(given["survey"])
    assert str(refused.value) == (
        "survey: expected the id of a survey, text that is not empty, got Survey"
    )


@pytest.mark.parametrize("name", sorted(n for n in vars(Analyses) if not n.startswith("_")))
def test_each_analysis_refuses_a_survey_instead_of_its_id(name, given):
    analyst = Analyst(URL, "ht_token", session=given["session"])
    method = getattr(analyst, name)
    if not callable(method):
        return
    parameters = inspect.signature(method).parameters.values()
    required = {each.name: "smoker" for each in parameters if each.default is each.empty}
    for wrong in (given["survey"], 5):
        with pytest.raises(HalftruthError, match=r"^\w+: expected"):
            method(**required | {"survey": wrong})
