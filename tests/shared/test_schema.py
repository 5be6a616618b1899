"""Attributes, schemas and records: encoding, and invalid input."""

import copy
import math
from collections import OrderedDict
from types import MappingProxyType

import numpy as np
import pytest
from halftruth_shared import Attribute, RecordError, Schema, SchemaError
from hypothesis import given, settings
from hypothesis import strategies as st

# Valid categories: no control character, no lone surrogate, no outer blank.
TEXTS = st.text(
    alphabet=st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=12
).filter(lambda text: text == text.strip())
NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_.-]{0,63}", fullmatch=True)


@st.composite
def schemas(draw):
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    return Schema(
        [
            Attribute(name, draw(st.lists(TEXTS, min_size=2, max_size=6, unique=True)))
            for name in names
        ]
    )


@pytest.fixture
def schema():
    return Schema([Attribute("smoker", ["no", "yes"]), Attribute("age", ["young", "old", "older"])])


@settings(max_examples=20)
@given(st.data())
def test_encoding_and_decoding_a_record_are_inverse(data):
    schema = data.draw(schemas())
    record = {
        attribute.name: data.draw(st.sampled_from(attribute.categories))
        for attribute in schema.attributes
    }
    codes = schema.encode(record)
    assert type(codes) is tuple
    assert [
        attribute.categories[code] for attribute, code in zip(schema.attributes, codes, strict=True)
    ] == list(record.values())
    assert schema.decode(codes) == record


@pytest.mark.parametrize("kind", [dict, OrderedDict, MappingProxyType])
def test_records_can_be_any_mapping_in_any_order(kind, schema):
    assert schema.encode(kind({"age": "older", "smoker": "no"})) == (0, 2)


@pytest.mark.parametrize("codes", [[1, 2], (1, 2), np.array([1, 2]), np.array([1, 2], np.uint8)])
def test_codes_can_be_any_sequence_of_integers(codes, schema):
    assert schema.decode(codes) == {"smoker": "yes", "age": "older"}
    assert all(type(code) is int for code in schema.check(codes))


def test_shape_and_names_follow_the_order_of_the_attributes(schema):
    assert schema.shape == (2, 3)
    assert schema.size == 6
    assert schema.names == ("smoker", "age")
    assert schema.position("age") == 1
    assert schema.positions(["age", "smoker"]) == (1, 0)


def test_equal_schemas_have_equal_hashes(schema):
    same = Schema([Attribute("smoker", ("no", "yes")), Attribute("age", ("young", "old", "older"))])
    assert schema == same
    assert hash(schema) == hash(same)
    for other in (
        Schema(same.attributes[::-1]),
        Schema(same.attributes[:1]),
        Schema([same.attributes[0], Attribute("age", ("old", "young", "older"))]),
        Schema([same.attributes[0], Attribute("age", same.attributes[1].categories, ("old",))]),
        Schema([same.attributes[0], Attribute("age", same.attributes[1].categories, None, False)]),
    ):
        assert schema != other
    assert copy.deepcopy(schema) == schema


SECRET = "s3cret-ANSWER-7654321"

BAD_ANSWERS = {
    "another text": SECRET,
    "other case": "YES",
    "blanks": " yes",
    "empty": "",
    "bool": True,
    "large": 7654321 * 10**30,
    "nan": math.nan,
    "none": None,
    "bytes": b"s3cret-ANSWER-7654321",
    "list": [SECRET],
    "nul": "yes\0",
    "lone surrogate": "\udce9s3cret-ANSWER-7654321",
    "long": SECRET * 10**4,
}


