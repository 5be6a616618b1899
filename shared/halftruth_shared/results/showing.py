"""Tables and charts of results for notebooks and shells, derived from their rows."""

from collections.abc import Iterator, Sequence
from datetime import UTC
from itertools import groupby, islice
from typing import Any

import msgspec

from halftruth_shared.results.wording import (
    estimate_in_words,
    interval_in_words,
    number,
    p_value,
    percent,
    quoted,
    quoted_items,
    share,
    share_interval,
    value,
)

from .charts import Axis, EstimateChart, Mark, Panel, Reference
from .estimate import Estimate

#: Most rows of a table in a notebook.
MOST_ROWS = 60

#: Columns that are shown of a table without estimates.
MOST_COLUMNS = 20

#: Numbers with intervals beside each other, if there is one row of them.
_MOST_BESIDE = 4

#: Last columns of a table of estimates.
_LAST = ("reliability", "undefined")

#: First columns that name a quantity, each with its own axis.
_QUANTITIES = ("estimate", "measure")

#: Quantities whose charts are of shares.
SHARES = (
    "share",
    "support",
    "confidence",
    "cumulative_share",
)

#: Separators before the second text of a label, other than a comma.
_SEPARATORS = {"against": " against ", "consequent": " → "}


#: Level below which a p-value contradicts a model.
CONTRADICTED = 0.05


def of_reports(result: Any) -> str:
    """Describe the number of reports of a result and their time, or the size of a pilot."""
    for caveat in getattr(result, "caveats", ()):
        if caveat.code == "pilot":
            return f"{number(caveat.values['people'], 0)} people of a pilot"
    counted = "1 report" if result.reports == 1 else f"{number(result.reports, 0)} reports"
    return f"{counted}, {result.as_of.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def basis(result: Any) -> list[str]:
    """Describe whom the estimates of a result are about, and what they assume."""
    return [*_of_group(result), *assumptions(result)]


def contradicted(result: Any) -> list[str]:
    """Say that no shares explain the reports of some questions; empty where shares do."""
    if not result.contradictions:
        return []
    tables = [" and ".join(map(quoted, each.attributes)) for each in result.contradictions]
    least = min(each.p_value for each in result.contradictions)
    most = max(each.simulated for each in result.contradictions)
    return [
        f"No shares of answers explain the reports of {'; '.join(tables)} (p = {least:.2g}, from"
        f" {number(most, 0)} simulated sets of reports): instructions were probably not followed,"
        " or reports are not genuine. Estimates that rest on them cannot be used; those that are"
        " given are of the closest possible shares, without intervals."
    ]


def assumptions(result: Any) -> list[str]:
    """Describe the model of a result, and where reports contradict that or the design."""
    design, model = contradicted(result), result.model_fit
    if model is None:
        return design
    besides = ", ".join(_combined(each.attributes) for each in model.interactions)
    line = "Assuming no interaction of three or more answers"
    line += f" besides {besides}" if model.interactions else ""
    clearest = model.clearest
    if model.p_value is None:
        line += f"; whether the reports contradict that was not computed: {model.untested}"
    else:
        against = "contradict" if model.p_value < CONTRADICTED else "do not contradict"
        line += f"; the reports {against} that (p = {model.p_value:.2g}"
        if clearest is not None:
            line += f"; clearest: {_combined(clearest.attributes)}"
        line += ")"
        if clearest is not None and model.p_value < CONTRADICTED:
            line += f". Try interactions = {','.join(clearest.attributes)}"
    lines = [*design, f"{line}."]
    lines += [
        f"Without {_combined(each.attributes)} the model would"
        f" {'not ' * (each.p_value >= CONTRADICTED)}be contradicted (p = {each.p_value:.2g})."
        for each in model.interactions
        if each.p_value is not None
    ]
    if not model.converged:
        lines.append("The fit of the model did not converge: do not rely on it.")
    return lines


def _combined(names: Sequence[str]) -> str:
    return ":".join(map(quoted, names))


