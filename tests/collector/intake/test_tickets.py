"""Reports with tickets: nobody chooses their view, and a ticket counts once, on both databases."""

import base64
import hashlib
import logging
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from uuid import uuid4

import numpy as np
import pytest
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from halftruth_shared import ParameterError, Survey
from halftruth_shared.protocol.sealing import create_sealing_key, seal
from halftruth_shared.protocol.terms import Terms
from halftruth_shared.protocol.tickets import ID, commit, draw_view, new_secret
from postgres_files import files_of, log_position
from ticketed import TICKETS, by_tickets, take, view_of

REPORTS = "/v1/surveys/health/reports"

NOT_ISSUED = "it was not issued here, or to somebody else"
OTHER_VIEW = "it asks about other questions than the report is about"
SPENT = "it was used before; expected one of your own"
MISSING = "this survey needs one for each report"

both = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def survey(survey):
    return by_tickets(survey)


def report_by(survey, ticket, **changed):
    """Return a report with the view of its ticket, as it is sent."""
    values = survey.perturbation.report([1, 2], view=view_of(survey, ticket))
    return {"id": str(uuid4()), "values": list(values), "ticket": ticket.to_text()} | changed


def body_of(survey, *reports):
    return {"digest": survey.digest, "reports": list(reports)}


def refused(response, detail, index=0):
    assert response.status_code == 403, response.text
    document = response.get_json()
    assert (document["field"], document["report"]) == ("ticket", index)
    assert document["detail"] == f"report {index}: ticket: {detail}"
    assert document["type"].endswith("ticket-refused")
    assert response.headers["Access-Control-Allow-Origin"] == "*"


@both
def test_a_report_with_its_ticket_counts_once(http, survey, counted, rows):
    ticket, other = take(http, survey, 2)
    mine = report_by(survey, ticket)
    sent = body_of(survey, mine, report_by(survey, other))
    for receipt in ({"accepted": 2, "duplicates": 0}, {"accepted": 0, "duplicates": 2}):
        response = http.post(REPORTS, json=sent)
        assert (response.status_code, response.get_json()) == (202, receipt)
    # A report that is known is a duplicate without its ticket, which its client has deleted.
    del mine["ticket"]
    assert http.post(REPORTS, json=body_of(survey, mine)).get_json()["duplicates"] == 1
    assert counted() == 2
    spent = {bytes(id_) for (id_,) in rows("SELECT ticket_id FROM ticket_ids")}
    assert spent == {ticket.id, other.id}


@both
def test_what_is_no_report_by_its_own_ticket_is_refused_and_spends_nothing(
    http, survey, counted, rows
):
    spent, ticket, fresh = take(http, survey, 3)
    http.post(REPORTS, json=body_of(survey, report_by(survey, spent)))
    bare = report_by(survey, ticket)
    del bare["ticket"]
    other = next(v for v in range(3) if v != view_of(survey, ticket))
    wrong = list(survey.perturbation.report([1, 2], view=other))
    forged = replace(ticket, code=bytes(32)), replace(ticket, id=bytes(16))
    stolen = replace(ticket, secret=new_secret())
    cases = [
        (bare, MISSING),
        (report_by(survey, spent), SPENT),
        (report_by(survey, ticket, values=wrong), OTHER_VIEW),
        *((report_by(survey, each), NOT_ISSUED) for each in (*forged, stolen)),
    ]
    for report, detail in cases:
        refused(http.post(REPORTS, json=body_of(survey, report)), detail)
        # A batch counts as a whole or not at all, and so are its tickets spent.
        batch = body_of(survey, report_by(survey, fresh), report)
        refused(http.post(REPORTS, json=batch), detail, 1)
    twice = body_of(survey, report_by(survey, fresh), report_by(survey, fresh))
    refused(http.post(REPORTS, json=twice), SPENT, 1)
    assert counted() == 1
    assert rows("SELECT count(*) FROM ticket_ids") == [(1,)]
    assert http.post(REPORTS, json=body_of(survey, report_by(survey, fresh))).status_code == 202


