"""The HTTP interface under requests that schemathesis makes up from its description.

Every check is on, with data that fit the description and data that do not. Each answer is kept, so
that the counts can be held against what was acknowledged.

Where HALFTRUTH_TEST_REQUESTS is set, each call has all that its schemas cover; by default, one of
those that are read in the same way has it for all of them.
"""

import json
import os
import subprocess
import sys
from itertools import combinations
from typing import NamedTuple

import pytest
from calls import SURVEY, document_with_examples, reports
from flask import request
from halftruth_collector import operations
from halftruth_collector.errors import Forbidden
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from halftruth_collector.web.calls import declared
from halftruth_shared import Survey
from wire import PATIENCE

# By day, each example is held against the description, and a fuzzer of their own mutates them.
pytestmark = pytest.mark.nightly

OPERATIONS = declared()

#: Surveys that operators may close and change, and delete, while the first one goes on.
OTHER = Survey("other", "Another", SURVEY.schema, SURVEY.mechanism)
SPARE = Survey("spare", "To be deleted", SURVEY.schema, SURVEY.mechanism)
CHANGED = ("/close", "/reopen", "/terms", "/listing", "/invitations", "/revoke")
NAMES = list(SURVEY.schema.names)
PAIRS = [f"{a.name}={category}" for a in SURVEY.schema.attributes for category in a.categories]
TERMS = [",".join(term) for size in (1, 2) for term in combinations(NAMES, size)]

#: Parameters that list attributes, those that list items, and those that name one attribute.
SEVERAL = ("attributes", "features", "given", "predictors", "quasi")
ITEMS = ("answer", "antecedent", "consequent", "present", "reference", "where")
SINGLE = ("attribute", "groups", "outcome", "predict", "sensitive")
CATEGORIES = [category for a in SURVEY.schema.attributes for category in a.categories]

#: What a parameter can be for this survey.
PARAMETERS = {
    **{name: {"items": {"enum": NAMES}} for name in SEVERAL},
    **{name: {"enum": NAMES} for name in SINGLE},
    **{name: {"items": {"enum": PAIRS}} for name in ITEMS},
    "among": {"items": {"enum": CATEGORIES}},
    "scores": {"items": {"enum": [f"{name}=ranks" for name in NAMES]}},
    "terms": {"items": {"enum": TERMS}},
    "margins": {
        "enum": [[f"{a.name}={c}:100" for c in a.categories] for a in SURVEY.schema.attributes]
    },
}

#: Calls with rules that no schema says, so that 422 may answer what fits it: nobody can filter on
#: what is asked about, nor weight records by what they lack, and 5.0 is no integer here.
WITH_MORE_RULES = (
    "addReports",
    "checkSurvey",
    "createInvitations",
    "createSealingKey",
    "createToken",
    "getMicrodata",
    "getRisk",
    "planSurvey",
    "publishSurvey",
    "purge",
    "reopenSurvey",
    "retireSealingKey",
    "setTerms",
    *(o.id for o in OPERATIONS if o.analysis and "where" in o.analysis.fields),
)

#: Calls of the same parameters, or with the same body, as others that are covered.
COVERED_BY_OTHERS = (
    "checkSurvey",
    "planSurvey",
    *(o.id for o in OPERATIONS if o.analysis and o.analysis.name not in ("comparison", "itemsets")),
)

#: Whose token is tried with what: the operator's opens everything.
RUNS = [
    ("operator", "examples,coverage,fuzzing,stateful", 6),
    ("analyst", "examples,fuzzing", 8),
    (None, "examples,fuzzing", 4),
]


class Answer(NamedTuple):
    """What came back, and from where."""

    endpoint: str | None
    path: str
    status: int
    text: str


@pytest.fixture
def survey():
    return SURVEY


@pytest.fixture
def app(database, store):
    made = create_app(Config(database=database, rate_limit=None))

    @made.before_request
    def only_the_spare_one_is_deleted():
        """What runs of several requests learn from answers is not for deleting all the others."""
        id = (request.view_args or {}).get("survey_id")
        if request.endpoint == "operators.delete_survey" and id != SPARE.id:
            # Who made a survey and hears that there is none would rightly wonder.
            raise Forbidden("only the spare survey is deleted here")

    yield made
    made.extensions["halftruth"].store.close()


