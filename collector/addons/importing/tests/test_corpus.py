"""A corpus of questionnaires: all question types of three programs with traits of real ones.

Every question is imported or reported as left out, texts have no markup, conditions are imported
or reported as missing, and each survey passes `survey check`.
"""

import json
import re
from dataclasses import dataclass, field

import pytest
from halftruth_collector.importers import read_questionnaire
from halftruth_shared.texts import choose_language
from questionnaires import attributes, lss, question, row, workbook

#: Markup with words that must be removed and words that must be separated by a space.
MARKED = (
    "<style>.hidden {}</style><p>First</p><p>second<br>third</p><ul><li>fourth</li></ul>"
    "<script>hidden(1 < 2)</script><img alt='hidden > seen' src='hidden.png'><!-- hidden -->"
)
CLEAN = "First second third fourth"

SURVEYJS = {
    **{kind: {} for kind in ("boolean", "rating", "text", "comment", "multipletext", "expression")},
    **{kind: {} for kind in ("html", "image", "file", "signaturepad", "slider", "unheard-of")},
    **{kind: {} for kind in ("matrixdropdown", "matrixdynamic", "paneldynamic", "imagemap")},
    **{
        kind: {"choices": ["a", "b|B", {"value": 3, "text": MARKED, "score": 1}], "hasOther": True}
        for kind in ("radiogroup", "dropdown", "buttongroup", "checkbox", "tagbox", "imagepicker")
    },
    "ranking": {"choices": ["a", "b"]},
    "matrix": {"columns": ["a", "b"], "rows": [{"value": "r", "text": MARKED}, "s"]},
}
LIMESURVEY = "5ABCDEFGHIKLMNOPQRSTUXY!:;|1*"
XLSFORM = [
    *("select_one yn", "select_multiple yn", "select_one ab or_other", "rank yn", "range"),
    *("select_one_from_file a.csv", "select_multiple_from_file a.csv", "integer", "decimal"),
    *("text", "note", "geopoint", "geotrace", "geoshape", "date", "time", "dateTime", "image"),
    *("audio", "background-audio", "video", "file", "barcode", "calculate", "acknowledge"),
    *("hidden", "xml-external", "start", "end", "today", "deviceid", "phonenumber", "username"),
    *("email", "audit", "start-geopoint", "unheard-of"),
]
#: Columns of the reference that do not depend on the type.
COLUMNS = {
    "hint": MARKED,
    "guidance_hint": "g",
    "required": "yes",
    "required_message": "m",
    "constraint": "regex(., 'a')",
    "constraint_message": "m",
    "default": "y",
    "trigger": "${q0}",
    "appearance": "minimal",
    "parameters": "randomize=true",
    "choice_filter": "a=${q0}",
    "calculation": "1",
    "media::image": "a.png",
    "body::intent": "i",
    "instance::x": "1",
    "bind::x": "1",
    "save_to": "p",
    "relevant": "${q0} = 'y'",
    "readonly": "no",
}


@dataclass(frozen=True)
class Form:
    """Traits of a form of the corpus, independent of the program."""

    condition: int | None = None
    hidden: bool = False
    part_hidden: bool = False
    texts: bool = True
    name: str = "q{}"
    languages: tuple[str, ...] = ()
    more: dict[str, object] = field(default_factory=dict)


TRAITS = {
    "every type": Form(),
    "a condition on one answer": Form(condition=0),
    "a condition on all answers but one": Form(condition=1),
    "a condition on an answer to any of two": Form(condition=2),
    "a condition on what is computed": Form(condition=3),
    "a condition that never holds": Form(condition=4),
    "questions that are hidden": Form(hidden=True),
    "a part that is hidden or repeated": Form(part_hidden=True),
    "texts of the part alone": Form(texts=False),
    "names of any letters": Form(name="1. Wie geht's, {}?"),
    "the same name": Form(name="q"),
    "two languages": Form(languages=("en", "de")),
    "members that are empty or unheard of": Form(more={"rateMin": "", "min": None, "unheard": 1}),
}
CONDITIONS = {
    "SurveyJS": ("{q0}='y'", "{q0} <> 'y'", "{q0}='y' or {s0}='y'", "age({q0}) > 3", "false"),
    "LimeSurvey": (
        *("q0.NAOK == 'y'", "q0 != 'y'", "q0 == 'y' or s0 == 'y'", "count(q0) > 3", "0"),
    ),
    "XLSForm": (
        *("${q0} = 'y'", "${q0} != 'y'", "${q0}='y' or ${s0}='y'", "string(${q0}) = 3", "false()"),
    ),
}


def surveyjs(form, condition):
    def text(words=MARKED):
        return {"default": words, "de": words} if form.languages else words

    yn = {"type": "radiogroup", "choices": ["y", "n"], "isRequired": True, "title": text()}
    elements = [
        {"type": kind, "name": form.name.format(n), **members, **form.more}
        | ({"title": text(), "description": text()} if form.texts else {})
        | ({"visible": False} if form.hidden else {})
        | ({"visibleIf": condition} if condition else {})
        for n, (kind, members) in enumerate(SURVEYJS.items(), 1)
    ]
    panel = {"type": "panel", "name": "part", "title": text(), "elements": elements}
    panel |= {"visible": False} if form.part_hidden else {}
    document = {"elements": [yn | {"name": "q0"}, yn | {"name": "s0"}, panel], "title": text()}
    return json.dumps(document).encode(), [each["name"] for each in elements]