def test_tickets_of_another_survey_and_another_version_are_not_issued_here(http, survey, store):
    other = replace(survey, id="other")
    operations.publish_survey(store, other)
    [foreign] = take(http, other, url="/v1/surveys/other/tickets")
    refused(http.post(REPORTS, json=body_of(survey, report_by(survey, foreign))), NOT_ISSUED)
    [before] = take(http, survey)
    changed = replace(survey, title="Changed")
    operations.publish_survey(store, changed)
    refused(http.post(REPORTS, json=body_of(changed, report_by(changed, before))), NOT_ISSUED)


@pytest.mark.parametrize("text", ["", "00", "ab" * 48, "AB" * 80, "ab" * 80 + " ", 7, ["ab" * 80]])
def test_what_is_no_ticket_is_not_quoted(http, survey, counted, text):
    [ticket] = take(http, survey)
    response = http.post(
        REPORTS, json=body_of(survey, report_by(survey, ticket) | {"ticket": text})
    )
    assert response.status_code == 422
    assert response.get_json()["field"] == "ticket"
    assert "ab" * 4 not in response.text
    assert counted() == 0


@both
def test_a_ticket_in_twelve_requests_at_once_counts_once(app, http, survey, counted):
    [ticket] = take(http, survey)
    barrier = Barrier(12)

    def send(report):
        client = app.test_client()
        barrier.wait()
        return client.post(REPORTS, json=body_of(survey, report))

    with ThreadPoolExecutor(12) as pool:
        outcomes = list(pool.map(send, [report_by(survey, ticket) for _ in range(12)]))
    assert Counter(each.status_code for each in outcomes) == {202: 1, 403: 11}
    for each in outcomes:
        assert each.status_code == 202 or each.get_json()["detail"].endswith(SPENT)
    # The same report in twelve requests is a duplicate in eleven of them.
    [ticket] = take(http, survey)
    with ThreadPoolExecutor(12) as pool:
        outcomes = list(pool.map(send, [report_by(survey, ticket)] * 12))
    assert {each.status_code for each in outcomes} == {202}
    assert sum(each.get_json()["accepted"] for each in outcomes) == 1
    assert counted() == 2


@both
def test_several_processes_on_one_database_accept_each_others_tickets(
    database, http, survey, make_app, counted
):
    [ticket] = take(http, survey)
    # The second one has an own limit, cache and pool of connections.
    second = make_app(rate_limit=None, min_reports=1).test_client()
    [theirs] = take(second, survey)
    assert second.post(REPORTS, json=body_of(survey, report_by(survey, ticket))).status_code == 202
    assert http.post(REPORTS, json=body_of(survey, report_by(survey, theirs))).status_code == 202
    refused(http.post(REPORTS, json=body_of(survey, report_by(survey, ticket))), SPENT)
    assert counted() == 2


@both
def test_an_invitation_admits_three_tickets_and_one_report(http, survey, store, rows):
    operations.set_terms(store, "health", Terms(invitations=True))
    mine, theirs = operations.create_invitations(store, "health", 2)
    hashes = [hashlib.sha256(bytes.fromhex(each)).hexdigest() for each in (mine, theirs)]
    refusal = {"digest": survey.digest, "commitments": ["00" * 32]}
    assert http.post(TICKETS, json=refusal).status_code == 403
    unknown = http.post(TICKETS, json=refusal | {"invitations": ["00" * 32]})
    assert (unknown.status_code, unknown.get_json()["field"]) == (403, "invitation")
    tickets = take(http, survey, 2, invitations=[hashes[0]] * 2)
    # All of a request or none: it has one left.
    two = {"digest": survey.digest, "commitments": ["00" * 32] * 2, "invitations": hashes[:1] * 2}
    assert http.post(TICKETS, json=two).status_code == 403
    tickets += take(http, survey, 1, invitations=hashes[:1])
    assert http.post(TICKETS, json=refusal | {"invitations": hashes[:1]}).status_code == 403
    take(http, survey, 1, invitations=hashes[1:])
    report = report_by(survey, tickets[2], invitation=mine)
    assert http.post(REPORTS, json=body_of(survey, report)).status_code == 202
    # Its other tickets are of no use without another invitation.
    again = report_by(survey, tickets[0], invitation=mine)
    response = http.post(REPORTS, json=body_of(survey, again))
    assert response.get_json()["field"] == "invitation"
    # No row has a ticket beside an invitation.
    assert rows("SELECT tickets FROM invitations") == [(1,)]
    assert len(rows("SELECT * FROM ticket_ids")[0]) == 2


