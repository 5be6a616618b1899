"""Processor time and size of all pages of results about CENSUS; a separate program."""

import gzip
import os
import time
from collections.abc import Iterator

from halftruth_collector.analyses import ANALYSES
from halftruth_collector.cli.output import print_table
from halftruth_collector.demo.census import SCHEMA
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from halftruth_shared import SplitQuestionnaire
from numpy.random import default_rng
from stores import census_collected, sqlite_database

#: Number of visits, of which the fastest counts.
VISITS = 5

PATHS = {
    "overview": "",
    **{name: f"/{name}" for name in ANALYSES if name != "overview"},
    "itemsets at 0.1 %": "/itemsets?min_support=0.001",
    "rules at 0.1 %": "/rules?min_support=0.001&min_confidence=0.5",
    "files": "/export",
    "report": "/report",
}


def rows() -> Iterator[list[str]]:
    """Yield the processor seconds of a repeated visit, and compressed kilobytes, by page."""
    lengths = dict.fromkeys(range(1, len(SCHEMA.names) + 1), 1.0)
    mechanism = SplitQuestionnaire.designed(SCHEMA, "19", (), lengths)
    with sqlite_database() as database:
        token = census_collected(database, mechanism, default_rng(1))
        browser = create_app(Config(database=database)).test_client()
        browser.post("/sign-in", data={"token": token})
        for name, path in PATHS.items():
            seconds = []
            for _ in range(1 + VISITS):
                before = time.process_time()
                answer = browser.get(f"/results/census{path}")
                seconds.append(time.process_time() - before)
            size = len(gzip.compress(answer.data)) / 1000
            yield [name, f"{min(seconds[1:]):.2f} s", f"{size:.0f} kB"]


if __name__ == "__main__":
    print_table(["page", "processor", "compressed"], list(rows()))
    print(f"load average {os.getloadavg()[0]:.1f}")
