"""The packages built by ``make dist`` can be installed from their files alone and work together."""

import base64
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
from importlib.metadata import requires, version
from pathlib import Path

import pytest
from halftruth_shared import Survey
from installed import module, needs_addons, program

ROOT = Path(__file__).parents[2]
WORK = ROOT / "docs" / "examples" / "work.toml"
TOOLS = ROOT / "client" / "node_modules" / ".bin"
ROOMS = ("halftruth_shared", "halftruth_client", "halftruth_collector")
STUDIES = "halftruth_studies"
ADDONS = {
    f"halftruth_{file.parent.name}" for file in ROOT.glob("collector/addons/*/pyproject.toml")
}
OF_COLLECTOR = {"halftruth-collector==0.1.0", "halftruth-shared==0.1.0"}
NEEDED = {
    "halftruth_shared": set(),
    "halftruth_client": {"halftruth-shared==0.1.0"},
    "halftruth_collector": {"halftruth-client==0.1.0", "halftruth-shared==0.1.0"},
    **dict.fromkeys([*ADDONS, STUDIES], OF_COLLECTOR),
    "halftruth_relay": {*OF_COLLECTOR, "halftruth-client==0.1.0"},
}

#: Stamp files of installed requirements: the test installs only what it built.
MADE = (".venv/.installed", "client/node_modules/.packages")

#: A TypeScript program that uses the client and the form, and uses that the types forbid.
TYPED = """\
import { Client, Survey, SurveyRefused } from "halftruth-client";
import { attach, HalftruthForm } from "halftruth-client/form";
import * as bundle from "halftruth-client/bundle";

export async function answer(form: HTMLFormElement): Promise<"accepted" | "duplicate" | "waiting"> {
  const client = new Client("https://collector.example", { maxGamma: "19" });
  const survey: Survey = await client.survey("health");
  const { status } = await client.submit(survey, { smoker: "yes", symptoms: ["cough"] });
  await attach(form, { survey: "health", collector: "https://collector.example", maxGamma: 19 });
  const element: HalftruthForm = new bundle.HalftruthForm();
  document.querySelector("halftruth-form")?.addEventListener("submitted", ({ detail }) => {
    element.maxGamma = detail.status satisfies "accepted" | "duplicate" | "waiting";
  });
  if (element.words === undefined) throw new SurveyRefused("no words", "words");
  return status;
}
// @ts-expect-error The largest amplification has to be said.
new Client("https://collector.example", {});
// @ts-expect-error So it has for a form.
void attach(document.createElement("form"), { survey: "health", collector: "" });
"""

#: Further entries of the package, which servers import, too.
ENTRIES = ("form", "bundle", "session")

CONFIG = {
    "compilerOptions": {
        "strict": True,
        "noEmit": True,
        "target": "ES2022",
        "module": "NodeNext",
        "lib": ["ES2022", "DOM"],
        "types": [],
    },
    "files": ["answer.ts"],
}


@needs_addons
def test_packages_require_each_other_in_this_version():
    lines = {room: {line for line in requires(room) if "halftruth" in line} for room in NEEDED}
    needed = {
        room: {line for line in found if "extra" not in line} for room, found in lines.items()
    }
    assert needed == NEEDED
    extra = {line.split(";")[0] for line in lines["halftruth_collector"] if "'all'" in line}
    assert extra == {f"{addon.replace('_', '-')}==0.1.0" for addon in ADDONS}


@needs_addons
def test_the_version_of_all_packages_is_one():
    assert {version(room) for room in NEEDED} == {"0.1.0"}


#: Blocks all imports except the requirements of a package without extras, recursively.
ALONE = """\
import re, sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
room, program, *words = sys.argv[1:]
named = lambda line: re.sub("[-_.]+", "-", re.match(r"[\\w.-]+", line)[0]).lower()
needed, left = set(), {room}
while left:
    needed.add(found := left.pop())
    try:
        lines = requires(found) or ()
    except PackageNotFoundError:  # another system's
        lines = ()
    left |= {named(line) for line in lines if "extra ==" not in line} - needed
class Missing:
    installed = packages_distributions()
    def find_spec(name, path=None, target=None):
        of = Missing.installed.get(name)
        if of and not {named(each) for each in of} & needed:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing)
sys.argv[:] = ["halftruth", *words]
exec(program)
"""