def test_a_program_with_an_operators_token_needs_no_ticket(http, survey, operator, counted):
    values = list(survey.perturbation.report([1, 2]))
    bare = body_of(survey, {"id": str(uuid4()), "values": values})
    refused(http.post(REPORTS, json=bare), MISSING)
    assert http.post(REPORTS, json=bare, headers=operator).status_code == 202
    # One that has a ticket spends it nevertheless.
    [ticket] = take(http, survey)
    mine = body_of(survey, report_by(survey, ticket))
    assert http.post(REPORTS, json=mine, headers=operator).status_code == 202
    refused(http.post(REPORTS, json=body_of(survey, report_by(survey, ticket))), SPENT)
    assert counted() == 2


def test_sealed_reports_have_their_ticket_inside(make_app, store, survey, key_file, counted):
    key = create_sealing_key(key_file)
    http = make_app(rate_limit=None, min_reports=1, sealing_keys=key_file).test_client()
    operations.publish_survey(store, survey, Terms(sealing_key=key))
    [ticket] = take(http, survey)
    packed = survey.report_space.pack(
        survey.perturbation.report([1, 2], view=view_of(survey, ticket))
    )

    def sealed(content):
        id_ = uuid4()
        text = base64.b64encode(seal(key, survey.digest, id_, content)).decode()
        return http.post(REPORTS, json=body_of(survey, {"id": str(id_), "sealed": text}))

    assert sealed(packed).status_code == 422
    refused(sealed(packed + bytes(80)), MISSING)
    refused(sealed(packed + replace(ticket, code=bytes(32)).to_bytes()), NOT_ISSUED)
    assert sealed(packed + ticket.to_bytes()).status_code == 202
    assert counted() == 1


def test_requests_for_tickets_that_are_none(http, survey, store):
    good = {"digest": survey.digest, "commitments": ["5e" * 32]}
    for changed, status, field in (
        ({"digest": "00" * 32}, 409, "digest"),
        ({"commitments": []}, 413, "commitments"),
        ({"commitments": ["5e" * 32] * 1001}, 413, "commitments"),
        ({"commitments": ["5e" * 31]}, 422, "commitments"),
        ({"commitments": ["5E" * 32]}, 422, "commitments"),
        ({"view": 0}, 422, "body"),
    ):
        response = http.post(TICKETS, json=good | changed)
        assert (response.status_code, response.get_json()["field"]) == (status, field)
    operations.close_survey(store, "health")
    assert http.post(TICKETS, json=good).status_code == 409
    plain = Survey("plain", "Plain", survey.schema, survey.mechanism)
    operations.publish_survey(store, plain)
    mine = good | {"digest": plain.digest}
    response = http.post("/v1/surveys/plain/tickets", json=mine)
    assert response.get_json()["detail"] == "tickets: this survey asks for none"
    given = {"id": str(uuid4()), "values": [0], "ticket": "ab" * 80}
    response = http.post("/v1/surveys/plain/reports", json=body_of(plain, given))
    assert response.get_json()["detail"] == "report 0: ticket: this survey asks for none"
    assert http.post("/v1/surveys/nothing/tickets", json=good).status_code == 404


