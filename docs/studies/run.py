"""Compute the tables and figures of the studies again: ``python run.py [NAME ...]``."""

import sys
import time
from importlib import import_module

from page import FOLDER, Page

#: Each script with its page, which has the same name with hyphens, but for that of all results.
PAGES = {page.stem.replace("-", "_"): page.stem for page in sorted(FOLDER.glob("*.md"))}
STUDIES = {
    **{name: page for name, page in PAGES.items() if (FOLDER / f"{name}.py").exists()},
    "results": "README",
}


def main(names: list[str]) -> None:
    """Run the studies named, or all of them."""
    for name in names or STUDIES:
        began = time.monotonic()
        page = Page(STUDIES[name])
        import_module(name).study(page)
        page.save()
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
