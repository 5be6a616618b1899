"""``halftruth analyse page``: the page of a survey's results as a file."""

import pytest


@pytest.fixture
def report(halftruth, of_ninety_reports):
    return lambda *words: halftruth("analyse", "page", *words)


def test_the_page_is_written_to_the_requested_file(report, tmp_path):
    assert report("health") == (0, "written: health-report.html\n", "")
    assert report("health", "--output", "page.html")[0] == 0
    first, second = (tmp_path / name for name in ("health-report.html", "page.html"))
    page = first.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.count("<figure") == second.read_text(encoding="utf-8").count("<figure") == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nobody"], "there is no survey"),
        (
            ["health", "--output", "no/folder.html"],
            "output: expected a file that can be written",
        ),
    ],
)
@pytest.mark.usefixtures("of_ninety_reports")
def test_errors_are_printed_in_one_line(refused, words, said):
    assert said in refused("analyse", "page", *words)
