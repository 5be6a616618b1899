"""Imported questionnaires, and limits of processor time and memory."""

import io
import signal
import tracemalloc
from contextlib import contextmanager

from openpyxl import Workbook

CHOICES = [
    ("list_name", "name", "label::English (en)", "label::French (fr)"),
    ("yn", "y", "Yes", "Oui"),
    ("yn", "n", "No", "Non"),
    ("pets", "cat", "Cat", "Chat"),
    ("pets", 2, "Dog", None),
]


@contextmanager
def short_of_memory_and_time():
    """Limit the block to 40 MB and 5 seconds of processor time, a hundred times the normal use."""

    def too_long(*_):
        raise AssertionError("the processor was busy for 5 seconds")

    before = signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, 5)
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def by_name(made):
    return {question.name: question for question in made.survey.schema.questions}


def attributes(made):
    return {attribute.name: attribute for attribute in made.survey.schema.attributes}


def row(**cells):
    return "<row>" + "".join(f"<{k}><![CDATA[{v}]]></{k}>" for k, v in cells.items()) + "</row>"


def lss(**tables):
    inside = "".join(
        f"<{name}><rows>{''.join(rows)}</rows></{name}>" for name, rows in tables.items()
    )
    return (
        "<?xml version='1.0' encoding='UTF-8'?><document><LimeSurveyDocType>Survey"
        "</LimeSurveyDocType><DBVersion>642</DBVersion><languages><language>en</language>"
        f"<language>de</language></languages>{inside}</document>"
    )


def question(qid, type, title, order, **more):
    cells = {"sid": 1, "gid": 1, "mandatory": "N", "relevance": "1", "other": "N", "parent_qid": 0}
    return row(qid=qid, type=type, title=title, question_order=order, **cells | more)


def text(qid, **words):
    return [row(qid=qid, question=said, help="", language=lang) for lang, said in words.items()]


def workbook(survey, choices=CHOICES, settings=()):
    book = Workbook()
    book.remove(book.active)
    for title, rows in (("survey", survey), ("choices", choices), ("settings", settings)):
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()
