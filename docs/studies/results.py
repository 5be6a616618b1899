"""The index of all results of the sources, from the rows of ``tests/studies/witnesses.toml``."""

import tomllib
from itertools import groupby
from typing import Any

from page import FOLDER, Page

ROWS = FOLDER.parents[1] / "tests" / "studies" / "witnesses.toml"

STATES = ("equal", "differs", "unavailable")

HEADER = ("result", "what it says", "printed", "own", "state", "test", "page")


def study(page: Page) -> None:
    """Put the number of results in each state, and a table for each source, into README.md."""
    rows = tomllib.loads(ROWS.read_text(encoding="utf-8"))["result"]
    sources = {source: list(group) for source, group in groupby(rows, lambda row: row["source"])}
    page.table(
        "states",
        ["source", *STATES, "all"],
        [
            [source, *(sum(row["state"] == state for row in group) for state in STATES), len(group)]
            for source, group in {**sources, "all": rows}.items()
        ],
    )
    page.put("results", "\n\n".join(_section(*group) for group in sources.items()))


def _section(source: str, rows: list[dict[str, Any]]) -> str:
    """Return heading and table of a source, a line for each result, so that versions merge."""
    lines = [HEADER, ["---"] * len(HEADER), *map(_cells, rows)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"### {source}\n\n{table}"


def _cells(row: dict[str, Any]) -> list[str]:
    """Return the cells of a result, as Markdown."""
    state = f"{row['state']}: {row['reason']}" if "reason" in row else row["state"]
    test = f"`{row['test']}`" if "test" in row else ""
    if "needs" in row:
        test += f" (needs {', '.join(row['needs'])})"
    page = f"[{row['page'].removesuffix('.md')}]({row['page']})" if "page" in row else ""
    words = (row["item"], row["says"], row.get("printed", ""), row.get("own", ""), state)
    return [*(word.replace("|", r"\|").replace("*", r"\*") for word in words), test, page]
