"""Compute the tables and figures of the studies again: ``python run.py [NAME ...]``."""

import sys
import time
from importlib import import_module

from page import FOLDER, Page

#: Every page with a script of the same name.
STUDIES = sorted(page.stem for page in FOLDER.glob("*.md") if page.with_suffix(".py").exists())


def main(names: list[str]) -> None:
    """Run the studies named, or all of them."""
    for name in names or STUDIES:
        began = time.monotonic()
        page = Page(name)
        import_module(name).study(page)
        page.save()
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
