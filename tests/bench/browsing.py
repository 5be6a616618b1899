"""The client and the pages in a browser: absolute figures, since there is no peer."""

import shutil
from collections.abc import Iterator
from statistics import median

from halftruth_collector.demo.census import SCHEMA, census_codes
from halftruth_collector.demo.process import collector_process
from halftruth_shared import GammaDiagonal
from measure import Figure
from playwright.sync_api import sync_playwright
from stores import census_collected, sqlite_database

#: Target milliseconds for perturbing one record, and for painting a page.
RECORD, PAINT = 0.2, 1_000.0
VISITS = 7

PERTURB = """
async ([url, record]) => {
  const { Client } = await import(url + "/js/index.js");
  const survey = await new Client(url, { maxGamma: 19 }).survey("census");
  const times = [];
  for (let round = 0; round < 41; round += 1) {
    const start = performance.now();
    for (let i = 0; i < 200; i += 1) survey.perturb(record);
    times.push((performance.now() - start) / 200);
  }
  return times;
}
"""
FIRST_PAINT = """
() => new Promise((resolve) => {
  const observer = new PerformanceObserver((list) => {
    const found = list.getEntriesByName("first-contentful-paint");
    if (found.length > 0) resolve(found[0].startTime);
  });
  observer.observe({ type: "paint", buffered: true });
})
"""


def figures() -> Iterator[Figure]:
    """Yield medians; nothing without a browser."""
    path = shutil.which("chromium")
    if path is None:
        return
    with sqlite_database() as database:
        token = census_collected(database, GammaDiagonal(19))
        with collector_process(database, "--quiet") as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            page = browser.new_page()
            page.goto(url)
            record = SCHEMA.decode(census_codes()[0].tolist())
            times = page.evaluate(PERTURB, [url, record])
            yield Figure("perturb one CENSUS record in the browser", median(times), RECORD)
            page.goto(f"{url}/results/census/itemsets")
            page.get_by_label("Token").fill(token)
            page.get_by_role("button", name="Sign in").click()
            for name in ("itemsets", "measures"):
                paints = []
                for _ in range(VISITS):
                    page.goto(f"{url}/results/census/{name}")
                    paints.append(page.evaluate(FIRST_PAINT))
                yield Figure(f"first paint of /results/census/{name}", median(paints), PAINT)
            browser.close()
