"""The JavaScript client: its own tests, run by node, and how much a page has to load for it."""

import gzip
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CLIENT = HERE.parents[1] / "client"
ESBUILD = CLIENT / "node_modules" / ".bin" / "esbuild"

#: What the client may weigh, bundled, minified and compressed: 12 KB.
BUDGET = 12_000

#: And, each on top of it, what is loaded only for surveys that are signed for pins, or sealed.
LAZY_BUDGETS = {"signing": 1_000, "sealing": 2_000}


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


@dataclass(frozen=True)
class Bundle:
    """Modules that esbuild made of the client."""

    folder: Path
    outputs: dict[str, dict]

    def loaded(self, start):
        """A module and all that is fetched before it runs."""
        found, waiting = set(), [start]
        while waiting:
            name = waiting.pop()
            found.add(name)
            imports = self.outputs[name]["imports"]
            wanted = {i["path"] for i in imports if i["kind"] == "import-statement"}
            waiting += wanted - found
        return found

    def lazy(self, start):
        """Modules that a module fetches when it needs them, by what they are made of."""
        imports = [i for name in self.loaded(start) for i in self.outputs[name]["imports"]]
        paths = {i["path"] for i in imports if i["kind"] == "dynamic-import"}
        return {Path(self.outputs[path]["entryPoint"]).stem: path for path in paths}

    def size(self, names):
        """Bytes of modules, each compressed by itself as a server sends it."""
        contents = [(self.folder / name).read_bytes() for name in sorted(names)]
        return sum(len(gzip.compress(content, compresslevel=9, mtime=0)) for content in contents)


@pytest.fixture(scope="session")
def bundle(node, tmp_path_factory):
    """The client as a page would load it: a folder of modules, with what imports what."""
    if not ESBUILD.exists():
        absent("client/node_modules/.bin/esbuild", "make test installs it where there is npm")
    made = tmp_path_factory.mktemp("bundle")
    ran = subprocess.run(
        [
            ESBUILD,
            CLIENT / "halftruth_client" / "js" / "index.js",
            "--bundle",
            "--splitting",
            "--minify",
            "--format=esm",
            "--target=es2022",
            "--log-level=warning",
            f"--outdir={made}",
            f"--metafile={made / 'meta.json'}",
        ],
        capture_output=True,
        cwd=made,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    outputs = json.loads((made / "meta.json").read_text(encoding="utf-8"))["outputs"]
    return Bundle(made, outputs)


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
    assert len(list(HERE.glob("*.test.mjs"))) >= 7


def test_the_client_is_small(bundle):
    size = bundle.size(bundle.loaded("index.js"))
    print(f"the client, bundled, minified and compressed: {size} bytes of {BUDGET}")
    # Far less would mean that something was left out.
    assert BUDGET / 4 < size < BUDGET


def test_what_few_surveys_need_is_small_and_loaded_only_for_them(bundle):
    at_once, lazy = bundle.loaded("index.js"), bundle.lazy("index.js")
    assert lazy.keys() == LAZY_BUDGETS.keys()
    for name, budget in LAZY_BUDGETS.items():
        size = bundle.size(bundle.loaded(lazy[name]) - at_once)
        print(f"{name}: {size} bytes of {budget}")
        assert budget / 4 < size < budget
    everything = {name for name in bundle.outputs if name.endswith(".js")}
    assert bundle.size(everything) < BUDGET


def test_the_bundle_works(node, bundle):
    path = bundle.folder / "index.js"
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
        imported = re.findall(r'(?:from|import)[\s(]+"([^"]+)"', path.read_text(encoding="utf-8"))
        assert all(name.startswith(".") for name in imported), path.name
