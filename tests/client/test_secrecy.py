"""True answers never leave the process: not in requests, files, logs or errors."""

import logging
import sqlite3
import subprocess
import sys
import traceback
from types import TracebackType

import pytest
import requests
from halftruth_client import Client, CollectorUnavailable, RecordError, RequestRefused
from halftruth_collector import operations
from halftruth_shared import Attribute, GammaDiagonal, HalftruthError, Schema, Survey

SECRET = "answer-7731"
SCHEMA = Schema((Attribute("illness", ("none", SECRET)), Attribute("sex", ("f", "m"))))
TRUE_RECORD = {"illness": SECRET, "sex": "f"}
#: An answer outside the schema, as a faulty form might send it.
NOT_AN_ANSWER = "answer-9942"


@pytest.fixture
def survey() -> Survey:
    return Survey("illness", "Illness", SCHEMA, GammaDiagonal("19"))


def locals_of(trace: TracebackType | None) -> list[str]:
    """Return the local variables of this project's frames, as a crash report would."""
    shown = []
    while trace is not None:
        if "halftruth" in trace.tb_frame.f_globals.get("__name__", ""):
            shown += [repr(value) for value in trace.tb_frame.f_locals.values()]
        trace = trace.tb_next
    return shown


def everything_of(error: BaseException) -> str:
    """Return the text of an error with its chain, attributes and frames."""
    seen: list[str] = []
    chain: BaseException | None = error
    while chain is not None:
        seen += [str(chain), repr(chain), repr(chain.args), repr(vars(chain))]
        seen += locals_of(chain.__traceback__)
        chain = chain.__cause__ or chain.__context__
    return "\n".join(seen)


def test_no_true_answer_is_sent_logged_or_stored(live, survey, tmp_path, caplog, monkeypatch):
    caplog.set_level(logging.DEBUG)
    sent: list[str] = []
    real = requests.Session.send

    def spy(self, request, **options):
        sent.append(f"{request.method} {request.url} {request.headers} {request.body!r}")
        return real(self, request, **options)

    monkeypatch.setattr(requests.Session, "send", spy)
    outbox = tmp_path / "outbox.db"
    client = Client(live.url, max_gamma="19", outbox=outbox)
    fetched = client.survey("illness")
    client.submit(fetched, TRUE_RECORD, respondent="ada@example.org")
    client.submit_many(fetched, [TRUE_RECORD] * 20)
    assert sum("POST" in entry for entry in sent) == 2
    for entry in sent:
        assert SECRET not in entry
    assert SECRET not in caplog.text
    for file in tmp_path.iterdir():
        content = file.read_bytes()
        if file.name.startswith("outbox"):
            assert SECRET.encode() not in content
            assert b"ada@example.org" not in content


@pytest.mark.parametrize(
    "bad",
    [
        {"illness": NOT_AN_ANSWER, "sex": "f"},
        {"illness": NOT_AN_ANSWER},
        {"illness": SECRET, "sex": NOT_AN_ANSWER},
        {"illness": SECRET, "sex": "f", "other": NOT_AN_ANSWER},
    ],
)
def test_no_error_about_a_record_contains_an_answer(live, survey, bad):
    client = Client(live.url, max_gamma="19")
    for call in (
        lambda: client.submit(survey, bad),
        lambda: client.submit_many(survey, [TRUE_RECORD, bad]),
    ):
        with pytest.raises(RecordError) as caught:
            call()
        # The schema's categories may be listed as valid answers, so look for an answer outside the
        # schema, and for the record itself.
        assert NOT_AN_ANSWER not in everything_of(caught.value)
        assert "'illness': '" not in everything_of(caught.value)
    assert live.store.reports.counts("illness")[1].reports == 0


class Hostile(dict):
    """A mapping whose errors quote the answers."""

    def __getitem__(self, key):
        raise KeyError(f"{key}: {NOT_AN_ANSWER}")


def test_errors_of_a_mapping_are_not_passed_on(live, survey):
    client = Client(live.url, max_gamma="19")
    hostile = Hostile(illness=NOT_AN_ANSWER, sex="f")
    for call in (
        lambda: client.submit(survey, hostile),
        lambda: client.submit_many(survey, [hostile]),
    ):
        with pytest.raises(RecordError, match="KeyError") as caught:
            call()
        assert NOT_AN_ANSWER not in everything_of(caught.value)
        assert NOT_AN_ANSWER not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("away", [True, False])
def test_no_frame_or_error_contains_the_record_when_sending_fails(live, survey, away):
    operations.close_survey(live.store, "illness", confirm="illness")
    url = "http://127.0.0.1:1" if away else live.url
    client = Client(url, max_gamma="19", retries=0)
    for call in (
        lambda: client.submit(survey, TRUE_RECORD),
        lambda: client.submit_many(survey, [TRUE_RECORD]),
    ):
        with pytest.raises(CollectorUnavailable if away else RequestRefused) as caught:
            call()
        assert SECRET not in str(caught.value)
        shown = locals_of(caught.value.__traceback__)
        # This test's lambdas contain the record; the client's frames must not.
        assert [text for text in shown if "Attribute(" not in text and SECRET in text] == []


@pytest.mark.parametrize(
    "why", ["no outbox", "refused", "too much", "no invitation", "a full disk"]
)
def test_no_frame_contains_the_record_of_a_respondent(live, survey, monkeypatch, why, tmp_path):
    outbox = None if why == "no outbox" else tmp_path / "outbox.db"
    total = "2" if why == "too much" else None
    invitation = "0" * 32 if why == "no invitation" else None
    client = Client(live.url, max_gamma="19", max_total_gamma=total, outbox=outbox)
    if why == "refused":
        operations.close_survey(live.store, "illness", confirm="illness")
    if why == "a full disk":

        def full(*_):
            raise sqlite3.OperationalError("database or disk is full")

        monkeypatch.setattr(client._outbox, "add_once", full)
    with pytest.raises((HalftruthError, sqlite3.OperationalError)) as caught:
        client.submit(survey, TRUE_RECORD, respondent=why, invitation=invitation)
    shown = locals_of(caught.value.__traceback__)
    assert shown
    assert [text for text in shown if "Attribute(" not in text and SECRET in text] == []


def test_the_client_imports_no_server_and_no_heavy_library():
    program = (
        "import sys; from halftruth_client import Client; Client('http://a.test', max_gamma='19');"
        "heavy = {'flask', 'scipy', 'sqlalchemy', 'pandas', 'halftruth_collector', 'click',"
        " 'cryptography', 'matplotlib'};"
        "print(*(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
