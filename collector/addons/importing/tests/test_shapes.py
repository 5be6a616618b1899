"""Shapes of real questionnaires, compared with a reader of a few lines.

The reader collects all texts, answers and names of languages of a file. Nothing of a question may
get lost: each text stands in a survey in a language of its own, each list of answers has as many
answers, and what widens a question makes it unconfirmed.
"""

import csv
import io
import json
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from xml.etree import ElementTree

import pytest
from halftruth_collector.importers import read_questionnaire
from halftruth_shared import HalftruthError
from openpyxl import load_workbook
from questionnaires import attributes, by_name, lss, question, row, text, workbook

Texts = dict[str, str]


@dataclass
class Asked:
    """A question as the reader of this test sees it: its texts and answers by language."""

    texts: list[Texts] = field(default_factory=list)
    answers: dict[str, Texts] = field(default_factory=dict)


def plain(written: object) -> str:
    # Spreadsheets show booleans in capitals.
    shown = str(written).upper() if isinstance(written, bool) else str(written)
    return " ".join(shown.split())


def read_xlsform(content: bytes, file: str) -> dict[str, Asked]:
    if file.endswith(".csv"):
        sheets: dict[str, list[tuple[object, ...]]] = {}
        name = ""
        for first, *cells in csv.reader(io.StringIO(content.decode("utf-8-sig"))):
            name = first or name
            if any(cells):
                sheets.setdefault(name, []).append(tuple(cell or None for cell in cells))
    else:
        book = load_workbook(io.BytesIO(content))
        sheets = {sheet.title: [*sheet.values] for sheet in book.worksheets}

    def rows(name: str) -> Iterator[dict[str, object]]:
        header, *lines = sheets.get(name) or [()]
        for line in lines:
            yield {str(h): cell for h, cell in zip(header, line, strict=False) if h and cell}

    def texts(row: dict[str, object], *columns: str) -> Iterator[Texts]:
        for column in columns:
            named = {
                h.partition(":")[2].strip(":"): c for h, c in row.items() if h.startswith(column)
            }
            if named:
                yield {language: plain(cell) for language, cell in named.items()}

    found = {}
    for each in rows("survey"):
        words = str(each.get("type") or each.get("command") or "").split()
        if words and words[0].startswith(("select_", "integer", "decimal", "int", "range", "perc")):
            made = Asked([*texts(each, "label", "hint")])
            for choice in rows("choices"):
                if len(words) > 1 and words[1] in (
                    choice.get("list_name"),
                    choice.get("list name"),
                ):
                    assert choice["name"] not in made.answers or "twice" in str(each["name"])
                    made.answers[plain(choice["name"])] = next(texts(choice, "label"), {})
            if words[-1] == "or_other":
                made.answers["other"] = {}
            found[str(each.get("name") or each.get("tag"))] = made
    return found


def read_surveyjs(content: bytes, file: str) -> dict[str, Asked]:
    def by_language(given: object) -> Texts:
        named = given if isinstance(given, dict) else {"": given}
        return {k.removeprefix("default"): plain(v) for k, v in named.items() if v}

    def walk(elements: list[dict]) -> Iterator[dict]:
        for each in elements:
            yield from walk(each["elements"]) if "elements" in each else [each]

    document = json.loads(content)
    found = {}
    for each in walk(document["elements"]):
        made = Asked([by_language(each[k]) for k in ("title", "description") if k in each])
        for item in each.get("choices", each.get("columns", ())):
            item = item if isinstance(item, dict) else {"value": item}
            made.answers[plain(item["value"])] = by_language(item.get("text"))
        for part in each.get("rows", [None]):
            if part is None:
                found[each["name"]] = made
            else:
                name = f"{each['name']}-{part['value']}"
                found[name] = Asked([*made.texts, by_language(part.get("text"))], made.answers)
    return found


