"""A collector with a study, for tests over HTTP, in Python, on the command line and on pages."""

from types import SimpleNamespace
from urllib.parse import urlencode
from uuid import uuid4

import numpy as np
import pytest
from halftruth_client import Analyst
from halftruth_collector import operations
from halftruth_collector.analyses import ANALYSES, AnalysisContext
from halftruth_collector.cli import main
from halftruth_collector.collector_store import Store
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from halftruth_shared import Attribute, GammaDiagonal, RandomizedResponse, Schema, Survey
from halftruth_shared.protocol.reports import Report
from wire import listening

SCHEMA = Schema(
    (
        Attribute("smoker", ("no", "yes"), ("yes",)),
        Attribute("coughs", ("no", "yes"), ("yes",)),
        Attribute("age", ("young", "middle", "old")),
        # A category may contain separators.
        Attribute("vote", ("left", "right", "none, a=b")),
    )
)
KEEP = {"smoker": "0.85", "coughs": "0.9", "age": "0.8", "vote": "0.8"}
SURVEYS = (
    Survey("study", "Study", SCHEMA, RandomizedResponse(KEEP)),
    Survey("whole", "Whole records", SCHEMA, GammaDiagonal("19")),
)
EMPTY = Survey("empty", "Empty", SCHEMA, RandomizedResponse(KEEP))


def texts(name, value):
    """Return a parameter as a list of texts, each for one option or query parameter."""
    if name == "among":
        return value
    if isinstance(value, dict) and any(isinstance(found, dict) for found in value.values()):
        return [f"{a}={c}:{n}" for a, numbers in value.items() for c, n in numbers.items()]
    if isinstance(value, dict):
        return [f"{name}={category}" for name, category in value.items()]
    if isinstance(value, list) and value and isinstance(value[0], list):
        return [",".join(names) for names in value]
    return [",".join(map(str, value))] if isinstance(value, list) else [str(value)]


def query_string(asked):
    return urlencode([(name, text) for name, value in asked.items() for text in texts(name, value)])


def option(path, name):
    """Return the name of a parameter's option."""
    return ANALYSES[path].options.get(name, name).replace("_", "-")


def command(path, survey, asked):
    words = ["analyse", path, survey]
    for name, value in asked.items():
        if isinstance(value, bool):
            words += [f"--{option(path, name)}"] if value else []
            continue
        for text in texts(name, value):
            words += [f"--{option(path, name)}", text]
    return words


def counted_of(store, survey):
    _, counts, as_of, days = store.reports.snapshot(survey.id)
    return AnalysisContext(survey, counts, as_of, min_reports=1, days=days)


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """A collector on loopback, with two surveys that have reports and one without."""
    database = f"sqlite:///{tmp_path_factory.mktemp('study') / 'study.db'}"
    store = Store(database)
    rng = np.random.default_rng(201)
    smoker = rng.random(3000) < 0.4
    coughs = np.where(rng.random(3000) < 0.75, smoker, ~smoker)
    age = rng.integers(0, 3, 3000)
    vote = np.where(rng.random(3000) < 0.5, age, rng.integers(0, 3, 3000))
    records = np.stack([smoker, coughs, age, vote], axis=1).astype(int)
    for survey in (*SURVEYS, EMPTY):
        operations.publish_survey(store, survey)
        if survey is not EMPTY:
            reports = survey.perturbation.reports(records, rng).tolist()
            store.reports.add(
                survey.id, survey.digest, [Report(id=uuid4(), values=row) for row in reports]
            )
    app = create_app(Config(database=database))
    token = operations.create_token(store, "analyst")
    browser = app.test_client()
    browser.post("/sign-in", data={"token": token})
    with listening(app) as url:
        yield SimpleNamespace(
            database=database,
            url=url,
            token=token,
            http=app.test_client(),
            browser=browser,
            analyst=Analyst(url, token, retries=0),
            counted={survey.id: counted_of(store, survey) for survey in SURVEYS},
        )
    app.extensions["halftruth"].store.close()
    store.close()


@pytest.fixture
def get(study):
    """Return a function that requests a result over HTTP and returns status and JSON."""

    def ask(path, asked, survey="study"):
        response = study.http.get(
            f"/v1/surveys/{survey}/{path}?{query_string(asked)}",
            headers={"Authorization": f"Bearer {study.token}"},
        )
        return response.status_code, response.get_json()

    return ask


@pytest.fixture
def halftruth(study, capsys):
    """Return a function that runs a command and returns status, stdout and stderr."""

    def run(*words, elsewhere=False):
        at = ("--url", study.url, "--token", study.token)
        try:
            main([*words, *(at if elsewhere else ("--database", study.database))])
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
        return (status, *capsys.readouterr())

    return run
