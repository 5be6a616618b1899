"""Sizes of published surveys, and the time that choosing their views takes.

``python tests/bench/publishing.py`` compares all pairs of questions with wanted tables: a fifth of
the questions by four groups, with and without groups of answers, at γ = 19.
"""

import time

from halftruth_collector.cli.output import print_table
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey
from halftruth_shared.mechanisms.split_questionnaire import WantedTables

_SIZES = (2, 6, 5, 3, 2, 4, 2, 5)
_GROUPS = ("q0", "q1", "q2", "q3")


def schema(questions: int, collapsed: bool) -> Schema:
    """Return a survey of questions with two to six answers."""
    attributes = []
    for j in range(questions):
        size = _SIZES[j % len(_SIZES)]
        answers = [f"a{k}" for k in range(size)]
        groups = {f"g{k // 2}": answers[k : k + 2] for k in range(0, size, 2)}
        attributes.append(
            Attribute(f"q{j}", answers, collapsed=groups if collapsed and size > 3 else None)
        )
    return Schema(attributes)


def rows() -> list[list[object]]:
    """Return, for each design, the seconds of the choice, the views and the bytes of the survey."""
    found: list[list[object]] = []
    for questions in (12, 20, 60):
        outcomes = tuple(f"q{j}" for j in range(4, questions, 8)) + tuple(
            f"q{j}" for j in range(6, questions, 8)
        )
        tables = [WantedTables(of=outcomes, by=_GROUPS)]
        for design, collapsed in (("all pairs", False), ("wanted", False), ("wanted", True)):
            asked = schema(questions, collapsed)
            start = time.process_time()
            if design == "all pairs":
                lengths = {1: 1.0, 2: 1.0}
                mechanism = SplitQuestionnaire.designed(asked, 19, (), lengths)
            else:
                mechanism = SplitQuestionnaire.designed(asked, 19, (), tables)
            seconds = time.process_time() - start
            survey = Survey("s", "S", asked, mechanism)
            views, size = len(survey.perturbation.views), len(survey.canonical_json)
            name = f"{design}, groups of answers" if collapsed else design
            found.append([questions, name, f"{seconds:.2f}", views, size])
    return found


if __name__ == "__main__":
    print_table(["questions", "tables", "processor s", "views", "bytes"], rows())
