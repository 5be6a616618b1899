"""Reading files of answers that were randomized elsewhere counts each row once."""

import csv
import tracemalloc
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from field_data import NIGERIA, published
from halftruth_collector import operations
from halftruth_field import randomized
from halftruth_field.randomized import read_randomized
from halftruth_shared import ParameterError, RecordError, Survey
from halftruth_shared.protocol.terms import Terms

EXAMPLES = Path(__file__).parents[4] / "docs" / "examples"

FIELD = """
id = "field"
title = "By a die"
languages = ["en", "de"]

[mechanism]
kind = "distortion-matrices"
perturbed = ["armed"]

[mechanism.designs]
armed = { design = "forced-response", yes = "1/6", no = "1/6" }

[[attributes]]
name = "armed"
categories = ["no", "yes"]
answers = { yes = { en = "Yes, I did", de = "Ja" } }

[[attributes]]
name = "age"
kind = "number"
minimum = 16
maximum = 99
step = 1
missing = ["not said"]

[[attributes]]
name = "town"
categories = ["north", "south"]
missing = ["refused", "unknown"]
"""

#: The lines of the smallest valid file.
HEADER, LINE = "armed,age,town\n", "yes,40,north\n"


#: Coefficients with their standard errors, by predictors.
PUBLISHED = {
    "female": {"female": (-0.64215, 0.15991)},
    "married,female": {"married": (-0.34828, 0.15361)},
    "assets,married,education,female": {
        "assets": (0.07943, 0.04051),
        "married": (-0.34498, 0.15430),
        "education": (-0.01755, 0.04394),
        "female": (-0.58563, 0.16077),
    },
}


@pytest.fixture(scope="module")
def field():
    return Survey.from_toml(FIELD)


