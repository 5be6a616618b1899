"""People who choose at least some number of options."""

from typing import Any

import numpy as np
from halftruth_collector.analyses.base import Analysis, AnalysisContext, RowBuilder
from halftruth_collector.analyses.deciding import AtLevel
from halftruth_collector.estimation.estimates import Estimates
from halftruth_collector.estimation.options import chosen_code
from halftruth_shared import ParameterError, Survey
from halftruth_shared.results import QUANTITIES, Block, Labels, Result, Show, note
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.layout import in_words

from .at_least import AtLeastQuery


def compute(counted: AnalysisContext, query: AtLeastQuery) -> Result[AtLeastQuery]:
    """Sum the cells of the table of all options in which enough of them are chosen."""
    estimator = counted.estimator
    options = estimator.schema.options.get(query.question)
    if options is None:
        raise ParameterError(
            f"question: '{query.question}' has one answer; expected a question with several",
            field="question",
        )
    table = estimator.table([option.name for option in options])
    codes = np.array([chosen_code(option) for option in options])
    cells = np.indices(table.value.shape).reshape(len(options), -1)
    enough = (cells == codes[:, None]).sum(axis=0) >= query.least

    def share(people: Any) -> Any:
        return people.reshape(enough.size, *people.shape[len(options) :])[enough].sum(axis=0)[None]

    rows = RowBuilder(least={"kind": "number"})
    part = Estimates.contrast(table, share, QUANTITIES["at_least"]).columns(query.confidence)
    rows.add(part, least=str(query.least))
    names = [str(option.option) for option in options]
    counting = note("options counted", question=query.question, options=names)
    return counted.result(query, rows.keys, rows.parts, caveats=[counting])


def decide(result: Result[AtLeastQuery], _: AtLevel) -> tuple[list[Test], list[Claim]]:
    """Claim the share."""
    return [], [Claim(kind="estimate", rows=[0])]


def state(result: Result[AtLeastQuery], claim: Claim, labels: Labels) -> str:
    """State the share."""
    query, row = result.query, result.rows[claim.rows[0]]
    return (
        f"{in_words(row)} choose {query.least} or more options of {labels.quoted(query.question)}."
    )


def layout(result: Result[Any], _: Labels) -> list[Block]:
    """Arrange one line."""
    return [Block(title="Options chosen", lines=["least"], shows=[Show(quantity="at_least")])]


def start(survey: Survey) -> AtLeastQuery:
    """Return the initial query: the first question with several answers."""
    return AtLeastQuery(question=next(iter(survey.schema.options)))


ANALYSIS = Analysis(
    query=AtLeastQuery,
    title="Options chosen",
    compute=compute,
    start=start,
    layout=layout,
    decide=decide,
    state=state,
    applies=lambda survey: bool(survey.schema.options),
    place="Explore",
    order=95,
)
