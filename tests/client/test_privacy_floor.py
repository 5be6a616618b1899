"""A client refuses whatever protects less than its caller asked for."""

import json

import pytest
from halftruth_client import Client, SurveyRefused
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    GammaDiagonal,
    HalftruthError,
    ParameterError,
    RandomizedResponse,
    Schema,
    Survey,
)

OPEN_PLACE = Schema(
    (Attribute("smoker", ("no", "yes")), Attribute("place", ("north", "south"), sensitive=False))
)


def test_a_survey_within_the_floor_is_fetched(live, survey):
    fetched = Client(live.url, max_gamma="19").survey("health")
    assert fetched.digest == survey.digest
    assert fetched.schema == survey.schema


def test_a_survey_above_the_floor_is_refused(live):
    client = Client(live.url, max_gamma="18.9")
    with pytest.raises(SurveyRefused, match=r"amplification 19 exceeds max_gamma 18.9"):
        client.survey("health")


def test_a_survey_that_was_not_fetched_is_held_against_the_floor_too(live, survey, record):
    with pytest.raises(SurveyRefused):
        Client(live.url, max_gamma="2").submit(survey, record)
    with pytest.raises(SurveyRefused):
        Client(live.url, max_gamma="2").submit_many(survey, [record])
    assert live.store.reports.counts("health")[1].reports == 0


def test_an_attribute_sent_as_it_is_is_refused_whatever_the_survey_says_of_it(live):
    bare = Survey("place", "Place", OPEN_PLACE, RandomizedResponse({"smoker": "0.9", "place": "1"}))
    live.store.surveys.publish(bare)
    with pytest.raises(SurveyRefused, match="a report can reveal 'place'"):
        Client(live.url, max_gamma="19").survey("place")


def test_the_caller_can_accept_an_attribute_sent_as_it_is(live):
    bare = Survey("place", "Place", OPEN_PLACE, RandomizedResponse({"smoker": "0.9", "place": "1"}))
    live.store.surveys.publish(bare)
    client = Client(live.url, max_gamma="9", unprotected=["place"])
    assert client.survey("place").digest == bare.digest
    with pytest.raises(SurveyRefused, match="amplification 9 exceeds"):
        Client(live.url, max_gamma="8.99", unprotected=["place"]).survey("place")


def test_a_report_that_can_rule_an_answer_out_is_refused(live):
    # No "no" is ever reported as "yes": a "yes" proves itself.
    schema = Schema((Attribute("smoker", ("no", "yes"), sensitive=False),))
    telling = DistortionMatrices({"smoker": [["1", "0.5"], ["0", "0.5"]]})
    live.store.surveys.publish(Survey("telling", "Telling", schema, telling))
    with pytest.raises(SurveyRefused, match="amplification inf exceeds"):
        Client(live.url, max_gamma="1000000").survey("telling")


def test_a_digest_that_is_not_that_of_the_survey_is_refused(scripted, survey):
    weaker = Survey("health", survey.title, survey.schema, GammaDiagonal("3"))
    body = {"survey": json.loads(weaker.canonical_json), "digest": survey.digest}
    session, _ = scripted(200, body)
    with pytest.raises(SurveyRefused, match="digest"):
        Client("http://collector.test", max_gamma="19", session=session).survey("health")


def test_another_survey_than_the_one_asked_for_is_refused(scripted, survey):
    body = {"survey": json.loads(survey.canonical_json), "digest": survey.digest}
    session, _ = scripted(200, body)
    with pytest.raises(SurveyRefused):
        Client("http://collector.test", max_gamma="19", session=session).survey("other")


def test_a_survey_with_a_field_nobody_knows_is_refused(scripted, survey):
    document = {**json.loads(survey.canonical_json), "send_in_clear": True}
    session, _ = scripted(200, {"survey": document, "digest": survey.digest})
    with pytest.raises(HalftruthError, match="send_in_clear"):
        Client("http://collector.test", max_gamma="19", session=session).survey("health")


@pytest.mark.parametrize("floor", ["1", "0.5", "", "x", 19.0, None, True])
def test_a_floor_is_an_exact_number_above_1(floor):
    with pytest.raises(ParameterError, match="max_gamma"):
        Client("http://collector.test", max_gamma=floor)


@pytest.mark.parametrize("url", ["", "collector.test", "ftp://collector.test", "http://"])
def test_an_address_is_a_web_address(url):
    with pytest.raises(ParameterError, match="url: expected"):
        Client(url, max_gamma="19")


def test_unprotected_is_a_list():
    with pytest.raises(ParameterError, match="unprotected"):
        Client("http://collector.test", max_gamma="19", unprotected="place")


def test_an_id_cannot_lead_to_another_address(scripted):
    session, adapter = scripted(404, {})
    with pytest.raises(HalftruthError):
        Client("http://collector.test", max_gamma="19", session=session).survey("../x?y")
    assert adapter.asked[0].url == "http://collector.test/v1/surveys/..%2Fx%3Fy"
