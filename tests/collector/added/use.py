"""Performs an added action by its call, command and form; prints what they answer."""

import json
import sys
from datetime import UTC, datetime

from click.testing import CliRunner
from halftruth_collector import operations
from halftruth_collector.cli import main
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from halftruth_shared.protocol.terms import Terms

database = f"sqlite:///{sys.argv[1]}"
app = create_app(Config(database=database))
store = app.extensions["halftruth"].store
survey = Survey("health", "Health", Schema([Attribute("a", ["no", "yes"])]), GammaDiagonal("19"))
terms = Terms(closes_at=datetime(2031, 3, 1, tzinfo=UTC))
operations.publish_survey(store, survey, terms)
operations.publish_survey(store, Survey("open", "Open", survey.schema, survey.mechanism))
token = operations.create_token(store, "operator")
browser = app.test_client()
browser.post("/sign-in", data={"token": token, "next": "/operate/"})
headers = {"Authorization": f"Bearer {token}"}
page = "/operate/surveys/health"


def call(id, given, headers=headers):
    return app.test_client().post(f"/v1/surveys/{id}/extend", json=given, headers=headers)


def command(*words):
    run = CliRunner().invoke(main, ["survey", "extend", *words, "--database", database])
    return run.exit_code, run.stdout, run.stderr.splitlines()[0]


refused = [
    call(id, given, who)
    for id, given, who in (
        ("health", {"days": 0}, headers),
        ("no", {}, headers),
        ("open", {}, headers),
        ("health", {}, {}),
    )
]
found = {
    "refused": [(each.status_code, each.get_json()["detail"]) for each in refused],
    "complaints": [command("health", "--days", "0"), command("no"), command("open")],
    "bad": browser.post(f"{page}/extend", data={"days": "0"}).status_code,
    "before": len(store.audit.all()),
    "call": call("health", {"days": 2}).get_json()["terms"]["closes_at"],
    "command": command("health"),
    "help": CliRunner().invoke(main, ["survey", "extend", "--help"]).stdout,
    "form": browser.post(f"{page}/extend", data={"days": "3"}).status_code,
    "page": browser.get(page).text,
    "other": browser.get("/operate/surveys/open").text,
    "deadline": store.surveys.get("health").terms.closes_at.isoformat(),
    "entries": [(each.action, each.detail) for each in store.audit.all()],
    "openapi": app.test_client()
    .get("/openapi.json")
    .get_json()["paths"]["/v1/surveys/{survey_id}/extend"]["post"],
}
store.close()
print(json.dumps(found))
