"""The JavaScript client: its own tests, run by node, and how much a page has to load for it."""

import gzip
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CLIENT = HERE.parents[1] / "client"
ESBUILD = CLIENT / "node_modules" / ".bin" / "esbuild"

#: What the whole client may weigh, bundled, minified and compressed: 12 KB.
BUDGET = 12_000


def absent(what, advice):
    """Tell that something is missing: a reason to skip here, and a failure where CI runs."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing; {advice}", pytrace=False)
    pytest.skip(f"{what} is missing; {advice}")


@pytest.fixture(scope="session")
def node():
    found = shutil.which("node")
    if found is None:
        absent("node", "install Node.js 20 or later to test the JavaScript client")
    return found


@pytest.fixture(scope="session")
def bundle(node):
    """The client as a page would load it, and the files that it is made of."""
    if not ESBUILD.exists():
        absent("client/node_modules/.bin/esbuild", "make test installs it where there is npm")
    ran = subprocess.run(
        [
            ESBUILD,
            CLIENT / "halftruth_client" / "js" / "index.js",
            "--bundle",
            "--minify",
            "--format=esm",
            "--target=es2022",
            "--log-level=warning",
        ],
        capture_output=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout


def readable(output):
    """What went wrong, without the list of all that did not."""
    return output.partition("failing tests:")[2].strip() or output


@pytest.mark.parametrize("path", sorted(HERE.glob("*.test.mjs")), ids=lambda path: path.name)
def test_its_own_tests_pass(node, path):
    ran = subprocess.run(
        [node, "--test", "--test-reporter=spec", path],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        env={**os.environ, "NO_COLOR": "1", "FORCE_COLOR": "0"},
    )
    if ran.returncode != 0:
        pytest.fail(f"{path.name}:\n{readable(ran.stdout)}\n{ran.stderr}", pytrace=False)
    # A file that holds no test passes as one test.
    counted = re.search(r"^ℹ pass (\d+)$", ran.stdout, re.MULTILINE)
    assert counted is not None, ran.stdout
    assert int(counted[1]) > 5


def test_there_are_tests_to_run():
    assert len(list(HERE.glob("*.test.mjs"))) >= 4


def test_the_client_is_small(bundle):
    size = len(gzip.compress(bundle, compresslevel=9, mtime=0))
    print(f"the client, bundled, minified and compressed: {size} bytes of {BUDGET}")
    # Far less would mean that something was left out.
    assert BUDGET / 4 < size < BUDGET


def test_the_bundle_works(node, bundle, tmp_path):
    path = tmp_path / "client.mjs"
    path.write_bytes(bundle)
    program = f"import {json.dumps(path.as_uri())}; console.log('loaded')"
    ran = subprocess.run(
        [node, "--input-type=module", "--eval", program],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert (ran.returncode, ran.stdout) == (0, "loaded\n"), ran.stderr


def test_the_client_needs_nothing_else():
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    assert "dependencies" not in package
    for path in (CLIENT / "halftruth_client" / "js").rglob("*.js"):
        imported = re.findall(r'(?:from|import)\s+"([^"]+)"', path.read_text(encoding="utf-8"))
        assert all(name.startswith(".") for name in imported), path.name
