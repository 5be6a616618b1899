"""Questions from lines of text, records with tabs, and a command."""

import csv
import io

import click
import msgspec
from halftruth_collector.analyses.tabular import to_csv
from halftruth_importing import ConvertedQuestion, Reader, SurveyDraft
from halftruth_shared import read_survey
from halftruth_shared.analyses.microdata import MicrodataResult


def read_lines(content: bytes, draft: SurveyDraft) -> None:
    """Add a question for each line, such as ``Do you smoke?: no, yes``."""
    for number, line in enumerate(content.decode("utf-8-sig").splitlines(), 1):
        label, colon, answers = line.rpartition(":")
        if not colon:
            raise msgspec.ValidationError(f"line {number}: expected a question and answers")
        question = {"label": label, "categories": [each.strip() for each in answers.split(",")]}
        draft.add_questions(label, [ConvertedQuestion(f"q{number}", question, {})], {}, [])


LINES = Reader("lines of questions (.lines)", lambda file, _: file.endswith(".lines"), read_lines)


def to_tabs(result: MicrodataResult, name: str) -> dict[str, bytes]:
    """Return a file of weighted records with tabs between columns."""
    rows = csv.reader(io.StringIO(to_csv(result, provenance=False)))
    text = io.StringIO()
    csv.writer(text, "excel-tab").writerows(rows)
    return {name: text.getvalue().encode()}


@click.command()
@click.argument("file", type=click.Path())
def options(file: str) -> None:
    """List the questions of a survey FILE that have several answers."""
    for name, each in read_survey(file).schema.options.items():
        click.echo(f"{name}: {', '.join(str(option.option) for option in each)}")
