"""What the designer does with a draft: who may, what is kept of it, and what becomes of it."""

import json
import re
import time
from datetime import UTC, datetime
from html import unescape
from io import BytesIO

import pytest
from halftruth_collector.designing import text
from halftruth_collector.web.pages.session import COOKIE
from halftruth_shared import Survey
from halftruth_shared.protocol.terms import Terms

PAGE = "/operate/design"


@pytest.fixture
def signed_in(http, store):
    """Sign a browser in with a token of some role."""

    def sign_in(role="operator"):
        http.set_cookie(COOKIE, store.tokens.create(role), path="/operate/")
        return http

    return sign_in


@pytest.fixture
def post(signed_in):
    """Press a button of the page for a draft; the status, and the page as text."""
    browser = signed_in()

    def press(written, do="check", **fields):
        answer = browser.post(PAGE, data={"survey": written, "do": do, **fields})
        return answer.status_code, unescape(answer.get_data(as_text=True))

    return press


def draft_of(page):
    return re.search(r'<textarea id="survey"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)[1]


def origin_of(page):
    return re.search(r'<textarea name="origin" hidden>([^<]*)</textarea>', page)[1]


def seen_of(page):
    return re.search(r'name="seen" value="([0-9a-f]+)"', page)[1]


def test_a_draft_is_stored_only_when_it_is_published(post, store):
    assert post(text.STARTER)[0] == 200
    assert "my-survey" not in [stored.id for stored in store.surveys.all()]
    status, _ = post(text.STARTER, "publish", unlisted="yes")
    assert status == 303
    assert store.surveys.get("my-survey").digest == Survey.from_toml(text.STARTER).digest
    assert not store.state("my-survey").listed
    assert any("my-survey" in str(entry) for entry in store.audit.all())


def test_how_reports_are_taken_is_said_on_publishing_and_stays_where_it_is_not(post, store):
    moment = datetime(2027, 3, 31, 22, tzinfo=UTC)
    assert (
        post(text.STARTER, "publish", closes_at="2027-03-31T22:00", shared_devices="true")[0] == 303
    )
    assert store.surveys.get("my-survey").terms == Terms(closes_at=moment, shared_devices=True)
    other = text.STARTER.replace("My survey", "Ours")
    assert post(other, "publish", max_reports="400")[0] == 303
    limited = Terms(closes_at=moment, shared_devices=True, max_reports=400)
    assert store.surveys.get("my-survey").terms == limited
    assert post(text.STARTER, "publish")[0] == 303
    assert store.surveys.get("my-survey").terms == limited
    status, page = post(other, "publish", max_reports="-1")
    assert status == 422
    assert "max_reports: expected an integer of at least 1" in page
    assert draft_of(page) == other


def test_a_questionnaire_is_opened_as_the_survey_that_it_becomes(post):
    choices = ["no", "yes"]
    questionnaire = {
        "title": "Health",
        "elements": [
            {"type": "radiogroup", "name": "smoker", "choices": choices, "isRequired": True},
            {"type": "comment", "name": "remarks"},
        ],
    }
    file = BytesIO(json.dumps(questionnaire).encode())
    status, page = post(text.STARTER, "load", file=(file, "My questions.json"))
    assert status == 200
    survey = Survey.from_toml(draft_of(page))
    assert (survey.id, survey.title_in(), survey.schema.names) == (
        "my-questions",
        "Health",
        ("smoker",),
    )
    assert "Taken over as it is: 1 question. Changed: 0. Left out: 1." in page
    # What became of each goes with the draft, and with a question that is renamed.
    controls = {"origin": origin_of(page), "seen": seen_of(page), "open": "0"}
    _, page = post(draft_of(page), **controls, **{"question.name": "smokes"})
    rows = [" ".join(re.sub("<[^>]*>", " ", row).split()) for row in page.split("<li")]
    assert "smokes · choice · 2 answers" in rows[-2]
    assert "Taken over as it is" in rows[-2]
    assert any("remarks left out: it asks for free text, which cannot be" in row for row in rows)
    _, page = post(draft_of(page), "forget", origin=origin_of(page))
    assert "remarks" not in page
    form = b"survey\n,type,name\n,select_one yn,q\nchoices\n,list_name,name\n,yn,y\n,yn,n\n"
    status, page = post(text.STARTER, "load", file=(BytesIO(form), "form.csv"))
    assert (status, Survey.from_toml(draft_of(page)).schema.names) == (200, ("q",))
    status, page = post(text.STARTER, "load", file=(BytesIO(b"PK\3\4"), "form.xlsx"))
    assert (status, "form.xlsx: expected a questionnaire of" in page) == (422, True)
    status, page = post(text.STARTER, "load", file=(BytesIO(b"{}"), "empty.json"))
    assert status == 422
    assert "empty.json: expected a questionnaire of SurveyJS" in page
    assert draft_of(page) == text.STARTER


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("id = 'a", "survey: not valid TOML"),
        (text.STARTER.replace('"no", "yes"', '"no"'), "expected 2 to 65536 categories"),
        (text.STARTER.replace('"19"', '"1"'), "gamma: expected"),
        ("attributes = [" * 500, "survey: not valid TOML"),
    ],
)
@pytest.mark.parametrize("do", ["check", "publish", "add:scale"])
def test_what_is_wrong_is_one_line_and_what_was_written_stays(post, wrong, said, do):
    status, page = post(wrong, do)
    assert status == (200 if do != "publish" else 422 if "TOML" not in said else status)
    [alarm] = re.findall(r'role="alert" id="problem">([^<]*)</p>', page)
    assert said in alarm
    assert "\n" not in alarm
    assert draft_of(page).startswith(wrong[:200])


