"""Written survey files have the same content when they are read."""

import tomllib

from every_kind import FILE
from halftruth_collector.demo.census import SCHEMA, census_survey
from halftruth_collector.survey_file import of_survey, write
from halftruth_shared import Survey
from halftruth_shared.mechanisms import SplitQuestionnaire
from hypothesis import given
from hypothesis import strategies as st

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PLAIN = TEXTS | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)
TABLES = st.dictionaries(TEXTS, VALUES, max_size=3)
FILES = st.builds(
    lambda plain, tables, questions, designs: (
        plain | tables | {"attributes": questions, "mechanism": {"kind": "x", "designs": designs}}
    ),
    st.dictionaries(TEXTS, PLAIN, max_size=3),
    st.dictionaries(TEXTS, TABLES, max_size=2),
    st.lists(TABLES, min_size=1, max_size=3),
    TABLES,
)


@given(FILES, st.lists(TEXTS, max_size=2))
def test_files_are_read_as_written_with_any_comments(data, comments):
    text = write(data, dict.fromkeys(range(4), comments), comments)
    assert tomllib.loads(text) == data


def test_comments_are_reduced_to_one_line():
    hostile = "a\n[mechanism]\r\x0b\x0c\x85\u2028\x00\x7f\ud800 b"
    text = write({"id": "s", "attributes": [{"name": "q"}]}, {0: [hostile], 1: [hostile]})
    assert text.splitlines().count("# a [mechanism] b") == 2
    assert tomllib.loads(text) == {"id": "s", "attributes": [{"name": "q"}]}


def test_the_file_of_a_published_survey_has_its_digest():
    survey = Survey.from_toml(FILE)
    assert Survey.from_toml(of_survey(survey)).digest == survey.digest


def test_chosen_views_are_written_as_their_maximum_length():
    survey = census_survey("census", SplitQuestionnaire.for_amplification(SCHEMA, 19, max_length=2))
    text = of_survey(survey)
    assert Survey.from_toml(text).digest == survey.digest
    assert "max_length = 2" in text
    assert "views" not in text