def _of_group(result: Any) -> list[str]:
    """Describe the domain of a result and its size; empty if it is everybody."""
    query: Any = getattr(result, "query", None)
    left_out = getattr(query, "missing", "keep") == "exclude"
    sentences = (
        ["Of each table those are left out whose answer to a question of it is missing."]
        if left_out
        else []
    )
    people = getattr(query, "population", None)
    if people is not None:
        sentences.append(f"Of a population of {number(people, 0)} people.")
    if result.group is None:
        return sentences
    group = result.group
    size = number(group.people, 0)
    if group.people_interval is not None:
        size += f" ({' to '.join(number(end, 0) for end in group.people_interval)})"
    return [
        f"Only those with {quoted_items(group.items)}: {share(group.share, group.interval)}"
        f" ({share_interval(group.interval)}) of everybody, about {size} of these reports.",
        *sentences,
    ]


def level(confidence: float) -> str:
    """Name of intervals of a confidence level."""
    return f"{percent(confidence)} interval"


def name_of_result(result: Any) -> str:
    """Name of the analysis of a result."""
    return type(result.query).__module__.rpartition(".")[2].replace("_", "-")


class Shown(msgspec.Struct, frozen=True):
    """Table for people: title, notes, header, rows, and the number of rows left out."""

    title: str
    notes: Sequence[str]
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left_out: int = 0

    def text(self) -> str:
        """Format as plain text."""
        table = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([self.title, *self.notes, *(lines if self.rows else []), *self._more()])

    def html(self) -> str:
        """Format as HTML, with every text escaped."""
        # Imported here: only notebooks need it.
        from html import escape

        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.header)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in self.rows
        )
        notes = "".join(f"<br>{escape(sentence)}" for sentence in self.notes)
        caption = f"<b>{escape(self.title)}</b>{notes}"
        more = "".join(f"<p>{escape(sentence)}</p>" for sentence in self._more())
        return (
            f'<table><caption style="caption-side: top; text-align: left">{caption}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
        )

    def _more(self) -> list[str]:
        if not self.rows:
            return ["Nothing was found."]
        left = number(self.left_out, 0)
        return [f"… and {left} more: to_pandas() has all"] if self.left_out else []


def shown(result: Any) -> Shown:
    """Format a result as a compact table: numbers with their intervals, and notes."""
    rows = [*result.rows()]
    header, cells = _table(result)
    return Shown(
        f"{name_of_result(result)} of {result.survey}",
        [of_reports(result), *basis(result), *_verdicts(result)],
        header,
        cells,
        max(0, len(rows) - MOST_ROWS),
    )


def _table(result: Any) -> tuple[list[str], list[list[str]]]:
    if hasattr(result, "estimates"):
        rows = [_whole(*row) for row in islice(result.estimates(), MOST_ROWS)]
        names = [*result.keys, "value", "p_value", *(n for n, _ in result.others), *_LAST]
        count = len(result.keys)
    else:
        rows = [*islice(result.rows(), MOST_ROWS)]
        names = [name for name, _ in result.columns][:MOST_COLUMNS]
        count = result.index
    columns: list[tuple[str, Sequence[str]]] = []
    for i, name in enumerate(names):
        cells = [row[i] for row in rows]
        if i < count:
            # Repeated keys are blank, and so is a label that equals the name.
            if name != "label" or any(row[i] != row[i - 1] for row in rows):
                columns.append((name, cells if i == count - 1 else _unrepeated(rows, i)))
        elif any(isinstance(cell, Estimate) for cell in cells):
            numbers = [cell or Estimate() for cell in cells]
            columns.append((name, [_estimate(number, name) for number in numbers]))
            columns.append((_confidence(result), [_interval(number) for number in numbers]))
        elif any(cell is not None and cell is not False and cell != "usable" for cell in cells):
            columns.append((name, [_plain(name, cell) for cell in cells]))
    header = [name.replace("_", " ") for name, _ in columns]
    lines = [list(line) for line in zip(*(cells for _, cells in columns), strict=True)]
    if len(lines) == 1 and header.count(_confidence(result)) > _MOST_BESIDE:
        return _transposed(header, lines[0], _confidence(result))
    return header, lines


