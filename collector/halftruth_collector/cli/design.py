"""``halftruth design``: what the designer's page does to a survey file, by command."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from halftruth_shared import HalftruthError, ParameterError, Survey
from halftruth_shared.mechanisms.designs import DESIGNS

from ..designing import edits, mechanism, questions, text
from ..designing.text import Data
from ..store import Store
from . import options
from .output import write

_file = click.argument("file", type=click.Path())
_question = click.argument("question")

#: Fields of which each option is a line.
_LINES = ("categories", "missing", "items", "options")


@click.group()
def design() -> None:
    """Write a survey file step by step, as the page of a collector does.

    What is not changed stays as it is written. 'halftruth survey check' says what a file promises,
    'halftruth plan' what it will tell.
    """


@design.command()
@_file
def new(file: str) -> None:
    """Begin a survey in a FILE that is not there yet."""
    if Path(file).exists():
        raise ParameterError(f"{file}: expected a file that is not there yet", field="file")
    write(file, text.STARTER.encode())


@design.command()
@click.argument("id")
@options.database
def show(id: str, database: str) -> None:
    """Print the published survey ID as a file."""
    with Store(database) as store:
        click.echo(text.of_survey(store.surveys.get(id).survey()), nl=False)


@design.command()
@_file
@click.argument("kind", type=click.Choice(questions.KINDS))
@click.argument("name", default="")
def add(file: str, kind: str, name: str) -> None:
    """Add a question of a KIND to FILE, perhaps with a NAME."""
    _change(file, lambda data: edits.add(data, kind, name))


@design.command()
@_file
@_question
def remove(file: str, question: str) -> None:
    """Delete a QUESTION of FILE."""
    _change(file, lambda data: edits.remove(data, edits.place_of(data, question)))


@design.command()
@_file
@_question
@click.argument("place", type=click.IntRange(min=1))
def move(file: str, question: str, place: int) -> None:
    """Move a QUESTION of FILE to a PLACE, counted from 1."""
    _change(file, lambda data: edits.move(data, edits.place_of(data, question), place - 1))


@design.command()
@_file
@_question
@click.option("--name", help="What it is called from now on, wherever it is named.")
@click.option("--label", multiple=True, help="What people are asked; again for each language.")
@click.option("--help-text", "help", multiple=True, help="Help; again for each language.")
@click.option("--page", multiple=True, help="Page of the form; again for each language.")
@click.option("--answer", "categories", multiple=True, help="An answer; again for each.")
@click.option("--missing", multiple=True, help="An answer that is none; again for each.")
@click.option("--item", "items", multiple=True, help="An answer that counts in itemsets.")
@click.option("--option", "options", multiple=True, help="An option; again for each.")
@click.option(
    "--shown",
    multiple=True,
    help="What answers are shown as, a line each; again for each language.",
)
@click.option("--minimum", help="Least number.")
@click.option("--maximum", help="Largest number.")
@click.option("--step", help="Width of a bin.")
@click.option("--bins", help="Number of bins, instead of a width.")
@click.option(
    "--ask-if",
    multiple=True,
    metavar="ATTRIBUTE=CATEGORY",
    help="Ask it after this answer only; again for others. One of each attribute has to be given.",
)
@click.option("--ask-everybody", is_flag=True, help="Ask it whatever the answers before.")
@click.option(
    "--design",
    type=click.Choice([*DESIGNS, mechanism.MATRIX]),
    help="Named design, where the mechanism is distortion-matrices.",
)
@click.option(
    "--number", "numbers", multiple=True, metavar="NAME=NUMBER", help="A number of the design."
)
@click.option("--design-answer", help="The answer that the design calls yes.")
@click.option(
    "--may-prove/--may-not-prove",
    default=None,
    help="Whether a report may prove the other answer, which is not sensitive then.",
)
@click.option("--optional/--required", default=None, help="Whether it may be passed over.")
@click.option("--ordered/--unordered", default=None, help="Whether answers are in an order.")
@click.option("--shuffle/--in-order", default=None, help="Whether they are shown by chance.")
@click.option("--sensitive/--harmless", default=None, help="Whether it must be protected.")
def edit(file: str, question: str, **given: Any) -> None:
    """Change a QUESTION of FILE."""
    numbers, everybody = given.pop("numbers"), given.pop("ask_everybody")
    given["design-answer"] = given.pop("design_answer")
    given[mechanism.MAY_PROVE] = given.pop("may_prove")
    fields = {name: texts for name, value in given.items() if (texts := _texts(name, value))}
    flags = (*questions.FLAGS, mechanism.MAY_PROVE)
    fields |= {name: [] for name in flags if given[name] is False}
    fields |= {f"design-{name}": [text] for name, _, text in (n.partition("=") for n in numbers)}
    if everybody:
        fields["ask_if"] = []
    # What else is said is of that design.
    first = {name: fields.pop(name) for name in ("design",) if name in fields}

    def edited(data: Data) -> Data:
        place = edits.place_of(data, question)
        for step in (first, fields):
            _only(step, edits.fields_of(data, place), question)
            data = edits.edit(data, place, step)
        return data

    _change(file, edited)


@design.command("set")
@_file
@click.option("--id", help="Id, which stands in addresses.")
@click.option("--languages", help="Languages, with blanks between.")
@click.option("--title", multiple=True, help="Title; again for each language.")
@click.option("--description", multiple=True, help="Description; again for each language.")
@click.option("--mechanism", "kind", help="Kind of the mechanism.")
@click.option("--gamma", help="Amplification.")
@click.option(
    "--chance",
    type=click.IntRange(mechanism.LEAST_CHANCE, mechanism.MOST_CHANCE),
    metavar="PERCENT",
    help="Instead of it, how likely a report can at most make what was 5 % likely.",
)
@click.option("--max-length", help="Most questions that are looked at together.")
@click.option("--alpha", help="Spread of the matrices that clients draw, from 0 to 1.")
@click.option("--asked-by", multiple=True, help="Who asks; again for each language.")
@click.option("--purpose", multiple=True, help="What for; again for each language.")
@click.option("--consent", multiple=True, help="What is to be agreed to; again for each language.")
@click.option("--thanks", multiple=True, help="Said afterwards; again for each language.")
@click.option("--redirect", help="Where people can go on to: https://… or a path.")
@click.option("--redirect-after", help="Seconds after which they go there.")
def settle(file: str, **given: Any) -> None:
    """Change the survey of FILE itself."""
    fields = {name: texts for name, value in given.items() if (texts := _texts(name, value))}
    # With languages of its own, there is a text of each.
    first = {name: fields.pop(name) for name in ("languages",) if name in fields}

    _change(file, lambda data: edits.settle(edits.settle(data, first), fields))


def _texts(name: str, value: Any) -> list[str]:
    """What was given of a field, as a form has it."""
    if value is None or value is False or value == ():
        return []
    if value is True:
        return ["yes"]
    if not isinstance(value, tuple):
        return [str(value)]
    return ["\n".join(value)] if name in _LINES else list(value)


def _only(fields: Mapping[str, object], known: Mapping[str, object], question: str) -> None:
    for name in fields:
        if name not in known:
            raise ParameterError(
                f"{name}: '{question}' has none; expected one of: {', '.join(known)}", field=name
            )


def _change(file: str, change: Callable[[Data], Data]) -> None:
    """Write a file with other things in it, and say what keeps it from being a survey."""
    try:
        before = Path(file).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ParameterError(f"{file}: cannot be read: {error.strerror}", field="file") from None
    except ValueError:
        raise ParameterError(f"{file}: expected UTF-8 text", field="file") from None
    after = text.change(before, change(text.read(before)))
    write(file, after.encode(), "file")
    try:
        Survey.from_toml(after)
    except HalftruthError as error:
        click.echo(f"{file} is no survey yet: {error}")
