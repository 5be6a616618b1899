"""How the design page checks, stores, opens and saves survey files."""

import json
import re
import time
from datetime import UTC, datetime
from html import unescape
from io import BytesIO

import pytest
from halftruth_collector import operations
from halftruth_collector.estimation.pooled.overlaps import Overlaps
from halftruth_collector.web.pages.design import STARTER
from halftruth_collector.web.pages.session import COOKIE
from halftruth_shared import Survey
from halftruth_shared.protocol.terms import Terms
from installed import needs_addons
from werkzeug.datastructures import FileStorage
from werkzeug.test import encode_multipart

PAGE = "/operate/design"


@pytest.fixture
def signed_in(http, store):
    """Return a function that signs a browser in with a token of a role."""

    def sign_in(role="operator"):
        http.set_cookie(COOKIE, operations.create_token(store, role), path="/operate/")
        return http

    return sign_in


@pytest.fixture
def post(signed_in):
    """Return a function that submits a text by a button, and returns the status and the page."""
    browser = signed_in()

    def press(text, do="check", file=None, **fields):
        files = {} if file is None else {"file": FileStorage(*file)}
        # Encode in memory: the test client leaves temporary files of large bodies open.
        boundary, body = encode_multipart({"survey": text, "do": do, **fields, **files})
        kind = f"multipart/form-data; boundary={boundary}"
        answer = browser.post(PAGE, data=body, content_type=kind)
        return answer.status_code, unescape(answer.get_data(as_text=True))

    return press


def file_of(page):
    return re.search(r'<textarea id="survey"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)[1]


def said(page):
    """Return the message of the check."""
    return re.search(r'<div id="said" role="status">\s*<p[^>]*>(.*?)</p>', page, re.DOTALL)[1]


def cells(page):
    table = page[page.index("<table") : page.index("</table>")]
    found = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", table)
    return [re.sub("<[^>]*>", "", cell).replace("\u202f", "") for cell in found]


def test_the_starter_file_is_valid_with_and_without_comment_marks(signed_in):
    page = unescape(signed_in().get(PAGE).get_data(as_text=True))
    assert file_of(page) == STARTER
    assert said(page) == "No errors: 2 questions."
    head, more = STARTER.split("# Other kinds of questions, and a condition:\n")
    every = head + re.sub("(?m)^# ?", "", more)
    kinds = [question.kind for question in Survey.from_toml(every).schema.questions]
    assert kinds == ["choice", "choice", "scale", "number", "several"]


def test_a_survey_is_stored_only_when_it_is_published(post, store):
    assert post(STARTER)[0] == 200
    assert "my-survey" not in [stored.id for stored in store.surveys.all()]
    status, _ = post(STARTER, "publish", unlisted="yes")
    assert status == 303
    assert store.surveys.get("my-survey").digest == Survey.from_toml(STARTER).digest
    assert not store.surveys.state("my-survey").listed
    assert any("my-survey" in str(entry) for entry in store.audit.all())


def test_publishing_sets_terms_and_blank_fields_keep_them(post, store):
    moment = datetime(2027, 3, 31, 22, tzinfo=UTC)
    assert post(STARTER, "publish", closes_at="2027-03-31T22:00", shared_devices="true")[0] == 303
    assert store.surveys.get("my-survey").terms == Terms(closes_at=moment, shared_devices=True)
    other = STARTER.replace("My survey", "Ours")
    assert post(other, "publish", max_reports="400")[0] == 303
    limited = Terms(closes_at=moment, shared_devices=True, max_reports=400)
    assert store.surveys.get("my-survey").terms == limited
    assert post(STARTER, "publish")[0] == 303
    assert store.surveys.get("my-survey").terms == limited
    status, page = post(other, "publish", max_reports="-1")
    assert status == 422
    assert "max_reports: expected an integer of at least 1" in said(page)
    assert file_of(page) == other


@needs_addons
def test_a_questionnaire_is_opened_as_a_survey_file(post):
    choices = ["no", "yes"]
    questionnaire = {
        "title": "Health",
        "elements": [
            {"type": "radiogroup", "name": "smoker", "choices": choices, "isRequired": True},
            {"type": "comment", "name": "remarks"},
        ],
    }
    file = BytesIO(json.dumps(questionnaire).encode())
    status, page = post(STARTER, "open", file=(file, "My questions.json"))
    assert status == 200
    survey = Survey.from_toml(file_of(page))
    assert survey.id == "my-questions"
    assert (survey.title_in(), survey.schema.names) == ("Health", ("smoker",))
    assert "Imported unchanged: 1 question. Changed: 0. Left out: 1." in page
    assert "# 'remarks': left out: it asks for free text" in file_of(page)
    form = b"survey\n,type,name\n,select_one yn,q\nchoices\n,list_name,name\n,yn,y\n,yn,n\n"
    status, page = post(STARTER, "open", file=(BytesIO(form), "form.csv"))
    assert (status, Survey.from_toml(file_of(page)).schema.names) == (200, ("q",))
    status, page = post(STARTER, "open", file=(BytesIO(b"PK\3\4"), "form.xlsx"))
    assert (status, "form.xlsx: expected a questionnaire of" in said(page)) == (422, True)
    status, page = post(STARTER, "open", file=(BytesIO(b"{}"), "empty.json"))
    assert status == 422
    assert "empty.json: expected a questionnaire of LimeSurvey" in said(page)
    assert file_of(page) == STARTER


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ("id = 'a", "survey: not valid TOML"),
        (STARTER.replace('"no", "yes"', '"no"'), "'smoker': expected 2 to 65536 categories"),
        (STARTER.replace('"19"', '"1"'), "gamma: expected"),
        ("attributes = [" * 500, "survey: not valid TOML"),
        ("x = " + "{a = " * 5_000, "survey: not valid TOML"),
        (".".join(["a"] * 100_000) + " = 1", "expected keys of at most 16 parts"),
        ("step = " + "9" * 5_000, "survey: not valid TOML: Exceeds the limit"),
        ("id" * 400_000 + " = 1", "survey: Object contains unknown field"),
        ("[[attributes]]\n" * 30_000, "Object missing required field"),
        ("", "Object missing required field"),
    ],
    ids=lambda text: text[:20],
)
@pytest.mark.parametrize("do", ["check", "publish"])
def test_errors_have_one_line_and_the_text_is_kept(post, wrong, expected, do):
    before = time.process_time()
    status, page = post(wrong, do)
    assert time.process_time() - before < 3
    assert status == 422
    assert expected in said(page)
    assert "\n" not in said(page)
    assert len(said(page)) <= 1_000
    assert file_of(page).startswith(wrong[:200])
    assert "<table" not in page


