"""Traits of real questionnaires are imported, or left out with a reason."""

import json

import pytest
from halftruth_collector.importers import read_questionnaire
from halftruth_shared import ParameterError
from halftruth_shared.texts import choose_language
from questionnaires import attributes, lss, question, row, text

HIDDEN = "it is hidden or read only"
EVERYBODY = "asked of everybody: its condition cannot"
Q = {"type": "radiogroup", "name": "q", "choices": ["a", "b"]}
R = Q | {"name": "r", "title": "R?"}
AGE = {"type": "text", "inputType": "number", "name": "n", "min": 0, "max": 99}
RATED = {"type": "rating", "name": "s"}


def lime(*questions, texts=(), group=None, settings=None, more=None, words=(), answers=()):
    return lss(
        surveys=[row(language="en", **(settings or {}))],
        surveys_languagesettings=[row(surveyls_language="en", surveyls_title="T", **(more or {}))],
        groups=[row(gid=1, group_order=0)],
        group_l10ns=[row(gid=1, language="en", **(group or {}))],
        questions=[question(9, "Y", "last", 99), *questions],
        question_l10ns=[*text(9, en="Last?"), *texts, *words],
        **({"subquestions": list(answers)} if answers else {}),
    ).encode()


def surveyjs(*elements, **members):
    return json.dumps({"elements": [*elements], **members}).encode()


def panel(*elements, **members):
    return {"type": "panel", "name": "p", "elements": [*elements], **members}


def said_of(made, name):
    """Return the label, help and condition of a question."""
    asked = attributes(made).get(name)
    if asked is None:
        return None
    return (
        asked.label_in("en"),
        choose_language(asked.help, "en"),
        {k: list(v) for k, v in asked.ask_if.items()},
    )


SHOWN = [
    # Texts in any place (M4, M6).
    (surveyjs(panel(Q, title="How much?")), "q", "How much?", "", {}),
    (surveyjs(panel(Q, title="How much?", description="A day.")), "q", "How much?", "A day.", {}),
    (surveyjs(panel(Q, Q | {"name": "t"}, title="How much?")), "t", "How much? (t)", "", {}),
    (surveyjs(panel(R, title="Food")), "r", "R?", "Food", {}),
    (surveyjs(Q | {"description": "Only this?"}), "q", "Only this?", "", {}),
    (json.dumps({"pages": [{"description": "D", "elements": [Q]}]}).encode(), "q", "q", "D", {}),
    (
        lime(question(8, "Y", "q", 1), group={"group_name": "G", "description": "D"}),
        "q",
        "G",
        "D",
        {},
    ),
    (
        lime(question(8, "Y", "q", 1), texts=[row(qid=8, help="H?", language="en")]),
        "q",
        "H?",
        "",
        {},
    ),
    # The last sentence of a long text becomes the question.
    (
        surveyjs(Q | {"title": "Some do. " * 40 + "Do you?"}),
        "q",
        "Do you?",
        "Some do. " * 39 + "Some do.",
        {},
    ),
    # Markup (M5).
    *(
        (surveyjs(Q | {"title": title}), "q", shown, "", {})
        for title, shown in (
            ("<p>One</p><p>two<br/>three</p>", "One two three"),
            ("<script>if (a < b) alert(1)</script>Do you?", "Do you?"),
            ("<STYLE>p { color: red }</STYLE >Do <b>yo</b>u?", "Do you?"),
            ("<!-- <p>no</p> -->If &lt; 5 or > 6 &amp; so", "If < 5 or > 6 & so"),
            ("Never closed<script>alert(1)", "Never closed"),
            ("<ul><li>one</li><li>two</li></ul>", "one two"),
            ("<b title='5 > 4'>D</b>o <img alt='a<b' title=\"1 > 0\">you?", "Do you?"),
        )
    ),
    # The title of a part without questions does not apply to the next part.
    (
        surveyjs(panel({"type": "comment", "name": "c", "title": "C"}, title="Food"), R),
        "r",
        "R?",
        "",
        {},
    ),
    # Cleared fields (M1).
    (surveyjs(RATED | {"rateMin": "", "rateValues": [1, 2]}), "s", "s", "", {}),
    (surveyjs(RATED | {"rateMin": "", "rateMax": "", "rateStep": ""}), "s", "s", "", {}),
    # A language that is not declared (M2), a row 'other' beside other (M3).
    (lime(question(8, "Y", "q", 1), texts=text(8, en="Q?", fr="F?")), "q", "Q?", "", {}),
    (
        lime(
            question(8, "M", "q", 1, other="Y"),
            answers=[row(qid=7, parent_qid=8, title="other", question_order=1)],
        ),
        *("q.other-2", "q – other-2", "", {}),
    ),
    # Conditions (M6, M7).
    *(
        (surveyjs(Q, RATED, AGE, R | {"visibleIf": condition}), "r", "R?", "", carried)
        for condition, carried in (
            ("{q} empty", {"q": ["no answer"]}),
            ("{s} < 3", {"s": ["1", "2"]}),
            ("{s} >= 4 and {q} = 'a'", {"s": ["4", "5"], "q": ["a"]}),
            ("{s} lessorequal 1", {"s": ["1"]}),
            ("{n} >= 60", {"n": ["60 to 79", "80 to 99"]}),
            ("{n} <= 19 or {n} > 79", {"n": ["0 to 19", "80 to 99"]}),
        )
    ),
    (surveyjs(Q, R | {"enableIf": "{q} = 'a'"}), "r", "R?", "", {"q": ["a"]}),
    (surveyjs(Q, R | {"visibleIf": "true"}), "r", "R?", "", {}),
    *(
        (
            surveyjs(
                Q,
                {
                    "type": "matrix",
                    "name": "m",
                    "columns": ["a", "b"],
                    "rows": [{"value": 1, member: "{q} = 'a'"}],
                },
            ),
            *("m-1", "m – 1", "", {"q": ["a"]}),
        )
        for member in ("visibleIf", "enableIf")
    ),
    *(
        (
            lime(
                question(8, "M", "q", 1),
                question(6, "Y", "r", 2, relevance=relevance),
                answers=[row(qid=7, parent_qid=8, title="a", question_order=1)],
            ),
            *("r", "r", "", {"q.a": carried}),
        )
        for relevance, carried in (
            ("!is_empty(q_a.NAOK)", ["yes"]),
            ('q_a == ""', ["no", "no answer"]),
        )
    ),
    (surveyjs(Q, panel(R, enableIf="{q} = 'b'")), "r", "R?", "", {"q": ["b"]}),
    (
        lime(question(8, "Y", "q", 100, relevance='last != "Y"')),
        "q",
        "q",
        "",
        {"last": ["no", "no answer"]},
    ),
    (
        lime(question(8, "Y", "q", 100, relevance="!is_empty(last.NAOK)")),
        "q",
        "q",
        "",
        {"last": ["no", "yes"]},
    ),
]


