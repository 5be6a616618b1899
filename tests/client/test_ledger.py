"""A device adds up the cost of a person's reports, and refuses those beyond the promise."""

import itertools
import json
import math
import sqlite3
import threading
from contextlib import closing
from fractions import Fraction
from functools import partial

import pytest
from halftruth_client import AnsweredBefore, Client, CollectorUnavailable, SurveyRefused
from halftruth_client.ledger import Ledger, LedgerEntry
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    GammaDiagonal,
    ParameterError,
    RandomizedResponse,
    Schema,
    Series,
    Survey,
)
from halftruth_shared.mechanisms.split_questionnaire import SplitQuestionnaire, ViewClass
from walking import walked

from .conftest import NOWHERE, OPERATOR, STRANGER, URL, posted

SCHEMA = Schema((Attribute("smoker", ("no", "yes")), Attribute("drinks", ("never", "daily"))))
RECORD = {"smoker": "yes", "drinks": "daily"}


def wave(number=1, id=None, *, series="panel", total="9", gamma="3", title="Health"):
    """Return a wave of a series; without a series if `series` is None."""
    member = series and Series(id=series, wave=number, total_gamma=total)
    return Survey(id or f"health-{number}", title, SCHEMA, GammaDiagonal(gamma), series=member)


def answer(client, stub, survey, respondent="ada"):
    """Fetch a survey for a respondent, and submit the answers."""
    stub.survey = survey
    return client.submit(
        client.survey(survey.id, respondent=respondent), RECORD, respondent=respondent
    )


def refusal(client, stub, survey):
    """Return the fields of the refusals when the survey is fetched and when it is submitted."""
    fields = []
    stub.survey = survey
    for call in (
        lambda: client.survey(survey.id, respondent="ada"),
        lambda: client.submit(survey, RECORD, respondent="ada"),
    ):
        try:
            call()
            fields.append(None)
        except (SurveyRefused, AnsweredBefore) as error:
            fields.append(error.field)
    return fields


def test_waves_are_answered_until_the_total_is_spent(stub, client, session):
    one = client()
    assert [answer(one, stub, wave(number)).status for number in (1, 2)] == ["accepted"] * 2
    ledger = one.ledger("ada")
    assert (ledger.gamma, ledger.of_series("panel").gamma) == (9, 9)
    assert ledger.questions == {"smoker": 9, "drinks": 9}
    before = len(posted(session))
    assert refusal(one, stub, wave(3)) == ["series.total_gamma"] * 2
    assert len(posted(session)) == before
    assert one.ledger("ada") == ledger
    # Another person has a separate ledger.
    assert answer(one, stub, wave(3), respondent="bob").status == "accepted"


def test_a_report_that_can_reveal_a_sensitive_answer_exceeds_every_total(stub, client):
    rules_out = [["1/2", "0", "1/4"], ["1/2", "1/2", "1/4"], ["0", "1/2", "1/2"]]
    schema = Schema([Attribute("a", ["x", "y", "z"])])
    survey = Survey("s", "S", schema, DistortionMatrices({"a": rules_out}))
    entry = LedgerEntry.of(survey, "")
    assert entry.gamma == "infinite"
    assert Ledger((entry,)).gamma == math.inf
    allowed = {"unprotected": ["a"], "digests": [survey.digest]}
    stub.survey = survey
    assert client(**allowed).submit(survey, {"a": "x"}, respondent="ada").status == "accepted"
    with pytest.raises(SurveyRefused) as refused:
        client(**allowed, max_total_gamma="1000000").survey("s", respondent="bob")
    assert refused.value.field == "max_total_gamma"


def test_an_unconfirmed_report_counts(stub, client, tmp_path):
    one = client(outbox=tmp_path / "outbox.db", retries=0)
    survey = wave(1)
    stub.survey = survey
    one.survey(survey.id)
    stub.away = True
    assert one.submit(survey, RECORD, respondent="ada").status == "waiting"
    # A later process.
    assert client(outbox=tmp_path / "outbox.db").ledger("ada").gamma == 3


def test_a_report_refused_before_sending_costs_nothing(stub, client):
    one = client(retries=0)
    stub.survey = survey = wave(1)
    stub.away = True
    with pytest.raises(CollectorUnavailable):
        one.submit(survey, RECORD, respondent="ada")
    assert one.ledger("ada") == Ledger()