def read_limesurvey(content: bytes, file: str) -> dict[str, Asked]:
    root = ElementTree.fromstring(content)
    tables = {
        table.tag: [{cell.tag: cell.text or "" for cell in line} for line in table.iter("row")]
        for table in root
    }

    def texts(table: str, key: str, value: str, *columns: str) -> list[Texts]:
        lines = [line for line in tables.get(table, ()) if line[key] == value]
        return [
            {line["language"]: plain(line[column]) for line in lines if line.get(column)}
            for column in columns
        ]

    found = {}
    for each in tables["questions"]:
        own = texts("question_l10ns", "qid", each["qid"], "question", "help")
        answers = {
            line["code"]: texts("answer_l10ns", "aid", line["aid"], "answer")[0]
            for line in tables.get("answers", ())
            if line["qid"] == each["qid"] and each["type"] in "L!FO"
        }
        below = [p for p in tables.get("subquestions", ()) if p["parent_qid"] == each["qid"]]
        parts = {p["title"]: texts("question_l10ns", "qid", p["qid"], "question") for p in below}
        if each["type"] == "M":
            found[each["title"]] = Asked(own, {name: said[0] for name, said in parts.items()})
        elif parts:
            for name, said in parts.items():
                found[f"{each['title']}-{name}"] = Asked([*own, *said], answers)
        elif each["type"] in "L!ONY":
            found[each["title"]] = Asked(own, answers)
    return found


READERS = {"xlsx": read_xlsform, "csv": read_xlsform, "json": read_surveyjs, "lss": read_limesurvey}


@dataclass
class Shape:
    """A file, with what cannot be read off it: conditions, and which questions are widened."""

    content: bytes
    file: str
    #: Conditions, of all questions that have one.
    ask_if: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    #: Questions that are asked of more people, or accept more answers; all if it is "*".
    widened: set[str] = field(default_factory=set)
    #: Questions that are left out.
    left: set[str] = field(default_factory=set)


YN = [("list_name", "name", "label"), ("yn", "y", "Yes"), ("yn", "n", "No")]
A = ("select_one yn", "a", "A?")
INFORMAL = ("de-informal", "zh-Hans")


def form(columns, *rows, choices=YN, settings=(), **more):
    return Shape(workbook([columns.split(), *rows], choices, settings), "f.xlsx", **more)


def surveyjs(*elements, members=(), **more):
    document = {"elements": [*elements], **dict(members)}
    return Shape(json.dumps(document).encode(), "f.json", **more)


def lime(*questions, ask_if=(), widened=(), left=(), languages=("en",), **tables):
    settings = {
        "surveys": [row(sid=1, language=languages[0])],
        "groups": [row(gid=1, group_order=0)],
        "question_l10ns": [
            *tables.pop("texts", ()),
            *(
                each
                for n in range(1, len(questions) + 1)
                for each in text(n, en=f"Text {n}?")
                if "en" in languages
            ),
        ],
    }
    content = lss(**settings, questions=questions, **tables)
    declared = "".join(f"<language>{language}</language>" for language in languages)
    content = content.replace("<language>en</language><language>de</language>", declared)
    return Shape(content.encode(), "f.lss", dict(ask_if), set(widened), set(left))


def named(*columns):
    """Return a form with a question and two answers in these languages."""
    survey = ["type", "name", *(f"label::{column}" for column in columns)]
    rows = [
        (what, *(f"{what} {n}" for n in range(len(columns)))) for what in ("Smoke", "Yes", "No")
    ]
    choices = [("list_name", "name", *survey[2:])]
    choices += [("yn", code, *rows[n][1:]) for n, code in ((1, "y"), (2, "n"))]
    return Shape(workbook([survey, ("select_one yn", "q", *rows[0][1:])], choices), "f.xlsx")


RADIO = {"type": "radiogroup", "choices": ["x", "y"]}
Q = RADIO | {"name": "q"}

