"""How long a phone waits for the hosted form on a slow network, built and as modules.

``python tests/bench/opening.py`` prints both, from a collector of this package and from a copy of
it without the built form: requests, bytes, time until something can be tapped, and the processor
time of the collector. The exit status is 1 if a limit of the built form is missed. It takes two
minutes.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import halftruth_collector
from halftruth_collector import operations
from halftruth_collector.cli.output import print_table
from halftruth_collector.collector_store import Store
from halftruth_collector.demo.process import collector_process
from halftruth_collector.web.bundle import built_form
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from playwright.sync_api import Browser, BrowserContext, sync_playwright
from stores import sqlite_database

#: Networks of Chromium's emulation: milliseconds of latency, and bytes per second.
NETWORKS = {"slow 3G": (2_000.0, 50_000), "fast 3G": (562.5, 180_000)}

#: Headers of the requests that are sent again.
ACCEPTED = {"Accept-Encoding": "gzip, br", "Accept-Language": "de-DE"}

#: Limits of the built form, for the first and the second visit.
SECONDS = {"slow 3G": (8.0, 3.0), "fast 3G": (2.5, 1.0)}
REQUESTS, BYTES, MILLISECONDS = 6, 75_000, 3.0

#: Visits whose requests are sent again to measure their processor time, and batches of them. The
#: fastest batch counts, since other programs only make it slower.
VISITS, BATCHES = 10, 20

SURVEY = Survey(
    "health",
    {"en": "Health at work", "de": "Gesundheit bei der Arbeit"},
    Schema((Attribute("smoker", ("no", "yes")), Attribute("drinks", ("never", "weekly", "daily")))),
    GammaDiagonal(19),
)


@dataclass
class Visit:
    """A visit until something can be tapped: seconds, addresses that were asked for, and bytes."""

    seconds: float
    asked: list[str]
    bytes: int


def visit(context: BrowserContext, url: str, latency: float = 0, throughput: int = -1) -> Visit:
    """Open a page on a network, and wait for its first button."""
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    limits = {"latency": latency, "downloadThroughput": throughput, "uploadThroughput": throughput}
    session.send("Network.emulateNetworkConditions", {"offline": False, **limits})
    sent, sizes = dict[str, str](), dict[str, int]()
    session.on(
        "Network.requestWillBeSent",
        lambda event: sent.update({event["requestId"]: event["request"]["url"]}),
    )

    def omit(event: dict[str, Any]) -> None:
        if event.get("response", {"fromDiskCache": True}).get("fromDiskCache"):
            sent.pop(event["requestId"], None)

    for name in ("Network.requestServedFromCache", "Network.responseReceived"):
        session.on(name, omit)
    session.on(
        "Network.loadingFinished",
        lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}),
    )
    start = time.perf_counter()
    page.goto(f"{url}/s/health", wait_until="commit", timeout=120_000)
    page.locator("halftruth-form button").first.wait_for(timeout=120_000)
    seconds = time.perf_counter() - start
    # What is not needed for it, such as an icon, arrives later.
    page.wait_for_load_state("networkidle")
    page.close()
    return Visit(seconds, list(sent.values()), sum(sizes.get(name, 0) for name in sent))


def processor_seconds() -> float:
    """Return the processor time of all processes that this one started, but for browsers."""
    nanoseconds, waiting = 0, [os.getpid()]
    while waiting:
        folder = Path(f"/proc/{waiting.pop()}")
        for task in folder.glob("task/*"):
            for child in map(int, (task / "children").read_text().split()):
                if b"halftruth_collector" in Path(f"/proc/{child}/cmdline").read_bytes():
                    waiting.append(child)
                    clocks = Path(f"/proc/{child}").glob("task/*/schedstat")
                    nanoseconds += sum(int(clock.read_text().split()[0]) for clock in clocks)
    return nanoseconds / 1e9


@contextmanager
def collector(modules: bool) -> Iterator[str]:
    """Run a collector, or one from a copy of the package without the built form."""
    with sqlite_database() as database, tempfile.TemporaryDirectory() as folder:
        with Store(database) as store:
            operations.publish_survey(store, SURVEY)
        before = os.environ.get("PYTHONPATH")
        if modules:
            package = Path(halftruth_collector.__file__).parent
            left_out = shutil.ignore_patterns("built", "__pycache__")
            shutil.copytree(package, Path(folder) / package.name, ignore=left_out)
            os.environ["PYTHONPATH"] = folder
        try:
            with collector_process(database, "--quiet", "--workers", "1") as url:
                yield url
        finally:
            os.environ.pop("PYTHONPATH", None)
            if before is not None:
                os.environ["PYTHONPATH"] = before


def measure(browser: Browser, url: str) -> tuple[dict[str, list[Visit]], list[float]]:
    """Return both visits by network, and processor milliseconds.

    These are of the first and of the second visit, and of the survey with one report.
    """

    def context() -> BrowserContext:
        return browser.new_context(viewport={"width": 390, "height": 844}, locale="de-DE")

    visit(context(), url)
    visits = {}
    for name, network in NETWORKS.items():
        same = context()
        visits[name] = [visit(same, url, *network) for _ in range(2)]
    first, second = visits["fast 3G"]
    connection = HTTPConnection(urlsplit(url).netloc)
    tags: dict[str, str] = {}

    def ask(address: str, body: str | None = None, **headers: str) -> None:
        method = "GET" if body is None else "POST"
        connection.request(method, address, body, {**ACCEPTED, **headers})
        answer = connection.getresponse()
        answer.read()
        tags[address] = answer.headers.get("ETag", "")

    def first_visit() -> None:
        for address in first.asked:
            ask(address)

    def second_visit() -> None:
        for address in second.asked:
            ask(address, **{"If-None-Match": tags.get(address, "")})

    def survey_and_report() -> None:
        ask("/v1/surveys/health")
        reports = [{"id": str(uuid4()), "values": [0, 1]}]
        body = json.dumps({"digest": SURVEY.digest, "reports": reports})
        ask("/v1/surveys/health/reports", body, **{"Content-Type": "application/json"})

    spent = [processor_milliseconds(of) for of in (first_visit, second_visit, survey_and_report)]
    connection.close()
    return visits, spent


def processor_milliseconds(run: Callable[[], None]) -> float:
    """Return the processor time of the collector for one run, of the fastest batch."""
    batches = []
    for _ in range(BATCHES):
        start = processor_seconds()
        for _ in range(VISITS):
            run()
        batches.append(processor_seconds() - start)
    return 1_000 * min(batches) / VISITS


def main() -> int:
    """Print the figures; return 1 if a limit is missed."""
    path = shutil.which("chromium")
    if path is None or built_form() is None:
        print("expected chromium and the built form, which make test makes", file=sys.stderr)
        return 2
    measured = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for modules in (True, False):
            with collector(modules) as url:
                measured[modules] = measure(browser, url)
        browser.close()
    rows, is_missed = [], False

    def add(what: str, modules: float, built: float, limit: float, digits: str) -> None:
        nonlocal is_missed
        is_missed |= built > limit
        verdict = "missed" if built > limit else "met"
        rows.append([what, *(f"{value:{digits}}" for value in (modules, built, limit)), verdict])

    (visits_before, spent_before), (visits, spent) = measured[True], measured[False]
    for name in NETWORKS:
        for n, which in enumerate(("first", "second")):
            seconds = visits_before[name][n].seconds, visits[name][n].seconds
            add(f"{name}, {which} visit, s", *seconds, SECONDS[name][n], ".1f")
    first_before, first = visits_before["fast 3G"][0], visits["fast 3G"][0]
    add("requests, first visit", len(first_before.asked), len(first.asked), REQUESTS, ",d")
    add("bytes, first visit", first_before.bytes, first.bytes, BYTES, ",d")
    for n, which in enumerate(("first", "second")):
        what = f"processor, {which} visit, ms"
        add(what, spent_before[n], spent[n], MILLISECONDS, ".1f")
    # To compare with: what answering costs besides, and how busy the machine is.
    answering = [f"{spent_before[2]:.1f}", f"{spent[2]:.1f}"]
    rows.append(["processor, survey and one report, ms", *answering, "", ""])
    print_table(["until something can be tapped", "modules", "built", "limit", ""], rows)
    return int(is_missed)


if __name__ == "__main__":
    sys.exit(main())
