"""The house keeps to what its documents say of it."""

import importlib
import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
DOCUMENTS = ["CONTRIBUTING.md", "CHANGELOG.md", "README.md", "SECURITY.md", "client/PYTHON.md"]
DOCUMENTS += [f"{room}/README.md" for room in ("shared", "client", "collector", "docs/studies")]
DOCUMENTS += [str(file.relative_to(ROOT)) for file in ROOT.glob("collector/addons/*/README.md")]


def commands_of_checks() -> set[str]:
    """What ``make check`` runs, without what only finds the tools."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [checks] = re.findall(r"^CHECKS := (.*)\n", makefile, re.M)
    found = set[str]()
    for target in checks.split():
        [body] = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.M)
        found |= set(re.findall(r"(?:\$\(BIN\)|\.bin)/([\w-]+(?: check| format)?)", body))
    return found


def test_a_commit_is_checked_by_the_tools_of_make_check():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [entry["repo"] for entry in config["repos"]] == ["local"]
    hooks = config["repos"][0]["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    entries = " ".join(hook["entry"] for hook in hooks)
    run = set(re.findall(r"bin/([\w-]+(?: check| format)?)", entries))
    assert run == commands_of_checks()
    assert run >= {"ruff check", "ruff format", "mypy", "lint-imports", "tsc"}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_that_a_document_links_to_is_there(document):
    """Those of the manual are found by Sphinx, which fails without them."""
    text = (ROOT / document).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        if not target.startswith("http"):
            assert (ROOT / document).parent.joinpath(target).exists(), target


def test_every_place_that_contributors_are_sent_to_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    places = re.findall(r"`([\w.-]+/[\w./-]*|[\w-]+\.(?:md|toml))`", text)
    places += re.findall(r"(?<=[ (])tests/[\w/]+\.py", text)
    assert len(places) > 30
    for place in places:
        if "NAME" not in place:
            assert (ROOT / place).exists(), place


def test_the_map_has_every_room_of_the_collector():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = (ROOT / "collector" / "halftruth_collector").glob("*/__init__.py")
    for room in rooms:
        assert f"`{room.parent.relative_to(ROOT)}/`" in text


def test_what_make_test_leaves_out_is_run_by_make_nightly_and_make_soak():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "pytest"
    ]
    left_out = settings["ini_options"]["addopts"]
    assert left_out[left_out.index("-m") + 1] == "not nightly"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("nightly", "soak"):
        [body] = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.M)
        assert re.search(r"pytest .*-m nightly$", body, re.M), target


def test_what_is_installed_for_developing_has_exact_versions():
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = wanted["dependency-groups"]
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    names = {
        re.sub(r"[-_.]+", "-", name).lower() for name in re.findall(r"^([\w.-]+)==", pinned, re.M)
    }
    for name in chain.from_iterable(groups.values()):
        plain = re.split(r"[ ;\[<>=]", name)[0]
        assert re.sub(r"[-_.]+", "-", plain).lower() in names


@pytest.mark.parametrize("package", ["halftruth_shared", "halftruth_client", "halftruth_collector"])
def test_the_page_of_stable_names_lists_what_a_package_exports(package):
    text = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    [listed] = re.findall(rf"^`{package}`\n: (.*)$", text, re.M)
    assert re.findall(r"`(\w+)`", listed) == sorted(importlib.import_module(package).__all__)


def test_every_term_of_the_glossary_is_found_in_its_page_and_its_module():
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^- \*\*(.+?)\*\*: .+ \[.+?\]\((.+?)\) · `(.+?)`$", text, re.M)
    assert len(rows) >= 40
    for term, page, module in rows:
        word = re.sub(r" \(.*", "", term).casefold()
        for file in (ROOT / "docs" / page, ROOT / module):
            found = " ".join(file.read_text(encoding="utf-8").split()).casefold()
            assert word in found, (term, file.name)
