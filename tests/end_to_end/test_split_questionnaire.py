"""Reports of a split questionnaire on their way: drawn, kept, sealed, counted, exported."""

import csv
import io
import json
from base64 import b64encode
from collections import Counter
from uuid import uuid4

import numpy as np
import pytest
import requests
from halftruth_client import Analyst, Client, SurveyRefused
from halftruth_collector import operations
from halftruth_collector.analyses import ANALYSES
from halftruth_collector.cli import main
from halftruth_collector.collector_store import Store
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey
from halftruth_shared.mechanisms.split_questionnaire.views import ViewClass
from halftruth_shared.protocol.sealing import seal
from halftruth_shared.protocol.terms import Terms
from wire import listening

FREE = tuple(f"q{j}" for j in range(12))
SCHEMA = Schema(
    [
        Attribute("age", ["under 40", "40 or older"], sensitive=False),
        *(Attribute(name, ["no", "yes"]) for name in FREE),
    ]
)


@pytest.fixture
def survey():
    """Pairs of twelve questions, and groups of eleven, which have so many symbols that it takes
    four bytes to write one."""
    classes = [
        ViewClass(attributes=(FREE,), choose=(2,), weight=3),
        ViewClass(attributes=(FREE,), choose=(11,), weight=1),
    ]
    mechanism = SplitQuestionnaire(19, classes, public=["age"])
    return Survey("split", "Split", SCHEMA, mechanism)


@pytest.fixture
def records():
    return np.random.default_rng(1).integers(0, 2, (300, len(SCHEMA.names)))


def as_asked(records):
    return [SCHEMA.decode(codes) for codes in records.tolist()]


def test_whole_records_are_taken_and_counted_by_public_answer_and_symbol(live, survey, records):
    client = Client(live.url, max_gamma="19", unprotected=["age"], digests=[survey.digest])
    survey = client.survey("split")
    assert client.submit_many(survey, as_asked(records)).accepted == len(records)
    one = client.submit(survey, as_asked(records)[0], respondent="somebody")
    again = client.submit(survey, as_asked(records)[1], respondent="somebody")
    assert (one.status, again.status, again.id) == ("accepted", "duplicate", one.id)
    counts = Analyst(live.url, operations.create_token(live.store, "analyst")).counts("split")
    _, stored, _ = live.store.reports.counts("split")
    assert stored.names == ("age", "(symbol)")
    assert stored.shape[1] == 66 * 4 + 12 * 7240
    found = {tuple(map(int, row.keys.values())): row.value for row in counts.rows}
    assert found == dict(zip(map(tuple, stored.cells.tolist()), stored.counts, strict=True))
    ages = Counter()
    for (age, _), count in found.items():
        ages[age] += count
    expected = Counter([*records[:, 0].tolist(), int(records[0, 0])])
    assert ages == expected


def test_a_caller_who_allows_nothing_to_be_sent_as_it_is_is_refused(live):
    with pytest.raises(SurveyRefused, match="infinite"):
        Client(live.url, max_gamma="19").survey("split")


class Line(requests.Session):
    """Writes down what is posted, and loses it while it is down."""

    def __init__(self):
        super().__init__()
        self.down, self.posted = False, []

    def send(self, request, **settings):
        if request.method == "POST":
            self.posted.append(json.loads(request.body)["reports"])
        if self.down:
            raise requests.ConnectionError("down")
        return super().send(request, **settings)


def test_a_report_waits_in_the_outbox_and_is_the_one_that_is_counted(
    tmp_path, live, survey, records
):
    line, record = Line(), as_asked(records)[0]

    def opened():
        how = {"max_gamma": "19", "unprotected": ["age"], "outbox": tmp_path / "outbox.db"}
        how["digests"] = [survey.digest]
        return Client(live.url, session=line, retries=1, backoff=0, **how)

    survey = opened().survey("split")
    line.down = True
    for _ in range(3):
        assert opened().submit(survey, record, respondent="somebody").status == "waiting"
    line.down = False
    assert opened().flush().accepted == 1
    assert opened().submit(survey, record, respondent="somebody").status == "duplicate"
    # One draw, of view and symbol, however often it is tried.
    [only] = {json.dumps(reports) for reports in line.posted}
    _, stored, _ = live.store.reports.counts("split")
    assert stored.cells.tolist() == [json.loads(only)[0]["values"]]


def test_a_sealed_report_takes_four_bytes_a_value(sealing_app, sealing_key, store, survey):
    operations.publish_survey(store, survey, Terms(sealing_key=sealing_key))
    last = survey.report_space.shape[1] - 1
    packed = survey.report_space.pack((1, last))
    assert packed == bytes([0, 0, 0, 1]) + last.to_bytes(4)
    id = uuid4()
    sealed = seal(sealing_key, survey.digest, id, packed)
    body = {
        "digest": survey.digest,
        "reports": [{"id": str(id), "sealed": b64encode(sealed).decode()}],
    }
    answer = sealing_app.test_client().post("/v1/surveys/split/reports", json=body)
    assert answer.json == {"accepted": 1, "duplicates": 0}
    _, stored, _ = store.reports.counts("split")
    assert stored.cells.tolist() == [[1, last]]


