"""Asks an added analysis over HTTP, as a command, on its page and in Python; prints the answers."""

import json
import sys
from uuid import uuid4

import numpy as np
from click.testing import CliRunner
from halftruth_client import Analyst
from halftruth_collector import operations
from halftruth_collector.cli import main
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from halftruth_shared import Survey
from halftruth_shared.protocol.reports import Report
from wire import listening

TOML = """
id = "feelings"
title = "Feelings"

[mechanism]
kind = "randomized-response"
keep = {"felt.tired" = "0.9", "felt.sad" = "0.9", "felt.ill" = "0.9"}

[[attributes]]
name = "felt"
label = "How did you feel yesterday?"
kind = "several"
options = [{name = "tired"}, {name = "sad"}, {name = "ill"}]
"""

survey = Survey.from_toml(TOML)
app = create_app(Config(database=f"sqlite:///{sys.argv[1]}", min_reports=10))
store = app.extensions["halftruth"].store
operations.publish_survey(store, survey)
token = operations.create_token(store, "analyst")
rng = np.random.default_rng(3)
records = np.column_stack([rng.random(4_000) < share for share in (0.5, 0.3, 0.2)]).astype(int)
reports = survey.perturbation.reports(records, rng).tolist()
store.reports.add(survey.id, survey.digest, [Report(id=uuid4(), values=row) for row in reports])
browser = app.test_client()
browser.post("/sign-in", data={"token": token})
path = "/surveys/feelings/at-least?question=felt&least=2"
headers = {"Authorization": f"Bearer {token}"}
with listening(app) as url:
    words = [
        "analyse",
        "at-least",
        "feelings",
        "--question",
        "felt",
        "--url",
        url,
        "--token",
        token,
    ]
    command = CliRunner().invoke(main, [*words, "--json"])
    found = {
        "records": records.tolist(),
        "http": app.test_client().get(f"/v1{path}", headers=headers).get_json(),
        "command": json.loads(command.stdout),
        "python": Analyst(url, token).at_least("feelings", question="felt").rows[0].value,
        "page": browser.get(path.replace("/surveys", "/results", 1)).text,
        "menu": browser.get("/results/feelings/itemsets?min_support=0.1&confidence=0.9").text,
        "openapi": app.test_client().get("/openapi.json").get_json()["paths"].keys()
        & {"/v1/surveys/{survey_id}/at-least"}
        != set(),
    }
store.close()
print(json.dumps(found))