def test_tickets_are_limited_by_address_like_reports(make_app, store, survey):
    operations.publish_survey(store, survey)
    http = make_app(rate_limit="3 per hour", min_reports=1).test_client()
    tickets = take(http, survey, 3)
    refusal = {"digest": survey.digest, "commitments": ["00" * 32]}
    response = http.post(TICKETS, json=refusal)
    assert response.status_code == 429
    assert int(response.headers["Retry-After"]) > 0
    # Reports have a limit of their own, so that all tickets can be used.
    sent = body_of(survey, *(report_by(survey, each) for each in tickets))
    assert http.post(REPORTS, json=sent).status_code == 202


def test_a_collector_cannot_choose_views(survey):
    # It draws an id before it knows the secret, so that whatever rule it draws ids by, the views
    # of its tickets are distributed as the design says: here it tries the ids that favour a view
    # for the secrets that it guesses.
    guess = new_secret()
    aimed = next(
        id_
        for id_ in (n.to_bytes(ID) for n in range(10_000))
        if draw_view(survey.perturbation, survey.digest, id_, guess) == 0
    )
    views = Counter(
        draw_view(survey.perturbation, survey.digest, aimed, n.to_bytes(32)) for n in range(6_000)
    )
    total = survey.perturbation.cumulative_weights[-1]
    for number, view in enumerate(survey.perturbation.views):
        expected = 6_000 * view.weight / total
        assert abs(views[number] - expected) < 4 * expected**0.5


@both
def test_no_secret_is_stored_logged_or_quoted(
    http, survey, store, caplog, dump, tmp_path, counted, database
):
    caplog.set_level(logging.DEBUG)
    since = None if store.database.is_sqlite else log_position(database)
    ticket, other = take(http, survey, 2)
    wrong = report_by(survey, ticket, values=[10**6])
    answers = [
        http.post(REPORTS, json=body_of(survey, report_by(survey, ticket))),
        http.post(REPORTS, json=body_of(survey, report_by(survey, ticket))),
        http.post(REPORTS, json=body_of(survey, wrong)),
        http.post(REPORTS, json=body_of(survey, report_by(survey, replace(other, id=bytes(16))))),
        http.post(REPORTS, json=body_of(survey, report_by(survey, other, digits=1))),
    ]
    store.reports.flush()
    assert counted() == 1
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    if since is not None:
        tables, log = files_of(database, since)
        assert ticket.id in log
        kept = tables
    said = caplog.text + "".join(each.text for each in answers) + repr(dump())
    # The searches would find what is kept: the id that was spent.
    assert ticket.id in kept
    assert repr(ticket.id)[2:-1] in said
    for each in (ticket, other):
        for never in (each.secret, commit(survey.digest, each.secret), each.code):
            assert never not in kept
            assert never.hex().encode() not in kept
            assert since is None or never not in log
            assert never.hex() not in said
            assert repr(never)[2:-1] not in said


@both
def test_numbers_of_tickets_are_kept_without_times(http, survey, store, database):
    for _ in range(3):
        [ticket] = take(http, survey)
    http.post(REPORTS, json=body_of(survey, report_by(survey, ticket)))
    store = http.application.extensions["halftruth"].store
    store.tickets.flush()
    with Store(database) as other:
        assert other.tickets.totals("health") == (3, 1)
        operations.close_survey(other, "health", confirm="health")
        operations.purge(other, 0, confirm="health")
        assert other.tickets.totals("health") == (3, 1)
        operations.delete_survey(other, "health", confirm="health")
        with other.database.reading() as connection:
            for table in ("ticket_keys", "ticket_ids"):
                query = f"SELECT count(*) FROM {table}"
                assert connection.exec_driver_sql(query).scalar() == 0


