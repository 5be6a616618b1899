"""What docs/threat-model.md promises is checked by tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE, LIST = (
    (ROOT / "docs" / name).read_text(encoding="utf-8")
    for name in ("threat-model.md", "threat-model-tests.md")
)

#: Sections about parties; those before them are about what there is to learn.
PARTIES = re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)[2:]

#: Tests of each promise, as pairs of file and name.
TESTS = {
    code: re.findall(r"`((?:tests|collector/addons/\w+/tests)/[\w/.-]+)::([^`]+)`", tests)
    for code, tests in re.findall(r"^\| ([A-Z]\d+) \| (.+) \|$", LIST, re.M)
}


def test_every_test_that_is_named_exists():
    missing = []
    for file, name in {pair for pairs in TESTS.values() for pair in pairs}:
        path = ROOT / file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        is_python = file.endswith(".py")
        begins = rf"^(?:async )?def test_{name}\(" if is_python else rf'^test\("{re.escape(name)}"'
        if not re.search(begins, text, re.M):
            missing.append(f"{file}::{name}")
    assert missing == []


def test_every_promise_has_a_code_and_a_test():
    assert len(PARTIES) == 10
    codes = []
    for title, text in PARTIES:
        promised, _, rest = text.partition("Not promised")
        assert rest, title
        promises = promised.partition("Promised:\n")[2].strip().split("\n- ")
        own = [re.findall(r"\[([A-Z]\d+)\]", promise) for promise in promises]
        assert all(len(found) == 1 for found in own), title
        codes += [found[0] for found in own]
    assert codes == list(TESTS)
    assert all(TESTS.values())
