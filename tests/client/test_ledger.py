"""A device adds up the cost of a person's reports, and refuses those beyond the promise."""

import itertools
import json
import math
import random
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing
from fractions import Fraction
from functools import partial

import pytest
from halftruth_client import AnsweredBefore, Client, SurveyRefused
from halftruth_client.ledger import Ledger, LedgerEntry
from halftruth_collector import operations
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
from halftruth_shared.protocol.terms import Terms
from walking import walked

from .conftest import NOWHERE, OPERATOR, STRANGER, URL, counted, posted

ORIGIN = "https://survey.example.org"
SCHEMA = Schema((Attribute("smoker", ("no", "yes")), Attribute("drinks", ("never", "daily"))))
RECORD = {"smoker": "yes", "drinks": "daily"}


def wave(number=1, id=None, *, series="panel", total="9", gamma="3", title="Health"):
    """Return a wave of a series; without a series if `series` is None."""
    member = series and Series(id=series, wave=number, total_gamma=total, origin=ORIGIN)
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


def test_waves_are_answered_until_the_total_is_spent(stub, remembering, session):
    one = remembering()
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


def test_a_report_that_can_reveal_a_sensitive_answer_exceeds_every_total(stub, remembering):
    rules_out = [["1/2", "0", "1/4"], ["1/2", "1/2", "1/4"], ["0", "1/2", "1/2"]]
    schema = Schema([Attribute("a", ["x", "y", "z"])])
    survey = Survey("s", "S", schema, DistortionMatrices({"a": rules_out}))
    entry = LedgerEntry.of(survey)
    assert entry.gamma == "infinite"
    assert Ledger((entry,)).gamma == math.inf
    allowed = {"unprotected": ["a"], "digests": [survey.digest]}
    stub.survey = survey
    one = remembering(**allowed)
    assert one.submit(survey, {"a": "x"}, respondent="ada").status == "accepted"
    with pytest.raises(SurveyRefused) as refused:
        remembering(**allowed, max_total_gamma="1000000").survey("s", respondent="bob")
    assert refused.value.field == "max_total_gamma"


def test_an_unconfirmed_report_counts(stub, remembering):
    one = remembering()
    survey = wave(1)
    stub.survey = survey
    one.survey(survey.id)
    stub.away = True
    assert one.submit(survey, RECORD, respondent="ada").status == "waiting"
    # A later process.
    assert remembering().ledger("ada").gamma == 3


def test_a_report_refused_before_sending_costs_nothing(stub, remembering):
    one = remembering()
    stub.survey = survey = wave(1)
    stub.terms = Terms(invitations=True)
    with pytest.raises(ParameterError, match="asks for an invitation"):
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
def test_a_collector_gets_no_draw_beyond_the_promised_total(stub, remembering, session, attack):
    served, options, field = ATTACKS[attack]
    one = remembering(**options)
    answer(one, stub, wave(1))
    before = len(posted(session))
    [*_, last] = refusal(one, stub, served)
    assert last == field
    assert len(posted(session)) == before + (field is None)


def test_all_addresses_share_the_ledger(stub, remembering, session, tmp_path):
    answer(remembering(), stub, wave(1))
    session.mount("http://elsewhere.test", session.get_adapter(URL))
    outbox = tmp_path / "outbox.db"
    other = Client("http://elsewhere.test", max_gamma="19", session=session, outbox=outbox)
    assert refusal(other, stub, wave(1, "health-b")) == ["series.wave"] * 2


OLD, NEW = OPERATOR.public, STRANGER.public

#: Pinned keys of the clients for two surveys that the old and the new key sign, in this order.
ROTATIONS = {
    "both keys are pinned": ([OLD, NEW], [OLD, NEW]),
    "the new key replaces the old one": ([OLD], [NEW]),
    "the first key is pinned later": ([], [NEW]),
    "the last pin is removed": ([OLD], []),
}


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_a_rotation_of_keys_does_not_double_a_total(stub, remembering, session, rotation):
    before, after = ROTATIONS[rotation]
    stub.signer = OPERATOR
    first = remembering(operator_keys=before)
    answer(first, stub, wave(1, total="8"))
    stub.signer = STRANGER
    later = remembering(operator_keys=after)
    assert refusal(later, stub, wave(2, total="8")) == ["series.total_gamma"] * 2
    assert refusal(later, stub, wave(1, "health-b", total="99")) == ["series.wave"] * 2
    bounded = remembering(operator_keys=after, max_total_gamma="8")
    assert refusal(bounded, stub, wave(series=None, id="other")) == ["max_total_gamma"] * 2
    assert len(posted(session)) == 1
    assert later.ledger("ada") == first.ledger("ada")


