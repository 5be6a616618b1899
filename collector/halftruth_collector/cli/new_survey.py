"""``halftruth survey new``: write a survey file from the answers to five questions."""

import re
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from halftruth_shared import HalftruthError, ParameterError, Survey
from halftruth_shared.analyses.plan import PlanQuery
from halftruth_shared.documents import AttributeDocument
from halftruth_shared.errors import listing

from .. import survey_file
from ..drafting.choices import fit_bin_width, make_name
from ..drafting.record_table import find_order
from . import options
from .output import write

T = TypeVar("T")

#: Answers that are a range of numbers, such as "18 to 99".
_RANGE = re.compile(r"(-?\d{1,15})\s*(?:to|–|-)\s*(-?\d{1,15})", re.ASCII)

#: English words that begin or end questions and do not tell them apart.
_QUESTION_WORDS = re.compile(
    r"an?|are|been|can|did|do|does|feel|had|has|have|how|is|many|much|often|the|was|were|what|which"
    r"|will|would|your?",
    re.IGNORECASE,
)

_FORMAT = "expected as in 'Do you smoke?: no, yes' or 'How old are you?: 18 to 99'"

_HEADING = (
    "A survey of halftruth: 'halftruth survey check' checks this file, 'halftruth plan' predicts"
    " its margins of error, and 'halftruth survey publish' publishes it.",
    "gamma is the amplification: no report is more than gamma times as likely for some answers as"
    " for any others. Reports identify the wanted tables: each outcome (of) by each group (by).",
)


@click.command("new")
@click.argument("file", required=False, type=click.Path(dir_okay=False))
@click.option("--title", help="Title of the survey.")
@click.option(
    "--question",
    "questions",
    multiple=True,
    metavar="'LABEL: ANSWER, ANSWER'",
    help="Question with its answers, or with a range of numbers as in '18 to 99'; repeat it for"
    " others. With this option, nothing is asked for.",
)
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="QUESTION",
    help="Question whose answers are groups of people, by name or number; repeat it for others.",
)
@click.option(
    "--wanted",
    multiple=True,
    metavar="QUESTION",
    help="Outcome that is wanted by these groups, by name or number; repeat it for others. By"
    " default all other questions.",
)
@click.option(
    "--respondents",
    type=click.IntRange(2, 10**18),
    metavar="NUMBER",
    help="How many people will answer.",
)
@options.gamma
def new(
    file: str | None,
    title: str | None,
    questions: tuple[str, ...],
    groups: tuple[str, ...],
    wanted: tuple[str, ...],
    respondents: int | None,
    gamma: str,
) -> None:
    """Write a survey FILE from the answers to five questions.

    The survey's margins of error are predicted at once. The questions are its title, its questions
    with answers, which of them are groups of people, which outcomes are wanted by these groups, and
    how many people will answer.
    """
    asked: list[dict[str, Any]] = []
    names: Collection[str] = ()
    if questions:
        if title is None:
            raise ParameterError("title: expected with --question", field="title")
        for text in questions:
            asked.append(_parse_question(text, names := [each["name"] for each in asked]))
        names = [each["name"] for each in asked]
        by = _find("group", groups, names)
        of = _find("wanted", wanted, names)
    else:
        title = title or click.prompt("Title of the survey", err=True)
        asked = _ask_questions()
        names = [each["name"] for each in asked]
        for number, name in enumerate(names, 1):
            click.echo(f"  {number} {name}", err=True)
        by = _ask(
            "Which are groups of people, such as sex or age (numbers; none if empty)",
            lambda text: _find("group", groups or _split(text), names),
        )
        of = by and _ask(
            "Which outcomes are wanted by these groups (numbers; all others if empty)",
            lambda text: _find("wanted", wanted or _split(text), names),
        )
        respondents = respondents or click.prompt(
            "How many people will answer", type=click.IntRange(2, 10**18), default=1_000, err=True
        )
    mechanism: dict[str, Any] = {"kind": "split-questionnaire", "gamma": gamma}
    outcomes = [name for name in of or names if of or name not in by]
    if by and outcomes:
        mechanism["tables"] = [{"of": outcomes, "by": by}]
    else:
        mechanism["max_length"] = min(2, len(asked))
    id = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:64].strip("-") or "survey"
    data = {
        "id": id,
        "title": title,
        "mechanism": mechanism,
        "reports": {"tickets": "required"},
        "attributes": asked,
    }
    text = survey_file.write(data, heading=_HEADING)
    survey = Survey.from_toml(text)
    path = file or f"{id}.toml"
    if Path(path).exists():
        raise ParameterError(f"file: {path} exists; expected a new file", field="file")
    write(path, text.encode(), "file")
    click.echo(f"{id}: {len(asked)} questions in {path}")
    click.echo(_plan(survey, respondents or 1_000))
    click.echo(f"More: halftruth plan {path} --respondents {respondents or 1_000}")


