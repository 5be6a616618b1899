"""Every surface of a survey that promises by answer: the figure of an answer never stands alone."""

import re
from dataclasses import replace
from html import unescape
from uuid import uuid4

import msgspec
import numpy as np
import pytest
from halftruth_collector import operations
from halftruth_collector.analyses.survey_report import survey_report
from halftruth_collector.disclosure.audit import audit
from halftruth_collector.disclosure.statement import statement
from halftruth_collector.dry_run import check_survey, why_form_refuses
from halftruth_collector.estimation.planning.planner import plan
from halftruth_collector.ops.settings import FormLimits
from halftruth_collector.survey_file import of_survey
from halftruth_collector.web.pages.session import COOKIE
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    ParameterError,
    Protection,
    RandomizedResponse,
    Schema,
    Survey,
)
from halftruth_shared.analyses.plan import PlanQuery
from sources import source_of

NAMES = ("drugs", "harassed", "voted")
SCHEMA = Schema([Attribute(name, ["no", "yes"]) for name in NAMES])

#: γ = 5 of each answer, from 5 % to at most 20.9 %; γ = 125 of the record, to at most 86.9 %.
SURVEY = Survey(
    "by-answer",
    "By answer",
    SCHEMA,
    RandomizedResponse(dict.fromkeys(NAMES, "5/6")),
    promise="answer",
)
ANSWER, RECORD = r"\b20\.9 %|γ = 5\b", r"\b86\.9 %"

#: γ = 5 of a provable answer: 1/p, and nothing is sent in place of it.
PROVABLE = Survey(
    "provable",
    "Provable",
    SCHEMA,
    DistortionMatrices(
        {},
        {
            "drugs": {"design": "triangular", "prevalence": "1/5", "not_sensitive": "no"},
            "harassed": {"design": "warner", "p": "5/6"},
            "voted": {"design": "warner", "p": "5/6"},
        },
    ),
    promise="answer",
)


def blocks(html):
    """Return the texts of the elements of a page that hold a paragraph, an item or a row."""
    parts = re.split(r"</?(?:p|li|tr|dd|dt|h\d|section|pre|caption)\b[^>]*>", html)
    return [unescape(re.sub("<[^>]*>", " ", part)) for part in parts]


def hold(texts, least=1):
    """Require the figure of the record beside each figure of an answer, in the same text."""
    found = 0
    for text in texts:
        said = re.sub(r"\s+", " ", text)
        if re.search(ANSWER, said) or re.search("single answer|all other answers:", said):
            found += 1
            assert re.search(RECORD, said), said
    assert found >= least, texts


@pytest.fixture
def operating(http, store):
    http.set_cookie(COOKIE, operations.create_token(store, "operator"), path="/operate/")
    operations.publish_survey(store, SURVEY)
    return http


@pytest.mark.parametrize("survey", [SURVEY, PROVABLE], ids=lambda survey: survey.id)
def test_texts_have_both_figures(survey):
    protection = Protection.of(survey)
    assert (protection.answer.gamma, protection.record.gamma) == (5, 125)
    hold(protection.sentences(), 1 + (survey is PROVABLE))
    hold(check_survey(survey, FormLimits()).sentences(), 1 + (survey is PROVABLE))
    stated = statement(audit(survey, 1_000))
    texts = [
        text
        for section in stated.sections
        for text in (*section.paragraphs, *section.notes)
        if "all other answers:" in text or "20.9" in text
    ]
    hold(texts)
    tables = [section.table for section in stated.sections if section.table is not None]
    hold([" | ".join(row) for table in tables for row in table.rows], 3)
    records = np.random.default_rng(4).integers(0, 2, (300, 3))
    hold([text for _, text in survey_report(source_of(survey, records)).methods])
    planned = plan(survey, PlanQuery(respondents=1_000))
    hold(planned.protection)


