"""Weighted records, for programs that analyse surveys."""

import keyword
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
from halftruth_shared import Attribute, DomainTooLarge, ParameterError, Survey
from halftruth_shared.analyses.microdata import (
    MicrodataQuery,
    MicrodataResult,
    Variable,
)
from halftruth_shared.results import (
    QUANTITIES,
    Block,
    Labels,
    Show,
    note,
    warning,
)
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.wording import number

from ..estimation.automatic import MODELLED_CELLS
from ..estimation.calibration import known_margins
from ..estimation.estimates import Estimates
from ..estimation.groups import survey_in_groups
from ..estimation.model import ModelTables
from ..estimation.model.records import raked, weighted_records
from ..estimation.reconstruction import reconstruction
from ..estimation.reliability import USABLE
from .base import Analysis, AnalysisContext, answer_keys, connected, errors_naming
from .deciding import AtLevel
from .work import check_model

#: Names that Python or R do not accept for a variable, or that other columns have.
_RESERVED = {word.lower() for word in keyword.kwlist} | {"record", "weight"}
_RESERVED |= {"function", "inf", "na", "nan", "next", "null", "repeat"}


def compute(counted: AnalysisContext, query: MicrodataQuery) -> MicrodataResult:
    """Combine answers by a model of all of them, and weight them to known margins."""
    # This fits the model, and refuses unsuitable questions.
    schema, origin = counted.survey.schema, counted.origin()
    names = query.attributes or query.modelled or list(schema.names)
    field = "attributes" if query.attributes else "modelled"
    attributes = [schema.attributes[j] for j in schema.positions(names, field)]
    margins, people = known_margins(schema, query.margins or {})
    missing = [m.attribute.name for m in margins if m.attribute.name not in names]
    if missing:
        raise ParameterError(
            f"margins: '{missing[0]}' is none of the attributes of these records", field="margins"
        )
    model = counted.model(query.interactions, query.modelled)
    with errors_naming(field):
        ModelTables(counted.survey, model).check(names)
    total = float(counted.counts.reports if people is None else people)
    records = weighted_records(model, names, total, query.max_rows)
    if margins:
        axes = [names.index(margin.attribute.name) for margin in margins]
        records = raked(records, axes, margins, total)
    order = np.argsort(-records.weights, kind="stable")
    caveats = [warning("no person"), note("replicate weights", scale=records.scale)]
    if margins:
        caveats.append(note("known margins", questions=[*(query.margins or {})]))
    longest = max(map(len, model.terms))
    if records.drawn:
        caveats.append(note("drawn", length=longest))
    return MicrodataResult(
        **origin,
        query=query,
        keys=answer_keys(schema, names, records.codes[order]),
        estimates=Estimates.numbers(QUANTITIES["weight"], records.weights[order]).columns(
            grade=USABLE
        ),
        caveats=caveats,
        variables=[*_variables(attributes)],
        replicates=records.replicates[order].T.tolist(),
        scale=records.scale,
        interactions=longest,
        converged=model.converged,
        drawn=records.drawn,
    )


def _variables(attributes: Sequence[Attribute]) -> Iterator[Variable]:
    used: set[str] = set()
    for attribute in attributes:
        number_of = attribute.number
        yield Variable(
            name=_variable_name(attribute.name, used),
            attribute=attribute.name,
            label=attribute.label_in(),
            categories=list(attribute.categories),
            labels=list(attribute.answers_in()),
            missing=list(attribute.missing),
            midpoints=None if number_of is None else [float(m) for m in number_of.midpoints],
        )


def _variable_name(name: str, used: set[str]) -> str:
    """Return an unused name that R and Python accept for a variable."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    if plain.lower() in _RESERVED or re.fullmatch(r"rep\d+", plain.lower()):
        plain = f"{plain}_"
    unused, copy = plain, 2
    while unused.lower() in used:
        unused, copy = f"{plain}_{copy}", copy + 1
    used.add(unused.lower())
    return unused


def layout(result: MicrodataResult, _: Labels) -> list[Block]:
    """Arrange a line for each combination of answers."""
    shows = [Show(quantity="weight", parts=["value"])]
    return [Block(lines=[key.name for key in result.keys], shows=shows)]


def decide(result: MicrodataResult, _: AtLevel) -> tuple[list[Test], list[Claim]]:
    """Claim the number of rows."""
    return [], [Claim(kind="counted", count=len(result.estimates))]


def state(result: MicrodataResult, claim: Claim, _: Labels) -> str:
    """State the number of rows, and the number of people that they represent."""
    return (
        f"{number(claim.count or 0, 0)} combinations of answers stand for"
        f" {number(result.estimates.value.sum(), 0)} people, with {len(result.replicates)}"
        " replicate weights."
    )


def start(survey: Survey) -> MicrodataQuery:
    """Return the initial query: all questions, or else some that asked pairs connect."""
    every, source = MicrodataQuery(), reconstruction(survey_in_groups(survey))
    with suppress(DomainTooLarge):
        check_model(survey, every)
        if source.identified_sets.hang_together(range(len(survey.schema.names))):
            return every
    return MicrodataQuery(modelled=connected(survey, MODELLED_CELLS))


def check_work(survey: Survey, query: MicrodataQuery) -> None:
    """Refuse a model that is too large; for all questions, name some that a model can be about."""
    try:
        check_model(survey, query)
    except DomainTooLarge as error:
        if query.modelled or query.attributes:
            raise
        few = ", ".join(connected(survey, MODELLED_CELLS))
        raise DomainTooLarge(f"{error}, such as {few}", field=error.field) from None


ANALYSIS = Analysis(
    query=MicrodataQuery,
    title="Weighted records",
    compute=compute,
    start=start,
    layout=layout,
    decide=decide,
    state=state,
    check_work=check_work,
    pictured=False,
    placeholder="A row for each combination of answers with its weight and replicate weights, for R"
    " and for Python. Show makes them: the model behind them takes some seconds.",
    min_order=2,
    place="Export",
    order=150,
)
