"""All pages of a collector are accessible, whatever their address."""

from shutil import copyfile
from uuid import UUID

import numpy as np
import pytest
from common_fixtures import LiveCollector
from halftruth_collector import operations
from halftruth_collector.analyses import ANALYSES, identified
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey
from halftruth_shared.mechanisms.split_questionnaire import WantedTables
from halftruth_shared.protocol.reports import Report
from wire import listening

from .conftest import anyone_can_use, sign_in

YES_NO = ("smoker", "cannabis", "cocaine", "gambling", "bullied", "harassed", "sick")
SCHEMA = Schema(
    (
        Attribute("sex", ["female", "male"], label="Are you female or male?"),
        Attribute("age", ["18 to 29", "30 to 44", "45 or older"], ordered=True),
        Attribute("region", ["north", "south", "east", "west"], label="Where do you live?"),
        Attribute("drinks", ["never", "weekly", "daily"], ordered=True),
        Attribute("income", ["low", "middle", "high"], label="What do you earn?", kind="scale"),
        *(Attribute(name, ["no", "yes"], label=f"Have you been {name}?") for name in YES_NO),
    )
)
WANTED = WantedTables(of=("smoker", "cannabis", "harassed"), by=("sex", "age"))
SURVEY = Survey("habits", "Habits", SCHEMA, SplitQuestionnaire.designed(SCHEMA, "19", (), [WANTED]))

#: Pages that need nobody to sign in, and those of operators and of analysts.
PUBLIC = ("/", "/s/habits")
OF_OPERATORS = ("/operate/", "/operate/surveys/habits", "/operate/tokens", "/operate/design")
OF_ANALYSTS = (
    "/results/",
    "/results/habits",
    *(f"/results/habits/{name}" for name in ANALYSES),
    "/results/habits/itemsets?min_support=0.05&sort=departure",
    "/results/habits/export",
    "/results/habits/report",
)

#: Addresses that are no pages.
NO_PAGES = (
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "/form/",
    "/js/",
    "/assets/",
    "/v1/",
)


@pytest.fixture(scope="module")
def habits(sqlite_template, tmp_path_factory):
    """A collector with twelve questions and 3 000 reports."""
    database = copyfile(sqlite_template, tmp_path_factory.mktemp("pages") / "filled.db")
    app = create_app(Config(database=f"sqlite:///{database}", rate_limit=None, min_reports=1))
    store = app.extensions["halftruth"].store
    operations.publish_survey(store, SURVEY)
    rng = np.random.default_rng(4)
    records = np.stack([rng.integers(0, size, 3_000) for size in SCHEMA.shape], axis=1)
    records[:, 6] = np.where(rng.random(3_000) < 0.4, records[:, 5], records[:, 6])
    reports = SURVEY.perturbation.reports(records, rng).tolist()
    batch = [Report(id=UUID(int=i), values=values) for i, values in enumerate(reports)]
    store.reports.add("habits", SURVEY.digest, batch)
    with listening(app) as url:
        yield LiveCollector(url, app, store)
    store.close()


def test_the_list_of_pages_has_every_address(habits):
    """A new page is accessible only if it is looked at."""
    adapter = habits.app.url_map.bind("127.0.0.1")
    pages = [each.partition("?")[0] for each in (*PUBLIC, *OF_OPERATORS, *OF_ANALYSTS)]
    looked_at = {adapter.match(each, method="GET")[0] for each in pages}
    every = {
        rule.endpoint
        for rule in habits.app.url_map.iter_rules()
        if "GET" in (rule.methods or ()) and not rule.rule.startswith(NO_PAGES)
    }
    # The findings are JSON, and the sign-in page is where each visit begins.
    assert every - looked_at == {"results.findings", "session.sign_in"}


@pytest.mark.parametrize(
    "pages",
    [
        (*PUBLIC, *OF_OPERATORS[:2], "/results/habits/itemsets?min_support=0.05&sort=departure"),
        pytest.param((*PUBLIC, *OF_OPERATORS, *OF_ANALYSTS), marks=pytest.mark.nightly),
    ],
    ids=["some", "all"],
)
def test_no_page_has_a_violation(habits, visit, pages):
    offered = [one.name for one in identified(SURVEY)]
    for role, first in (("operator", "/operate/"), ("analyst", "/results/")):
        found = visit(f"{habits.url}{first}")
        assert found.violations() == []
        sign_in(found, habits, role)
        for path in pages:
            of_role = path.startswith(first) or (role == "operator" and path in PUBLIC)
            name = path.removeprefix("/results/habits/")
            if not of_role or (name in ANALYSES and name not in offered):
                continue
            response = found.page.goto(f"{habits.url}{path}")
            assert response.status == 200, path
            found.page.wait_for_load_state("networkidle")
            anyone_can_use(found, f"every-{path.strip('/').replace('/', '-') or 'front'}")