@pytest.fixture
def file(tmp_path):
    def write(content, name="field.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


def cells(read):
    """Return the reports of a file, a tuple for each respondent."""
    return [tuple(cell) for _, packed in read.pages(2) for cell in packed]


def ids(read):
    return [id_ for page, _ in read.pages(3) for id_ in page]


def counted_in(store):
    """Return the number of counted reports by their values."""
    _, counts, _ = store.reports.counts("field")
    found = zip(map(tuple, counts.cells.tolist()), counts.counts.tolist(), strict=True)
    return dict(found)


@pytest.mark.parametrize(
    "content",
    [
        "other,town,armed,age\n"
        "x,north,no,16\nx,south,yes,99\n\nx,refused,Ja,\nx, unknown ,'Yes, I did',4.0e1\n",
        "armed;age;town\nno;16;0\nyes;99;1\nJa;not said;refused\n'Yes, I did';40;3\n",
        "\ufeffarmed\ttown\tage\n0\tnorth\t16\n1\tsouth\t99\n1\trefused\t\n1\tunknown\t40\n",
    ],
)
def test_answers_are_read_by_name_label_or_code(field, file, content):
    read = read_randomized(file(content.replace("'", '"')), field)
    assert cells(read) == [(0, 0, 0), (1, 83, 1), (1, 84, 2), (1, 24, 3)]
    assert read.people == 4


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("", {}, "column 'armed' is missing"),
        (HEADER, {}, "has no rows; expected one for each person"),
        ("armed,age\nyes,40\n", {}, "column 'town' is missing"),
        ("armed,age,town,armed\nyes,40,north,no\n", {}, "column 'armed' is there twice"),
        (HEADER + LINE + "secret,40,north\n", {}, "row 2, column 'armed': expected one of"),
        (HEADER + LINE + "1,40,north\n", {}, "row 2, column 'armed': expected one of"),
        (HEADER + "0,40,north\n2,40,north\n", {}, "row 2, column 'armed': .* codes from 0 to 1"),
        (HEADER + LINE * 6 + ",40,north\n", {}, "row 7, column 'armed': is empty, and the survey"),
        (HEADER + "yes,40,\n", {}, "row 1, column 'town': is empty; .*: refused, unknown"),
        (HEADER + LINE + "yes,3512,north\n", {}, "row 2, column 'age': .* from 16 to 99"),
        (HEADER + "yes,40\0,north\n", {}, "row 1, column 'age': expected a whole number"),
        (HEADER + LINE + "yes,40\n", {}, "row 2, after column 'age': has 2 values; expected 3"),
        (HEADER + LINE + "yes,40,north,secret\n", {}, "row 2, after column 'town': has 4 values"),
        (HEADER + LINE + 'yes,40,"north\n', {}, "row 2: expected CSV"),
        ((HEADER + LINE).encode() + b"yes,40,\xff\n", {}, "after row .: expected CSV in UTF-8"),
        (HEADER + "yes,40," + "secret" * 30_000, {}, "row 1: expected CSV"),
        ("id," + HEADER + f"1,{LINE}1,{LINE}", {"key": "id"}, "row 2, column 'id': has the key of"),
        ("id," + HEADER + f"1,{LINE} ,{LINE}", {"key": "id"}, "row 2, column 'id': expected"),
        (HEADER + LINE, {"key": "id"}, "column 'id' is missing"),
        ("n," + HEADER + f"1,{LINE}1.5,{LINE}", {"count": "n"}, "row 2, column 'n': expected"),
        ("n," + HEADER + f"-1,{LINE}", {"count": "n"}, "row 1, column 'n': .* from 0 to 1000000"),
        ("n," + HEADER + f"{'9' * 5000},{LINE}", {"count": "n"}, "row 1, column 'n': expected how"),
        ("n," + HEADER + f"999999,{LINE}" * 11, {"count": "n"}, "row 11, column 'n': .*at most"),
        ("n," + HEADER + f"0,{LINE}" * 2, {"count": "n"}, "row 2, column 'n': .* somebody"),
    ],
)  # fmt: skip
def test_invalid_values_are_refused_with_row_and_column(field, file, content, options, said):
    with pytest.raises(RecordError, match=said) as refused:
        read_randomized(file(content), field, **options)
    assert "secret" not in str(refused.value)
    assert "3512" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("field.csv", {"key": "armed"}, "expected columns of their own, not 'armed'"),
        ("field.csv", {"key": "id", "count": "id"}, "expected columns of their own, not 'id'"),
        ("field.txt", {}, "expected a name that ends with one of: .csv, .parquet"),
        ("field.parquet", {}, "cannot be read: not such a file"),
        ("nowhere/field.csv", {}, "cannot be read: No such file"),
        ("field\0.csv", {}, "cannot be read: not such a file"),
    ],
)
def test_unusable_files_and_options_are_refused(field, file, tmp_path, name, options, said):
    if "/" not in name and "\0" not in name:
        file(HEADER + LINE, name)
    with pytest.raises(ParameterError, match=said):
        read_randomized(str(tmp_path / name), field, **options)


def test_a_row_is_counted_once(store, field, file):
    def read(content, **options):
        done = operations.count_rows(
            store, field, read_randomized(file(content), field, **options).pages(2)
        )
        return done.counted, done.repeated

    rows = [f"{n},{LINE}" for n in range(5)]
    assert read("id," + HEADER + "".join(rows[:3]), key="id") == (3, 0)
    # A later file has more rows, in another order.
    assert read("id," + HEADER + "".join(rows[::-1]), key="id") == (2, 3)
    assert counted_in(store) == {(1, 24, 0): 5}
    # Without a key, whole files are recognized.
    assert read(HEADER + LINE * 3) == (3, 0)
    assert read(HEADER + LINE * 3) == (0, 3)
    assert read(HEADER + LINE * 4) == (4, 0)
    # A row stands for several respondents, some of whom were counted before.
    assert read("n,id," + HEADER + f"2,a,{LINE}0,b,{LINE}", key="id", count="n") == (2, 0)
    assert read("n,id," + HEADER + f"5,a,{LINE}1,b,{LINE}", key="id", count="n") == (4, 2)
    assert counted_in(store) == {(1, 24, 0): 18}
    entries = [(e.action, e.subject, e.detail) for e in store.audit.all()]
    assert entries[0] == ("read", "field", "3 reports counted")


