"""A plugin of pytest that hides NumPy and cryptography from the client: ``pytest -p light``.

The collector of a test has both. A test that fails since the client refused something, for want of
an extra that it named, is skipped; so are files about the analyst.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from halftruth_shared import extras

#: Modules whose import fails without NumPy.
_NEED_NUMPY = (
    "halftruth_client.analyst",
    "halftruth_shared.channels",
    "halftruth_shared.mechanisms.vectorized",
    "halftruth_shared.relayed",
)


#: What was refused in the current test.
_refusals: list[str] = []


class _RecordedExtra(extras.MissingExtra):
    def __init__(self, *words: Any, **named: Any) -> None:
        super().__init__(*words, **named)
        _refusals.append(str(self))


def _import(name: str) -> ModuleType:
    if name in _NEED_NUMPY:
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")
    return import_module(name)


def pytest_configure() -> None:
    patched: Any = extras
    patched.import_module, patched.find_spec = _import, lambda _: None
    patched.MissingExtra = _RecordedExtra


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    is_test = collection_path.suffix == ".py"
    return True if is_test and "Analyst" in collection_path.read_text(encoding="utf-8") else None


def pytest_runtest_setup() -> None:
    _refusals.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report: Any = yield
    if report.failed and _refusals:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"Skipped: refused: {_refusals[-1]}")
    return report