@pytest.mark.parametrize(("content", "name", "label", "help", "condition"), SHOWN)
def test_texts_and_conditions_of_real_forms_are_imported(content, name, label, help, condition):
    assert said_of(read_questionnaire(content, "form"), name) == (label, help, condition)


LEFT_OUT = [
    # Hidden and read only (M6).
    (surveyjs(R, Q | {"visible": False}), "q", HIDDEN),
    (surveyjs(R, Q | {"readOnly": True}), "q", HIDDEN),
    (surveyjs(R, panel(Q, visible=False)), "q", HIDDEN),
    (
        json.dumps({"pages": [{"elements": [R]}, {"visible": False, "elements": [Q]}]}).encode(),
        "q",
        HIDDEN,
    ),
    (
        lime(question(8, "Y", "q", 1), more={"surveyls_url": "http://a.org"}),
        None,
        "the address of the redirect",
    ),
    # Conditions that never hold, dates, external choices, no name.
    (surveyjs(Q, R | {"visibleIf": "false"}), "r", "left out: it is asked of nobody"),
    (lime(question(8, "Y", "q", 1, relevance="0")), "q", "left out: it is asked of nobody"),
    (surveyjs(Q, {"type": "text", "inputType": "date", "name": "d"}), "d", "of kind 'date'"),
    (surveyjs(R, Q | {"choicesByUrl": {"url": "https://a.org"}}), "q", "at another address"),
    (surveyjs(Q, {"type": "comment", "title": "Why?"}), None, "question 'Why?': left out"),
    # An invalid member affects only its question (M1).
    (surveyjs(R, Q | {"type": "rating", "rateMin": [3]}), "q", "of another type than expected"),
    (surveyjs(R, Q | {"type": "matrix", "rows": 3}), "q", "of another type than expected"),
    (
        lime(question(8, "Y", "q", 1), texts=text(8, en="Q?", fr="F?")),
        None,
        "texts in 'fr' are left",
    ),
    # Conditions that a survey cannot express (M7).
    *(
        (surveyjs(Q, RATED, AGE, R | {"visibleIf": condition}), None, f"{EVERYBODY}")
        for condition in (*("{q} = {s}", "{nobody} = 1", "(" * 500, "!" * 4_000),)
    ),
    # Numbers without a range (M8), pictures and links.
    (surveyjs({"type": "text", "inputType": "number", "name": "n"}), None, "this is a placeholder"),
    (surveyjs(AGE | {"min": 5, "max": None}), None, "a placeholder: 5 to 105"),
    (surveyjs(Q | {"title": "<img src=a.png>Q?"}), None, "the links and pictures of texts are"),
    (surveyjs(panel(Q, onlyHere=1)), None, "question 'p': 'onlyHere' is left out"),
]


