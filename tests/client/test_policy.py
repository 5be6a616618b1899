"""A client refuses surveys that protect less than its caller requires."""

import re
from dataclasses import replace

import pytest
from halftruth_client import Client, SurveyRefused
from halftruth_collector import operations
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    ParameterError,
    RandomizedResponse,
    Schema,
    Survey,
)

OPEN_PLACE = Schema(
    (Attribute("smoker", ("no", "yes")), Attribute("place", ("north", "south"), sensitive=False))
)


def test_max_gamma_is_checked_for_fetched_and_given_surveys(live, survey, record):
    fetched = Client(live.url, max_gamma="19").survey("health")
    assert (fetched.digest, fetched.schema) == (survey.digest, survey.schema)
    client = Client(live.url, max_gamma="18.9")
    for call in (
        lambda: client.survey("health"),
        lambda: client.submit(survey, record),
        lambda: client.submit_many(survey, [record]),
    ):
        with pytest.raises(SurveyRefused, match=r"amplification 19 exceeds max_gamma 18.9"):
            call()
    assert live.store.reports.counts("health")[1].reports == 0


def test_a_survey_whose_report_can_rule_an_answer_out_is_refused(live):
    # "no" is never reported as "yes", so a "yes" is proof.
    schema = Schema((Attribute("smoker", ("no", "yes"), sensitive=False),))
    telling = DistortionMatrices({"smoker": [["1", "0.5"], ["0", "0.5"]]})
    operations.publish_survey(live.store, Survey("telling", "Telling", schema, telling))
    with pytest.raises(SurveyRefused, match="amplification infinite exceeds"):
        Client(live.url, max_gamma="1000000").survey("telling")


def test_provable_answers_must_be_allowed_and_other_questions_count(live):
    # Triangular: amplification 1/p = 4 of a "yes", and a "no" is proved. Forced response: 5.
    designs = {
        "smoker": {"design": "triangular", "prevalence": "1/4", "not_sensitive": "no"},
        "drinks": {"design": "forced-response", "yes": "1/6", "no": "1/6"},
    }
    schema = Schema(tuple(Attribute(name, ("no", "yes")) for name in designs))
    survey = Survey("designs", "Designs", schema, DistortionMatrices({}, designs))
    operations.publish_survey(live.store, survey)
    for limit, unprotected, why in (
        ("1000", [], r"a report can reveal 'smoker'; .* \(unprotected=\['smoker'\]\)"),
        ("1000", ["drinks"], "infinite exceeds"),
        ("19", ["smoker"], "amplification 20 exceeds"),
    ):
        with pytest.raises(SurveyRefused, match=why):
            Client(
                live.url, max_gamma=limit, unprotected=unprotected, digests=[survey.digest]
            ).survey("designs")
    for limit, unprotected in (("20", ["smoker"]), ("4", ["smoker", "drinks"])):
        pins = [survey.digest]
        client = Client(live.url, max_gamma=limit, unprotected=unprotected, digests=pins)
        assert client.survey("designs").digest == survey.digest


@pytest.mark.parametrize("limit", ["1", "0.5", "", "x", 19.0, None, True])
def test_an_invalid_max_gamma_is_refused(limit):
    with pytest.raises(ParameterError, match="max_gamma"):
        Client("http://collector.test", max_gamma=limit)


