"""What docs/threat-model.md says is held by tests is held by tests that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")

#: Who is gone through, by heading; those before are about what there is.
ATTACKERS = re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)[2:]


def named_tests(text):
    """Files and names of tests, as `file::name`."""
    return re.findall(r"`(tests/[\w/.-]+)::([^`]+)`", " ".join(text.split()))


def test_every_test_that_is_named_is_there():
    named = named_tests(PAGE)
    assert len(named) == PAGE.count("`tests/")
    assert len(named) > 60
    missing = []
    for file, name in named:
        path = ROOT / file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        is_python = file.endswith(".py")
        begins = rf"^(?:async )?def test_{name}\(" if is_python else rf'^test\("{re.escape(name)}"'
        if not re.search(begins, text, re.M):
            missing.append(f"{file}::{name}")
    assert missing == []


def test_of_everybody_it_is_said_what_is_promised_by_which_test_and_what_is_not():
    assert len(ATTACKERS) == 10
    for title, text in ATTACKERS:
        promised, _, rest = text.partition("Not promised")
        assert rest, title
        promises = promised.partition("Promised:\n")[2].strip().split("\n- ")
        assert promises, title
        assert all(named_tests(promise) for promise in promises), title
