"""Reports arrive, each counted once, whatever happens on the way."""

import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from halftruth_client import (
    AnsweredBefore,
    Client,
    CollectorUnavailable,
    RecordError,
    RequestRefused,
)
from halftruth_shared import GammaDiagonal, ParameterError, Survey
from werkzeug.serving import make_server

NOWHERE = "http://127.0.0.1:1"


def counted(store, survey_id: str = "health") -> int:
    return store.reports.counts(survey_id)[1].reports


@contextmanager
def serving(app: Callable[..., Any], port: int = 0) -> Iterator[str]:
    server = make_server("127.0.0.1", port, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Failing:
    """Passes requests on, and then answers the first few reports with an error all the same."""

    def __init__(self, app: Callable[..., Any], failures: int, status: str) -> None:
        self._app, self._left, self._status = app, failures, status
        self.posts = 0

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if environ["REQUEST_METHOD"] != "POST":
            return self._app(environ, start_response)
        self.posts += 1
        if self._left == 0:
            return self._app(environ, start_response)
        self._left -= 1
        answered = self._app(environ, lambda *_: lambda _: None)
        b"".join(answered)
        start_response(self._status, [("Content-Type", "text/plain")])
        return [b"no"]


def test_a_report_is_counted(live, record):
    client = Client(live.url, max_gamma="19")
    done = client.submit(client.survey("health"), record)
    assert done.status == "accepted"
    assert counted(live.store) == 1


def test_many_reports_are_counted_in_batches(live, record):
    client = Client(live.url, max_gamma="19")
    progress: list[int] = []
    delivery = client.submit_many(
        client.survey("health"), [record] * 2_500, progress=progress.append
    )
    assert (delivery.accepted, delivery.duplicates, delivery.waiting) == (2_500, 0, 0)
    assert progress == [1_000, 1_000, 500]
    assert counted(live.store) == 2_500


def test_no_records_are_no_reports(live, survey):
    assert Client(live.url, max_gamma="19").submit_many(survey, []).accepted == 0


@pytest.mark.parametrize("status", ["502 Bad Gateway", "503 Service Unavailable", "429 Too Many"])
def test_a_report_whose_answer_was_lost_counts_once(live, record, status):
    failing = Failing(live.app, 2, status)
    with serving(failing) as url:
        client = Client(url, max_gamma="19", backoff=0.001)
        done = client.submit(client.survey("health"), record)
    assert failing.posts == 3
    assert done.status == "duplicate"
    assert counted(live.store) == 1


def test_retries_come_to_an_end(live, record):
    failing = Failing(live.app, 100, "503 Service Unavailable")
    with serving(failing) as url:
        client = Client(url, max_gamma="19", retries=2, backoff=0.001)
        survey = client.survey("health")
        with pytest.raises(CollectorUnavailable, match="503"):
            client.submit(survey, record)
    assert failing.posts == 3


def test_an_unreachable_collector_is_one_clear_line(survey, record):
    client = Client(NOWHERE, max_gamma="19", retries=0)
    with pytest.raises(CollectorUnavailable) as caught:
        client.submit(survey, record)
    assert str(caught.value) == f"collector {NOWHERE} cannot be reached (ConnectionError)"


def test_a_report_waits_in_the_outbox_until_the_collector_is_back(live, survey, record, tmp_path):
    outbox = tmp_path / "outbox.db"
    with serving(live.app) as url:
        port = int(url.rsplit(":", 1)[1])
    away = Client(url, max_gamma="19", outbox=outbox, retries=0)
    assert away.submit(survey, record).status == "waiting"
    assert away.submit_many(survey, [record] * 1_500).waiting == 1_500
    with pytest.raises(CollectorUnavailable):
        away.flush()
    assert counted(live.store) == 0
    with serving(live.app, port):
        # Another process, later.
        back = Client(url, max_gamma="19", outbox=outbox, retries=0)
        assert back.flush().accepted == 1_501
        assert back.flush().accepted == 0
    assert counted(live.store) == 1_501


def test_the_next_report_takes_the_waiting_ones_along(live, survey, record, tmp_path):
    with serving(live.app) as url:
        port = int(url.rsplit(":", 1)[1])
    client = Client(url, max_gamma="19", outbox=tmp_path / "outbox.db", retries=0)
    client.submit(survey, record)
    with serving(live.app, port):
        assert client.submit(survey, record).status == "accepted"
    assert counted(live.store) == 2


def test_the_outbox_is_for_its_owner_alone(tmp_path):
    outbox = tmp_path / "outbox.db"
    Client(NOWHERE, max_gamma="19", outbox=outbox)
    assert stat.S_IMODE(outbox.stat().st_mode) == 0o600


def test_a_respondent_who_answers_again_sends_the_same_report(live, survey, tmp_path):
    outbox = tmp_path / "outbox.db"
    first = Client(live.url, max_gamma="19", outbox=outbox)
    one = first.submit(survey, {"smoker": "yes", "drinks": "daily"}, respondent="ada")
    again = Client(live.url, max_gamma="19", outbox=outbox)
    for answers in ({"smoker": "yes", "drinks": "daily"}, {"smoker": "no", "drinks": "never"}):
        other = again.submit(survey, answers, respondent="ada")
        assert other.id == one.id
        assert other.status == "duplicate"
    assert counted(live.store) == 1
    assert again.submit(survey, {"smoker": "yes", "drinks": "daily"}, respondent="bob").id != one.id
    assert counted(live.store) == 2


def test_a_remembered_report_is_never_drawn_again_when_sending_failed(survey, record, tmp_path):
    client = Client(NOWHERE, max_gamma="19", outbox=tmp_path / "outbox.db", retries=0)
    drawn = {client.submit(survey, record, respondent="ada").id for _ in range(5)}
    assert len(drawn) == 1


def test_a_respondent_who_answers_twice_at_once_sends_one_report(live, survey, record, tmp_path):
    client = Client(live.url, max_gamma="19", outbox=tmp_path / "outbox.db")
    ids: list[object] = []
    threads = [
        threading.Thread(
            target=lambda: ids.append(client.submit(survey, record, respondent="ada").id)
        )
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 8
    assert len(set(ids)) == 1
    assert counted(live.store) == 1


def test_another_version_of_a_survey_gets_no_second_draw(live, survey, record, tmp_path):
    client = Client(live.url, max_gamma="19", outbox=tmp_path / "outbox.db")
    client.submit(survey, record, respondent="ada")
    changed = Survey("health", "Health, again", survey.schema, GammaDiagonal("18"))
    with pytest.raises(AnsweredBefore, match="another version"):
        client.submit(changed, record, respondent="ada")


def test_a_respondent_needs_an_outbox(live, survey, record):
    with pytest.raises(ParameterError, match="outbox"):
        Client(live.url, max_gamma="19").submit(survey, record, respondent="ada")
    assert counted(live.store) == 0


def test_one_bad_record_stops_all_of_them(live, survey, record):
    records = [record] * 1_200 + [{"smoker": "perhaps", "drinks": "daily"}]
    with pytest.raises(RecordError, match=r"record 1200: attribute 'smoker': .* one of: no, yes"):
        Client(live.url, max_gamma="19").submit_many(survey, records)
    assert counted(live.store) == 0


def test_reports_counted_before_the_collector_went_away_are_said(live, survey, record):
    failing = Failing(live.app, 0, "")
    client: Client

    def pull_the_plug(_: int) -> None:
        failing._left = 100
        failing._app = lambda *_: []
        failing._status = "503 Service Unavailable"

    with serving(failing) as url:
        client = Client(url, max_gamma="19", retries=0)
        with pytest.raises(CollectorUnavailable) as caught:
            client.submit_many(survey, [record] * 2_000, progress=pull_the_plug)
    assert caught.value.accepted == 1_000
    assert counted(live.store) == 1_000


def test_a_closed_survey_takes_no_report_and_leaves_none_waiting(live, survey, record, tmp_path):
    live.store.surveys.close("health")
    client = Client(live.url, max_gamma="19", outbox=tmp_path / "outbox.db")
    with pytest.raises(RequestRefused, match="'health' is closed") as caught:
        client.submit(survey, record)
    assert caught.value.status == 409
    assert client.flush().waiting == 0
    assert counted(live.store) == 0


def test_a_report_for_a_survey_that_is_not_there_now_keeps_waiting(live, record, tmp_path):
    # A collector restored from an old back-up may know it again later.
    unknown = Survey(
        "unknown", "Unknown", live.store.surveys.get("health").survey().schema, GammaDiagonal("19")
    )
    client = Client(live.url, max_gamma="19", outbox=tmp_path / "outbox.db")
    with pytest.raises(RequestRefused, match="there is no survey 'unknown'"):
        client.submit(unknown, record)
    live.store.surveys.publish(unknown)
    assert client.flush().accepted == 1


def test_a_page_that_is_no_collector_is_named(scripted):
    session, _ = scripted(200, b"<html>Welcome</html>")
    with pytest.raises(RequestRefused, match="check the address"):
        Client("http://collector.test", max_gamma="19", session=session).survey("health")


def test_a_redirect_is_not_followed(scripted):
    session, adapter = scripted(302, b"")
    with pytest.raises(RequestRefused):
        Client("http://collector.test", max_gamma="19", session=session).survey("health")
    assert len(adapter.asked) == 1