@pytest.mark.nightly
def test_none_of_a_hundred_thousand_reports_without_their_own_ticket_is_counted(
    http, survey, store, counted
):
    other = replace(survey, id="other")
    operations.publish_survey(store, other)
    tickets = take(http, survey, 1_000)
    foreign = take(http, other, 1_000, url="/v1/surveys/other/tickets")
    used = take(http, survey, 100)
    sent = body_of(survey, *(report_by(survey, each) for each in used))
    assert http.post(REPORTS, json=sent).get_json()["accepted"] == 100
    rng = np.random.default_rng(5)
    reasons = Counter()
    for attempt in range(100_000):
        mine, theirs = (tickets[i] for i in rng.integers(0, 1_000, 2))
        view = view_of(survey, mine)
        kind = attempt % 10
        if kind < 4:
            other_view = (view + 1 + int(rng.integers(2))) % 3
            values = list(survey.perturbation.report([1, 2], view=other_view))
            report, expected = report_by(survey, mine, values=values), OTHER_VIEW
        elif kind < 6:
            forged = replace(mine, code=rng.bytes(32))
            report, expected = report_by(survey, forged), NOT_ISSUED
        elif kind < 8:
            stolen = replace(mine, secret=theirs.secret if mine != theirs else rng.bytes(32))
            report, expected = report_by(survey, stolen), NOT_ISSUED
        elif kind == 8:
            wrong = foreign[int(rng.integers(1_000))]
            report, expected = report_by(survey, wrong), NOT_ISSUED
        else:
            report, expected = report_by(survey, used[int(rng.integers(100))]), SPENT
        response = http.post(REPORTS, json=body_of(survey, report))
        assert response.status_code == 403
        reasons[response.get_json()["detail"] == f"report 0: ticket: {expected}"] += 1
    assert reasons == {True: 100_000}
    assert counted() == 100


@both
def test_backups_have_the_keys_of_tickets_and_exports_what_was_spent(
    http, survey, store, tmp_path, counted
):
    [ticket, later, spent] = take(http, survey, 3)
    http.post(REPORTS, json=body_of(survey, report_by(survey, spent)))
    backup, export = tmp_path / "all.backup", tmp_path / "health.reports"
    operations.back_up(store, backup)
    with Store(f"sqlite:///{tmp_path / 'other.db'}") as other:
        operations.restore(other, backup)
        config = Config(database=other.database.engine.url.render_as_string(), rate_limit=None)
        restored = create_app(config)
        # A ticket of before the back-up is valid, and one that was spent is not.
        client = restored.test_client()
        sent = body_of(survey, report_by(survey, ticket))
        assert client.post(REPORTS, json=sent).status_code == 202
        refused(client.post(REPORTS, json=body_of(survey, report_by(survey, spent))), SPENT)
        restored.extensions["halftruth"].store.close()
    # Two reports by one ticket, at a collector and at its copy, are not merged.
    with Store(f"sqlite:///{tmp_path / 'fresh.db'}") as fresh:
        operations.export_reports(store, "health", export)
        assert operations.import_reports(fresh, export).counted == 1
        with fresh.database.reading() as connection:
            rows = connection.exec_driver_sql("SELECT count(*) FROM ticket_keys").scalar()
            ids = connection.exec_driver_sql("SELECT ticket_id FROM ticket_ids").scalars()
            assert (rows, [bytes(id_) for id_ in ids]) == (0, [spent.id])
    with Store(f"sqlite:///{tmp_path / 'other.db'}") as other:
        other_export = tmp_path / "other.reports"
        operations.export_reports(other, "health", other_export)
    http.post(REPORTS, json=body_of(survey, report_by(survey, later)))
    assert counted() == 2
    with Store(f"sqlite:///{tmp_path / 'merged.db'}") as merged:
        with merged.database.writing() as connection:
            published = "INSERT INTO ticket_ids (survey, ticket_id) VALUES (1, ?)"
            connection.exec_driver_sql(published, (ticket.id,))
        with pytest.raises(ParameterError, match="a ticket of one of its reports was spent here"):
            operations.import_reports(merged, other_export)
