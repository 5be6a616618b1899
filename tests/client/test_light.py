"""The client of a respondent needs neither NumPy nor cryptography, and refuses what needs them."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import halftruth_client
import pytest
from halftruth_client import Client, SurveyRefused
from halftruth_shared import ParameterError, Relay
from halftruth_shared.extras import MissingExtra

from .conftest import OPERATOR, URL, posted, sealing_key

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "tests" / "vectors"

#: Modules of ours that `from halftruth_client import Client` may load.
MOST_MODULES = 45

#: Makes every import of a library that only the extras bring fail, as if it were not installed.
BLOCKED = """
import sys
class Missing:
    def find_spec(name, path=None, target=None):
        if name in ("numpy", "scipy", "cryptography", "pandas", "pyarrow", "matplotlib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing)
"""


def run(program, *words):
    """Run a program without the libraries of the extras, and return what it prints as JSON."""
    ran = subprocess.run(
        [sys.executable, "-c", BLOCKED + program, *map(str, words)],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_the_client_loads_few_modules_and_no_library_that_it_can_do_without():
    modules = run(
        "from halftruth_client import Client; import json; print(json.dumps(list(sys.modules)))"
    )
    own = [name for name in modules if name.startswith("halftruth_")]
    assert len(own) <= MOST_MODULES, own
    assert not [name for name in own if re.search(r"\.(results|analyses|channels)\b", name)]
    assert not {"requests", "sqlite3", "ssl"}.intersection(modules)


#: Draws the reports of all vectors with known bytes, by the rule of docs/protocol.md.
DRAW = """
import json
from pathlib import Path
from halftruth_shared import Survey

class Known:
    def __init__(self, text):
        self.known = bytes.fromhex(text)
    def __call__(self, k):
        size = (k.bit_length() + 7) // 8
        while True:
            taken, self.known = self.known[:size], self.known[size:]
            number = int.from_bytes(taken) >> (8 * size - k.bit_length())
            if number < k:
                return number

drawn = []
for file in sys.argv[1:]:
    for vector in json.loads(Path(file).read_text(encoding="ascii"))["vectors"]:
        survey = Survey.from_json(json.dumps(vector["survey"]))
        assert survey.digest == vector["digest"]
        for draw in vector["draws"]:
            codes = survey.schema.encode(draw["record"])
            drawn.append(survey.perturbation.report(codes, Known(draw["bytes"])))
assert "numpy" not in sys.modules
print(json.dumps(drawn))
"""


def test_the_sampler_without_numpy_meets_the_vectors():
    from halftruth_shared.mechanisms import MECHANISMS

    files = [VECTORS / f"{mechanism.kind}.json" for mechanism in MECHANISMS]
    expected = [
        draw["values"]
        for file in files
        for vector in json.loads(file.read_text(encoding="ascii"))["vectors"]
        for draw in vector["draws"]
    ]
    assert len(expected) > 100
    assert run(DRAW, *files) == expected


#: Sends one report to a transport in memory, and many, which NumPy would perturb.
SEND = """
import json
from pathlib import Path
from halftruth_client import Client
from halftruth_shared import Survey
from halftruth_shared.protocol.reports import Receipt
from halftruth_shared.protocol.surveys import PublishedSurvey
import msgspec

survey = Survey.from_json(Path(sys.argv[1]).read_bytes())
sent = []
client = Client("http://collector.test", max_gamma="19")
def get(path, answer, parameters=None):
    return PublishedSurvey(survey=msgspec.Raw(survey.canonical_json), digest=survey.digest)
def post(path, answer, message):
    sent.append(len(message.reports))
    return Receipt(accepted=len(message.reports), duplicates=0)
client._transport.get, client._transport.post = get, post
record = json.loads(sys.argv[2])
one = client.submit(client.survey(survey.id), record)
many = client.submit_many(survey, [record] * 1_200)
print(json.dumps([one.status, many.accepted, sent]))
"""


def test_one_report_and_many_are_sent_without_the_extras(survey, record, tmp_path):
    (tmp_path / "survey.json").write_bytes(survey.canonical_json)
    sent = run(SEND, tmp_path / "survey.json", json.dumps(record))
    assert sent == ["accepted", 1_200, [1, 1_000, 200]]


def hide_cryptography(monkeypatch, name="cryptography.hazmat.primitives.hpke"):
    """Hide what older versions lack, or all of it."""
    monkeypatch.setitem(sys.modules, name, None)


EXPECTED = "expected pip install 'halftruth-client[sealed]'"
INSTALL = re.escape(EXPECTED)


@pytest.mark.parametrize("is_older", [False, True])
def test_pinned_keys_are_refused_without_cryptography(monkeypatch, is_older):
    hide_cryptography(monkeypatch)
    if not is_older:
        hide_cryptography(monkeypatch, "cryptography")
    with pytest.raises(MissingExtra, match=f"^operator_keys: .*; {INSTALL}$") as caught:
        Client(URL, max_gamma="19", operator_keys=[OPERATOR.public])
    assert caught.value.field == "operator_keys"
    assert isinstance(caught.value, ParameterError)


def seal(stub):
    stub.seal_to(sealing_key(1))


def sign(stub):
    stub.signer = OPERATOR


def relay(stub):
    keys = {"key": "1" * 64, "sealing_key": "2" * 64}
    stub.survey = replace(
        stub.survey, relay=Relay(url="https://relay.example.edu", batch=40, **keys)
    )


@pytest.mark.parametrize(
    ("change", "field"), [(seal, "sealing_key"), (sign, "signature"), (relay, "relay")]
)
@pytest.mark.parametrize("remembers", [False, True])
def test_what_needs_cryptography_is_refused_without_it(
    stub, client, session, record, tmp_path, monkeypatch, change, field, remembers
):
    change(stub)
    hide_cryptography(monkeypatch)
    options = {"outbox": tmp_path / "outbox.db"} if remembers else {}
    one = client(**options)
    for call in (
        lambda: one.survey("health"),
        lambda: one.submit(stub.survey, record),
        lambda: one.submit_many(stub.survey, [record, record]),
    ):
        said = f"^survey 'health': {field}: .*; {INSTALL}$"
        with pytest.raises(SurveyRefused, match=said) as caught:
            call()
        assert caught.value.field == field
    assert posted(session) == []


def test_a_survey_that_is_sealed_later_is_refused_then(stub, client, session, record, monkeypatch):
    one = client()
    survey = one.survey("health")
    seal(stub)
    hide_cryptography(monkeypatch)
    for _ in range(2):
        with pytest.raises(SurveyRefused, match=INSTALL) as caught:
            one.submit(survey, record)
        assert caught.value.field == "sealing_key"
    assert stub.counted == {}
    # Both attempts were by the terms that the client knew, and with the same report.
    assert len({json.dumps(batch) for batch in posted(session)}) == 1


def test_reports_that_were_drawn_with_cryptography_wait_without_it(
    stub, remembering, session, record, monkeypatch
):
    seal(stub)
    stub.away = True
    survey = stub.survey
    assert remembering().submit(survey, record).status == "waiting"
    stub.away = False
    with monkeypatch.context() as patch:
        hide_cryptography(patch)
        delivery = remembering().flush()
        assert (delivery.waiting, posted(session)) == (1, [])
        assert "halftruth-client[sealed]" in delivery.unsent[0].reason
    assert remembering().flush().accepted == 1


@pytest.mark.parametrize(
    ("program", "extra"),
    [
        ("from halftruth_client import Analyst", "analyst"),
        ("from halftruth_shared import Dense", "analyst"),
        ("survey.perturbation.reports([[0, 0]])", "analyst"),
        ("survey.perturbation.channel(survey.schema.names)", "analyst"),
    ],
)
def test_a_missing_library_is_an_error_that_names_the_extra(survey, tmp_path, program, extra):
    (tmp_path / "survey.json").write_bytes(survey.canonical_json)
    said = run(
        "import json, halftruth_client\nfrom pathlib import Path\n"
        "from halftruth_shared.extras import MissingExtra\n"
        "survey = halftruth_client.Survey.from_json(Path(sys.argv[1]).read_bytes())\n"
        f"try:\n    {program}\nexcept ImportError as error:\n"
        "    assert isinstance(error, MissingExtra)\n    print(json.dumps(str(error)))\n",
        tmp_path / "survey.json",
    )
    assert said.endswith(f"expected pip install 'halftruth-client[{extra}]'")
    assert "\n" not in said


def test_the_analyst_is_listed_although_it_is_imported_later():
    assert "Analyst" in dir(halftruth_client)
    with pytest.raises(AttributeError, match="no attribute 'Analist'"):
        _ = halftruth_client.Analist


@pytest.mark.nightly
def test_all_tests_of_the_client_pass_without_the_extras_or_are_refused_one():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "light", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [*command, Path(__file__).parent],
        capture_output=True,
        encoding="utf-8",
        cwd=ROOT,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout[-10_000:]
    passed, skipped = map(int, re.search(r"(\d+) passed, (\d+) skipped", ran.stdout).groups())
    assert passed > 180
    assert skipped < passed / 2
    reasons = re.findall(r"^SKIPPED .*?: refused: (.*)$", ran.stdout, re.M)
    assert reasons
    assert all(reason.endswith(EXPECTED) for reason in reasons)