SHAPES = {
    # XLSForms.
    "languages in their own words": named("العربية", "Kiswahili", "हिन्दी", "Українська"),
    "languages by English names": named("Swahili", "Hindi", "Ukrainian (no tag)", "Burmese"),
    "languages without a known name": named("English (en)", "Ateso2x", "Our language", "لغتنا"),
    "two names of one language": named("English", "English (UK)", "English (en)"),
    "a text without a language beside the default language": form(
        "type name label label::French(fr) label::Spanish(es)",
        ("select_one yn", "q", "Rauchen Sie?", "Fumez-vous ?", "¿Fuma?"),
        ("integer", "n", "Wie alt?", "Quel âge ?", None),
        settings=[("default_language",), ("French(fr)",)],
        widened={"n"},
    ),
    "languages of labels, and others of answers": form(
        "type name label::English(en) label::Swahili(sw)",
        ("select_one yn", "q", "Smoke?", "Sigara?"),
        choices=[("list_name", "name", "label::English(en)"), *YN[1:]],
    ),
    "single colons and earlier names of columns": form(
        "command tag label:English relevance hint:English",
        ("select one from yn", "a", "A?", None, "Now."),
        ("select all that apply from yn", "b", "B?", "${a} = 'y'"),
        choices=[("list name", "name", "label:English"), ("yn", "y", "Yes"), ("yn", "n", "No")],
        ask_if={"b": {"a": ("y",)}},
    ),
    "tables and scores of KoboToolbox": form(
        "type name label $kuid required kobo--locking-profile",
        ("begin_score", "s", "Score", "k1"),
        ("score__row", "s1", "Row", "k2"),
        ("end_score",),
        ("begin_kobomatrix", "m", "Matrix", "k3"),
        ("select_one yn", "column", "Column?", "k4", True),
        ("end_kobomatrix",),
        (*A, "k5", True, "p"),
        left={"column"},
    ),
    "a table of questions with one list": form(
        "type name label appearance relevant",
        ("begin group", "t", "Which of these?", "table-list"),
        (*A, None, None),
        ("select_one yn", "b", "B?", None, "${a} = 'n'"),
        ("end group",),
        ask_if={"b": {"a": ("n",)}},
    ),
    "typographic quotation marks": form(
        "type name label relevant",
        ("select_one yn", "a", "L’été, “vraiment” ?"),
        ("select_one yn", "b", "It’s „so“?", "${a} = ‘y’"),
        ask_if={"b": {"a": ("y",)}},
    ),
    "a cascade with the same answer below several": form(
        "type name label choice_filter",
        A,
        ("select_one town", "twice", "Town?", "of = ${a}"),
        ("select_one place", "place", "Place?", "of = ${a}"),
        choices=[
            (*YN[0], "of"),
            *YN[1:],
            *(("town", "other", "Other", of) for of in "yn"),
            ("place", "p1", "P 1", "y"),
            ("place", "p2", "P 2", "n"),
        ],
        left={"twice"},
        widened={"place"},
    ),
    "constraints and conditions that are no answers": form(
        "type name label constraint required readonly appearance parameters",
        ("select_multiple yn", "a", "A?", "not(selected(., 'y') and selected(., 'n'))"),
        ("select_one yn", "b", "B?", None, "selected(${a}, 'y')"),
        ("select_one yn", "c", "C?", None, None, "${b} = 'y'"),
        ("select_one yn", "d", "D?", None, None, None, "ex:org.other.app"),
        ("select_one yn", "e", "E?", None, "yes", "no", "minimal w4", "randomize=true seed=5"),
        ("decimal", "f", "F?", ". > 0 and . < 8"),
        ("integer", "g", "G?", "0 < . and . <= 8"),
        widened={"a", "b", "c", "d", "f"},
    ),
    "texts that became dates": form(
        "type name label",
        ("select_one when", "q", "When?"),
        A,
        choices=[*YN, ("when", "e", "Early"), ("when", "m", datetime(2026, 5, 5))],
        widened={"q"},
    ),
    "groups in groups with conditions": form(
        "type name label relevant intent",
        A,
        ("begin group", "g", "G", "${a} = 'y'"),
        ("begin group", "h", "H", "not(selected(${a}, 'n'))"),
        ("select_one yn", "b", "B?"),
        ("end group",),
        ("end group",),
        ("begin group", "i", "I", None, "org.other.app"),
        ("select_one yn", "c", "C?", "${a} = 'n'"),
        ("end group",),
        ask_if={"b": {"a": ("y",)}, "c": {"a": ("n",)}},
        widened={"c"},
    ),
    "empty rows and columns": Shape(
        workbook(
            [
                ("type", None, "name", "label"),
                (),
                ("select_one yn", None, "q", "Q?"),
                *[()] * 40,
                ("integer", None, "n", "N?"),
            ],
            [*YN, (), ()],
        ),
        "f.xlsx",
        widened={"n"},
    ),
    "a table of all sheets": Shape(
        "\ufeff"
        '"survey","type","name","label::Français","relevant"\n'
        ',"select_one yn","a","Ça va ?",\n'
        ',"select_one yn","b","Et toi ?","${a}=\'y\'"\n'
        '"choices","list name","name","label::Français"\n'
        ',"yn","y","Oui"\n'
        ',"yn","n","Non"\n'.encode(),
        "f.csv",
        ask_if={"b": {"a": ("y",)}},
    ),
    "ranges and percentages": form(
        "type name label parameters",
        ("range", "r", "How good?", "start=1 end=3 step=1 tick_labelset=good"),
        ("percentage", "p", "How much?"),
        choices=[*YN, ("good", 1, "Bad"), ("good", 3, "Good")],
    ),
    "answers from elsewhere": form(
        "type name label choice_filter appearance",
        A,
        ("select_one_from_file towns.csv", "b", "Town?"),
        ("select_one ${a}", "c", "Which of them?"),
        ("select_one yn", "d", "D?", None, "search('towns')"),
        left={"b", "c", "d"},
    ),
    "numbers and booleans as texts and names": form(
        "type name label relevant",
        ("select_one n", "q", 7),
        ("select_one yn", "b", "B?", "${q} = 2"),
        choices=[*YN, ("n", 1, 1.5), ("n", 2, True)],
        ask_if={"b": {"q": ("2",)}},
    ),
    "or_other, of a list that others have": form(
        "type name label",
        ("select_one yn or_other", "a", "A?"),
        ("select_multiple ab or_other", "b", "B?"),
        choices=[*YN, ("ab", "a", "A"), ("ab", "b", "B")],
    ),
    "unknown names and settings": form(
        "type name label relevant unheard_of",
        A,
        ("select_one yn", "b", "B?", "${nobody} = 'y' and ${a} = 'y'"),
        ("select_one yn", "c", "C?", None, 1),
        ask_if={"b": {"a": ("y",)}},
        widened={"b", "c"},
    ),
    # SurveyJS.
    "default texts of another language": surveyjs(
        Q | {"title": {"default": "Do you smoke?", "ar": "هل تدخن؟"}},
        Q | {"name": "r", "title": {"ar": "لماذا؟", "default": "Why?"}},
        members={"locale": "ar"},
        widened={"*"},
    ),
    "default texts of the locale": surveyjs(
        Q | {"title": {"default": "Rauchen Sie?", "fr": "Fumez-vous ?"}},
        Q | {"name": "r", "title": "Warum?", "choices": [{"value": 1, "text": {"fr": "F"}}, 2]},
        members={"locale": "de"},
    ),
    "no default texts": surveyjs(
        Q | {"title": {"de": "Rauchen Sie?", "en": "Do you smoke?"}, "description": {"de": "Jetzt"}}
    ),
    "languages that are no tags": surveyjs(
        Q | {"title": {"default": "Q?", "pt_BR": "P?", "Our language": "O?", "zh-cn": "吗？"}}
    ),
    "default texts beside English and the locale": surveyjs(
        Q | {"title": {"default": "Ki?", "en": "Who?", "de": "Wer?"}},
        members={"locale": "de"},
        widened={"*"},
    ),
    "values twice, and alike": surveyjs(
        Q | {"name": "a", "choices": [{"value": 1, "text": "One"}, {"value": 1, "text": "Two"}, 3]},
        Q | {"name": "b", "choices": [True, "yes", "no"]},
        Q | {"name": "c", "choices": ["other", "y"], "hasOther": True},
        Q | {"name": "d", "choices": ["a b", "a  b"]},
        Q | {"name": "e", "choices": ["x" * 300, "y"]},
        Q | {"name": "f", "choicesMin": 1, "choicesMax": 4},
        Q,
        left={*"abcdef"},
    ),
    "answers with conditions": surveyjs(
        Q,
        Q | {"name": "a", "choices": [{"value": "x", "visibleIf": "{q} = 'x'"}, "y"]},
        {"type": "checkbox", "name": "b", "choices": [{"value": 1, "isExclusive": True}, 2]},
        Q | {"name": "c", "choicesVisibleIf": "{q} = {item}"},
        Q | {"name": "d", "valueName": "q", "validators": [{"type": "expression"}]},
        Q | {"name": "e", "validators": [], "requiredIf": "", "colCount": 2, "defaultValue": "x"},
        widened={*"abcd"},
    ),
    "what a program does": surveyjs(
        Q,
        Q | {"name": "r", "setValueExpression": "{q}"},
        members={"triggers": [{"type": "skip", "expression": "{q} = 'x'", "gotoName": "r"}]},
        widened={"*"},
    ),
    "rows with conditions": surveyjs(
        Q,
        {
            "type": "matrix",
            "name": "m",
            "title": {"default": "How are", "de": "Wie sind"},
            "columns": ["good", "bad"],
            "rows": [
                {"value": "a", "text": {"default": "days", "de": "Tage"}, "visibleIf": "{q} = 'x'"},
                {"value": "b", "visibleIf": "today() > {q}"},
                {"value": "c"},
            ],
        },
        ask_if={"m-a": {"q": ("x",)}},
        widened={"m-b"},
    ),
    "letters with marks of their own": surveyjs(
        RADIO | {"name": "ö", "choices": ["ü", "y"]},
        Q | {"visibleIf": unicodedata.normalize("NFD", "{ö} = 'ü'")},
        ask_if={"q-2": {"q": ("ü",)}},
    ),
    "names that are too long": surveyjs(
        {"type": "checkbox", "name": "n" * 80, "choices": ["o" * 70, "o" * 70 + "p"]},
        Q | {"name": "m" * 64},
        {"type": "checkbox", "name": "k" * 60, "choices": ["long option " * 3, "x"]},
    ),
    # LimeSurvey.
    "rows that depend on chosen options": lime(
        question(1, "M", "S", 1),
        question(2, "F", "T", 2),
        ask_if={"T-a": {"S.a": ("yes",)}, "T-b": {"S.b": ("yes",), "S.a": ("no", "no answer")}},
        subquestions=[
            row(qid=n * 10 + k, parent_qid=n, title=code, question_order=k, relevance=relevance)
            for n, k, code, relevance in (
                (1, 1, "a", "1"),
                (1, 2, "b", ""),
                (2, 1, "a", "1"),
                (2, 2, "b", "S_a.NAOK != 'Y'"),
            )
        ],
        answers=[row(qid=2, aid=k, code=f"A{k}", sortorder=k) for k in (1, 2)],
        answer_l10ns=[row(aid=k, answer=f"Answer {k}", language="en") for k in (1, 2)],
        question_attributes=[row(qid=2, attribute="array_filter", value="S")],
    ),
    "quotas": lime(
        question(1, "Y", "a", 1),
        question(2, "Y", "b", 2),
        quota=[row(id=1, name="men")],
        quota_members=[row(id=1, qid=1)],
        assessments=[row(id=1)],
        widened={"*"},
    ),
    "numbers with computed ends": lime(
        question(1, "N", "a", 1),
        question(2, "N", "b", 2),
        question_attributes=[
            *(row(qid=n, attribute="min_num_value_n", value="0") for n in (1, 2)),
            row(qid=1, attribute="max_num_value_n", value="{b.NAOK + 5}"),
            row(qid=2, attribute="max_num_value_n", value="90"),
        ],
        widened={"a"},
    ),
    "informal languages and the text of other": lime(
        question(1, "L", "a", 1, other="Y"),
        languages=INFORMAL,
        texts=[row(qid=1, question=f"a {language}?", language=language) for language in INFORMAL],
        answers=[row(qid=1, aid=k, code=f"A{k}", sortorder=k) for k in (1, 2)],
        answer_l10ns=[
            row(aid=k, answer=f"{language} {k}", language=language)
            for k in (1, 2)
            for language in INFORMAL
        ],
    ),
    "limits of chosen answers, and themes": lime(
        *(question(n, "MMYYY"[n - 1], "abcde"[n - 1], n) for n in range(1, 6)),
        subquestions=[
            row(qid=10 * n + k, parent_qid=n, title=code, question_order=k)
            for n in (1, 2)
            for k, code in enumerate("xy")
        ],
        question_attributes=[
            row(qid=1, attribute="max_answers", value="1"),
            row(qid=2, attribute="exclude_all_others", value="x"),
            row(qid=3, attribute="em_validation_q", value="c == 'Y'"),
            row(qid=4, attribute="unheard_of_theme", value="1"),
            row(qid=5, attribute="cssclass", value="wide"),
        ],
        widened={*"bcd"},
    ),
}