def test_oversized_texts_and_files_are_refused(post, http):
    assert post("#" * 999_000)[0] == 422
    status, page = post("#" * 1_000_001)
    assert status == 413
    assert "survey: expected a text of at most 1000000 bytes" in page
    file = BytesIO(STARTER.encode() + b"#" * 1_000_000)
    status, page = post(STARTER, "open", file=(file, "long.toml"))
    assert status == 413
    assert said(page).startswith("file: expected a survey file of at most 1000000 bytes")
    assert file_of(page) == STARTER
    most = http.application.config["MAX_CONTENT_LENGTH"]
    status, page = post(STARTER, "open", file=(BytesIO(b"#" * most), "long.toml"))
    assert status == 413
    assert f"and a file of at most {most}" in page


def test_markup_in_a_survey_file_is_escaped(signed_in):
    evil = "</textarea><script>alert(1)</script>'<img src=x onerror=alert(1)>"
    text = STARTER.replace("My survey", evil).replace("Have you smoked in the last month?", evil)
    assert Survey.from_toml(text).title == evil
    answer = signed_in().post(PAGE, data={"survey": text})
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    page = answer.get_data(as_text=True)
    assert "alert(1)" in page
    assert "<script>" not in page
    assert "<img" not in page


def test_files_are_opened_and_saved(signed_in):
    browser = signed_in()
    file = (BytesIO("\ufeff# mine\r\n".encode() + STARTER.encode()), "mine.toml")
    page = browser.post(PAGE, data={"do": "open", "file": file}).get_data(as_text=True)
    assert file_of(unescape(page)) == f"# mine\n{STARTER}"
    saved = browser.post(PAGE, data={"do": "save", "survey": STARTER})
    assert saved.get_data(as_text=True) == STARTER
    assert saved.headers["Content-Disposition"] == 'attachment; filename="my-survey.toml"'
    saved = browser.post(PAGE, data={"do": "save", "survey": "id = 'x\"'"})
    assert saved.headers["Content-Disposition"] == 'attachment; filename="survey.toml"'
    refused = browser.post(PAGE, data={"do": "open", "file": (BytesIO(b"\xff\xfe"), "x")})
    assert "file: expected a survey file, in UTF-8" in refused.get_data(as_text=True)
    assert browser.post(PAGE, data={"do": "open"}).status_code == 422