#: A survey served after wave 1 with a total of 9, client options, and the field of the refusal:
#: None if it is answered, because no promise is broken.
ATTACKS = {
    "repeats the wave as a survey of another name": (wave(1, "health-b"), {}, "series.wave"),
    "repeats the wave in other words": (wave(1, "health-1", title="Well?"), {}, "respondent"),
    "repeats the wave in another language": (
        wave(1, "health-b", title={"de": "Gesundheit"}),
        {},
        "series.wave",
    ),
    "asks for more in a later wave": (wave(2, gamma="4"), {}, "series.total_gamma"),
    "raises the total later": (wave(2, total="99", gamma="4"), {}, "series.total_gamma"),
    "lowers the total later": (wave(2, total="8"), {}, "series.total_gamma"),
    "names the series anew": (wave(1, "health-b", series="panel-b"), {}, None),
    "names the series anew, where all reports are bounded": (
        wave(1, "health-b", series="panel-b"),
        {"max_total_gamma": "8"},
        "max_total_gamma",
    ),
    "leaves the series out": (wave(1, "health-b", series=None), {}, None),
    "leaves the series out, where all reports are bounded": (
        wave(1, "health-b", series=None),
        {"max_total_gamma": "8"},
        "max_total_gamma",
    ),
    "counts waves backwards": (wave(1, "health-0", gamma="4"), {}, "series.wave"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_collector_gets_no_draw_beyond_the_promised_total(stub, client, session, attack):
    served, options, field = ATTACKS[attack]
    one = client(**options)
    answer(one, stub, wave(1))
    before = len(posted(session))
    [*_, last] = refusal(one, stub, served)
    assert last == field
    assert len(posted(session)) == before + (field is None)


def test_all_addresses_share_the_ledger(stub, client, session):
    answer(client(), stub, wave(1))
    session.mount("http://elsewhere.test", session.get_adapter(URL))
    other = Client("http://elsewhere.test", max_gamma="19", session=session)
    assert refusal(other, stub, wave(1, "health-b")) == ["series.wave"] * 2


def test_each_pinned_key_has_a_ledger(stub, client):
    keys = [OPERATOR.public, STRANGER.public]
    both, one = client(operator_keys=keys), client(operator_keys=keys[:1])
    stub.signer = OPERATOR
    answer(one, stub, wave(1))
    assert refusal(both, stub, wave(1, "health-b")) == ["series.wave"] * 2
    stub.signer = STRANGER
    assert refusal(one, stub, wave(1, "health-b"))[0] == "operator_keys"
    answer(both, stub, wave(1, "health-b"))
    assert [entry.operator for entry in both.ledger("ada").entries] == keys
    assert [entry.operator for entry in one.ledger("ada").entries] == keys[:1]


def test_waves_require_a_respondent(stub, client, session):
    stub.survey = survey = wave(1)
    for options in ({}, {"max_total_gamma": "9"}):
        one = client(**options)
        with pytest.raises(ParameterError, match="respondent"):
            one.submit(survey, RECORD)
        with pytest.raises(ParameterError, match="respondent"):
            one.submit_many(survey, [RECORD])
        survey = wave(1, series=None)
    assert posted(session) == []


def test_a_deleted_ledger_restarts(stub, client):
    one = client()
    for number in (1, 2):
        answer(one, stub, wave(number))
    one.forget_ledger("ada")
    assert one.ledger("ada") == Ledger()
    assert answer(one, stub, wave(3)).status == "accepted"
    assert one.ledger("ada").gamma == 3


def test_concurrent_waves_cannot_exceed_the_total(stub, client, tmp_path):
    survey = [wave(number, total="8") for number in range(1, 9)]
    outbox = tmp_path / "outbox.db"
    made = [client(outbox=outbox, retries=0) for _ in survey]
    stub.away = True
    outcomes = []

    def submit(client, survey):
        try:
            outcomes.append(client.submit(survey, RECORD, respondent="ada").status)
        except SurveyRefused as error:
            outcomes.append(error.field)

    threads = [
        threading.Thread(target=submit, args=pair) for pair in zip(made, survey, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["series.total_gamma"] * 7 + ["waiting"]


def test_the_ledger_contains_no_name_and_no_answer(stub, client, tmp_path):
    outbox = tmp_path / "outbox.db"
    answer(client(outbox=outbox), stub, wave(1))
    with sqlite3.connect(outbox) as connection:
        [(respondent, entry)] = connection.execute("SELECT respondent, entry FROM ledger")
    connection.close()
    assert b"ada" not in respondent
    assert json.loads(entry) == {
        "survey": "health-1",
        "digest": wave(1).digest,
        "gamma": "3",
        "questions": {"smoker": "3", "drinks": "3"},
        "series": {"id": "panel", "wave": 1, "total_gamma": "9"},
        "operator": "",
    }


def test_a_damaged_ledger_refuses_all_surveys(stub, client, session, tmp_path):
    bounded = client(outbox=tmp_path / "outbox")
    answer(bounded, stub, wave(1))
    with closing(sqlite3.connect(tmp_path / "outbox", isolation_level=None)) as connection:
        connection.execute("UPDATE ledger SET entry = '{}'")
    assert refusal(bounded, stub, wave(2)) == ["ledger", "ledger"]
    assert len(posted(session)) == 1


@pytest.mark.parametrize("limit", ["1", "0.5"])
def test_an_invalid_max_total_gamma_is_refused(limit):
    with pytest.raises(ParameterError, match="max_total_gamma"):
        Client(NOWHERE, max_gamma="19", max_total_gamma=limit)


# Exactness: every pair of reports of two waves, as fractions.

CASES = {
    "gamma-diagonal": lambda gamma: GammaDiagonal(gamma),
    "split questionnaire": lambda gamma: SplitQuestionnaire(
        gamma,
        [
            ViewClass(weight=1, attributes=(("a",),)),
            ViewClass(weight=2, attributes=(("b",),)),
            ViewClass(weight=1, attributes=(("a", "b"),)),
        ],
    ),
    "randomized response": lambda gamma: RandomizedResponse(
        {name: Fraction(gamma) / (Fraction(gamma) + 1) for name in ("a", "b")}
    ),
}
SCHEMAS = {
    "independent": Schema((Attribute("a", ("0", "1")), Attribute("b", ("0", "1", "2")))),
    "conditional": Schema(
        (Attribute("a", ("0", "1")), Attribute("b", ("0", "1", "not asked"), ask_if={"a": ("1",)}))
    ),
}


def feasible(schema):
    """Return all feasible records."""
    return [
        codes
        for codes in itertools.product(*map(range, schema.shape))
        if not schema.conditional or (codes[0] == 0) == (codes[1] == 2)
    ]


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_the_ledger_of_two_waves_is_exact(kind, schema):
    surveys = [
        Survey(f"w{gamma}", "W", schema, CASES[kind](gamma), series=None) for gamma in ("3", "5")
    ]
    records = feasible(schema)
    likelihoods = [
        [walked(partial(survey.perturbation.report, record)) for record in records]
        for survey in surveys
    ]
    # By the observable views: the largest ratio, overall and for each question.
    largest: dict[tuple, dict[str | None, Fraction]] = {}
    for first, second in itertools.product(*(sorted(set().union(*each)) for each in likelihoods)):
        ledger = Ledger(
            tuple(
                LedgerEntry.of(survey, "", values)
                for survey, values in zip(surveys, (first, second), strict=True)
            )
        )
        promised = {
            None: ledger.gamma,
            **dict.fromkeys(schema.names, Fraction(1)),
        } | ledger.questions
        ratios = largest.setdefault(tuple(promised.items()), dict.fromkeys(promised, Fraction(0)))
        for question in promised:
            free = set(schema.names) if question is None else schema.dependents(question)
            kept = [j for j, name in enumerate(schema.names) if name not in free]
            # Answers may change between waves, so each wave has its own worst pair of records.
            ratio = Fraction(1)
            for of, values in zip(likelihoods, (first, second), strict=True):
                pairs = [
                    of[i][values] / of[j][values]
                    for i, j in itertools.product(range(len(records)), repeat=2)
                    if all(records[i][k] == records[j][k] for k in kept)
                ]
                ratio *= max(pairs)
            assert ratio <= promised[question]
            ratios[question] = max(ratios[question], ratio)
    for promised, ratios in largest.items():
        assert dict(promised) == ratios
