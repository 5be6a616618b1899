"""The parts of a result in reading order, for pages, commands, notebooks and files."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np

from . import wording
from .blocks import Block
from .caveats import folded, listed, sentences
from .charts import Chart
from .labels import NAMES, Labels
from .layout import Arranged, Grid, Tabled, confidence
from .quantities import Quantity, quantity
from .showing import (
    NO_INTERACTIONS,
    basis,
    contradicted,
    contradicted_model,
    html_table,
    name_of_result,
    of_reports,
    text_table,
)

#: Largest number of rows of a table in a notebook.
MOST_ROWS = 60

#: Largest number of estimates that are named.
_NAMED = 2_000

#: Relative tolerance for rounding beyond the possible range.
_ROUNDING = 1e-9


class Presentation(NamedTuple):
    """Parts of a result; each sentence appears once.

    `about` describes reports and intervals, `basis` population and assumptions; `warnings` have to
    be read before drawing conclusions, and `notes` are about the method.
    """

    title: str
    headline: str
    about: str
    basis: Sequence[str]
    warnings: Sequence[str]
    parts: Sequence[Arranged]
    notes: Sequence[str]

    @property
    def grid(self) -> Grid:
        """The first table."""
        return self.parts[0].grid

    @property
    def sentences(self) -> frozenset[str]:
        """All sentences except the title."""
        return frozenset([self.headline, *self.basis, *self.warnings, *self.notes])

    @property
    def chart(self) -> Chart | None:
        """The first chart, with its notes; None without any."""
        drawn = (self.chart_of(part) for part in self.parts)
        return next((chart for chart in drawn if chart is not None), None)

    def chart_of(self, part: Arranged) -> Chart | None:
        """Return the chart of a part; its notes describe population, assumptions and precision."""
        if part.chart is None:
            return None
        about = (self.about, *basis(part.result, part.labels), *self.warnings)
        return replace(part.chart, notes=(*about, *part.chart.notes))

    @property
    def above(self) -> list[str]:
        """The lines above the tables."""
        return [*filter(None, (self.title, self.headline)), *self.basis, *self.warnings]

    def text(self) -> str:
        """Format as plain text."""
        lines = self.above
        for part in self.parts:
            lines += ["", *([part.title] if part.title and len(self.parts) > 1 else [])]
            lines.append(text_table(part.grid.header, part.grid.rows[:MOST_ROWS]))
            lines += _more(part)
        return "\n".join(lines)

    def html(self) -> str:
        """Format as HTML, with all texts escaped."""
        from html import escape

        parts = [f"<p>{escape(sentence)}</p>" for sentence in self.above]
        for part in self.parts:
            if part.title and len(self.parts) > 1:
                parts.append(f"<p><b>{escape(part.title)}</b></p>")
            parts.append(html_table(part.grid.header, part.grid.rows[:MOST_ROWS]))
            parts += [f"<p>{sentence}</p>" for sentence in _more(part)]
        return "".join(parts)


def _more(part: Arranged) -> list[str]:
    if not part.grid.rows:
        return ["No matching rows."]
    left = len(part.grid.rows) - MOST_ROWS
    return [f"… and {wording.number(left, 0)} more: to_pandas() has all"] if left > 0 else []


def present(
    result: Tabled,
    labels: Labels = NAMES,
    *,
    title: str = "",
    headline: str | None = None,
    layout: Sequence[Block] | None = None,
) -> Presentation:
    """Return the parts of a result, with labels in place of names.

    Title, headline and layout are by default those of the result itself, which have names.
    """
    finding = result.headline if headline is None else headline
    blocks = result.layout if layout is None else layout
    parts = [Arranged(result, block, labels) for block in blocks]
    count, _, time = of_reports(result).partition(", ")
    # Leave out the number of reports if the headline begins with it.
    reports = [time] if finding.startswith(count) else [count, time]
    warnings = sentences([c for c in result.caveats if c.weight == "warning"], labels)
    notes = [c.in_words(labels) for c in result.caveats if c.weight == "note"]
    named = [title or name_of_result(result), labels.survey or result.survey, *reports]
    return Presentation(
        " · ".join(filter(None, named)),
        finding,
        f"{of_reports(result)}{_intervals(result)}.",
        list(_basis(basis(result, labels), finding)),
        [*warnings, *_undefined(result, parts), *_imprecise(result, parts)],
        [part for part in parts if part.grid.rows or part is parts[0]],
        [*notes, *_selected(result), *_unbounded(result), *_impossible(result)],
    )


def _basis(every: Sequence[str], finding: str) -> Iterator[str]:
    """Yield the sentences about population and assumptions that the headline does not repeat."""
    for sentence in every:
        if sentence == finding:
            continue
        if finding.startswith("Assuming no interaction"):
            rest = sentence.removeprefix(f"{NO_INTERACTIONS}; ")
            yield rest[0].upper() + rest[1:]
        else:
            yield sentence


def _intervals(result: Tabled) -> str:
    if not (result.estimates.texts("set").codes >= 0).any():
        return ""
    whom = {"population": "the population", "respondents": "exactly these respondents"}
    adjusted = "" if result.selection is None else ", adjusted for selection,"
    target = whom[getattr(result.query, "target", "population")]
    return f"; {wording.percent(confidence(result))} intervals{adjusted} for {target}"


def _selected(result: Tabled) -> Iterator[str]:
    chosen = result.selection
    if chosen is not None:
        yield (
            f"{wording.number(chosen.listed, 0)} of {wording.number(chosen.candidates, 0)} possible"
            f" {name_of_result(result)} are listed, selected by their estimates. Their intervals"
            f" are widened for this selection (false coverage rate {wording.percent(chosen.rate)})."
        )


def _names(parts: Sequence[Arranged], rows: Sequence[int]) -> list[str]:
    """Name some rows of the tables by the keys of their lines, and by quantity if needed."""
    remaining: set[int] = set(rows)
    names: dict[str, list[str]] = {}
    for arranged in parts:
        block = arranged.block
        for line, column, show in zip(*np.nonzero(np.isin(arranged.places, rows)), strict=True):
            place = int(arranged.places[line, column, show])
            if place not in remaining:
                continue
            remaining.discard(place)
            over = arranged.across and arranged.across.text(int(arranged.columns[column]))
            # With stacked quantities, the name of the line includes the quantity.
            several = len(parts) > 1 or len(block.shows) > 1
            name = block.shows[show].quantity
            named = block.stacked or any(key.name == name for key in arranged.lines)
            what = quantity(name).title if several and not named else ""
            about = ", ".join(filter(None, [arranged.name(line), over or ""]))
            names.setdefault(about, []).append(what)
    return [
        f"{listed(each)} of {about}" if about and all(each) else about or listed(each)
        for about, each in names.items()
    ]


def _undefined(result: Tabled, parts: Sequence[Arranged]) -> Iterator[str]:
    """Name the undefined estimates, in one sentence for each reason."""
    column = result.estimates.texts("undefined")
    places = [(int(column.codes[i]), int(i)) for i in np.flatnonzero(column.codes >= 0)[:_NAMED]]
    for code, group in groupby(sorted(places), key=lambda place: place[0]):
        rows = [place for _, place in group]
        names = _names(parts, rows) if len(rows) < len(column) else ["every estimate"]
        if names:
            reason = f"Undefined, because {column.levels[code]}: {{}}."
            yield folded(reason, names, "estimates", count=len(rows))


def _imprecise(result: Tabled, parts: Sequence[Arranged]) -> Iterator[str]:
    """Name the estimates that are not usable, or barely usable."""
    is_said = any(
        each.code in ("precision", "typical error") and "question" in each.values
        for each in result.caveats
    )
    if is_said or contradicted(result) or contradicted_model(result):
        return
    # The precision of all shares of a table is stated by a caveat.
    graded = {
        each.values["reliability"]
        for each in result.caveats
        if each.code == "precision" and "length" not in each.values and each.weight == "warning"
    }
    column, kind = result.estimates.texts("reliability"), result.estimates.texts("set")
    # Numbers of people have no grade, only an interval.
    shown = {show.quantity for part in parts for show in part.block.shows}
    quantities = result.estimates.texts("quantity")
    judged = [name in shown and quantity(name).style != "count" for name in quantities.levels]
    known = kind.codes >= 0
    if getattr(result.query, "estimate", None) != "likelihood":
        # Best guesses have no errors; the error of another estimate may be undefined.
        known = known | (np.isfinite(result.estimates.value) & (column.codes >= 0))
    known = known & np.array(judged or [False])[quantities.codes]
    for word, precision in (("not usable", "too imprecise"), ("barely usable", "imprecise")):
        grade = f"{word.capitalize()} ({precision})"
        places = np.flatnonzero(column.equals(word) & known)
        count, every = len(places), int(known.sum())
        if not count:
            continue
        if count == every and count > 1:
            shares = {quantity(name).style for name in shown & {*quantities.levels}} == {"share"}
            if not (shares and word in graded):
                yield f"{grade}: every estimate."
        elif result.selection is not None or count > _NAMED:
            # For a long list, only count them, since each row has a mark.
            yield f"{grade}: {wording.number(count)} of {wording.number(every)} estimates."
        elif names := _names(parts, places.tolist()):
            yield folded(f"{grade}: {{}}.", names, "estimates", count=count, of=every)


def _unbounded(result: Tabled) -> list[str]:
    """Explain sets of all possible values; empty without such sets."""
    if not result.estimates.texts("set").equals("everything").any():
        return []
    return [
        f"{wording.ANY_VALUE.capitalize()}: the size of the group is not significantly above zero,"
        " so the reports do not bound estimates within it."
    ]


def _impossible(result: Tabled) -> list[str]:
    """Explain estimates outside the possible range; empty without such estimates."""
    table = result.estimates
    names = table.texts("quantity")
    ranges = [quantity(name) for name in names.levels] or [Quantity("")]
    least = np.fmax(np.array([of.lower for of in ranges])[names.codes], table.numbers("lower"))
    most = np.fmin(np.array([of.upper for of in ranges])[names.codes], table.numbers("upper"))
    with np.errstate(invalid="ignore"):
        allowed = _ROUNDING * np.fmax(1.0, np.abs(table.value))
        outside = (table.value < least - allowed) | (table.value > most + allowed)
    if not outside.any():
        return []
    return [
        "An unbiased estimate outside the possible range is shown as the end of the range. Files"
        " have the unbiased number."
    ]