def _whole(keys: Sequence[str], estimate: Estimate, others: Sequence[Any]) -> tuple[Any, ...]:
    """Cells of a row, with estimates as one cell each."""
    last = (getattr(estimate, name) for name in _LAST)
    return (*keys, estimate, estimate.p_value, *others, *last)


def _transposed(
    header: Sequence[str], cells: Sequence[str], interval: str
) -> tuple[list[str], list[list[str]]]:
    """Turn one row of many numbers into a table no wider than a page."""
    rows: list[list[str]] = []
    for name, cell in zip(header, cells, strict=True):
        if name == interval:
            rows[-1][2] = cell
        else:
            rows.append([name, cell, ""])
    return ["", "", interval], rows


def _unrepeated(rows: Sequence[Sequence[Any]], i: int) -> list[str]:
    before = [None, *(tuple(row[: i + 1]) for row in rows)]
    return [
        "" if tuple(row[: i + 1]) == above else str(row[i])
        for row, above in zip(rows, before, strict=False)
    ]


def _estimate(estimate: Estimate, name: str) -> str:
    if name == "value":
        return estimate_in_words(estimate)
    return "" if estimate.value is None else value(estimate.value, estimate.ends)


def _interval(estimate: Estimate) -> str:
    return "" if estimate.interval is None else interval_in_words(estimate)


def _plain(name: str, cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if not isinstance(cell, (int, float)):
        return str(cell)
    return p_value(cell) if name.endswith("p_value") else number(_rounded(cell))


def _rounded(quantity: float) -> float:
    return quantity if isinstance(quantity, int) else float(f"{quantity:.4g}")


def _confidence(result: Any) -> str:
    return level(getattr(result.query, "confidence", 0.95))


def _verdicts(result: Any) -> Iterator[str]:
    for name in ("verdict", "statement", "undefined"):
        text = getattr(result, name, None)
        if text:
            yield f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def chart_of(result: Any) -> EstimateChart:
    """Chart of the estimates of a result with their intervals: shares alone as bars, else dots."""
    of_quantities = result.keys[0] in _QUANTITIES
    split = result.PANELS if of_quantities else min(result.PANELS, len(result.keys) - 1)
    confidence = getattr(result.query, "confidence", 0.95)
    panels = []
    for keys, rows in groupby(result.estimates(), lambda row: tuple(row[0][:split])):
        heading = str(keys[-1]) if keys else ""
        axis = _axis(heading if of_quantities else result.QUANTITY)
        drawn = [_drawn(result.keys, row[0], row[1], split, confidence) for row in rows]
        line = Reference(1, "no difference") if axis.scale == "log" else None
        panels.append(Panel(axis, tuple(drawn), heading.replace("_", " "), line))
    every = [row for panel in panels for row in panel.rows]
    return EstimateChart(
        title=f"{name_of_result(result)} · {result.survey}",
        notes=(
            f"{of_reports(result)}; {level(confidence)}s",
            *basis(result),
            *([] if every else ["Nothing was found."]),
        ),
        panels=tuple(panels),
        bars=bool(panels) and all(panel.axis.shares for panel in panels),
    )


def _axis(quantity: str) -> Axis:
    label = quantity.replace("_", " ")
    return Axis(label, quantity in SHARES, "log" if quantity.endswith("ratio") else "linear")


def _drawn(
    names: Sequence[str], keys: Sequence[str], estimate: Estimate, split: int, confidence: float
) -> Mark:
    label = ""
    for name, key in zip(names[split:], keys[split:], strict=True):
        label += f"{_SEPARATORS.get(name, ', ') if label and key else ''}{key}"
    return drawn(label or str(keys[0]), estimate, confidence)


def drawn(label: str, estimate: Estimate, confidence: float | None = None) -> Mark:
    """An estimate for charts; with a confidence level also its interval without perturbation."""
    lower, upper = estimate.drawn or (None, None)
    return Mark(
        label,
        estimate.value,
        lower,
        upper,
        reason=estimate.undefined,
        inner=None if confidence is None else estimate.without_perturbation(confidence),
        doubtful=not estimate.undefined and estimate.reliability == "not usable",
    )