def limesurvey(form, condition):
    languages = form.languages or ("en",)

    def texts(table, key, members):
        return [
            row(**{key: n, "language": language} | dict.fromkeys(members, MARKED))
            for n in table
            for language in (*languages, "fr")
        ]

    hidden = {"grelevance": "0"} if form.part_hidden else {}
    names = {n: re.sub(r"\W", "", form.name.format(n)) for n in range(10, 10 + len(LIMESURVEY))}
    asked = [
        question(
            n,
            kind,
            names[n],
            n,
            gid=2,
            other="NY"[kind in "LM"],
            mandatory="Y",
            relevance=condition or "1",
            **form.more,
        )
        for (n, kind) in zip(names, LIMESURVEY, strict=True)
    ]
    first = [question(n, "L", name, n, mandatory="Y") for n, name in ((1, "q0"), (2, "s0"))]
    coded = [(2 * n + k, n, "yn"[k]) for n in (1, 2, *names) for k in (0, 1)]
    content = lss(
        surveys=[row(language="en")],
        surveys_languagesettings=[row(surveyls_language="en", surveyls_title=MARKED)],
        groups=[row(gid=1, group_order=0), row(gid=2, group_order=1, **hidden)],
        group_l10ns=texts((1, 2), "gid", ("group_name", "description")),
        questions=[*first, *asked],
        subquestions=[
            row(qid=100 + i, parent_qid=n, title=code, question_order=i) for i, n, code in coded
        ],
        question_l10ns=texts(
            ([*names] if form.texts else []) + [100 + i for i, *_ in coded],
            *("qid", ("question", "help")),
        ),
        answers=[row(aid=i, qid=n, code=code, sortorder=i) for i, n, code in coded],
        answer_l10ns=texts([i for i, *_ in coded], "aid", ("answer",)),
        question_attributes=[
            row(qid=n, attribute="hidden", value="1") for n in names if form.hidden
        ],
    )
    return content.encode(), [*names.values()]


def xlsform(form, condition):
    labels = [f"label::{language}" for language in form.languages] or ["label"]
    part = "begin repeat" if form.part_hidden else "begin group"
    names = [form.name.format(n) for n in range(1, 1 + len(XLSFORM))]
    more = {"unheard": 1, **COLUMNS} if form.more else {}
    rows = [
        {"type": "select_one yn", "name": "q0", "required": "yes"} | dict.fromkeys(labels, MARKED),
        {"type": "select_one yn", "name": "s0", "required": "yes"} | dict.fromkeys(labels, MARKED),
        {"type": part, "name": "part"} | dict.fromkeys(labels, MARKED),
        *(
            {"type": kind, "name": name, **more}
            | ({"relevant": condition} if condition else {})
            | ({"readonly": "yes"} if form.hidden else {})
            | (dict.fromkeys(labels, MARKED) if form.texts else {})
            for kind, name in zip(XLSFORM, names, strict=True)
        ),
        {"type": part.replace("begin", "end")},
    ]
    columns = [*dict.fromkeys(column for each in rows for column in each)]
    survey = [columns, *([each.get(column) for column in columns] for each in rows)]
    words = [MARKED] * len(labels)
    choices = [("list_name", "name", *labels)]
    choices += [(name, answer, *words) for name in ("yn", "ab") for answer in name]
    return workbook(survey, choices), names


PROGRAMS = {"SurveyJS": surveyjs, "LimeSurvey": limesurvey, "XLSForm": xlsform}


@pytest.mark.parametrize("trait", TRAITS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_question_text_and_condition_is_imported_or_reported(
    command, tmp_path, program, trait
):
    form = TRAITS[trait]
    condition = CONDITIONS[program][form.condition] if form.condition is not None else None
    content, names = PROGRAMS[program](form, condition)
    made = read_questionnaire(content, {"XLSForm": "f.xlsx"}.get(program, "f"))
    asked = attributes(made)
    lines = made.left_out

    for name in set(names):
        asked_as = rf"{re.escape(name)}([._\[-].*)?"
        said = rf"question '{re.escape(name)}(-\w+)?': left out"
        assert (
            any(re.fullmatch(asked_as, called) for called in made.names)
            or any(re.match(said, line) for line in lines)
            or any("'part': left out with its questions" in line for line in lines)
        ), name

    texts = [
        choose_language(text, "en")
        for each in asked.values()
        for text in (each.label, each.help, each.page, each.option or "")
    ]
    assert all(
        "hidden" not in text and not re.search("[a-z](First|second|third|fourth)", text)
        for text in texts
    )
    assert any(CLEAN in text for text in texts)

    for name, attribute in asked.items():
        if condition and name.partition(".")[0] not in ("q0", "s0"):
            question = name.partition(".")[0]
            said = f"question '{question}': asked of everybody: its condition cannot"
            carried = {"q0": (("y",), ("n",))[form.condition]} if form.condition < 2 else {}
            assert attribute.ask_if == carried
            assert any(line.startswith(said) for line in lines) != bool(carried)

    file = tmp_path / "survey.toml"
    file.write_text(made.text, encoding="utf-8")
    assert command("survey", "check", file)[0] == 0