def test_a_survey_that_promises_by_answer_is_not_compared_at_the_gamma_of_its_record():
    planned = plan(SURVEY, PlanQuery(respondents=1_000))
    assert [each.kind for each in planned.mechanisms] == ["randomized-response"]
    assert planned.advice == []
    with pytest.raises(
        ParameterError, match=r"^detect: .* promises by answer; expected"
    ) as refused:
        plan(SURVEY, PlanQuery(respondents=1_000, detect=["drugs by voted: 10 points"]))
    assert refused.value.field == "detect"


def test_pages_have_both_figures(operating, analyst):
    token = analyst["Authorization"].removeprefix("Bearer ")
    operating.post("/sign-in", data={"token": token, "next": "/results/by-answer"})
    digest, values = SURVEY.digest, [[0, 1, 0], [1, 1, 0]] * 30
    reports = [{"id": str(uuid4()), "values": each} for each in values]
    sent = operating.post(
        "/v1/surveys/by-answer/reports", json={"digest": digest, "reports": reports}
    )
    assert sent.status_code == 202
    for path in ("/operate/surveys/by-answer", "/results/by-answer", "/results/by-answer/report"):
        page = operating.get(path, follow_redirects=True)
        assert page.status_code == 200, path
        hold(blocks(page.text))
    page = operating.post("/operate/design", data={"survey": of_survey(SURVEY), "do": "check"})
    hold(blocks(page.text))


def test_answers_of_calls_have_both_figures(operating, analyst):
    document = msgspec.json.decode(SURVEY.canonical_json)
    checked = operating.post("/v1/check", json=document, headers=analyst).json
    hold(checked["protection"])
    planned = operating.post("/v1/plan", json={"survey": document}, headers=analyst).json
    hold(planned["protection"])
    schema = operating.get("/openapi.json").json
    assert "answer" in str(
        schema["components"]["schemas"]["SurveyDocument"]["properties"]["promise"]
    )


def test_commands_have_both_figures(done, tmp_path, monkeypatch):
    (tmp_path / "by.toml").write_text(of_survey(SURVEY), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for words in (["survey", "check"], ["plan"], ["audit"]):
        said = done(*words, "by.toml")
        # A table of an audit has a column for each of both.
        hold([re.sub(r"[│|]", " ", line) for line in re.split(r"\n\n|(?<=[.)])\n", said)])


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (
            FormLimits(),
            "its amplification 125 exceeds 19 (HALFTRUTH_MAX_GAMMA); it promises by answer, for"
            " which HALFTRUTH_MAX_ANSWER_GAMMA is not set",
        ),
        (
            FormLimits(max_gamma="1000", max_answer_gamma="4"),
            "its amplification of an answer 5 exceeds 4 (HALFTRUTH_MAX_ANSWER_GAMMA)",
        ),
        (FormLimits(max_answer_gamma="5"), None),
        (FormLimits(max_gamma="125"), None),
        (
            FormLimits(max_answer_gamma="5", max_total_gamma="100"),
            "its amplification 125 exceeds 100 (HALFTRUTH_MAX_TOTAL_GAMMA)",
        ),
    ],
)
def test_hosted_forms_ask_only_by_a_setting(limits, reason):
    assert why_form_refuses(SURVEY, limits) == reason
    # A promise by record is accepted by the γ of the record alone.
    by_record = Survey("s", "S", SCHEMA, SURVEY.mechanism)
    refused = why_form_refuses(by_record, limits)
    assert (refused is None) == (limits.max_gamma != "19")
    assert refused is None or "promises by" not in refused


def test_the_hosted_form_has_the_limit_of_the_operator(app, store, http):
    operations.publish_survey(store, SURVEY)
    assert "max-answer-gamma" not in http.get("/s/by-answer").text
    assert "Not asked here" in http.get("/").text
    service = app.extensions["halftruth"]
    config = msgspec.structs.replace(service.config, max_answer_gamma="5")
    app.extensions["halftruth"] = replace(service, config=config)
    assert 'max-answer-gamma="5"' in http.get("/s/by-answer").text
    assert "Not asked here" not in http.get("/").text
