"""The published results that tests compute again: the rows of tests/studies/witnesses.toml.

As a plugin of pytest, it lists the rows whose tests were skipped or failed.
"""

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from reference import absent, reference_file

FILE = Path(__file__).resolve().parents[1] / "studies" / "witnesses.toml"

STATES = ("equal", "differs", "unavailable")

_NUMBER = re.compile(r"[−-]?\d+(?:\.\d+)?(?:e[−-]?\d+)?")


@dataclass(frozen=True)
class Witness:
    """A published result, and the test that computes it.

    Attributes
    ----------
    source, item : str
        Whose result it is, and its number there, such as "FRAPP" and "Table 3".
    says : str
        What it says, in one sentence.
    state : str
        "equal", "differs" or "unavailable".
    test : str
        The test, as ``tests/…/test_x.py::test_name``, without parameters.
    printed, own : str
        What the source prints, and what the test finds: numbers, or a few words.
    reason : str
        Why they differ, or why there is nothing to compare.
    page : str
        File name of the study page that shows it.
    needs : tuple of str
        Files of reference data without which the test is skipped.
    """

    source: str
    item: str
    says: str
    state: str
    test: str = ""
    printed: str = ""
    own: str = ""
    reason: str = ""
    page: str = ""
    needs: tuple[str, ...] = ()

    @property
    def title(self):
        """Name of the result."""
        return f"{self.source}, {self.item}"

    @property
    def printed_values(self):
        """The numbers of ``printed``."""
        return [_value(number) for number in _NUMBER.findall(self.printed)]

    @property
    def own_values(self):
        """The numbers of ``own``."""
        return [_value(number) for number in _NUMBER.findall(self.own)]

    def assert_own(self, *found):
        """Assert that numbers, or arrays of them, are those of ``own``, to the digits there."""
        values = np.concatenate([np.ravel(np.asarray(part, dtype=float)) for part in found])
        written = _NUMBER.findall(self.own)
        rounded = [_rounded(value, number) for value, number in zip(values, written, strict=False)]
        assert len(values) == len(written), f"{self.title}: {values.tolist()} for {self.own}"
        assert rounded == self.own_values, f"{self.title}: {values.tolist()} for {self.own}"


def _value(number):
    return float(number.replace("−", "-"))


def _rounded(value, number):
    """Round a value to as many digits as a number is written with."""
    mantissa, exponent, _ = number.partition("e")
    digits = len(mantissa.partition(".")[2])
    return float(f"{value:.{digits}{'e' if exponent else 'f'}}")


def read(file=FILE):
    """Return all rows, in the order of the file."""
    rows = tomllib.loads(file.read_text(encoding="utf-8"))["result"]
    return [Witness(**{**row, "needs": tuple(row.get("needs", ()))}) for row in rows]


WITNESSES = {(row.source, row.item): row for row in read()}


def witness(source, item):
    """Return the row that the running test is the witness of.

    Fails if the row names another test. Skips the test if a file that the row needs is absent.
    """
    row = WITNESSES[source, item]
    running = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    assert row.test == running.partition("[")[0], f"{row.title} names {row.test}"
    for name in row.needs:
        reference_file(name)
    return row


def witnessed(test):
    """Return the rows of a test by its id, or of all tests of a file by its path."""
    name = test.partition("[")[0]
    return [row for row in WITNESSES.values() if name in (row.test, row.test.partition("::")[0])]


def wrong_skips(test, reason):
    """Return complaints if the witness of a row was skipped though no file that it needs is absent.

    Parameters
    ----------
    test : str
        Id of the skipped test.
    reason : str
        Why it was skipped.
    """
    return [
        f"{row.title} was skipped, and not for a file that it needs: {reason}"
        for row in witnessed(test)
        if not any(name in reason for name in absent(row.needs))
    ]


def summary(outcomes):
    """Return lines with the number of rows in each state, and the rows skipped or not shown.

    Parameters
    ----------
    outcomes : list of (str, str)
        Tests that ran, and files that could not be imported, each "passed", "skipped", "failed"
        or "error".
    """
    rows = {}
    for test, outcome in outcomes:
        for row in witnessed(test):
            rows.setdefault(outcome, {})[row.title] = row
    if not rows:
        return []
    states = [row.state for row in WITNESSES.values()]
    skipped = rows.get("skipped", {}).values()
    broken = {**rows.get("error", {}), **rows.get("failed", {})}.values()
    return [
        "published results: "
        + ", ".join(f"{states.count(state)} {state}" for state in STATES)
        + f"; {len(skipped)} skipped, {len(broken)} failed",
        *(f"  {row.title}: skipped without {', '.join(absent(row.needs))}" for row in skipped),
        *(f"  {row.title}: no result of {row.test}" for row in broken),
    ]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Fail the test of a published result that is skipped, unless data that it needs are absent."""
    report = yield
    if report.skipped and (complaints := wrong_skips(item.nodeid, report.longrepr[-1])):
        report.outcome, report.longrepr = "failed", "\n".join(complaints)
    return report


def pytest_terminal_summary(terminalreporter):
    """List the rows whose tests were skipped or failed, or could not be imported."""
    for line in summary(
        [
            (report.nodeid, outcome)
            for outcome in ("passed", "skipped", "failed", "error")
            for report in terminalreporter.stats.get(outcome, [])
        ]
    ):
        terminalreporter.line(line)
