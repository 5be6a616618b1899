"""Invalid questionnaires have errors of one line; errors of this program are not turned into them.

Every member, cell and tag of questionnaires with all types of questions is replaced by values of
other types, removed, or repeated.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import cycle

import pytest
from halftruth_collector.importers import read_questionnaire
from halftruth_importing import draft, surveyjs
from halftruth_shared import HalftruthError
from questionnaires import CHOICES, lss, question, row, text

#: Values of each type, and numbers that are too large or fractional.
ODD = [None, 2.5, 10**30, "1e999", [3], ["a", "a"], [{"text": 1}], {"default": None}]

#: Types of elements of SurveyJS that are read in different ways.
KINDS = ["radiogroup", "checkbox", "boolean", "rating", "matrix", "text", "panel"]

#: Members that are read.
MEMBERS = sorted(surveyjs._Question.__struct_encode_fields__)
OF_ALL = sorted(surveyjs._Document.__struct_encode_fields__)


def outcome(content: str | bytes, file: str) -> str:
    """Import a questionnaire; return "imported", or the beginning of its error."""
    content = content if isinstance(content, bytes) else content.encode(errors="surrogatepass")
    said = "imported"
    try:
        read_questionnaire(content, file)
    except HalftruthError as error:
        said = str(error)
    [line] = said.splitlines()
    return line[:40]


def elements(*odd: dict[str, object]) -> list[dict[str, object]]:
    """Return an element of each type, or of each type with each of these members."""
    first = {"type": "boolean", "name": "q", "isRequired": True}
    answers = {"choices": ["a", "b"], "columns": ["a", "b"], "rows": ["r"], "elements": [first]}
    texts = {"title": {"default": "Q?", "de": "F?"}, "inputType": "number", "min": 1, "max": 9}
    return [first] + [
        {"type": kind, "name": f"{kind} {n}", **answers, **texts, **members}
        for n, members in enumerate(odd or ({},))
        for kind in KINDS
    ]


@pytest.mark.parametrize("member", MEMBERS)
def test_a_member_of_another_type_leaves_out_its_question(member):
    document = {"elements": elements(*({member: value} for value in ODD))}
    assert outcome(json.dumps(document), "q.json") == "imported"


@pytest.mark.parametrize("member", OF_ALL)
def test_a_member_of_the_questionnaire_or_of_a_page_may_have_any_type(member):
    for value in ODD:
        outcome(json.dumps({"elements": elements()[:2], member: value}), "q.json")
        outcome(json.dumps({"pages": [{"elements": elements()[:2], member: value}]}), "q.json")


def form(*rows: tuple[object, ...]) -> str:
    """Return an XLSForm as a table."""
    file = io.StringIO()
    lines = [("survey",), *(("", *each) for each in rows), ("choices",)]
    csv.writer(file).writerows([*lines, *(("", *each) for each in CHOICES), ("settings",)])
    return file.getvalue()


COLUMNS = {
    "name": "q", "label": "Q?", "hint": "H", "relevant": "${p} = 'y'", "constraint": ". > 1",
    "required": "yes", "parameters": "start=1 end=5", "appearance": "likert", "disabled": "no",
    "choice_filter": "x", "calculation": "1", "unheard_of": "1",
}  # fmt: skip
TYPES = ["select_one yn", "select_multiple pets or_other", "integer", "range", "begin group"]
TYPES += ["end group", "begin repeat", "end repeat", ""]
CELLS = ["", "x", "1e999", "start=1e999 end=1e999", "step=0", "start=0 end=1 step=1e-999"]
CELLS += [". > 1 or . < 3", "${q} = '", "(" * 99, "\ud800"]


@pytest.mark.parametrize("column", COLUMNS)
def test_every_cell_of_a_form_may_have_any_text(column):
    first = ("select_one yn", "p", "P?")
    for cell in CELLS:
        cells = COLUMNS | {column: cell}
        rows = [(kind, *cells.values()) for kind in TYPES]
        outcome(form(("type", *COLUMNS), first, *rows), "q.csv")


def test_every_column_and_row_of_a_form_may_be_absent():
    rows = [(kind, *COLUMNS.values()) for kind in TYPES]
    for left in range(len(COLUMNS) + 1):
        table = [("type", *COLUMNS), *rows]
        outcome(form(*[line[:left] + line[left + 1 :] for line in table]), "q.csv")
    whole = form(("type", *COLUMNS), *rows).splitlines(keepends=True)
    for left in range(len(whole)):
        outcome("".join(whole[:left] + whole[left + 1 :]), "q.csv")


LIMESURVEY = lss(
    surveys=[row(sid=1, language="en", showsurveypolicynotice="1")],
    surveys_languagesettings=[row(surveyls_language="en", surveyls_title="T", surveyls_url="u")],
    groups=[row(gid=1, group_order=0, grelevance="")],
    group_l10ns=[row(gid=1, group_name="G", description="D", language="en")],
    questions=[question(10 + n, kind, f"Q{n}", n) for n, kind in enumerate("LMNAX")],
    subquestions=[
        row(qid=40 + n, parent_qid=10 + n, title="S", question_order=1, relevance="1")
        for n in range(5)
    ],
    question_l10ns=[*text(10, en="One?"), *text(43, en="Row")],
    answers=[row(aid=n, qid=10 + n, code="A", sortorder=n) for n in range(5)],
    answer_l10ns=[row(aid=0, answer="Pipe", language="en")],
    question_attributes=[row(qid=12, attribute="min_num_value_n", value="1")],
    conditions=[row(qid=11, value="Y")],
)


def altered(document: str) -> Iterator[str]:
    """Yield the document without each of its rows and cells, and with other texts in cells."""
    for found in re.finditer(r"<row>.*?</row>", document):
        before, after = document[: found.start()], document[found.end() :]
        yield from (before + after, before + 2 * found[0] + after)
    cells = re.finditer(r"<(\w+)><!\[CDATA\[.*?\]\]></\1>", document)
    for found, other in zip(cells, cycle(["", "x", "1e999", "0) or (1"]), strict=False):
        before, after = document[: found.start()], document[found.end() :]
        yield from (before + after, f"{before}<{found[1]}>{other}</{found[1]}>{after}")


def test_every_cell_and_row_of_limesurvey_may_be_absent_or_have_any_text():
    outcomes = Counter(outcome(each, "q.lss") for each in altered(LIMESURVEY))
    assert outcomes["imported"] > 200
    assert outcomes["q.lss: expected a questionnaire of LimeSurvey"[:40]] > 20


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content.replace(b"UTF-8", b"unheard-of"),
        lambda content: content.replace(b"UTF-8", b"UTF-16"),
        lambda content: b"\xff" + content,
        lambda content: content + b"\x00",
        lambda content: b"[" * 100_000,
        lambda content: b'{"elements":' * 100_000,
        lambda content: b"PK" + content,
        lambda content: b"",
    ],
)
@pytest.mark.parametrize(
    ("content", "file"),
    [
        (json.dumps({"elements": elements()}).encode(), "q.json"),
        (LIMESURVEY.encode(), "q.lss"),
        (form(("type", "name"), ("integer", "q")).encode(), "q.csv"),
    ],
    ids=["SurveyJS", "LimeSurvey", "XLSForm"],
)
def test_damaged_files_have_errors_of_one_line(content, file, change):
    outcome(change(content), file)


@pytest.mark.parametrize("error", [AttributeError, KeyError, TypeError, ValueError])
@pytest.mark.parametrize(
    ("content", "file"),
    [
        (json.dumps({"elements": elements()}), "q.json"),
        (LIMESURVEY, "q.lss"),
        (form(("type", "name"), ("integer", "q")), "q.csv"),
    ],
    ids=["SurveyJS", "LimeSurvey", "XLSForm"],
)
def test_an_error_of_this_program_is_raised(monkeypatch, content, file, error):
    def fail(*_: object) -> None:
        raise error("of this program")

    monkeypatch.setattr(draft.SurveyDraft, "make_number", fail)
    with pytest.raises(error, match="of this program"):
        read_questionnaire(content.encode(), file)
