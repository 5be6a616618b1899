"""Progress of long commands on a terminal."""

import io
import re
import sys

import pytest
from halftruth_collector.cli import options, output
from halftruth_shared.deadlines import check_deadline

#: A survey to plan.
PLANNED = """
id = "planned"
title = "Planned"
mechanism = { kind = "gamma-diagonal", gamma = "19" }
attributes = [
  { name = "smoker", categories = ["no", "yes"] },
  { name = "drinks", categories = ["no", "some", "many"] },
]
"""

#: Commands that may take more than a second, with what they show meanwhile.
LONG = {
    "estimating": [["analyse", "itemsets", "health"], ["analyse", "page", "health"]],
    "planning": [["plan", "planned.toml", "--respondents", "500"]],
}


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self):
        return True


@pytest.fixture
def on_a_terminal(monkeypatch):
    """Return a function that has errors written to a terminal, and returns it."""

    def start():
        # Not in the fixture itself, since pytest captures each phase of a test anew.
        monkeypatch.setattr(sys, "stderr", terminal := Terminal())
        return terminal

    return start


@pytest.fixture
def at_once(monkeypatch):
    """Show progress without waiting."""
    monkeypatch.setattr(output, "PATIENCE", 0)
    monkeypatch.setattr(options, "PATIENCE", 0)


@pytest.mark.usefixtures("at_once")
def test_the_steps_of_a_computation_are_counted_on_a_terminal(on_a_terminal):
    terminal = on_a_terminal()
    with output.computing("estimating"):
        for _ in range(7):
            check_deadline()
        # The bar is drawn from time to time, and removed at the end.
        shown = terminal.getvalue()
    assert re.match(r"\restimating: \d+ steps, 00:00", shown)
    assert terminal.getvalue().split("\r")[-1] == ""


def test_a_short_computation_shows_nothing(on_a_terminal, monkeypatch):
    monkeypatch.setattr(output, "PATIENCE", 3600)
    terminal = on_a_terminal()
    with output.computing("estimating"):
        check_deadline()
    assert terminal.getvalue() == ""


def test_nothing_is_shown_without_a_terminal(capsys):
    with output.computing("estimating"):
        check_deadline()
    assert capsys.readouterr().err == ""


def test_an_error_ends_the_progress(on_a_terminal):
    terminal = on_a_terminal()
    with pytest.raises(ZeroDivisionError), output.computing("estimating"):
        _ = 1 / 0
    check_deadline()
    assert "estimating" not in terminal.getvalue().split("\r")[-1]


@pytest.mark.usefixtures("of_ninety_reports", "at_once")
@pytest.mark.parametrize(
    ("what", "words"), [(what, words) for what, each in LONG.items() for words in each]
)
def test_long_commands_show_their_progress(halftruth, on_a_terminal, tmp_path, what, words):
    (tmp_path / "planned.toml").write_text(PLANNED, encoding="utf-8")
    terminal = on_a_terminal()
    status, said, _ = halftruth(*words)
    assert status == 0
    assert f"\r{what}: " in terminal.getvalue()
    assert what not in said