def test_unperturbed_answers_are_allowed_only_in_a_pinned_survey(live):
    bare = Survey("place", "Place", OPEN_PLACE, RandomizedResponse({"smoker": "0.9", "place": "1"}))
    operations.publish_survey(live.store, bare)
    unpinned = Client(live.url, max_gamma="9", unprotected=["place"])
    answers = {"smoker": "yes", "place": "north"}
    for call in (lambda: unpinned.survey("place"), lambda: unpinned.submit(bare, answers)):
        with pytest.raises(SurveyRefused, match=rf"'place' .*digests=\['{bare.digest}'\].*keys"):
            call()
    pinned = Client(live.url, max_gamma="9", unprotected=["place"], digests=[bare.digest])
    assert pinned.submit(pinned.survey("place"), answers).status == "accepted"
    asked = Attribute("place", ("north", "south"), sensitive=False, label="Ever used heroin?")
    relabelled = Schema((OPEN_PLACE.attributes[0], asked))
    other = Survey("place", "Place", relabelled, bare.mechanism)
    with pytest.raises(SurveyRefused, match="expected its digest to be pinned"):
        pinned.submit(other, answers)
    # Pins are enforced without unprotected questions, too.
    with pytest.raises(SurveyRefused, match="it is not pinned"):
        Client(live.url, max_gamma="19", digests=[bare.digest]).survey("health")
    # Names that are not in a survey require no pin.
    assert Client(live.url, max_gamma="19", unprotected=["place"]).survey("health")
    with pytest.raises(ParameterError, match="digests"):
        Client(live.url, max_gamma="19", digests=bare.digest)


#: Three questions of γ = 5 each: Pr(report the answer) is 5/6, 5 times that of the other one.
BY_ANSWER = Survey(
    "by-answer",
    "By answer",
    Schema([Attribute(name, ("no", "yes")) for name in ("a", "b", "c")]),
    RandomizedResponse(dict.fromkeys("abc", "5/6")),
    promise="answer",
)


def test_a_promise_by_answer_needs_a_limit_of_its_own(live):
    operations.publish_survey(live.store, BY_ANSWER)
    for limits, why, field in (
        (
            {"max_gamma": "19"},
            r"amplification 125 exceeds max_gamma 19; it promises by",
            "max_gamma",
        ),
        (
            {"max_gamma": "1000", "max_answer_gamma": "4.9"},
            r"amplification of an answer 5 exceeds max_answer_gamma 4.9; expected",
            "max_answer_gamma",
        ),
    ):
        client = Client(live.url, **limits)
        for call in (
            lambda client=client: client.survey("by-answer"),
            lambda client=client: client.submit(BY_ANSWER, dict.fromkeys("abc", "yes")),
        ):
            with pytest.raises(SurveyRefused, match=why) as refused:
                call()
            assert refused.value.field == field
    for limits in ({"max_gamma": "125"}, {"max_gamma": "2", "max_answer_gamma": "5"}):
        assert Client(live.url, **limits).survey("by-answer").promise == "answer"


def test_the_limit_of_an_answer_does_not_accept_a_promise_by_record(live):
    by_record = replace(BY_ANSWER, promise="record")
    operations.publish_survey(live.store, by_record)
    with pytest.raises(SurveyRefused, match="amplification 125 exceeds max_gamma 19"):
        Client(live.url, max_gamma="19", max_answer_gamma="5").survey("by-answer")


@pytest.mark.parametrize("limit", ["1", "0.5", "", "x", 19.0, True])
def test_an_invalid_max_answer_gamma_is_refused(limit):
    with pytest.raises(ParameterError, match="max_answer_gamma"):
        Client("http://collector.test", max_gamma="19", max_answer_gamma=limit)


def test_a_refusal_names_all_that_a_caller_has_to_allow(live):
    names = ("smoker", "place", "town")
    schema = Schema(tuple(Attribute(n, ("no", "yes"), sensitive=n == "smoker") for n in names))
    bare = RandomizedResponse({"smoker": "0.9", "place": "1", "town": "1"})
    operations.publish_survey(live.store, Survey("open", "Open", schema, bare))
    with pytest.raises(SurveyRefused, match="can reveal 'place', 'town'; ") as refused:
        Client(live.url, max_gamma="9").survey("open")
    # What the message says is enough.
    said = str(refused.value)
    lists = [re.findall("'(.*?)'", each) for each in re.findall(r"=\[(.*?)\]", said)]
    unprotected, digests = lists
    client = Client(live.url, max_gamma="9", unprotected=unprotected, digests=digests)
    assert client.survey("open").id == "open"