@pytest.fixture
def answers(app):
    """Every answer, with what it was to."""
    found = []

    def keep(response):
        text = response.get_data().decode(errors="replace")
        found.append(Answer(request.endpoint, request.path, response.status_code, text))
        return response

    app.after_request(keep)
    return found


@pytest.fixture
def collector(live):
    """A collector with reports, and another survey."""
    for survey in (OTHER, SPARE):
        operations.publish_survey(live.store, survey)
    live.store.reports.add(SURVEY.id, SURVEY.digest, reports())
    return live


def narrowed():
    """The description of what these surveys take: their ids, attributes and categories."""
    # Parsed again, so that no part of it is shared with another or with the original.
    found = json.loads(json.dumps(document_with_examples()))
    for path, item in found["paths"].items():
        for parameter in item.get("parameters", []):
            if parameter["name"] != "survey_id":
                continue
            changed = path.endswith(CHANGED)
            chosen = SPARE.id if "delete" in item else OTHER.id if changed else SURVEY.id
            parameter["schema"] = {"enum": [chosen]}
            parameter["example"] = chosen
        for parameter in item.get("get", {}).get("parameters", []):
            parameter["schema"] |= PARAMETERS.get(parameter["name"], {})
    messages = found["components"]["schemas"]
    messages["ReportBatch"]["properties"]["digest"] = {"const": SURVEY.digest}
    sizes = SURVEY.schema.shape
    messages["Report"]["properties"]["values"] = {
        "type": "array",
        "prefixItems": [{"type": "integer", "minimum": 0, "maximum": d - 1} for d in sizes],
        "minItems": len(sizes),
        "maxItems": len(sizes),
    }
    return found


def configuration():
    lines = ["[checks]", "enabled = true"]
    for name in WITH_MORE_RULES:
        lines += [
            "[[operations]]",
            f'include-operation-id = "{name}"',
            "[operations.checks.positive_data_acceptance]",
            'expected-statuses = ["2xx", "401", "403", "404", "409", "422"]',
        ]
    for name in () if "HALFTRUTH_TEST_REQUESTS" in os.environ else COVERED_BY_OTHERS:
        lines += [
            "[[operations]]",
            f'include-operation-id = "{name}"',
            "[operations.phases.coverage]",
            "enabled = false",
        ]
    return "\n".join(lines)


@pytest.mark.parametrize(("role", "phases", "most"), RUNS)
def test_made_up_requests_find_nothing_wrong(answers, collector, tmp_path, role, phases, most):
    (tmp_path / "openapi.json").write_text(json.dumps(narrowed()), encoding="utf-8")
    (tmp_path / "schemathesis.toml").write_text(configuration(), encoding="utf-8")
    token = (
        []
        if role is None
        else [f"-HAuthorization: Bearer {operations.create_token(collector.store, role)}"]
    )
    before = collector.store.reports.counts(SURVEY.id)[1].reports
    command = [sys.executable, "-m", "schemathesis.cli", "--no-color"]
    options = ["--checks=all", "--mode=all", "--seed=5", "--generation-deterministic"]
    options += [f"--request-timeout={PATIENCE}", f"--url={collector.url}"]
    options += [f"--phases={phases}", f"--max-examples={most}"]
    run = subprocess.run(
        [*command, "--config-file=schemathesis.toml", "run", "openapi.json", *options, *token],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
    )
    assert run.returncode == 0, run.stdout + run.stderr

    assert len({answer.endpoint for answer in answers} - {None}) >= len(OPERATIONS)
    assert [answer for answer in answers if answer.status >= 500] == []
    assert [answer for answer in answers if "Traceback" in answer.text] == []
    accepted = {SURVEY.id: before, OTHER.id: 0}
    for answer in answers:
        if answer.status == 202:
            accepted[answer.path.split("/")[3]] += json.loads(answer.text)["accepted"]
    assert {id: collector.store.reports.counts(id)[1].reports for id in accepted} == accepted
    assert accepted[SURVEY.id] > before
