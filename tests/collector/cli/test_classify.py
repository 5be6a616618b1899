"""``halftruth classify``: a learned model predicts on records here, and never quotes one."""

from datetime import UTC, datetime

import msgspec
import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, Counted
from halftruth_collector.estimation import Counts
from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
from halftruth_shared.analyses.classifier import ClassifierQuery

SCHEMA = Schema(
    (
        Attribute("smoker", ("no", "yes")),
        Attribute("coughs", ("no", "yes")),
        Attribute("vote", ("left", "right", "none, a=b")),
    )
)
SURVEY = Survey(
    "study", "Study", SCHEMA, RandomizedResponse({"smoker": "0.9", "coughs": "0.9", "vote": "0.9"})
)


def learned(kind):
    """What is learned where those who smoke cough."""
    rng = np.random.default_rng(201)
    smoker = rng.random(3000) < 0.4
    coughs = np.where(rng.random(3000) < 0.75, smoker, ~smoker)
    records = np.stack([smoker, coughs, rng.integers(0, 3, 3000)], axis=1).astype(int)
    counts = Counts.from_reports(SURVEY, SURVEY.mechanism.perturb_many(SCHEMA, records, rng))
    query = ClassifierQuery(predict="coughs", kind=kind, features=["smoker", "vote"])
    return ANALYSES["classifier"].compute(
        Counted(SURVEY, counts, datetime.now(UTC), min_reports=1), query
    )


@pytest.fixture
def classify(command, tmp_path):
    """Run ``halftruth classify`` on a file of these bytes."""

    def run(content, kind="naive-bayes"):
        model, records = tmp_path / "model.json", tmp_path / "records.csv"
        model.write_bytes(msgspec.json.encode(learned(kind)))
        records.write_bytes(content)
        return command("classify", model, records)

    return run


@pytest.mark.parametrize("kind", ["naive-bayes", "decision-tree"])
def test_records_are_classified_one_a_line(classify, kind):
    records = [
        {"vote": vote, "smoker": smoker, "name": "somebody"}
        for smoker in ("no", "yes")
        for vote in ("left", "right", "none, a=b")
    ]
    content = "name,vote,smoker\n" + "".join(
        f'{r["name"]},"{r["vote"]}",{r["smoker"]}\n' for r in records
    )
    status, printed, complaint = classify(content.encode(), kind)
    assert (status, complaint) == (0, "")
    assert printed.splitlines() == ["coughs", *["no"] * 3, *["yes"] * 3]
    assert printed.splitlines()[1:] == list(learned(kind).model.predict(records))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"smoker,vote\nyes,left\nhush-hush,left\n", "'smoker': expected one of: no, yes"),
        (b"smoker,vote\nyes,hush-hush\n", "'vote': expected one of: left, right, none, a=b"),
        (b"smoker,vote\nyes,left\nyes\n", "'vote': expected one of: left, right, none, a=b"),
        (b"smoker\nhush-hush\n", "'smoker': expected one of: no, yes"),
        (b"hush-hush,vote\nyes,left\n", "'smoker': missing"),
        (b"smoker,vote\nyes,left\n\nyes,hush-hush\n", "'vote': expected one of: left, right"),
        (b'smoker,vote\n"hush-hush,left\nyes,left\n', "'smoker': expected one of: no, yes"),
        (b"smoker,vote\nyes,left\n\xe9,left\n", "UTF-8"),
        (b"smoker,vote\n" + b"yes,left\n" * 20_000 + b"\xe9,left\n", "UTF-8"),
        (b"smoker,vote\nyes," + b"x" * 200_000 + b"\n", "expected CSV"),
    ],
    ids=range(10),
)
def test_a_bad_answer_in_a_file_of_records_is_one_line_that_does_not_quote_it(
    classify, content, said
):
    status, printed, complaint = classify(content)
    assert (status, printed) == (2, "")
    assert said in complaint
    assert complaint.startswith("halftruth: line ")
    assert complaint.count("\n") == 1
    assert "hush" not in complaint


def test_a_file_of_no_records_has_no_predictions(classify):
    assert classify(b"smoker,vote\n") == (0, "coughs\n", "")


def test_files_that_are_not_there_or_no_model_are_one_line(command, tmp_path):
    model, records = tmp_path / "model.json", tmp_path / "records.csv"
    records.write_text("smoker\nyes\n")
    for content, said in ((None, "No such file"), (b"{}", "model: expected"), (b"\xff", "model: ")):
        if content is not None:
            model.write_bytes(content)
        status, printed, complaint = command("classify", model, records)
        assert (status, printed) == (2, "")
        assert complaint.count("\n") == 1
        assert said in complaint
