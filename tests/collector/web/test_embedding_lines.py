"""Lines on the page of a survey that embed its form elsewhere."""

from html.parser import HTMLParser

import pytest
from halftruth_collector import operations
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey
from halftruth_shared.protocol.signing import OperatorKey, sign
from halftruth_shared.protocol.terms import Terms


class Tags(HTMLParser):
    """Attributes of the tags of a text by name."""

    def __init__(self, text):
        super().__init__()
        self.found = {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found[tag] = dict(attrs)


class Lines(HTMLParser):
    """Texts of the ``pre`` elements of a page by their id."""

    def __init__(self, page):
        super().__init__()
        self.found, self._id = {}, None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "pre":
            self._id = dict(attrs)["id"]
            self.found[self._id] = ""

    def handle_endtag(self, tag):
        if tag == "pre":
            self._id = None

    def handle_data(self, data):
        if self._id:
            self.found[self._id] += data


@pytest.fixture
def lines(store, make_app):
    """Return a function that reads the lines of a survey, on a collector with these settings."""

    def read(survey="health", **settings):
        client = make_app(**settings).test_client()
        token = operations.create_token(store, "operator")
        where = {"base_url": "https://collector.example"}
        client.post("/sign-in", data={"token": token}, **where)
        answer = client.get(f"/operate/surveys/{survey}", **where)
        assert answer.status_code == 200
        return Lines(answer.text).found

    return read


def test_the_lines_embed_exactly_this_survey(store, survey, lines):
    operations.publish_survey(store, survey)
    found = lines(max_gamma="41/2", max_total_gamma="100")
    tags = Tags(found["embed-html"]).found
    assert tags["script"] == {
        "type": "module",
        "src": "https://collector.example/form/halftruth.js",
    }
    assert tags["halftruth-form"] == {
        "survey": "health",
        "collector": "https://collector.example",
        "max-gamma": "41/2",
        "max-total-gamma": "100",
        "digests": survey.digest,
    }
    assert found["embed-policy"] == (
        "Content-Security-Policy: script-src 'self' https://collector.example;"
        " connect-src 'self' https://collector.example"
    )
    assert "embed-frame" not in found


def test_a_signed_survey_is_pinned_by_the_key_of_its_operator(store, survey, lines):
    key = OperatorKey.create()
    signature = sign(key, survey.digest, Terms())
    operations.publish_survey(store, survey, signature=signature)
    form = Tags(lines()["embed-html"]).found["halftruth-form"]
    assert form["operator-keys"] == key.public
    assert "digests" not in form


def test_what_is_not_sensitive_may_be_sent_unperturbed(store, lines):
    schema = Schema(
        [
            Attribute("smoker", ["no", "yes"]),
            Attribute("age", ["young", "old"], sensitive=False),
        ]
    )
    split = SplitQuestionnaire.for_amplification(schema, 19, public=["age"], max_length=2)
    operations.publish_survey(store, Survey("open", '"Open" & <b>', schema, split))
    found = lines("open", frame_origins=("https://lms.example.org",))
    form = Tags(found["embed-html"]).found["halftruth-form"]
    assert form["unprotected"] == "age"
    frame = Tags(found["embed-frame"]).found["iframe"]
    assert frame["src"] == "https://collector.example/s/open"
    assert frame["title"] == '"Open" & <b>'


def test_a_survey_that_takes_no_reports_has_no_lines(store, survey, lines):
    operations.publish_survey(store, survey)
    assert lines(max_gamma="1.1") == {}
    operations.close_survey(store, "health")
    assert lines() == {}
