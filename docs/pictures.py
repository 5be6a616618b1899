"""Take the manual's pictures of pages again, and run its notebook: ``python docs/pictures.py``.

It needs Chromium. The survey and the simulated people are those of ``docs/analysing.md``.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.demo.process import collector_process
from halftruth_shared import read_survey
from nbclient import NotebookClient
from playwright.sync_api import Browser, sync_playwright

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"
NOTEBOOK = DOCS / "tutorial.ipynb"

#: Address of the collector in the manual.
ADDRESS = "http://127.0.0.1:8000"

#: Address, width and largest height of each picture in CSS pixels, and whether it needs a token.
PAGES = {
    "form": ("/s/work", 390, 800, False),
    "comparison": (
        "/results/work/comparison?answer=bullied%3Dyes&groups=team",
        1_000,
        900,
        True,
    ),
}


def main() -> None:
    """Publish the survey, count its simulated reports, and take every picture."""
    browser_path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if browser_path is None:
        sys.exit("chromium: not installed; expected Chromium or its headless shell")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        database = f"sqlite:///{folder}/pictures.db"
        with Store(database) as store:
            operations.publish_survey(store, read_survey(str(DOCS / "examples" / "work.toml")))
            token = operations.create_token(store, "analyst")
        subprocess.run(
            [sys.executable, "simulate.py"],
            cwd=DOCS / "examples",
            env={**os.environ, "HALFTRUTH_DATABASE": database},
            check=True,
        )
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        with collector_process(database, "--quiet") as address:
            for name in PAGES:
                take_picture(browser, address, name, token)
            (Path(folder) / "analyst.token").write_text(token, encoding="utf-8")
            nbformat.write(run_notebook(address, folder), NOTEBOOK)
        browser.close()


def run_notebook(address: str, folder: str | Path) -> nbformat.NotebookNode:
    """Return the notebook with its outputs, from a collector and with the token in the folder."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    sources = [cell.source for cell in notebook.cells]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = cell.source.replace(ADDRESS, address)
    client = NotebookClient(
        notebook, record_timing=False, resources={"metadata": {"path": str(folder)}}
    )
    # The history of the notebook stays in the folder.
    client.execute(env={**os.environ, "IPYTHONDIR": str(folder)})
    for cell, source in zip(notebook.cells, sources, strict=True):
        cell.source = source
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def take_picture(browser: Browser, address: str, name: str, token: str) -> None:
    """Write the upper part of a page, in its light colours, as a file."""
    path, width, height, is_protected = PAGES[name]
    page = browser.new_page(viewport={"width": width, "height": height}, locale="en")
    page.goto(address + path)
    if is_protected:
        page.get_by_label("Token").fill(token)
        page.keyboard.press("Enter")
        page.wait_for_url(address + path)
    page.wait_for_load_state("networkidle")
    page.screenshot(path=PICTURES / f"{name}.png")
    page.close()


if __name__ == "__main__":
    main()
