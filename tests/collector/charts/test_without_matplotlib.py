"""A collector without the extra ``plot``: pages have their charts, and no files of charts."""

import subprocess
import sys

import halftruth_collector.charts
import pytest
from halftruth_collector import operations
from halftruth_collector.web.pages.session import COOKIE

MISSING = (
    "charts: expected Matplotlib, which is not installed here"
    " (pip install 'halftruth-collector[plot]')"
)

#: A process in which none of the extras is installed.
BARE = """\
import sys
for name in "distributed matplotlib pandas psycopg pyarrow".split():
    sys.modules[name] = None
from halftruth_collector.cli import main
main()
"""


@pytest.fixture
def bare(monkeypatch):
    for name in ("collector.charts.rendering", "shared.results.charts.drawing"):
        monkeypatch.delitem(sys.modules, f"halftruth_{name}", raising=False)
    monkeypatch.delattr(halftruth_collector.charts, "rendering", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.fixture
def analysts(http, store, filled, bare):
    http.set_cookie(COOKIE, operations.create_token(store, "analyst"), path="/results/")
    return http


@pytest.mark.parametrize("path", ["/comparison", "/report", "/itemsets?min_support=0.05"])
def test_pages_have_charts_and_offer_no_files_of_them(analysts, path):
    answer = analysts.get(f"/results/health{path}")
    page = answer.get_data(as_text=True)
    assert answer.status_code == 200
    assert '<figure class="chart' in page
    assert "Chart as" not in page
    assert "matplotlib" not in page.lower()


@pytest.mark.parametrize("format", ["svg", "png"])
def test_a_chart_as_a_file_is_refused(analysts, format):
    answer = analysts.get(f"/results/health?format={format}")
    assert answer.status_code == 406
    assert MISSING in answer.get_data(as_text=True).replace("&#39;", "'")


@pytest.mark.usefixtures("filled")
def test_commands_work_without_extras_and_name_the_one_for_charts(database, tmp_path):
    def run(*words):
        command = [sys.executable, "-c", BARE, *words, "--database", database]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
        return ran.returncode, ran.stderr

    assert run("analyse", "page", "health") == (0, "")
    page = (tmp_path / "health-report.html").read_text(encoding="utf-8")
    assert '<figure class="chart' in page
    asked = ("analyse", "overview", "health", "--plot", "chart.svg")
    assert run(*asked) == (2, f"halftruth: {MISSING}\n")