@pytest.mark.parametrize("answer", BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_an_invalid_answer_is_refused_without_quoting_it(answer, schema, refused):
    refused(
        RecordError,
        lambda: schema.encode({"age": "old", "smoker": answer}),
        field="smoker",
        mentions=["'smoker'", "no, yes"],
        never=["old", "s3cret", "7654321", "YES", " yes'", "True", "1.0", "nan", "None"],
    )


def test_an_incomparable_answer_is_refused_without_quoting_it(schema, refused):
    class Hostile:
        def __eq__(self, other):
            raise RuntimeError(SECRET)

        __hash__ = None

        def __repr__(self):
            return SECRET

    refused(RecordError, lambda: schema.encode({"smoker": Hostile(), "age": "old"}), never=[SECRET])


WHOLE = {"smoker": "yes", "age": "old"}
BAD_RECORDS = [
    ({"smoker": "yes"}, "age", ["'age'", "missing", "young, old, older"]),
    # For example the first line of a file without a header: names may be answers.
    (WHOLE | {SECRET: "yes", "x": SECRET}, "record", ["2 unknown attributes; the", "smoker, age"]),
    # Only names of the survey that are similar to the given ones are listed.
    (
        {"Smoker ": SECRET, "AGE": "old", SECRET: ""},
        "record",
        ["3 unknown attributes, perhaps", "smoker, age;"],
    ),
    *(
        (WHOLE | {key: SECRET}, "record", ["unknown", "smoker, age"])
        for key in (1, None, ("smoker",), b"smoker", "", "Smoker", "smoker ")
    ),
    *(
        (WHOLE | {key: SECRET}, "record", [])
        for key in ("smo\nker", "smo\u2028ker", "smo\x1b[2Jker")
    ),
    *(
        (record, None, ["record", "mapping"])
        for record in (None, SECRET, [("smoker", "yes")], ("yes", "old"), 7654321, {"yes"})
    ),
]


@pytest.mark.parametrize(("record", "field", "words"), BAD_RECORDS, ids=repr)
def test_an_invalid_record_is_refused_without_its_answers(record, field, words, schema, refused):
    never = ["yes", SECRET, "7654321"] + ([] if field == "age" else ["old"])
    call = lambda: schema.encode(record)  # noqa: E731
    refused(RecordError, call, field=field, mentions=words, never=never)


def test_long_lists_of_categories_are_truncated_in_messages(refused):
    schema = Schema([Attribute("place", [f"c{i}" for i in range(5000)])])
    error = refused(
        RecordError, lambda: schema.encode({"place": SECRET}), mentions=["c0, c1", "5000 in all"]
    )
    assert len(str(error)) < 200


@pytest.mark.parametrize(
    ("codes", "field"),
    [
        ((7654321, 0), "smoker"),
        ((0, -7654321), "age"),
        ((0, 3), "age"),
        ((True, 0), "smoker"),
        ((0, 1.0), "age"),
        ((0, "7654321"), "age"),
        ((0, None), "age"),
        ((0, 7654321 * 10**30), "age"),
        ((0,), None),
        ((), None),
        ((0, 0, 7654321), None),
    ],
    ids=repr,
)
def test_invalid_codes_are_refused_without_quoting_them(codes, field, schema, refused):
    never = ["7654321", "True", "1.0", "None"]
    for call in (lambda: schema.decode(codes), lambda: schema.check(codes)):
        refused(RecordError, call, field=field, mentions=[field or "2 codes"], never=never)


def attribute(categories=("no", "yes"), name="smoker", **given):
    return Attribute(name, categories, **given)


def named(*names):
    return Schema([Attribute(name, ["x", "y"]) for name in names])


#: Invalid attributes and schemas: arguments, the named field, and the message.
BAD = [
    *(
        (lambda name=name: attribute(name=name), "name", "a letter")
        for name in ["", " ", "1a", "_a", "-a", "a b", "a\n", "é", "a/b", "a" * 65, "a,b", None, 1]
    ),
    *(
        (lambda given=given: attribute(given), "categories", words)
        for given, words in [
            ([], "expected 2 to 65536"),
            (["x"], "2 to 65536"),
            ([f"c{i}" for i in range(65_537)], "got 65537"),
            (["x", "y", "x"], "'x' is named twice"),
            ("xy", "expected a list"),
            ({"x": 1, "y": 2}, "expected a list"),
            (["x", 1], "expected text"),
            (["x", ""], "expected text"),
            (["x", " y"], "expected text"),
            (["x", "y\u00a0"], "expected text"),
            (["x", "y\n"], "expected text"),
            (["x", "a\x85b"], "expected text"),
            (["x", "\ud800"], "expected text"),
            (["x", "y" * 257], "1 to 256"),
        ]
    ),
    *(
        (lambda given=given: attribute(items=given), "items", words)
        for given, words in [
            (["maybe"], "'maybe' is not one of its categories: no, yes"),
            (["yes", "yes"], "'yes' is named twice"),
            ("yes", "expected a list"),
            ([1], "expected text"),
            (1, "expected a list"),
        ]
    ),
    *(
        (lambda given=given: attribute(sensitive=given), "sensitive", "expected true or false")
        for given in (None, 0, 1, "no", "false")
    ),
    *(
        (
            lambda count=count: named(*(f"a{j}" for j in range(count))),
            "attributes",
            f"expected 1 to 1024, got {count}",
        )
        for count in (0, 1025)
    ),
    (lambda: named("a", "b", "a"), None, "'a' is named twice"),
]


@pytest.mark.parametrize(("make", "field", "words"), BAD)
def test_invalid_attributes_and_schemas_are_refused(make, field, words, refused):
    of = ["'smoker'"] if field in ("categories", "items", "sensitive") else []
    refused(SchemaError, make, field=field, mentions=[words, *of])


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["smokr"], "unknown attribute 'smokr'; the survey has: smoker, age"),
        (["age", "age"], "'age' is named twice"),
        ([], "one or more of"),
        ([1], "unknown attribute '1'"),
        ([["age"]], "unknown attribute"),
        ("age", "expected a list"),
        (["smo\nker"], "unknown attribute"),
        (["smo\u2028ker"], "unknown attribute"),
        (["smo\x1b[2Jker"], "unknown attribute"),
    ],
    ids=repr,
)
def test_invalid_lists_of_attributes_are_refused(names, words, schema, refused):
    refused(SchemaError, lambda: schema.positions(names), field="attributes", mentions=[words])