def test_no_sequence_of_keys_pins_and_surveys_exceeds_a_total(stub, remembering, session):
    """What the collector received is multiplied here, independently of the ledger."""
    rng = random.Random(49)
    outcomes = Counter()
    for person in (f"person {number}" for number in range(20)):
        sent = []
        for step in range(8):
            survey = wave(
                rng.randint(1, 4),
                f"{person.replace(' ', '-')}-{step}",
                series=rng.choice(["panel", "other", None]),
                total=rng.choice(["5", "9", "12"]),
                gamma=rng.choice(["2", "3"]),
            )
            stub.signer = rng.choice([None, OPERATOR, STRANGER])
            limit = rng.choice([None, None, "6", "40"])
            pins = rng.choice([[], [OLD], [NEW], [OLD, NEW], [OLD, NEW]])
            before = len(posted(session))
            try:
                one = remembering(operator_keys=pins, max_total_gamma=limit)
                answer(one, stub, survey, respondent=person)
            except SurveyRefused as refused:
                outcomes[refused.field] += 1
            if len(posted(session)) == before:
                continue
            outcomes["sent"] += 1
            sent.append(survey)
            gammas = [survey.mechanism.gamma for survey in sent]
            assert limit is None or math.prod(gammas) <= int(limit)
            for id in ("panel", "other"):
                waves = [each for each in sent if each.series and each.series.id == id]
                numbers = [each.series.wave for each in waves]
                assert len(set(numbers)) == len(numbers)
                totals = [int(each.series.total_gamma) for each in waves]
                assert math.prod(each.mechanism.gamma for each in waves) <= min(totals, default=1)
    # Every rule was applied.
    assert min(outcomes.values()) > 3
    assert outcomes.keys() == {
        "sent",
        "operator_keys",
        "series.wave",
        "series.total_gamma",
        "max_total_gamma",
    }


#: Answers a survey as one respondent, in a process of its own.
WORKER = """
import sys
from halftruth_client import Client, SurveyRefused

url, outbox, *surveys = sys.argv[1:]
client = Client(url, max_gamma="19", outbox=outbox)
for id in surveys:
    try:
        survey = client.survey(id, respondent="ada")
        done = client.submit(survey, {"smoker": "yes", "drinks": "daily"}, respondent="ada")
        print(id, done.status, done.id)
    except SurveyRefused as refused:
        print(id, refused.field)
"""


def test_processes_share_reports_and_totals_by_the_outbox(live, tmp_path):
    for number in (1, 2, 3):
        operations.publish_survey(live.store, wave(number, f"wave-{number}", total="9"))
    command = [sys.executable, "-c", WORKER, live.url, str(tmp_path / "outbox.db")]
    orders = (["wave-1", "wave-2", "wave-3"], ["wave-3", "wave-1", "wave-2"])
    workers = [
        subprocess.Popen([*command, *order], stdout=subprocess.PIPE, text=True) for order in orders
    ]
    said = [line for worker in workers for line in worker.communicate(timeout=60)[0].splitlines()]
    assert [worker.returncode for worker in workers] == [0, 0]
    reports = {id for line in said for id in line.split()[2:]}
    refused = {line for line in said if line.endswith("series.total_gamma")}
    assert (len(said), len(reports), len(refused)) == (6, 2, 1)
    assert sum(counted(live.store, f"wave-{number}") for number in (1, 2, 3)) == 2