PERTURB = """\
from pathlib import Path
from halftruth_shared import Survey
survey = Survey.from_json(Path(words[0]).read_bytes())
record = [0] * len(survey.schema.shape)
print(len(survey.perturbation.report(record)))
"""
CONNECT = "from halftruth_client import Client\n" + PERTURB
COMMAND = "from halftruth_collector.cli import main; main()"


@pytest.mark.parametrize(
    ("room", "program", "words", "said"),
    [
        ("halftruth-shared", PERTURB, ["work.json"], "2\n"),
        ("halftruth-client", CONNECT, ["work.json"], "2\n"),
        ("halftruth-collector", COMMAND, ["survey", "check", WORK], "work: "),
        ("halftruth-collector", COMMAND, ["plan", WORK, "--respondents", "900"], "Plan · 900 "),
    ],
)
def test_a_package_needs_only_its_declared_requirements(tmp_path, room, program, words, said):
    survey = Survey.from_toml(WORK.read_text(encoding="utf-8"))
    assert survey.mechanism.kind == "split-questionnaire"
    (tmp_path / "work.json").write_bytes(survey.canonical_json)
    printed = run(sys.executable, "-c", ALONE, room, program, *words, cwd=tmp_path)
    assert printed.startswith(said)


@pytest.fixture
def tools():
    """Skip without the tools that build the npm package."""
    program("npm")
    module(TOOLS.name)


def make(target, folder, root=ROOT):
    made = [word for file in MADE for word in ("--assume-old", file)]
    pip = f"PIP={sys.executable} -m pip --disable-pip-version-check --quiet"
    return run("make", *made, target, f"DIST={folder}", pip, cwd=root)


def run(*command, cwd):
    ran = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=cwd, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.nightly
def test_the_wheels_work_together_without_this_repository(tmp_path):
    make("wheels", tmp_path)
    wheels = {wheel.name.split("-")[0]: wheel for wheel in tmp_path.glob("*.whl")}
    assert wheels.keys() == {*ROOMS, *ADDONS, STUDIES}
    python, site = clean_environment(tmp_path)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    install = [*pip, "install", "--no-deps", "--no-index", "--ignore-installed"]
    addons = {name: wheels.pop(name) for name in (*ADDONS, STUDIES)}
    run(*install, *wheels.values(), cwd=tmp_path)
    program = f"print(__import__('json').dumps([__import__(name).__file__ for name in {ROOMS}]))"
    found = json.loads(run(python, "-c", program, cwd=tmp_path))
    assert [Path(file).parent for file in found] == [site / name for name in ROOMS]
    halftruth = tmp_path / "clean" / "bin" / "halftruth"
    said = run(halftruth, "survey", "check", WORK, cwd=tmp_path)
    assert said.startswith("work: ")
    # The collector's wheel has the modules of the JavaScript client, and the form built from them;
    # the client's wheel has neither.
    assert not [*(site / "halftruth_client").rglob("*.js")]
    assert (site / "halftruth_collector/web/js/form/index.js").is_file()
    program = (
        "from halftruth_collector.web.bundle import built_form; print(built_form() is not None)"
    )
    assert run(python, "-c", program, cwd=tmp_path) == f"{(TOOLS / 'esbuild').exists()}\n"
    said = run(halftruth, "reports", "--help", cwd=tmp_path)
    assert not {"count", "read"} & set(said.split())
    run(*install, *addons.values(), cwd=tmp_path)
    for words, added in ((("reports",), {"count", "read"}), (("study",), {"compare", "rivals"})):
        said = run(halftruth, *words, "--help", cwd=tmp_path)
        assert added <= set(said.split())


def clean_environment(folder):
    """Create an environment with what is installed here but the packages of this project.

    Returns its Python and the folder of its packages.
    """
    run(sys.executable, "-m", "venv", "--without-pip", "clean", cwd=folder)
    [site] = folder.glob("clean/lib/python3.*/site-packages")
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        # Files .pth refer to this repository.
        if "halftruth" not in package.name and package.suffix != ".pth":
            (site / package.name).symlink_to(package)
    return folder / "clean" / "bin" / "python", site


