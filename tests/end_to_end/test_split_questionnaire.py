"""Reports of a split questionnaire with values of four bytes, from a client to the counts.

Other tests cover the path of reports with the small survey.
"""

from base64 import b64encode
from collections import Counter
from uuid import uuid4

import numpy as np
import pytest
from halftruth_client import Analyst, Client
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey
from halftruth_shared.mechanisms.split_questionnaire.views import ViewClass
from halftruth_shared.protocol.sealing import seal
from halftruth_shared.protocol.terms import Terms

FREE = tuple(f"q{j}" for j in range(12))
SCHEMA = Schema(
    [
        Attribute("age", ["under 40", "40 or older"], sensitive=False),
        *(Attribute(name, ["no", "yes"]) for name in FREE),
    ]
)


@pytest.fixture
def survey():
    """A survey of pairs and of groups of eleven questions, whose symbols take four bytes."""
    classes = [
        ViewClass(attributes=(FREE,), choose=(2,), weight=3),
        ViewClass(attributes=(FREE,), choose=(11,), weight=1),
    ]
    mechanism = SplitQuestionnaire(19, classes, public=["age"])
    return Survey("split", "Split", SCHEMA, mechanism)


def test_reports_are_counted_by_public_answer_and_symbol_and_imported(live, survey, tmp_path):
    records = np.random.default_rng(1).integers(0, 2, (300, len(SCHEMA.names)))
    asked = [SCHEMA.decode(codes) for codes in records.tolist()]
    allowed = {"unprotected": ["age"], "digests": [survey.digest]}
    client = Client(live.url, max_gamma="19", outbox=tmp_path / "outbox.db", **allowed)
    survey = client.survey("split")
    assert client.submit_many(survey, asked).accepted == len(records)
    one = client.submit(survey, asked[0], respondent="somebody")
    again = client.submit(survey, asked[1], respondent="somebody")
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
    assert ages == Counter([*records[:, 0].tolist(), int(records[0, 0])])
    operations.export_reports(live.store, "split", tmp_path / "exported")
    with Store(f"sqlite:///{tmp_path / 'fresh.db'}") as fresh:
        operations.import_reports(fresh, tmp_path / "exported")
        _, there, _ = fresh.reports.counts("split")
    np.testing.assert_array_equal(there.cells, stored.cells)
    np.testing.assert_array_equal(there.counts, stored.counts)


def test_a_sealed_report_takes_four_bytes_per_value(sealing_app, sealing_key, store, survey):
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