def test_ids_differ_between_surveys_keys_and_respondents(field, file):
    other = Survey.from_toml(FIELD.replace('"field"', '"other"'))
    one = file("id,n," + HEADER + f"1,2,{LINE}2,1,{LINE}")
    reads = [
        read_randomized(one, survey, **options)
        for survey in (field, other)
        for options in ({"key": "id", "count": "n"}, {"count": "n"})
    ]
    found = [id_ for read in reads for id_ in ids(read)]
    assert len(set(found)) == len(found) == 12
    assert {len(id_) for id_ in found} == {16}


def test_rows_are_refused_by_a_survey_with_invitations(store, field, file):
    pages = list(read_randomized(file(HEADER + LINE), field).pages(10))
    operations.publish_survey(store, field, Terms(invitations=True))
    with pytest.raises(ParameterError, match="asks for invitations"):
        operations.count_rows(store, field, pages)
    assert counted_in(store) == {}


def test_parquet_is_read_like_csv(field, tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "field.parquet"
    frame = pandas.DataFrame(
        {
            "armed": ["no", "Ja", "yes"],
            "age": [16.0, None, 99.0],
            "town": ["south", "refused", "north"],
        }
    )
    frame.to_parquet(path)
    assert cells(read_randomized(str(path), field)) == [(0, 0, 1), (1, 84, 2), (1, 83, 0)]
    frame.assign(armed=[0, 1, 1]).to_parquet(path)
    assert cells(read_randomized(str(path), field)) == [(0, 0, 1), (1, 84, 2), (1, 83, 0)]


def test_more_rows_than_allowed_are_refused_unread(field, tmp_path, monkeypatch):
    """Equal rows take almost no space in a file, but much memory."""
    pandas = pytest.importorskip("pandas")
    monkeypatch.setattr(randomized, "MAX_PEOPLE_OF_FILE", 2)
    path = tmp_path / "field.parquet"
    frame = pandas.DataFrame({"armed": ["no"] * 3, "age": [20] * 3, "town": ["north"] * 3})
    frame.to_parquet(path)
    with pytest.raises(RecordError, match="has 3 rows; expected at most 2"):
        read_randomized(str(path), field)


def test_a_parquet_file_of_equal_rows_takes_little_memory(field, tmp_path):
    """Repeated values take almost no space in the file."""
    rows = 1_000_000
    repeated = {"armed": "yes", "age": 40, "town": "north"}
    columns = {name: pa.repeat(pa.scalar(value), rows) for name, value in repeated.items()}
    path = tmp_path / "field.parquet"
    pq.write_table(pa.table(columns), path, compression="zstd")
    assert path.stat().st_size < 200_000
    tracemalloc.start()
    try:
        assert read_randomized(str(path), field).people == rows
        # One object for each value would take more than twice as much.
        assert tracemalloc.get_traced_memory()[1] < 80 * rows
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("rows", "value"), [(11_000, "x" * 30_000), (9_000_000, "x")], ids=["bytes", "values"]
)
def test_oversized_parquet_files_are_refused_before_they_are_decompressed(
    field, tmp_path, rows, value
):
    path = tmp_path / "field.parquet"
    names = ("armed", "age", "town", "key")
    plain = pa.repeat(pa.scalar(value), rows)
    pq.write_table(
        pa.table(dict.fromkeys(names, plain)), path, compression="zstd", use_dictionary=rows > 10**6
    )
    assert path.stat().st_size < 500_000
    before = pa.total_allocated_bytes()
    del plain
    with pytest.raises(RecordError, match="unpacks to more than 268435456 bytes or 33554432 val"):
        read_randomized(str(path), field, key="key")
    assert pa.total_allocated_bytes() <= before


