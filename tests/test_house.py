"""The house keeps to what its documents say of it."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
DOCUMENTS = ["CONTRIBUTING.md", "CHANGELOG.md", "README.md", "client/PYTHON.md"]
DOCUMENTS += [str(file.relative_to(ROOT)) for file in ROOT.glob("docs/*.md")]
DOCUMENTS += [f"{room}/README.md" for room in ("shared", "client", "collector", "docs/studies")]

#: Folders whose files are written by hand.
ROOMS = ["shared/halftruth_shared", "client/halftruth_client", "collector/halftruth_collector"]
ROOMS += ["docs/studies/halftruth_studies"]


def commands_of(target: str) -> set[str]:
    """What a target of the Makefile runs, without what only finds the tools."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [body] = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.M)
    return set(re.findall(r"(?:\$\(BIN\)|\.bin)/([\w-]+(?: check| format)?)", body))


def test_a_commit_is_checked_by_the_tools_of_make_check():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [entry["repo"] for entry in config["repos"]] == ["local"]
    hooks = config["repos"][0]["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    entries = " ".join(hook["entry"] for hook in hooks)
    run = set(re.findall(r"bin/([\w-]+(?: check| format)?)", entries))
    assert run == commands_of("check")
    assert run >= {"ruff check", "ruff format", "mypy", "lint-imports", "tsc"}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_that_a_document_links_to_is_there(document):
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


#: Most lines in the files of each room. A change that needs more raises the number, with a comment
#: beside it that says what was worth it.
MOST_LINES = {
    "shared/halftruth_shared/**/*.py": 15_109,  # short labels, rotation, series, waves
    "client/halftruth_client/**/*.py": 2_232,
    "client/halftruth_client/js/**/*.js": 9_919,  # ledger and rotation, waves, long fractions
    "docs/studies/**/*.py": 4_854,
    "collector/halftruth_collector/**/*.py": 37_557,  # waves, samples, a workbench of pages
    "collector/halftruth_collector/access/**/*.py": 350,  # a key in use is not retired
    "collector/halftruth_collector/analyses/**/*.py": 6_451,  # results in parts, waves, samples
    "collector/halftruth_collector/campaign/**/*.py": 1_357,  # rows counted before they are read
    "collector/halftruth_collector/charts/**/*.py": 278,
    "collector/halftruth_collector/cli/**/*.py": 2_631,  # order of what is printed, waves
    "collector/halftruth_collector/demo/**/*.py": 508,  # few people, so that it is shown by day
    "collector/halftruth_collector/designing/**/*.py": 1_167,
    "collector/halftruth_collector/disclosure/**/*.py": 1_725,
    "collector/halftruth_collector/estimation/**/*.py": 11_055,  # waves and their tests, strata
    "collector/halftruth_collector/exporting/**/*.py": 489,
    "collector/halftruth_collector/importing/**/*.py": 2_102,
    "collector/halftruth_collector/intake/**/*.py": 835,
    "collector/halftruth_collector/ops/**/*.py": 438,  # by survey, files that killed workers left
    "collector/halftruth_collector/server/**/*.py": 518,  # lines of start and end, outages
    "collector/halftruth_collector/store/**/*.py": 2_895,  # back-ups of earlier tables, fresh files
    "collector/halftruth_collector/web/**/*.py": 4_163,  # cards, map of associations
    "collector/halftruth_collector/**/*.js": 269,
    "tests/**/*.py": 57_172,  # long questions, commands of guides run, headlines
    "tests/**/*.mjs": 4_124,  # costs of reports by enumeration, long fractions
}


@pytest.mark.parametrize(("files", "most"), MOST_LINES.items())
def test_no_room_grows_without_a_reason(files, most):
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in ROOT.glob(files))
    assert 0 < lines <= most


def test_every_folder_of_the_collector_has_its_most_lines():
    folders = (ROOT / "collector" / "halftruth_collector").glob("*/__init__.py")
    rooms = {file.parent.relative_to(ROOT).as_posix() for file in folders}
    assert {f"{room}/**/*.py" for room in rooms} <= set(MOST_LINES)


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


def test_every_source_file_fits_on_a_few_screens():
    files = chain.from_iterable((ROOT / room).rglob("*.py") for room in ROOMS)
    scripts = chain.from_iterable((ROOT / room).rglob("*.js") for room in ROOMS)
    long = {
        str(file.relative_to(ROOT)): lines
        for file in chain(files, scripts)
        if (lines := len(file.read_text(encoding="utf-8").splitlines())) > 450
    }
    assert long == {}


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