def test_reports_are_shown_in_words_by_the_command_that_perturbs(tmp_path, capsys, records):
    questions = "".join(
        f'[[attributes]]\nname = "{a.name}"\ncategories = {list(a.categories)}\n'
        + ("" if a.sensitive else "sensitive = false\n")
        for a in SCHEMA.attributes
    ).replace("'", '"')
    file = tmp_path / "split.toml"
    file.write_text(
        f'id = "split"\ntitle = "Split"\n{questions}[mechanism]\nkind = "split-questionnaire"\n'
        'gamma = "19"\nprime = 19\ndirect = 28\npublic = ["age"]\n'
        f"[[mechanism.views]]\nattributes = [{list(FREE)}]\nchoose = [2]\nweight = 1\n".replace(
            "'", '"'
        ),
        encoding="utf-8",
    )
    told = tmp_path / "records.csv"
    with told.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(SCHEMA.names)
        writer.writerows(record.values() for record in as_asked(records))
    main(["reports", "perturb", str(file), str(told)], standalone_mode=False)
    header, *rows = csv.reader(io.StringIO(capsys.readouterr().out))
    assert header == ["age", "(symbol)"]
    assert len(rows) == len(records)
    assert [row[0] for row in rows] == [record["age"] for record in as_asked(records)]
    pairs = [f"{a} and {b}" for i, a in enumerate(FREE) for b in FREE[i + 1 :]]
    for _, words in rows:
        code, about = words.removeprefix("code ").split(" about ")
        assert pairs[int(code) // 4] == about


def test_counts_are_exported_imported_and_backed_up(live, survey, records, tmp_path, database):
    client = Client(live.url, max_gamma="19", unprotected=["age"], digests=[survey.digest])
    client.submit_many(client.survey("split"), as_asked(records))
    files = {name: str(tmp_path / name) for name in ("exported", "backup", "fresh")}
    fresh = ["--database", f"sqlite:///{files['fresh']}"]
    main(
        ["reports", "export", "split", files["exported"], "--database", database],
        standalone_mode=False,
    )
    main(["admin", "backup", files["backup"], "--database", database], standalone_mode=False)
    main(["admin", "migrate", *fresh], standalone_mode=False)
    main(["reports", "import", files["exported"], *fresh], standalone_mode=False)
    _, here, _ = live.store.reports.counts("split")
    for address in (fresh[1], f"sqlite:///{files['backup']}"):
        with Store(address) as other:
            stored, there, _ = other.reports.counts("split")
        assert stored.survey() == live.store.surveys.get("split").survey()
        np.testing.assert_array_equal(there.cells, here.cells)
        np.testing.assert_array_equal(there.counts, here.counts)


ASKED = {
    "itemsets": {"min_support": 0.3, "max_length": 2},
    "rules": {"min_support": 0.1, "min_confidence": 0.3},
    "regression": {"outcome": "q1", "predictors": ["age", "q0"]},
    "comparison": {"answer": {"q1": "yes"}, "groups": "age"},
    "distribution": {"attribute": "q1", "groups": "age"},
    "risk": {"quasi": ["age", "q0"], "sensitive": "q1"},
    "weighted": {"margins": {"age": {"younger": 0.6, "older": 0.4}}},
}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A survey as an author writes it, answered by 4 000 people; and what an analyst asks with."""
    people = np.random.default_rng(2).random((4_000, 7)) < [0.5, 0.3, 0.3, 0.3, 0.7, 0.7, 0.7]
    people[:, 2] |= people[:, 1]
    survey = Survey.from_toml(
        'id = "short"\ntitle = "Short"\n'
        '[mechanism]\nkind = "split-questionnaire"\ngamma = "19"\nmax_length = 3\n'
        'public = ["age"]\n'
        '[[attributes]]\nname = "age"\ncategories = ["younger", "older"]\nsensitive = false\n'
        + "".join(f'[[attributes]]\nname = "q{j}"\ncategories = ["no", "yes"]\n' for j in range(6))
    )
    answers = [survey.schema.decode(codes) for codes in people.astype(int).tolist()]
    database = f"sqlite:///{tmp_path_factory.mktemp('short') / 'short.db'}"
    app = create_app(Config(database=database, rate_limit=None))
    store = app.extensions["halftruth"].store
    operations.publish_survey(store, survey)
    with listening(app) as url:
        client = Client(url, max_gamma="19", unprotected=["age"], digests=[survey.digest])
        assert client.submit_many(client.survey("short"), answers).accepted == len(people)
        yield people, Analyst(url, operations.create_token(store, "analyst"))
    store.close()


def test_tables_come_back_with_errors_that_hold(published):
    people, analyst = published
    for attributes, positions in [(["age"], [0]), (["q1", "q0"], [2, 1]), (["q0", "age"], [1, 0])]:
        table = analyst.table("short", attributes=attributes)
        shape = (2,) * len(positions)
        cells = np.ravel_multi_index(people[:, positions].T.astype(int), shape)
        truth = np.bincount(cells, minlength=2 ** len(positions)) / len(people)
        # One of ten cells is five standard errors off once in a hundred thousand surveys.
        for cell, share in zip(table.rows, truth, strict=True):
            assert abs(cell.value - share) < 5 * cell.standard_error


@pytest.mark.parametrize("name", ANALYSES)
def test_every_analysis_answers_or_says_why_not(published, name):
    _, analyst = published
    asked = ANALYSES[name].query
    pair = {"attributes": ["q0", "q1"]} if "attributes" in asked.__struct_fields__ else {}
    query = asked(**ASKED.get(name, pair))
    analyst.ask("short", query)