#: Calls that need a memory of people, by a client with these options.
FORGETFUL = {
    "submit": ({}, lambda one: one.submit(wave(series=None), RECORD, respondent="ada")),
    "submit a wave": ({}, lambda one: one.submit(wave(), RECORD, respondent="ada")),
    "submit a wave of nobody": ({}, lambda one: one.submit(wave(), RECORD)),
    "submit waves": ({}, lambda one: one.submit_many(wave(), [RECORD])),
    "fetch a wave": ({}, lambda one: one.survey("health-1")),
    "fetch for somebody": ({}, lambda one: one.survey("health-1", respondent="ada")),
    "ledger": ({}, lambda one: one.ledger("ada")),
    "forget": ({}, lambda one: one.forget_ledger("ada")),
    "a total": ({"max_total_gamma": "9"}, lambda _: None),
}


@pytest.mark.parametrize("call", FORGETFUL)
def test_what_remembers_people_requires_an_outbox(stub, client, session, call):
    options, ask = FORGETFUL[call]
    stub.survey = wave()
    with pytest.raises(
        ParameterError, match=r"^outbox: .*; expected Client\(outbox=FILE\)"
    ) as found:
        ask(client(**options))
    assert found.value.field == "outbox"
    assert "\n" not in str(found.value)
    assert posted(session) == []


@pytest.mark.parametrize("bound", ["series", "max_total_gamma"])
def test_a_total_of_one_person_excludes_shared_devices(stub, remembering, session, bound):
    is_wave = bound == "series"
    one = remembering(max_total_gamma=None if is_wave else "9")
    stub.survey = survey = wave(series="panel" if is_wave else None)
    stub.terms = Terms(shared_devices=True)
    assert refusal(one, stub, survey) == ["shared_devices"] * 2
    # Nor if a collector changes the terms after the survey was fetched.
    stub.terms = Terms()
    assert one.submit(one.survey(survey.id), RECORD, respondent="ada").status == "accepted"
    stub.terms = Terms(shared_devices=True)
    assert refusal(remembering(max_total_gamma="9"), stub, survey) == ["shared_devices"] * 2
    assert len(posted(session)) == 1
    # Without a total a shared device is the survey's own matter.
    stub.survey = wave(series=None, id="other")
    assert answer(remembering(), stub, stub.survey).status == "accepted"


def test_waves_require_a_respondent(stub, remembering, session):
    stub.survey = survey = wave(1)
    for options in ({}, {"max_total_gamma": "9"}):
        one = remembering(**options)
        with pytest.raises(ParameterError, match="respondent"):
            one.submit(survey, RECORD)
        with pytest.raises(ParameterError, match="respondent"):
            one.submit_many(survey, [RECORD])
        survey = wave(1, series=None)
    assert posted(session) == []


def test_a_deleted_ledger_restarts(stub, remembering):
    one = remembering()
    for number in (1, 2):
        answer(one, stub, wave(number))
    one.forget_ledger("ada")
    assert one.ledger("ada") == Ledger()
    assert answer(one, stub, wave(3)).status == "accepted"
    assert one.ledger("ada").gamma == 3


def test_concurrent_waves_cannot_exceed_the_total(stub, remembering):
    survey = [wave(number, total="8") for number in range(1, 9)]
    made = [remembering() for _ in survey]
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


def test_the_ledger_contains_no_name_and_no_answer(stub, remembering, tmp_path):
    answer(remembering(), stub, wave(1))
    with sqlite3.connect(tmp_path / "outbox.db") as connection:
        [(respondent, entry)] = connection.execute("SELECT respondent, entry FROM ledger")
    connection.close()
    assert b"ada" not in respondent
    assert json.loads(entry) == {
        "survey": "health-1",
        "digest": wave(1).digest,
        "gamma": "3",
        "questions": {"smoker": "3", "drinks": "3"},
        "series": {"id": "panel", "wave": 1, "total_gamma": "9", "origin": ORIGIN},
    }


def test_a_damaged_ledger_refuses_all_surveys(stub, remembering, session, tmp_path):
    bounded = remembering()
    answer(bounded, stub, wave(1))
    with closing(sqlite3.connect(tmp_path / "outbox.db", isolation_level=None)) as connection:
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
                LedgerEntry.of(survey, values)
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