def test_values_of_other_types_are_refused(field, tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "field.parquet"
    town = pandas.Timestamp(2020, 1, 1)
    for value, said in ((town, "row 1, column 'town': expected one"), ([1], "column 'town': exp")):
        pandas.DataFrame({"armed": ["no"], "age": [20], "town": [value]}).to_parquet(path)
        with pytest.raises(RecordError, match=said):
            read_randomized(str(path), field)


@pytest.mark.parametrize(
    "mechanism",
    [
        'kind = "gamma-diagonal"\ngamma = "19"',
        'kind = "split-questionnaire"\ngamma = "19"\nmax_length = 1',
        'kind = "split-questionnaire"\ngamma = "19"\nmax_length = 1\npublic = ["town"]',
    ],
)
def test_the_output_of_perturb_can_be_read(done, store, tmp_path, monkeypatch, mechanism):
    monkeypatch.chdir(tmp_path)
    head, _, questions = FIELD.partition("[mechanism]")
    questions = questions[questions.index("[[attributes]]") :].replace(
        'missing = ["refused", "unknown"]', "sensitive = false\noptional = true"
    )
    Path("field.toml").write_text(f"{head}[mechanism]\n{mechanism}\n{questions}")
    records = HEADER + "no,20,north\nyes,not said,\nyes,99,south\n" * 40
    Path("records.csv").write_text(records)
    done("reports", "perturb", "field.toml", "records.csv", "-o", "perturbed.csv")
    said = done("reports", "read", "perturbed.csv", "--survey", "field.toml")
    assert said.startswith("counted 120 reports in survey field; 0 had been counted before\n")
    survey = Survey.from_toml(Path("field.toml").read_text())
    with open("perturbed.csv", newline="") as written:
        expected = Counter(tuple(row) for row in list(csv.reader(written))[1:])
    found = {
        tuple(survey.perturbation.decode(values).values()): number
        for values, number in counted_in(store).items()
    }
    assert found == expected
    said = done("reports", "read", "perturbed.csv", "--survey", "field.toml")
    assert said.startswith("counted 0 reports in survey field; 120 had")


def test_a_refused_file_leaves_no_survey(done, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("field.toml").write_text(FIELD)
    Path("field.csv").write_text(HEADER + LINE + "secret,40,north\n")
    complaint = refused("reports", "read", "field.csv", "--survey", "field.toml")
    assert "row 2, column 'armed'" in complaint
    assert "secret" not in complaint
    assert "field" not in done("survey", "list")


@published
def test_estimates_of_the_nigeria_survey_equal_published_ones(done):
    """Contact with armed groups (Blair, Imai & Zhou 2015), read by one command."""
    said = done("reports", "read", str(NIGERIA), "--survey", str(EXAMPLES / "nigeria.toml"))
    assert said.splitlines() == [
        "counted 2423 reports in survey nigeria; 0 had been counted before",
        "stored as answered, without protection: age, assets, married, education, female",
    ]
    found = done("analyse", "table", "nigeria", "--attributes", "armed", "--csv")
    yes = next(row for row in csv.DictReader(found.splitlines()) if row["armed"] == "yes")
    assert float(yes["value"]) == pytest.approx(0.26135, abs=5.1e-6)
    assert float(yes["standard_error"]) == pytest.approx(0.014445, abs=5.1e-6)
    for predictors, expected in PUBLISHED.items():
        words = ["--outcome", "armed", "--predictors", predictors, "--estimate", "model", "--csv"]
        found = done("analyse", "regression", "nigeria", *words)
        rows = {
            row["term"].split("=")[0]: row
            for row in csv.DictReader(found.splitlines())
            if row["quantity"] == "coefficient"
        }
        for name, (coefficient, error) in expected.items():
            assert float(rows[name]["value"]) == pytest.approx(coefficient, abs=5.1e-6)
            assert float(rows[name]["standard_error"]) == pytest.approx(error, abs=5.1e-6)
