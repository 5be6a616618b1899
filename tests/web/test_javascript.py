"""The JavaScript client: its tests under Node.js, and its size."""

import gzip
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from installed import module

HERE = Path(__file__).parent
CLIENT = HERE.parents[1] / "client"
SCRIPTS = CLIENT / "halftruth_client" / "js"

#: Maximum size of the initial load, bundled, minified and compressed: 21.6 KB.
BUDGET = 21_600

#: Maximum additional size of modules that only signed or sealed surveys load, or with tickets.
LAZY_BUDGETS = {
    "signing.js": 1_000,
    "sealing.js": 2_000,
    "tickets.js": 1_000,
    "signed-tickets.js": 400,
}


def bundled(*later):
    """Bundle the client as a page would load it, without lazily loaded modules."""
    options = ["--bundle", "--minify", "--format=esm", "--target=es2022", "--log-level=warning"]
    without = [f"--external:./{name}" for name in later]
    ran = subprocess.run(
        [module(".bin/esbuild"), "index.js", *options, *without],
        capture_output=True,
        cwd=SCRIPTS,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout


def size(content):
    """Return the size in bytes after compression as by a server."""
    return len(gzip.compress(content, compresslevel=9, mtime=0))


def readable(output):
    """Return the failures of a test run's output."""
    return output.partition("failing tests:")[2].strip() or output


@pytest.mark.parametrize("path", sorted(HERE.glob("*.test.mjs")), ids=lambda path: path.name)
def test_javascript_tests_pass(node, path):
    # `node --test` would start a second process for the file.
    ran = subprocess.run(
        [node, "--test-reporter=spec", path],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        env={**os.environ, "NO_COLOR": "1", "FORCE_COLOR": "0"},
    )
    if ran.returncode != 0:
        pytest.fail(f"{path.name}:\n{readable(ran.stdout)}\n{ran.stderr}", pytrace=False)
    counted = re.search(r"^ℹ pass (\d+)$", ran.stdout, re.MULTILINE)
    assert counted is not None, ran.stdout
    assert int(counted[1]) > 1


def test_javascript_test_files_are_found():
    assert len(list(HERE.glob("*.test.mjs"))) >= 7


def test_the_client_is_small_and_loads_optional_modules_lazily():
    whole, at_once = bundled(), bundled(*LAZY_BUDGETS)
    print(f"the client, bundled, minified and compressed: {size(at_once)} bytes of {BUDGET}")
    # A much smaller bundle would lack something.
    assert BUDGET / 4 < size(at_once) < BUDGET
    assert size(at_once) < size(whole)
    for name, budget in LAZY_BUDGETS.items():
        # Signed tickets are tickets.
        before = LAZY_BUDGETS.keys() - ({"tickets.js"} if name == "signed-tickets.js" else {})
        without = bundled(*before)
        assert f'import("./{name}")'.encode() in without
        added = size(bundled(*(before - {name}))) - size(without)
        print(f"{name}: {added} bytes of {budget}")
        assert budget / 4 < added < budget


def test_the_bundle_runs(node, tmp_path):
    path = tmp_path / "index.mjs"
    path.write_bytes(bundled())
    ran = subprocess.run([node, path], capture_output=True, encoding="utf-8", timeout=60)
    assert ran.returncode == 0, ran.stderr


def test_every_package_entry_can_be_imported_without_a_window(node):
    """Servers that render pages import them; bundles are tested after building."""
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    names = [
        name for name in package["exports"] if name not in ("./bundle", "./custom-elements.json")
    ]
    assert len(names) == 4
    program = f"""
        for (const name of {json.dumps(names)}) {{
          const entry = name.replace(".", "halftruth-client");
          console.log(import.meta.resolve(entry), Object.keys(await import(entry)).join());
        }}"""
    ran = subprocess.run(
        [node, "--input-type=module", "--eval", program],
        capture_output=True,
        encoding="utf-8",
        cwd=CLIENT,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    paths = [line.split()[0] for line in ran.stdout.splitlines()]
    entries = ("index.js", "session.js", "form/index.js", "surveyjs/index.js")
    assert paths == [(SCRIPTS / entry).as_uri() for entry in entries]
    assert "attach" in ran.stdout.splitlines()[2]


def test_the_client_has_no_dependencies():
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    assert "dependencies" not in package
    for path in SCRIPTS.rglob("*.js"):
        imported = re.findall(r'(?:from|import)[\s(]+"([^"]+)"', path.read_text(encoding="utf-8"))
        assert all(name.startswith(".") for name in imported), path.name