def test_a_published_survey_is_opened(signed_in, survey):
    page = signed_in().get(f"{PAGE}?survey={survey.id}").get_data(as_text=True)
    assert Survey.from_toml(file_of(unescape(page))).digest == survey.digest
    assert signed_in().get(f"{PAGE}?survey=none").status_code == 404


def test_unknown_buttons_are_refused(post):
    status, page = post(STARTER, "remove:7")
    assert status == 422
    assert said(page) == "do: expected one of this page's buttons"


@pytest.mark.parametrize("respondents", ["few", "1", "²", "9" * 5_000, "1/3", "nan", ""])
def test_invalid_numbers_of_respondents_are_kept_with_an_error(post, respondents):
    status, page = post(STARTER, respondents=respondents)
    assert status == 200
    assert 'alarm">respondents: expected' in page
    assert f'value="{respondents}"' in page
    assert "<halftruth-preview" in page


def test_planning_many_questions_computes_few_tables(post, monkeypatch):
    """The test counts tables, since seconds depend on the load of the machine."""
    planned = []
    second_moments = Overlaps.second_moments
    monkeypatch.setattr(
        Overlaps,
        "second_moments",
        lambda *args, **kwargs: planned.append(args) or second_moments(*args, **kwargs),
    )
    text = STARTER[: STARTER.index("[[")] + "".join(
        f'[[attributes]]\nname = "q{n}"\ncategories = ["1", "2", "3", "4"]\n' for n in range(40)
    )
    _, page = post(text, respondents="100000")
    assert 0 < len(planned) < 2_000
    assert re.search(r">share within a group</th><td[^>]*>±[0-9.]+ points</td>", page)


def test_precision_equals_closed_forms_and_the_bound_of_gamma_is_shown(post):
    one = STARTER[: STARTER.index("[[", STARTER.index("smoker"))]
    one = one.replace("max_length = 2", "max_length = 1")
    _, page = post(one, respondents="5000")
    # Reported unperturbed with p = 19/20: 1.96 · √(1/4) / ((2p − 1) · √5000) is 1.54 points.
    found = cells(page)
    assert found[:8] == [
        *["estimate", "typical margin", "worst", "verdict"],
        *["share of an answer", "±1.5 points", "", "usable"],
    ]
    assert "Typical margins: ±1.5 points of the share of an answer." in page
    # γ·0.01/(γ·0.01 + 0.99), rounded up.
    assert "at most 16.2\N{NARROW NO-BREAK SPACE}% likely" in page
    _, page = post(one, respondents="5000", half_width="0.77")
    assert "respondents for ±0.77 points" in page
    assert "behind a relay" in post(one, respondents="5000", relay="10")[1]
    # 5 000 · (1.540/0.77)².
    assert 19_900 < int(cells(page)[9].replace("\N{NARROW NO-BREAK SPACE}", "")) < 20_100


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        ({"half_width": "wide"}, "half_width: expected a number of points"),
        ({"groups": "smoker, sex"}, "groups: "),
        ({"outcome": "smoker"}, "predictors: expected too"),
        ({"relay": "5"}, "relay: expected "),
    ],
)
def test_invalid_precision_fields_are_kept_with_an_error(post, asked, refused):
    status, page = post(STARTER, **asked)
    assert status == 200
    assert f'alarm">{refused}' in page
    assert all(f'value="{value}"' in page for value in asked.values())
