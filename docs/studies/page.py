"""The page of a study: prose by hand, tables and figures by its script."""

import re
from collections.abc import Sequence
from pathlib import Path

from halftruth_collector.charts.rendering import render
from halftruth_shared.results.charts import Chart
from tabulate import tabulate

FOLDER = Path(__file__).parent


class Page:
    """``NAME.md``, with a place for each table and figure: comments "begin X" and "end X".

    Parameters
    ----------
    name : str
        The study's.

    Attributes
    ----------
    text : str
        The page as it would be saved.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._file = FOLDER / f"{name}.md"
        self.text = self._file.read_text(encoding="utf-8")

    def table(self, place: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Put a table in its place; numbers are given as they are to be read."""
        self.put(place, tabulate(rows, header, tablefmt="github", disable_numparse=True))

    def figure(self, place: str, chart: Chart) -> None:
        """Draw a chart beside the page, and show it in its place."""
        picture = f"{self._name}-{place}.svg"
        render(chart, FOLDER / picture)
        self.put(place, f"![{chart.description}]({picture})")

    def put(self, place: str, content: str) -> None:
        """Put Markdown into its place."""
        begin, end = f"<!-- begin {place} -->", f"<!-- end {place} -->"
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        self.text, found = pattern.subn(lambda _: f"{begin}\n{content}\n{end}", self.text)
        if found != 1:
            raise ValueError(f"{self._file.name}: expected one place {begin}; found {found}")

    def save(self) -> None:
        """Write the page."""
        self._file.write_text(self.text, encoding="utf-8")