@pytest.mark.parametrize(("content", "name", "why"), LEFT_OUT)
def test_omissions_from_real_forms_are_reported(content, name, why):
    made = read_questionnaire(content, "form")
    assert name not in attributes(made)
    assert any(why in sentence for sentence in made.left_out)


def test_files_of_earlier_versions_of_surveyjs_are_read():
    rating = RATED | {"mininumRateDescription": "bad", "maximumRateDescription": "good"}
    numeric = {"type": "numeric", "minValue": 18, "maxValue": 85}
    text = {"type": "text", "name": "n", "validators": [{"type": "text"}, numeric]}
    made = read_questionnaire(surveyjs(Q | {"choices": ["a|A, or B", "c"]}, rating, text), "form")
    asked = attributes(made)
    assert asked["q"].categories[:2] == ("a", "c")
    assert asked["q"].answers_in("en")[:2] == ("A, or B", "c")
    assert asked["s"].answers_in("en")[:5:4] == ("1 – bad", "5 – good")
    assert (asked["n"].number.minimum, asked["n"].number.maximum) == (18, 85)


def test_the_notice_welcome_text_and_redirect_are_imported():
    around = {"surveyls_policy_notice": "<p>We keep</p>nothing.", "surveyls_welcometext": "Hello"}
    around |= {"surveyls_url": "https://example.org/end", "surveyls_description": "About"}
    content = lime(settings={"showsurveypolicynotice": 2}, more=around)
    made = read_questionnaire(content, "form.lss")
    framing = made.survey.framing
    assert framing.consent == {"en": "We keep nothing."}
    assert (framing.purpose, framing.redirect) == ({"en": "Hello"}, "https://example.org/end")
    assert read_questionnaire(lime(more=around), "f.lss").survey.framing.consent == ""


def test_equal_omissions_of_many_questions_are_summarized_in_one_line(command, tmp_path):
    scored = [{"value": n, "score": n} for n in ("a", "b")]
    content = surveyjs(*[Q | {"name": f"q{n}", "choices": scored} for n in range(64)])
    file = tmp_path / "scores.json"
    file.write_bytes(content)
    made = read_questionnaire(content, "scores.json")
    assert len(made.left_out) == 64
    summary = "'score' of its answers is left out (64: 'q0', 'q1', 'q2' and 61 more)"
    assert made.summary == (summary,)
    assert command("survey", "import", file)[2] == f"halftruth: {summary}\n"
    assert command("survey", "import", file, "--verbose")[2].count("\n") == 64


def test_bins_that_conditions_do_not_match_are_reported():
    made = read_questionnaire(surveyjs(AGE | {"min": 16}, Q | {"visibleIf": "{n} >= 18"}), "form")
    age, asked = (attributes(made)[name] for name in ("n", "q"))
    # The range is kept. Bins that begin at 18 would be too many, so ages 18 to 32 are not asked.
    assert age.categories[:2] == ("16 to 32", "33 to 49")
    assert asked.ask_if["n"] == age.categories[1 : 1 + len(asked.ask_if["n"])]
    assert any("asked of fewer people" in sentence for sentence in made.left_out)


def test_old_workbooks_are_refused_with_advice():
    with pytest.raises(ParameterError, match=r"form\.xls: .* expected one that is saved as \.xlsx"):
        read_questionnaire(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(512), "form.xls")


def test_missing_answers_are_recognized_by_text_or_code():
    asked = {"type": "radiogroup", "name": "q", "title": "Q?"}
    choices = [1, 2, {"value": 3, "text": "Don't know"}, {"value": -99, "text": "Rather not"}]
    made = read_questionnaire(surveyjs(asked | {"choices": choices}), "form")
    assert attributes(made)["q"].missing[:2] == ("3", "-99")
    assert "question 'q': counts as a missing answer: 3, -99" in made.left_out
    # A question with too few other answers keeps them.
    choices = ["yes", {"value": "x", "text": "Prefer not to say"}]
    made = read_questionnaire(surveyjs(asked | {"choices": choices, "isRequired": True}), "form")
    assert attributes(made)["q"].missing == ()


def test_texts_that_fall_back_to_another_language_are_reported():
    title = {"default": "Q?", "fr": "F ?"}
    made = read_questionnaire(surveyjs(Q | {"title": title}, R | {"title": "R?"}), "form")
    said = "texts are missing in 'fr', and shown in another language"
    [line] = [each for each in made.left_out if said in each]
    assert int(line.split()[0]) >= 1
