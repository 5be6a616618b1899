"""Waves of a series ask each respondent about one group of questions after the other."""

import sqlite3

from halftruth_shared import Attribute, Schema, Series, SplitQuestionnaire, Survey, ViewClass

from .conftest import posted

NAMES = ("smoker", "drinks", "votes", "owes")
SCHEMA = Schema([Attribute(name, ("no", "yes")) for name in NAMES])
ALL = (NAMES,)


def wave(number, *, series="panel", groups=ALL, title="Health"):
    views = [ViewClass(attributes=groups, choose=(1,) * len(groups), weight=1)]
    return Survey(
        f"health-{number}",
        title,
        SCHEMA,
        SplitQuestionnaire("2", views),
        series=series and Series(id=series, wave=number, total_gamma="999"),
    )


def asked(client, stub, session, survey, respondent="ada"):
    """The questions that the report of a wave is about."""
    stub.survey = survey
    record = dict.fromkeys(NAMES, "yes")
    client.submit(client.survey(survey.id, respondent=respondent), record, respondent=respondent)
    [report] = posted(session)[-1]["reports"]
    return survey.mechanism.reported(SCHEMA, report["values"])


def test_a_respondent_is_asked_everything_once_before_anything_twice(stub, client, session):
    one = client()
    for respondent in ("ada", "bob", "eve"):
        first = [asked(one, stub, session, wave(n), respondent) for n in (1, 2, 3, 4)]
        assert frozenset().union(*first) == set(NAMES)
        assert set(one.ledger(respondent).questions.values()) == {2}
        assert [asked(one, stub, session, wave(n), respondent) for n in (5, 6)] == first[:2]


def test_a_rotation_is_kept_in_the_outbox_and_goes_on_after_waves_left_out(
    stub, client, session, tmp_path
):
    outbox = tmp_path / "outbox.db"
    found = [asked(client(outbox=outbox), stub, session, wave(n)) for n in (1, 2, 7)]
    assert len(frozenset().union(*found)) == 3
    with sqlite3.connect(outbox) as connection:
        [(respondent, drawn)] = connection.execute("SELECT respondent, drawn FROM rotations")
    connection.close()
    assert b"ada" not in respondent
    assert "smoker" not in drawn


def test_a_wave_with_other_views_begins_a_rotation_beside_the_other_one(stub, client, session):
    one = client()
    first = asked(one, stub, session, wave(1))
    pairs = [asked(one, stub, session, wave(n, groups=(NAMES[:2], NAMES[2:]))) for n in (2, 3)]
    assert frozenset.union(*map(frozenset, pairs)) == set(NAMES)
    # Of the words nothing depends.
    rest = [asked(one, stub, session, wave(n, title="Well?")) for n in (6, 7, 8)]
    assert frozenset().union(first, *rest) == set(NAMES)


def test_a_rotation_is_forgotten_with_the_ledger(stub, client, session, tmp_path):
    outbox = tmp_path / "outbox.db"
    one = client(outbox=outbox)
    asked(one, stub, session, wave(1))
    one.forget_ledger("ada")
    with sqlite3.connect(outbox) as connection:
        assert connection.execute("SELECT * FROM rotations").fetchall() == []
    connection.close()


def test_outside_a_series_nothing_rotates(stub, client, session, tmp_path):
    outbox = tmp_path / "outbox.db"
    asked(client(outbox=outbox), stub, session, wave(1, series=None))
    with sqlite3.connect(outbox) as connection:
        assert connection.execute("SELECT * FROM rotations").fetchall() == []
    connection.close()