def _plan(survey: Survey, respondents: int) -> str:
    """Return the headline of the plan of a survey."""
    # Import here, since these modules are slow to import, and a mistake needs none of them.
    from ..estimation.planning.planner import plan
    from ..estimation.planning.wording import headline

    return headline(plan(survey, PlanQuery(respondents=respondents, alone=True)))


def _ask(text: str, convert: Callable[[str], T]) -> T:
    """Ask on standard error until the answer can be converted; it may be empty."""
    while True:
        typed = click.prompt(text, default="", show_default=False, err=True)
        try:
            return convert(typed)
        except HalftruthError as error:
            click.echo(f"halftruth: {error}", err=True)


def _ask_questions() -> list[dict[str, Any]]:
    """Ask for questions with their answers, until a line is empty."""
    click.echo(
        "Questions, one per line, as in 'Do you smoke?: no, yes' or 'How old are you?: 18 to 99';"
        " an empty line ends them",
        err=True,
    )
    asked: list[dict[str, Any]] = []

    def convert(text: str) -> dict[str, Any] | None:
        if not text.strip():
            if not asked:
                raise ParameterError(f"question: {_FORMAT}", field="question")
            return None
        return _parse_question(text, [each["name"] for each in asked])

    while (question := _ask(f"Question {len(asked) + 1}", convert)) is not None:
        asked.append(question)
    return asked


def _parse_question(text: str, taken: Collection[str]) -> dict[str, Any]:
    """Return the members of a question that is written as 'label: answer, answer'."""
    label, found, answers = map(str.strip, text.rpartition(":"))
    categories = _split(answers)
    if not found or not label or not categories:
        raise ParameterError(f"question: {_FORMAT}", field="question")
    question: dict[str, Any] = {"name": make_name(_shorten(label), taken), "label": label}
    numbers = _RANGE.fullmatch(answers)
    if numbers:
        low, high = map(int, numbers.groups())
        step = int(fit_bin_width(Fraction(low), Fraction(high), True, ())) if low < high else 1
        question |= {"kind": "number", "minimum": low, "maximum": high, "step": step}
    else:
        question["categories"] = categories
        if categories == find_order(categories):
            question["ordered"] = True
    try:
        msgspec.convert(question, AttributeDocument).attributes()
    except msgspec.ValidationError:
        raise ParameterError(f"question: {_FORMAT}", field="question") from None
    return question


def _shorten(label: str) -> str:
    """Return a question without the words that begin or end many questions, as a name in tables.

    >>> [*map(_shorten, ["Do you smoke?", "How old are you?", "How often do you drink?", "Sex"])]
    ['smoke', 'old', 'drink', 'Sex']
    """
    every = label.rstrip("?").split()
    kept = [i for i, word in enumerate(every) if not _QUESTION_WORDS.fullmatch(word)]
    return " ".join(every[kept[0] : kept[-1] + 1] if kept else every)


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _find(option: str, given: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names of questions that are given by name or number, each once."""
    numbered = {str(number): name for number, name in enumerate(names, 1)}
    found = [numbered.get(each.strip(), each.strip()) for each in given]
    if unknown := [f"'{name}'" for name in found if name not in names]:
        raise ParameterError(
            f"{option}: there is no question {', '.join(unknown)}; expected one of:"
            f" {listing(names)}, or its number",
            field=option,
        )
    return list(dict.fromkeys(found))
