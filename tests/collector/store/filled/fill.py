"""Write ``NUMBER.sql`` and ``NUMBER.json`` for the tests of the next change of the tables.

Run it before the tables change: ``python tests/collector/store/filled/fill.py``.
"""

import json
import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import numpy as np
from halftruth_collector import operations
from halftruth_collector.ops.settings import Config
from halftruth_collector.store.tables import VERSION
from halftruth_collector.web import create_app
from halftruth_shared import Attribute, GammaDiagonal, Schema, SplitQuestionnaire, Survey
from halftruth_shared.mechanisms import ViewClass
from halftruth_shared.protocol.terms import Terms
from halftruth_shared.protocol.tickets import Ticket, commit, draw_view, new_secret
from halftruth_shared.survey import Reporting

HERE = Path(__file__).parent
SCHEMA = Schema(
    (
        Attribute("smoker", ("no", "yes")),
        Attribute("drinks", ("never", "weekly", "daily")),
    )
)
PLAIN = Survey("health", "Health at work", SCHEMA, GammaDiagonal("19"))
VIEWS = Survey(
    "views",
    "By tickets",
    SCHEMA,
    SplitQuestionnaire("19", [ViewClass(attributes=[[n]], weight=1) for n in SCHEMA.names]),
    reporting=Reporting(tickets="required"),
)
CLOSED = replace(PLAIN, id="closed", title="Closed")
INVITED = replace(PLAIN, id="invited", title="By invitation")
RELAYED = replace(PLAIN, id="relayed", title="Of a relay")

RANDOM, ARRAYS = random.Random(3), np.random.default_rng(7)


def new_id() -> str:
    return str(UUID(int=RANDOM.getrandbits(128), version=4))


def reports_of(survey: Survey, number: int) -> list[dict]:
    records = np.stack([ARRAYS.integers(0, 2, number), ARRAYS.integers(0, 3, number)], axis=1)
    drawn = survey.perturbation.reports(records, ARRAYS).tolist()
    return [{"id": new_id(), "values": values} for values in drawn]


def fill(database: str) -> dict:
    """Fill a database over HTTP; return what it must keep."""
    app = create_app(Config(database=database, rate_limit=None, min_reports=1))
    http, store = app.test_client(), app.extensions["halftruth"].store

    def post(survey: Survey, what: str, **body: object) -> dict:
        sent = {"digest": survey.digest, **body}
        answered = http.post(f"/v1/surveys/{survey.id}/{what}", json=sent)
        assert answered.status_code in (201, 202), answered.text
        return answered.get_json()

    def by_tickets(number: int) -> list[dict]:
        secrets = [new_secret() for _ in range(number)]
        asked = [commit(VIEWS.digest, secret).hex() for secret in secrets]
        issued = post(VIEWS, "tickets", commitments=asked)["tickets"]
        made = []
        for text, secret in zip(issued, secrets, strict=True):
            ticket = Ticket.of_issued(text, secret)
            view = draw_view(VIEWS.perturbation, VIEWS.digest, ticket.id, ticket.secret)
            values = VIEWS.perturbation.report([1, 2], view=view)
            made.append({"id": new_id(), "values": list(values), "ticket": ticket.to_text()})
        return made

    for survey in (PLAIN, VIEWS, CLOSED):
        operations.publish_survey(store, survey)
    operations.publish_survey(store, INVITED, Terms(invitations=True))
    roles = ("operator", "analyst", "monitor")
    tokens = {role: operations.create_token(store, role) for role in roles}
    known = reports_of(PLAIN, 60)
    post(PLAIN, "reports", reports=known)
    post(PLAIN, "reports", reports=known[:5])
    post(CLOSED, "reports", reports=reports_of(CLOSED, 30))
    operations.close_survey(store, "closed", confirm="closed")
    *spent, unspent = by_tickets(21)
    post(VIEWS, "reports", reports=spent)
    used, *_, unused = (str(code) for code in operations.create_invitations(store, "invited", 5))
    [first, fresh] = reports_of(INVITED, 2)
    post(INVITED, "reports", reports=[first | {"invitation": used}])
    counts = {}
    for survey in (PLAIN, CLOSED, VIEWS, INVITED):
        found = store.reports.counts(survey.id)[1]
        cells = [bytes(cell).hex() for cell in found.cells.tolist()]
        counts[survey.id] = dict(zip(cells, found.counts.tolist(), strict=True))
    store.close()
    return {
        "tokens": tokens,
        "counts": counts,
        "known": known[0],
        "spent": spent[0] | {"id": new_id()},
        "unspent": unspent,
        "used": used,
        "invitation": unused,
        "fresh": fresh,
    }


def hold(connection: sqlite3.Connection) -> None:
    """Add a survey of a relay, with ids of reports that it has passed on."""
    row = {
        "number": 1,
        "id": RELAYED.id,
        "digest": RELAYED.digest,
        "document": RELAYED.canonical_json.decode(),
        "collector": "http://127.0.0.1:8000",
        "token": "0" * 64,
        "status": "open",
        **dict.fromkeys(("passed", "unopened", "batch_passed", "batch_unopened", "is_stopped"), 0),
    }
    places = ", ".join("?" * len(row))
    with connection:
        connection.execute(
            f"INSERT INTO relay_surveys ({', '.join(row)}) VALUES ({places})", list(row.values())
        )
        ids = [(1, bytes([number]) * 16) for number in range(3)]
        connection.executemany("INSERT INTO relay_ids VALUES (?, ?)", ids)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        file = Path(folder) / "filled.db"
        kept = fill(f"sqlite:///{file}")
        with closing(sqlite3.connect(file)) as connection:
            hold(connection)
            (HERE / f"{VERSION}.sql").write_text("\n".join([*connection.iterdump(), ""]), "utf-8")
        (HERE / f"{VERSION}.json").write_text(f"{json.dumps(kept, indent=1)}\n", "utf-8")