def test_controls_write_into_the_text_unless_it_was_changed_since(post):
    seen = seen_of(post(text.STARTER)[1])
    controls = {"seen": seen, "open": "0", "survey.title": "Another", "question.name": "smoker"}
    _, page = post(text.STARTER, **controls)
    assert 'title = "Another"' in draft_of(page)
    assert 'name = "smoker"' in draft_of(page)
    changed = text.STARTER.replace("My survey", "By hand")
    assert draft_of(post(changed, **controls)[1]) == changed


def test_nothing_of_a_file_is_run(signed_in):
    evil = "</textarea><script>alert(1)</script>'<img src=x onerror=alert(1)>"
    written = text.STARTER.replace("My survey", evil).replace("The first question?", evil)
    assert Survey.from_toml(written).title == evil
    data = {"survey": written, "open": "0", "do": "open:0"}
    answer = signed_in().post(PAGE, data=data)
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    page = answer.get_data(as_text=True)
    assert "alert(1)" in page
    assert "<script>" not in page
    assert "<img" not in page


def test_files_are_opened_and_saved(signed_in):
    browser = signed_in()
    file = (BytesIO("\ufeff# mine\n".encode() + text.STARTER.encode()), "mine.toml")
    page = browser.post(PAGE, data={"do": "load", "file": file}).get_data(as_text=True)
    assert draft_of(unescape(page)) == f"# mine\n{text.STARTER}"
    saved = browser.post(PAGE, data={"do": "save", "survey": text.STARTER})
    assert saved.get_data(as_text=True) == text.STARTER
    assert saved.headers["Content-Disposition"] == 'attachment; filename="my-survey.toml"'
    refused = browser.post(PAGE, data={"do": "load", "file": (BytesIO(b"\xff\xfe"), "x")})
    assert "file: expected a survey file, in UTF-8" in refused.get_data(as_text=True)


def test_a_published_survey_is_opened(signed_in, survey):
    page = signed_in().get(f"{PAGE}?survey={survey.id}").get_data(as_text=True)
    assert Survey.from_toml(draft_of(unescape(page))).digest == survey.digest
    assert signed_in().get(f"{PAGE}?survey=none").status_code == 404


