"""Attributes, schemas and records: the round trip, and every bad input."""

import copy
import math
import re
from collections import OrderedDict
from types import MappingProxyType

import numpy as np
import pytest
from halftruth_shared import Attribute, RecordError, Schema, SchemaError
from hypothesis import given, settings
from hypothesis import strategies as st

# What a category may hold: no control character, no lone surrogate, no outer blank.
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


@settings(max_examples=40)
@given(st.data())
def test_a_record_comes_back_from_its_codes(data):
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
def test_any_mapping_in_any_order_is_a_record(kind, schema):
    assert schema.encode(kind({"age": "older", "smoker": "no"})) == (0, 2)


@pytest.mark.parametrize("codes", [[1, 2], (1, 2), np.array([1, 2]), np.array([1, 2], np.uint8)])
def test_any_sequence_of_integers_is_codes(codes, schema):
    assert schema.decode(codes) == {"smoker": "yes", "age": "older"}
    assert all(type(code) is int for code in schema.check(codes))


def test_shape_size_and_names_are_in_the_order_of_the_attributes(schema):
    assert schema.shape == (2, 3)
    assert schema.size == 6
    assert schema.names == ("smoker", "age")
    assert schema.position("age") == 1
    assert schema.positions(["age", "smoker"]) == (1, 0)


def test_the_size_is_exact_however_large():
    schema = Schema([Attribute(f"a{j}", ["a", "b", "c"]) for j in range(1024)])
    assert schema.size == 3**1024


def test_equal_schemas_are_one_key(schema):
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
def test_an_answer_outside_its_categories_is_refused_without_it(answer, schema, refused):
    refused(
        RecordError,
        lambda: schema.encode({"age": "old", "smoker": answer}),
        field="smoker",
        mentions=["'smoker'", "no, yes"],
        never=["old", "s3cret", "7654321", "YES", " yes'", "True", "1.0", "nan", "None"],
    )


def test_an_answer_that_cannot_be_compared_is_refused_without_it(schema, refused):
    class Hostile:
        def __eq__(self, other):
            raise RuntimeError(SECRET)

        __hash__ = None

        def __repr__(self):
            return SECRET

    refused(RecordError, lambda: schema.encode({"smoker": Hostile(), "age": "old"}), never=[SECRET])


def test_a_missing_attribute_is_named_with_its_categories(schema, refused):
    refused(
        RecordError,
        lambda: schema.encode({"smoker": "yes"}),
        field="age",
        mentions=["'age'", "missing", "young, old, older"],
        never=["yes"],
    )


def test_unknown_attributes_are_counted_and_never_named_since_they_may_be_answers(schema, refused):
    # The first line of a file without a header, for instance.
    refused(
        RecordError,
        lambda: schema.encode({"smoker": "yes", "age": "old", SECRET: "yes", "x": SECRET}),
        field="record",
        mentions=["2 unknown attributes", "smoker, age"],
        never=["yes", "old", SECRET],
    )


@pytest.mark.parametrize(
    "key", [1, None, ("smoker",), b"smoker", "", "Smoker", "smoker "], ids=repr
)
def test_keys_that_are_no_attribute_are_refused(key, schema, refused):
    refused(
        RecordError,
        lambda: schema.encode({"smoker": "yes", "age": "old", key: SECRET}),
        mentions=["unknown", "smoker, age"],
        never=[SECRET],
    )


@pytest.mark.parametrize(
    "record", [None, SECRET, [("smoker", "yes")], ("yes", "old"), 7654321, {"yes"}], ids=repr
)
def test_a_record_that_is_no_mapping_is_refused_without_it(record, schema, refused):
    refused(
        RecordError,
        lambda: schema.encode(record),
        mentions=["record", "mapping"],
        never=[SECRET, "yes", "old", "7654321"],
    )


def test_long_lists_of_categories_are_cut_in_messages(refused):
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
def test_codes_outside_the_schema_are_refused_without_them(codes, field, schema, refused):
    never = ["7654321", "True", "1.0", "None"]
    for call in (lambda: schema.decode(codes), lambda: schema.check(codes)):
        refused(RecordError, call, field=field, mentions=[field or "2 codes"], never=never)


BAD_NAMES = ["", " ", "1a", "_a", "-a", "a b", "a\n", "é", "a/b", "a" * 65, "a,b", None, 1, b"a"]


@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
def test_a_bad_attribute_name_is_refused(name, refused):
    refused(SchemaError, lambda: Attribute(name, ["x", "y"]), field="name", mentions=["a letter"])


@pytest.mark.parametrize(
    ("categories", "words"),
    [
        ([], "2 to 65536"),
        (["x"], "got 1"),
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
    ],
    ids=lambda value: repr(value)[:30],
)
def test_bad_categories_are_refused(categories, words, refused):
    refused(
        SchemaError,
        lambda: Attribute("smoker", categories),
        field="categories",
        mentions=["'smoker'", words],
    )


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (["maybe"], "'maybe' is not one of its categories: no, yes"),
        (["yes", "yes"], "'yes' is named twice"),
        ("yes", "expected a list"),
        ([1], "expected text"),
        (1, "expected a list"),
    ],
    ids=repr,
)
def test_bad_items_are_refused(items, words, refused):
    refused(
        SchemaError,
        lambda: Attribute("smoker", ["no", "yes"], items=items),
        field="items",
        mentions=["'smoker'", words],
    )


@pytest.mark.parametrize("sensitive", [None, 0, 1, "no", "false"], ids=repr)
def test_sensitive_is_true_or_false_and_nothing_like_it(sensitive, refused):
    refused(
        SchemaError,
        lambda: Attribute("smoker", ["no", "yes"], sensitive=sensitive),
        field="sensitive",
        mentions=["'smoker'", "true or false"],
    )


@pytest.mark.parametrize("count", [0, 1025])
def test_a_schema_has_1_to_1024_attributes(count, refused):
    refused(
        SchemaError,
        lambda: Schema([Attribute(f"a{j}", ["x", "y"]) for j in range(count)]),
        field="attributes",
        mentions=["attributes", "1 to 1024", f"got {count}"],
    )


def test_two_attributes_of_one_name_are_refused(refused):
    attributes = [
        Attribute("a", ["x", "y"]),
        Attribute("b", ["x", "y"]),
        Attribute("a", ["u", "v"]),
    ]
    refused(SchemaError, lambda: Schema(attributes), mentions=["'a' is named twice"])


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["smokr"], "unknown attribute 'smokr'"),
        (["age", "age"], "'age' is named twice"),
        ([], "one or more of"),
        ([1], "unknown attribute '1'"),
        ([["age"]], "unknown attribute"),
        ("age", "expected a list"),
    ],
    ids=repr,
)
def test_bad_lists_of_attributes_are_refused(names, words, schema, refused):
    error = refused(
        SchemaError, lambda: schema.positions(names), field="attributes", mentions=[words]
    )
    assert re.search("smoker, age|is named twice", str(error))


@pytest.mark.parametrize("name", ["smo\nker", "smo\u2028ker", "smo\x1b[2Jker"], ids=repr)
def test_an_unknown_attribute_of_several_lines_is_refused_in_one(name, schema, refused):
    refused(RecordError, lambda: schema.encode({"smoker": "yes", "age": "old", name: "yes"}))
    refused(SchemaError, lambda: schema.positions([name]))