#: Tests of all commands and their files; every night all but those of the studies.
SOME = ["tests/collector/cli/test_help.py", "tests/collector/test_modes_of_files.py"]


@pytest.mark.parametrize(
    "tests", [SOME, pytest.param(["tests", "--ignore=tests/studies"], marks=pytest.mark.nightly)]
)
def test_the_collector_passes_its_tests_without_add_ons(tmp_path, tests):
    python, site = clean_environment(tmp_path)
    for room in ROOMS:
        [about] = Path(sysconfig.get_path("purelib")).glob(f"{room}-*.dist-info")
        (site / about.name).symlink_to(about)
        [code] = ROOT.glob(f"*/{room}")
        (site / room).symlink_to(code)
    # What is skipped here runs in CI with the add-ons.
    outer = {"CI", *(name for name in os.environ if name.startswith("PYTEST"))}
    ran = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", *tests],
        capture_output=True,
        encoding="utf-8",
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in outer},
        timeout=3_600,
    )
    assert ran.returncode == 0, ran.stdout[-5_000:]
    assert " passed" in ran.stdout
    assert "add-ons are missing" in ran.stdout


@pytest.mark.usefixtures("tools")
def test_the_bundle_has_the_size_stated_in_the_manual(tmp_path):
    package = json.loads((ROOT / "client" / "package.json").read_text(encoding="utf-8"))
    program, *words = package["scripts"]["bundle"].split()
    file = tmp_path / "halftruth.js"
    words[words.index("--outfile=dist/halftruth.js")] = f"--outfile={file}"
    run(TOOLS / program, *words, cwd=ROOT / "client")
    size = len(gzip.compress(file.read_bytes()))
    manual = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
    [budget] = re.findall(r"`halftruth\.js`, [^.]*less than (\d+) KB", manual)
    print(f"the bundle, compressed: {size} bytes of {budget} KB")
    assert int(budget) * 500 < size < int(budget) * 1_000


@pytest.mark.nightly
@pytest.mark.usefixtures("tools")
def test_the_npm_package_can_be_installed_and_type_checked(tmp_path):
    folder = tmp_path / "made"
    said = make("npm", folder)
    digest = hashlib.sha384((folder / "halftruth.js").read_bytes()).digest()
    integrity = f'integrity="sha384-{base64.b64encode(digest).decode()}"'
    assert re.search(rf"halftruth\.js: \d+ bytes compressed, {re.escape(integrity)}\n", said)
    [package] = folder.glob("*.tgz")
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    quiet = ("--offline", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    run("npm", "install", *quiet, package, cwd=tmp_path)
    (tmp_path / "answer.ts").write_text(TYPED, encoding="utf-8")
    (tmp_path / "tsconfig.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    run(TOOLS / "tsc", cwd=tmp_path)
    entries = ["halftruth-client", *(f"halftruth-client/{name}" for name in ENTRIES)]
    program = "".join(
        f"console.log(Object.keys(await import('{entry}')).length > 0);" for entry in entries
    )
    said = run("node", "--input-type=module", "--eval", program, cwd=tmp_path)
    assert said.split() == ["true"] * len(entries)
    installed = tmp_path / "node_modules" / "halftruth-client" / "dist" / "halftruth.js"
    assert installed.read_bytes() == (folder / "halftruth.js").read_bytes()


@pytest.mark.nightly
@pytest.mark.usefixtures("tools")
def test_builds_are_reproducible(tmp_path):
    made = [built(tmp_path / name, mask) for name, mask in (("one", 0o022), ("other", 0o077))]
    assert len(made[0]) == 6
    assert made[0] == made[1]


def built(clone, mask):
    """Build a copy of the sources whose files have permissions by this umask."""
    sources = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    before = os.umask(mask)
    try:
        for name in sources.splitlines():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_symlink():
                (clone / name).symlink_to((ROOT / name).readlink())
            else:
                (clone / name).write_bytes((ROOT / name).read_bytes())
        (clone / "client" / "node_modules").symlink_to(TOOLS.parent)
        make("dist", "dist", clone)
    finally:
        os.umask(before)
    return {file.name: file.read_bytes() for file in (clone / "dist").iterdir()}
