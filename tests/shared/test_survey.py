"""Surveys: TOML, canonical JSON, digest, and invalid surveys."""

import hashlib
import json
import pickle
import re
import tomllib
from contextlib import suppress
from fractions import Fraction

import pytest
from halftruth_shared import (
    Attribute,
    DomainTooLarge,
    GammaDiagonal,
    ParameterError,
    RandomizedResponse,
    Schema,
    SchemaError,
    Survey,
    SurveyError,
    read_survey,
)
from hypothesis import given
from hypothesis import strategies as st

HEAD = """
id = "health"
title = "Health at work – Gesundheit, 健康 🙂"
"""
ATTRIBUTES = """
[[attributes]]
name = "smoker"
categories = ["no", "yes"]
items = ["yes"]
label = "Do you smoke?"

[[attributes]]
name = "age"
categories = ["<30", "30 – 59", "≥60 \\"old\\" \\\\"]
sensitive = false
help = "Line one\\nline two\\u2028\\t\\u007f\\u0001"
"""
MECHANISMS = {
    "gamma-diagonal": 'kind = "gamma-diagonal"\ngamma = "19"',
    "randomized-gamma-diagonal": (
        'kind = "randomized-gamma-diagonal"\ngamma = "19"\nalpha = "0.25"\nsteps = 100'
    ),
    "randomized-response": 'kind = "randomized-response"\nkeep = {smoker = "0.9", age = "1"}',
    "distortion-matrices": (
        'kind = "distortion-matrices"\n'
        'matrices.smoker = [["0.9", "1/3"], ["0.1", "2/3"]]\n'
        'matrices.age = [[1, "0", 0], [0, "1", 0], [0, 0, 1]]'
    ),
}
RESOLVED = {
    "gamma-diagonal": {"kind": "gamma-diagonal", "gamma": "19"},
    "randomized-gamma-diagonal": {
        "kind": "randomized-gamma-diagonal",
        "gamma": "19",
        "alpha": "1/4",
        "steps": 100,
    },
    "randomized-response": {"kind": "randomized-response", "keep": {"smoker": "9/10", "age": "1"}},
    "distortion-matrices": {
        "kind": "distortion-matrices",
        "matrices": {
            "smoker": [["9/10", "1/3"], ["1/10", "2/3"]],
            "age": [["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]],
        },
    },
}


def toml(mechanism=MECHANISMS["gamma-diagonal"], head=HEAD, attributes=ATTRIBUTES):
    return f"{head}\n[mechanism]\n{mechanism}\n{attributes}"


def canonical(value):
    """Return the canonical form as produced by the standard library."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8")


@pytest.mark.parametrize("kind", MECHANISMS)
def test_the_canonical_json_is_sorted_compact_and_omits_defaults(kind):
    expected = canonical(
        {
            "id": "health",
            "title": "Health at work – Gesundheit, 健康 🙂",
            "mechanism": RESOLVED[kind],
            "attributes": [
                {
                    "name": "smoker",
                    "categories": ["no", "yes"],
                    "items": ["yes"],
                    "label": "Do you smoke?",
                },
                {
                    "name": "age",
                    "categories": ["<30", "30 – 59", '≥60 "old" \\'],
                    "sensitive": False,
                    "help": "Line one\nline two\u2028\t\u007f\u0001",
                },
            ],
        }
    )
    survey = Survey.from_toml(toml(MECHANISMS[kind]))
    assert survey.canonical_json == expected
    assert survey.digest == hashlib.sha256(expected).hexdigest()
    for text in (expected, expected.decode(), json.dumps(json.loads(expected), indent=4)):
        again = Survey.from_json(text)
        assert again == survey
        assert again.digest == survey.digest
        assert again.canonical_json == expected


@given(
    title=st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40),
    description=st.text(st.characters(exclude_categories=("Cs",)), max_size=40),
)
def test_the_canonical_json_of_any_text_matches_the_standard_library(title, description):
    if not title.strip():
        return
    schema = Schema([Attribute("a", ["x", "y"])])
    survey = Survey("s", title, schema, GammaDiagonal("19"), description)
    document = {
        "id": "s",
        "title": title,
        "mechanism": {"kind": "gamma-diagonal", "gamma": "19"},
        "attributes": [{"name": "a", "categories": ["x", "y"]}],
    }
    if description:
        document["description"] = description
    assert survey.canonical_json == canonical(document)
    assert Survey.from_json(survey.canonical_json) == survey


SAME = {
    "keys in another order": toml(
        'gamma = "19"\nkind = "gamma-diagonal"', head='title = "T"\nid = "t"\n'
    ),
    "gamma as an integer": toml('kind = "gamma-diagonal"\ngamma = 19', 'id = "t"\ntitle = "T"'),
    "gamma as a decimal": toml('kind = "gamma-diagonal"\ngamma = "19.0"', 'id = "t"\ntitle = "T"'),
    "gamma as a quotient": toml('kind = "gamma-diagonal"\ngamma = "38/2"', 'id = "t"\ntitle = "T"'),
    "breach": toml(
        'kind = "gamma-diagonal"\nbreach = ["0.05", "0.5"]', 'id = "t"\ntitle = "T"'
    ),
    "breach as quotients": toml(
        'kind = "gamma-diagonal"\nbreach = ["1/20", "50/100"]', 'id = "t"\ntitle = "T"'
    ),
    "defaults spelt out": toml(
        head='id = "t"\ntitle = "T"\ndescription = ""',
        attributes=ATTRIBUTES.replace(
            'items = ["yes"]', 'items = ["yes"]\nsensitive = true\nhelp = ""'
        ),
    ),
    "comments and other quotes": "# A comment\n" + toml(head="id = 't'\ntitle = '''T'''"),
    "attributes inline": (
        'id = "t"\ntitle = "T"\nmechanism = {gamma = "19", kind = "gamma-diagonal"}\n'
        'attributes = [{categories = ["no", "yes"], name = "smoker", items = ["yes"],'
        ' label = "Do you smoke?"}, {name = "age", sensitive = false, categories = ["<30",'
        ' "30 – 59", "≥60 \\"old\\" \\\\"], help = "Line one\\nline two\\u2028\\t\\u007f\\u0001"}]'
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_equivalent_survey_files_have_the_same_digest(text):
    expected = Survey.from_toml(toml(head='id = "t"\ntitle = "T"'))
    assert Survey.from_toml(text).digest == expected.digest
    assert Survey.from_toml(text) == expected


@pytest.mark.parametrize(
    ("kind", "more"), [("randomized-gamma-diagonal", 'alpha = "1/4"'), ("randomized-response", "")]
)
def test_a_breach_is_equivalent_to_gamma_for_every_mechanism(kind, more):
    digests = {
        Survey.from_toml(toml(f'kind = "{kind}"\n{level}\n{more}')).digest
        for level in ('gamma = "19"', 'breach = ["0.05", "0.5"]', "gamma = 19")
    }
    assert len(digests) == 1


def test_a_symmetric_budget_is_published_as_probabilities():
    survey = Survey.from_toml(toml('kind = "randomized-response"\ngamma = "9"'))
    # γ_j = 3 for each of two attributes: p = 3/(3 + d − 1).
    keep = json.loads(survey.canonical_json)["mechanism"]["keep"]
    assert keep == {"smoker": "3/4", "age": "3/5"}


def with_line(line, table=""):
    """Return a survey file with one more line at its top level, mechanism or last attribute."""
    return {
        "": f"{line}\n{toml()}",
        "mechanism": toml(f"{MECHANISMS['gamma-diagonal']}\n{line}"),
        "attribute": f"{toml()}\n{line}",
    }[table]


REFUSED = {
    "empty": ("", SurveyError, "`id`"),
    "not TOML": ("id = ", SurveyError, "not valid TOML"),
    "a key of too many parts": (".".join("a" * 17) + " = 1", SurveyError, "at most 16 parts"),
    "JSON": ('{"id": "x"}', SurveyError, "not valid TOML"),
    "a lone surrogate": (toml().replace("at work", "\\ud800"), SurveyError, "not valid TOML"),
    "unknown field": (with_line("color = 1"), SurveyError,
                      "`color`; expected one of: id, title, attributes, mechanism,"),
    "unknown field of the mechanism": (with_line("color = 1", "mechanism"), SurveyError,
                                       "`color` - at `$.mechanism`; expected one of: gamma,"),
    "unknown field of a question": (with_line("color = 1", "attribute"), SurveyError,
                                    "]`; expected one of: name,"),
    "another mechanism's field": (with_line('alpha = "1"', "mechanism"), SurveyError, "`alpha`"),
    "no title": (toml(head='id = "x"'), SurveyError, "`title`"),
    "no attributes": (toml(attributes=""), SurveyError, "`attributes`"),
    "no mechanism": (f"{HEAD}\n{ATTRIBUTES}", SurveyError, "`mechanism`"),
    "no kind": (toml('gamma = "19"'), SurveyError, "`kind`"),
    "unknown kind": (toml('kind = "coin"'), SurveyError, ", ".join(MECHANISMS)),
    **{
        f"a field of several lines {table}": (with_line('"a\\nb" = 1', table), SurveyError, "")
        for table in ("", "mechanism", "attribute")
    },
    "title empty": (toml(head='id = "x"\ntitle = ""'), SurveyError, "title: "),
    "title long": (toml(head=f'id = "x"\ntitle = "{"x" * 257}"'), SurveyError, "256"),
    "description long": (with_line(f'description = "{"x" * 10_001}"'), SurveyError, "10000"),
    "id with a line": (toml(head='id = "a\\n"\ntitle = "T"'), SurveyError, "id: "),
    "category a number": (toml(attributes=ATTRIBUTES.replace('"no"', "0")), SurveyError,
                          "attribute 'smoker': categories[0]"),
    "unknown item": (toml(attributes=ATTRIBUTES.replace('["yes"]', '["maybe"]')), SchemaError,
                     "'maybe'"),
    "gamma a float": (toml('kind = "gamma-diagonal"\ngamma = 19.0'), SurveyError,
                      "mechanism.gamma"),
    "gamma and breach": (with_line('breach = ["0.05", "0.5"]', "mechanism"), ParameterError,
                         "one of gamma"),
    "neither": (toml('kind = "gamma-diagonal"'), ParameterError, "one of gamma"),
    "breach of floats": (toml('kind = "gamma-diagonal"\nbreach = [0.05, 0.5]'), SurveyError,
                         "mechanism.breach"),
    "domain too large": (toml('kind = "gamma-diagonal"\ngamma = "1.000001"'), DomainTooLarge,
                         "6 cells"),
    "no alpha": (toml('kind = "randomized-gamma-diagonal"\ngamma = "19"'), SurveyError, "`alpha`"),
    "keep and gamma": (toml('kind = "randomized-response"\ngamma = "19"\nkeep = {}'),
                       ParameterError, "one of keep"),
    "keep nothing said": (toml('kind = "randomized-response"'), ParameterError, "gamma"),
    "keep always": (toml('kind = "randomized-response"\nkeep = {smoker = "1", age = "0.9"}'),
                    ParameterError, "sensitive"),
    "matrix of floats": (toml('kind = "distortion-matrices"\n'
                              "matrices.smoker = [[0.9, 0.1], [0.1, 0.9]]"),
                         SurveyError, "mechanism.matrices"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "words"), REFUSED.values(), ids=REFUSED)
def test_an_invalid_survey_is_refused_in_one_line(text, kind, words, refused):
    refused(kind, lambda: Survey.from_toml(text), mentions=[words])
    with suppress(tomllib.TOMLDecodeError):
        written = json.dumps(tomllib.loads(text))
        refused(kind, lambda: Survey.from_json(written))


HOSTILE = [
    *(
        (Survey.from_json, text)
        for text in (b"", b"{", b"null", b"[]", b"1", b'"x"', b'{"id": NaN}', b"\xff\xfe{",
                     b'{"id": "\xe9"}', b'{"id": "\xed\xa0\x80"}', b'{"id": "\\ud800"}', "",
                     b"{}x", b"[" * 100_000, b'{"id":' + b"[" * 100_000, '{"id": "\ud800"}')
    ),
    (Survey.from_toml, f"id = {'1' * 5000}"),
    (Survey.from_toml, f"id = {'[' * 100_000}"),
]  # fmt: skip


@pytest.mark.parametrize(("read", "text"), HOSTILE, ids=lambda text: repr(text)[:20])
def test_hostile_text_is_refused_in_one_line(read, text, refused):
    refused(SurveyError, lambda: read(text), mentions=[": "])


def test_a_schema_can_be_pickled_without_its_hash():
    schema = Schema([Attribute("a", ["x", "y"])])
    again = pickle.loads(pickle.dumps(schema))
    assert (again, hash(again)) == (schema, hash(schema))
    assert "_hash" not in pickle.dumps(schema).decode("latin-1")


def made(id="s", title="T", mechanism=GammaDiagonal("19"), description="", **members):  # noqa: B008
    """Return a survey of one question with two answers."""
    schema = Schema([Attribute("a", ["x", "y"], **members)])
    return Survey(id, title, schema, mechanism, description)


UNMADE = [
    *(
        ({name: bad}, SurveyError, name)
        for bad in ("T \ud800", 3, None)
        for name in ("title", "description")
    ),
    *(
        ({name: bad}, SchemaError, name)
        for bad in ("T \ud800", 3, None)
        for name in ("label", "help")
    ),
    *(
        ({"id": bad}, SurveyError, "id")
        for bad in [None, 1, b"a", "A", "a_b", "a\n", "", "a" * 65, "-a", "../a", "é"]
    ),
    ({"mechanism": GammaDiagonal(19 + Fraction(1, 10**1000))}, ParameterError, "gamma"),
    ({"mechanism": RandomizedResponse({"b": "0.9"})}, ParameterError, "keep.b"),
]


@pytest.mark.parametrize(("members", "kind", "field"), UNMADE)
def test_invalid_members_of_a_survey_are_refused(members, kind, field, refused):
    words = ["lower-case"] if field == "id" else []
    refused(kind, lambda: made(**members), field=field, mentions=words)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_survey_file_is_read_with_or_without_a_byte_order_mark(tmp_path, encoding):
    path = tmp_path / "survey.toml"
    path.write_text(toml(), encoding=encoding)
    assert read_survey(str(path)) == Survey.from_toml(toml())


@pytest.mark.parametrize(
    ("content", "words", "field"),
    [
        (None, "cannot be read", None),
        (b"\xff\xfe", "UTF-8", None),
        (toml('kind = "gamma-diagonal"\ngamma = "1"').encode(), "gamma: ", "gamma"),
        (b"id =", "not valid TOML", None),
        ("folder", "cannot be read", None),
    ],
    ids=["missing", "not UTF-8", "bad parameter", "not TOML", "folder"],
)
def test_an_invalid_survey_file_is_refused_with_its_name(content, words, field, tmp_path, refused):
    path = tmp_path / "survey.toml"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    error = refused(SurveyError, lambda: read_survey(str(path)), mentions=["survey.toml: ", words])
    assert error.field == field


@pytest.mark.parametrize("kind", ["gamma-diagonal", "randomized-response"])
def test_surveys_with_long_numbers_can_be_read_after_publication(kind):
    # Both probabilities have 39 digits, so γ has nearly 80.
    breach = 'breach = ["0.012345678912345678912345678912345678913", "0.5%s3"]' % ("7" * 37)
    attributes = '[[attributes]]\nname = "a"\ncategories = ["x", "y"]'
    survey = Survey.from_toml(toml(f'kind = "{kind}"\n{breach}', attributes=attributes))
    assert Survey.from_json(survey.canonical_json) == survey


def test_the_repr_of_a_survey_is_one_line():
    smoker = Attribute("smoker", ("no", "yes"), label="Do you smoke?")
    survey = Survey(
        "s", "S", Schema([smoker, Attribute("age", ("a", "b", "c"))]), GammaDiagonal(19)
    )
    assert repr(survey) == "<Survey 's', gamma-diagonal: <Schema smoker (2), age (3)>>"
    assert eval(repr(smoker)) == smoker
    assert repr(smoker).endswith("categories=('no', 'yes'), label='Do you smoke?')")


PERTURBED = """
id = "field"
title = "By a die"
{languages}
[mechanism]
kind = "distortion-matrices"
perturbed = {perturbed}

[mechanism.designs]
armed = {{ design = "warner", p = "0.8" }}

[[attributes]]
name = "armed"
categories = ["no", "yes"]

[[attributes]]
name = "age"
kind = "number"
minimum = 16
maximum = 99
step = 1
optional = true
{sensitive}

[[attributes]]
name = "owns"
kind = "several"
options = [{{ name = "radio" }}, {{ name = "bicycle" }}]
"""


def perturbed(list='["armed"]', sensitive="", languages=""):
    return PERTURBED.format(perturbed=list, sensitive=sensitive, languages=languages)


def test_unlisted_attributes_have_the_identity_in_the_published_survey():
    survey = Survey.from_toml(perturbed())
    published = json.loads(survey.canonical_json)
    assert "perturbed" not in published["mechanism"]
    matrices = published["mechanism"]["matrices"]
    assert sorted(matrices) == ["age", "owns.bicycle", "owns.radio"]
    age = matrices["age"]
    assert age == [["1" if u == v else "0" for u in range(85)] for v in range(85)]
    assert survey.perturbation.unperturbed == {"age", "owns.radio", "owns.bicycle"}
    by_hand = PERTURBED.replace("perturbed = {perturbed}\n", "").format(
        sensitive="sensitive = false", languages=""
    )
    identities = "\n".join(f'"{name}" = {json.dumps(m)}' for name, m in matrices.items())
    by_hand = by_hand.replace(
        "[mechanism.designs]", f"[mechanism.matrices]\n{identities}\n[mechanism.designs]"
    )
    assert Survey.from_toml(by_hand + "sensitive = false\n").digest == survey.digest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (perturbed('["armed", "fled"]'), "mechanism.perturbed: unknown attribute 'fled'"),
        (perturbed('["armed", "age"]'), "attribute 'age' is missing"),
        (perturbed('["age"]'), "mechanism.perturbed: 'armed' is not in it and has a design"),
        (perturbed('"armed"'), "mechanism.perturbed: expected different attributes"),
        (perturbed("[]"), "mechanism.perturbed: expected different attributes"),
        (perturbed('["armed", "armed"]'), "mechanism.perturbed: expected different attributes"),
        (perturbed("[[]]"), "mechanism.perturbed: expected different attributes"),
        (perturbed(sensitive="sensitive = true"), "attribute 'age': sensitive: expected false"),
        (perturbed().replace('"armed"\ncat', "[]\ncat"), ": expected text, got a list"),
        (
            perturbed().replace("distortion-matrices", "gamma-diagonal"),
            'mechanism.perturbed: expected with kind = "distortion-matrices"',
        ),
    ],
)  # fmt: skip
def test_an_invalid_list_of_perturbed_attributes_is_refused(text, message):
    with pytest.raises((SurveyError, ParameterError), match=re.escape(message)):
        Survey.from_toml(text)


def test_an_invalid_survey_is_refused_with_all_invalid_questions_and_members():
    with pytest.raises(SurveyError, match=r"`color`; expected .*; also unknown: `size` - at"):
        Survey.from_toml(f"color = 1\n{with_line('size = 1', 'attribute')}")
    both = ATTRIBUTES.replace('["yes"]', '["maybe"]').replace('name = "age"', 'name = "an age"')
    with pytest.raises(SchemaError, match=r"'maybe'.*; attribute name: expected a letter"):
        Survey.from_toml(toml(attributes=both))
    many = "".join(f'\n[[attributes]]\nname = "q {k}"\ncategories = ["a", "b"]' for k in range(9))
    with pytest.raises(SchemaError, match=r"; … \(9 in all\)$"):
        Survey.from_toml(toml(attributes=many))
