"""A respondent's client in an environment of its own: size, import, and reports from it."""

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from halftruth_client import Client
from halftruth_collector import operations
from wire import listening

ROOT = Path(__file__).parents[2]

#: Largest size of what `pip install halftruth-client` installs, and largest time of the import in
#: seconds of one processor.
MOST_BYTES, MOST_SECONDS = 15 * 10**6, 0.08

pytestmark = pytest.mark.nightly


def run(*command):
    ran = subprocess.run(
        [*map(str, command)], capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def requirements(name, extras=()):
    """Return the names of all distributions that one requires, itself included."""
    found, left = set(), [name]
    while left:
        each = re.match(r"[\w.-]+", left.pop())[0]
        if each in found:
            continue
        found.add(each)
        lines = distribution(each).requires or ()
        wanted = extras if each == name else ()
        left += [line for line in lines if "extra ==" not in line]
        left += [line for line in lines for extra in wanted if f"extra == '{extra}'" in line]
    return found


class Environment:
    """An environment with the wheels of shared and client, and copies of what they require."""

    def __init__(self, folder):
        run(sys.executable, "-m", "venv", "--without-pip", folder)
        self.python = folder / "bin" / "python"
        [self.site] = folder.glob("lib/python3.*/site-packages")

    def install(self, *wheels):
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        run(*pip, "--python", self.python, "install", "--no-deps", "--no-index", *wheels)

    def copy(self, names):
        """Copy distributions of this environment, without the packages of this repository."""
        for name in names:
            if name.startswith("halftruth"):
                continue
            dist = distribution(name)
            for file in dist.files:
                if ".." not in file.parts and "__pycache__" not in file.parts:
                    (self.site / file).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(dist.locate_file(file), self.site / file)
        # As pip does.
        run(self.python, "-m", "compileall", "-q", self.site)

    def size(self):
        return sum(file.stat().st_size for file in self.site.rglob("*") if file.is_file())

    def __call__(self, program, *words):
        return json.loads(run(self.python, "-c", program, *words))


@pytest.fixture(scope="module")
def light(tmp_path_factory):
    """The environment of `pip install halftruth-client`."""
    folder = tmp_path_factory.mktemp("light")
    rooms = [ROOT / "shared", ROOT / "client"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "wheel"]
    run(*pip, "--no-deps", "--wheel-dir", folder, *rooms)
    made = Environment(folder / "clean")
    made.install(*folder.glob("*.whl"))
    made.copy(requirements("halftruth-client"))
    return made


IMPORT = """
import json, sys, time
before = time.process_time()
from halftruth_client import Client
print(json.dumps([time.process_time() - before, sorted(sys.modules)]))
"""


def test_the_client_is_small_and_imported_quickly(light):
    taken, modules = min(light(IMPORT) for _ in range(5))
    own = [name for name in modules if name.startswith("halftruth_")]
    print(f"{light.size() / 1e6:.1f} MB, {taken:.3f} s, {len(own)} modules")
    assert light.size() <= MOST_BYTES
    assert taken <= MOST_SECONDS
    installed = {each.name for each in light.site.iterdir() if each.is_dir()}
    assert not installed & {"numpy", "scipy", "cryptography", "halftruth_collector"}


SEND = """
import json, sys
from halftruth_client import Client, SurveyRefused
url, record = sys.argv[1], json.loads(sys.argv[2])
client = Client(url, max_gamma="19")
try:
    survey = client.survey("health")
    many = client.submit_many(survey, [record] * 20)
    print(json.dumps([client.submit(survey, record).status, str(many)]))
except SurveyRefused as error:
    print(json.dumps([error.field, str(error)]))
"""


def test_reports_are_sent_from_it_and_counted(light, live, record):
    sent = light(SEND, live.url, json.dumps(record))
    assert sent == ["accepted", "all 20 reports are counted"]
    assert live.store.reports.counts("health")[1].reports == 21


ASK = """
import json, sys
try:
    from halftruth_client import Analyst
    found = Analyst(sys.argv[1], sys.argv[2]).survey("health").overview()
    print(json.dumps([type(found).__name__, "smoker" in repr(found)]))
except ImportError as error:
    print(json.dumps(str(error)))
"""


def test_an_analyst_needs_the_extra_and_nothing_besides(light, live, survey, record):
    Client(live.url, max_gamma="19").submit_many(survey, [record] * 50)
    token = operations.create_token(live.store, "analyst")
    said = light(ASK, live.url, token)
    assert said.endswith("expected pip install 'halftruth-client[analyst]'")
    light.copy(requirements("halftruth-client", ["analyst"]) - requirements("halftruth-client"))
    assert light(ASK, live.url, token) == ["Result", True]


def test_a_sealed_survey_is_refused_until_the_extra_is_installed(
    light, sealing_app, sealing_key, store, survey, record
):
    operations.publish_survey(store, survey, {"sealing_key": sealing_key})
    with listening(sealing_app) as url:
        field, said = light(SEND, url, json.dumps(record))
        assert field == "sealing_key"
        assert said.endswith("expected pip install 'halftruth-client[sealed]'")
        assert store.reports.counts("health")[1].reports == 0
        light.copy(requirements("halftruth-client", ["sealed"]) - requirements("halftruth-client"))
        assert light(SEND, url, json.dumps(record)) == ["accepted", "all 20 reports are counted"]
    assert store.reports.counts("health")[1].reports == 21