def find_question(made, name: str) -> str | None:
    """Return the name of a question of the survey by that of the questionnaire."""
    for place, entry in made.names.items():
        if place.partition("[")[0].replace("_", ".") in (name, name.replace("-", ".")):
            return entry["name"].partition(".")[0]
    option = next((v["name"] for k, v in made.names.items() if k.startswith(f"{name}_")), None)
    return option and option.partition(".")[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_no_text_answer_or_condition_of_a_real_shape_is_lost(shape):
    it = SHAPES[shape]
    made = read_questionnaire(it.content, it.file)
    questions, asked = by_name(made), attributes(made)
    tags: dict[str, set[str]] = {}
    for name, read in READERS[it.file.rpartition(".")[2]](it.content, it.file).items():
        of = find_question(made, name)
        assert (of is None) == (name in it.left), name
        if of is None:
            assert any(name in line or "several times" in line for line in made.left_out)
            continue
        members = questions[of].attributes
        first = members[0]
        shown = [first.help, first.page, *first.answers.values()]
        shown += [text for each in members for text in (each.label, each.option or "")]
        shown += [first.question.label, first.question.help] if first.question else []
        for said in [*read.texts, *read.answers.values()]:
            for language, words in said.items():
                found = {
                    tag
                    for each in shown
                    for tag, text in ({"": each} if isinstance(each, str) else each).items()
                    if words in text
                }
                # An answer without a label of its own is its value.
                assert found or words in first.categories, (name, language, words)
                if found:
                    tags[language] = tags.get(language, found) & found
        if first.question:
            answers = {each.name.partition(".")[2] for each in members}
        else:
            answers = {*first.categories} - {"no answer", "not asked"}
        if read.answers:
            # pyxform and LimeSurvey have 'other' without a line of its own.
            assert len(answers) == len(read.answers.keys() | ({"other"} & answers)), name
    # Each language of the file has a tag of its own.
    assert all(tags.values()), tags

    for name, attribute in asked.items():
        expected = it.ask_if.get(name.partition(".")[0], {})
        assert attribute.ask_if == expected, name
    marked = {each.split("'")[1] for each in made.survey.unconfirmed}
    assert marked == ({*questions} if "*" in it.widened else it.widened)


def test_more_questions_than_views_allow_are_written_into_a_file(command, tmp_path):
    elements = [{"type": "boolean", "name": f"q{n}"} for n in range(600)]
    content = json.dumps({"elements": elements}).encode()
    made = read_questionnaire(content, "العربية.json")
    assert (made.id, made.questions) == ("survey", 600)
    assert made.text.count("[[attributes]]") == 600
    with pytest.raises(HalftruthError, match="max_length"):
        _ = made.survey
    file, written = tmp_path / "many.json", tmp_path / "many.toml"
    file.write_bytes(content)
    status, said, complaint = command("survey", "import", file, "--output", written)
    assert (status, said) == (0, f"many: 600 questions in {written}\n")
    assert "'halftruth survey check' refuses the file: " in complaint
    assert written.read_text("utf-8").count("[[attributes]]") == 600