def test_questions_are_moved_and_deleted_and_the_open_one_stays_open(post):
    seen = seen_of(post(text.STARTER)[1])
    _, page = post(text.STARTER, "down:0", seen=seen, open="0")
    names = [one["name"] for one in text.read(draft_of(page))["attributes"]]
    assert names == ["second", "first"]
    assert 'name="open" value="1"' in page
    _, page = post(draft_of(page), "remove:0")
    assert [one["name"] for one in text.read(draft_of(page))["attributes"]] == ["first"]
    status, page = post(text.STARTER, "remove:7")
    assert status == 422
    assert "do: expected one of this page's buttons" in page


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"respondents": "few"}, "respondents: expected"),
        ({"respondents": "1"}, "respondents: expected"),
        ({"wanted": "much"}, "wanted: expected percentage points"),
        ({"wanted": "0"}, "half_width: expected"),
    ],
)
def test_what_precision_is_not_foretold_for_is_one_line(post, fields, said):
    status, page = post(text.STARTER, **fields)
    assert status == 200
    assert said in page
    assert next(iter(fields.values())) in page


def test_many_questions_are_foretold_while_somebody_waits(post):
    """Generous, since the machine may be busy: it takes half a second on a quiet one."""
    written = text.STARTER[: text.STARTER.index("[[")] + "".join(
        f'[[attributes]]\nname = "q{n}"\ncategories = ["1", "2", "3", "4"]\n' for n in range(40)
    )
    post(text.STARTER)
    before = time.process_time()
    _, page = post(written)
    assert time.process_time() - before < 3
    assert re.search('<th scope="row">2</th><td>±[0-9.]+ <span', page)
    assert "at most 20 are listed" in page


def test_precision_stands_in_a_table_beside_the_chance_that_a_report_is_true(post):
    one = text.STARTER[: text.STARTER.rindex("[[")].replace("max_length = 2", "max_length = 1")
    _, page = post(one, respondents="5000", wanted="1")
    table = page[page.index("<table") : page.index("</table>")]
    cells = [
        re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", table)
    ]
    cells = [cell.replace("\u202f", "") for cell in cells]
    headings = ["Questions together", "Margin with 5000", "Respondents for ±1.0", "Best possible"]
    assert cells[:4] == headings
    # Reported as it is with p = 19/20: 1.96 · √(1/4)/(2p − 1) is 1.54 points √5000, and 11858 of 1.
    assert cells[4:6] == ["1", "±1.5 usable"]
    assert abs(int(cells[6]) - 11_858) < 5
    assert "<strong>95" in page


#: Texts in fields of numbers that are none, or none that can be written out.
NASTY = ("²", "9" * 5_000, "1/" + "9" * 5_000, "nan", "")

NUMBERS = """
id = "numbers"
title = "Numbers"

[mechanism]
kind = "{}"
gamma = "19"

[form]
redirect = "https://example.org/"
redirect_after = 5

[[attributes]]
name = "age"
minimum = 18
maximum = 60
step = 6
"""

DRAFTS = {
    "numbers": NUMBERS.format("split-questionnaire"),
    "matrices": NUMBERS.format("distortion-matrices"),
    "designs": text.STARTER.replace('gamma = "19"\nmax_length = 2\n', "").replace(
        "split-questionnaire", "distortion-matrices"
    ),
}


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("nasty", NASTY, ids=lambda text: text[:9])
def test_a_text_in_a_field_of_numbers_is_refused_in_a_line_or_left_out(post, nasty, draft):
    _, page = post(DRAFTS[draft], "open:0")
    number = r"survey\.(?:gamma|chance|max_length|alpha|redirect_after)"
    number += r"|question\.(?:minimum|maximum|step|bins|design-\w+)"
    fields = set(re.findall(f'name="({number})"', page))
    assert "survey.redirect_after" in fields
    begun = draft_of(page)
    asked = [
        {field: nasty} for field in sorted(fields | {"open", "respondents", "wanted", "alpha"})
    ]
    asked += [{"do": f"{do}:{nasty}"} for do in ("open", "remove", "up", "down")]
    for given in asked:
        status, answered = post(begun, **{"open": "0", "seen": seen_of(page), **given})
        assert status in (200, 422), given
        assert status == 200 or 'role="alert"' in answered, given
