"""Importing XLSForms: types, choices, conditions, bounds, languages and decompression bombs."""

import importlib
import io
import zipfile

import pytest
from halftruth_collector.importers import import_questionnaire, read_questionnaire
from halftruth_shared import ParameterError
from questionnaires import attributes, by_name, short_of_memory_and_time, workbook


@pytest.fixture(scope="module", autouse=True)
def imported_pyxform():
    """Import pyxform before tests measure processor time."""
    importlib.import_module("pyxform.xls2json")


def read(*rows, **more):
    columns = ("type", "name", "label", "relevant", "constraint", "required", "parameters")
    return read_questionnaire(workbook([columns, *rows], **more), "form.xlsx")


def test_without_a_default_language_that_of_the_first_column_is_first():
    columns = ("type", "name", "label::English (en)", "label::Deutsch (de)")
    choices = [("list_name", "name", "label"), ("yn", "y", "Yes"), ("yn", "n", "No")]
    survey = [columns, ("select_one yn", "smoke", "Do you smoke?", "Rauchen Sie?")]
    for label in ("label::English (en)", "label::Deutsch (de)"):
        own = [(*choices[0][:2], label), *choices[1:]]
        file = workbook(survey, own, settings=[("form_title",), ("Homes",)])
        made = read_questionnaire(file, "form.xlsx")
        assert made.survey.languages == ("en", "de")
        assert made.survey.title_in("en") == "Homes"


def test_questions_of_a_workbook_keep_kind_answers_conditions_bounds_and_languages():
    made = read_questionnaire(
        workbook(
            [
                ("type", "name", "label::English (en)", "label::French (fr)", "hint", "relevant"),
                ("begin_group", "g", "Habits", "Habitudes"),
                ("select_one yn", "smoke", "Do you <b>smoke</b>?", "Fumez-vous ?", "Now."),
                ("end_group",),
                ("begin group", "h", "More", None, None, "${smoke} != 'y'"),
                ("select_multiple pets or_other", "pets", "Pets?"),
                ("select one yn", "cats", "Two?", None, None, "selected(${pets}, 'cat')"),
                ("end group",),
            ],
            settings=[("form_title", "default_language"), ("Homes", "French (fr)")],
        ),
        "form.xlsx",
    )
    asked = attributes(made)
    assert made.survey.languages == ("fr", "en")
    assert made.survey.title_in("fr") == "Homes"
    assert list(by_name(made)) == ["smoke", "pets", "cats"]
    assert asked["smoke"].label_in("en") == "Do you smoke?"
    assert asked["smoke"].answers_in("fr")[:2] == ("Oui", "Non")
    assert asked["smoke"].page == {"fr": "Habitudes", "en": "Habits"}
    assert asked["pets.cat"].ask_if == {"smoke": ("n", "no answer")}
    assert [each.name for each in by_name(made)["pets"].attributes] == [
        *("pets.cat", "pets.q-2", "pets.other")
    ]
    assert asked["cats"].ask_if == {"smoke": ("n", "no answer"), "pets.cat": ("yes",)}


@pytest.mark.parametrize(
    ("type", "more", "kind", "expected"),
    [
        ("integer", {"constraint": ". >= 18 and . < 100"}, "number", (18, 99)),
        ("int", {"constraint": "(.>0) and (.<=12)"}, "number", (1, 12)),
        ("decimal", {"constraint": ".>=0.5 and .<=2.5"}, "number", (0.5, 2.5)),
        ("integer", {}, "number", (0, 100)),
        ("range", {"parameters": "start=0;end=200;step=5"}, "number", (0, 200)),
        ("range", {"parameters": "start=1 end=5 step=2"}, "scale", ("1", "3", "5")),
        ("select_one yn", {"parameters": "randomize=true"}, "choice", ("y", "n")),
        ("select_one yn or_other", {}, "choice", ("y", "n", "other")),
    ],
)
def test_types_of_the_reference_become_kinds_of_questions(type, more, kind, expected):
    row = (type, "q", "Q?", None, more.get("constraint"), "yes", more.get("parameters"))
    made = read(row)
    [asked] = attributes(made).values()
    assert (asked.kind, asked.optional) == (kind, False)
    if kind == "number":
        assert (asked.number.minimum, asked.number.maximum) == expected
        assert any("placeholder" in said for said in made.left_out) == (not more)
    else:
        assert asked.categories == expected
        assert asked.shuffle == (more.get("parameters") == "randomize=true")


@pytest.mark.parametrize(
    ("relevant", "carried"),
    [
        ("${a} = 'y'", {"a": ("y",)}),
        ("not(selected(${a}, 'y'))", {"a": ("n", "no answer")}),
        ("${a} != ''", {"a": ("y", "n")}),
        ("${a} = 'y' or ${a} = 'n'", {"a": ("y", "n")}),
        ("${n} >= 36 and selected(${p}, '2')", {"n": ("36 to 47", "48 to 59"), "p.q-2": ("yes",)}),
        ("${n} > 11 and ${n} < 24", {"n": ("12 to 23",)}),
        # The bins begin at 13.
        ("${n} > 12", {"n": ("13 to 25", "26 to 38", "39 to 51", "52 to 59")}),
        ("../a = 'y'", {"a": ("y",)}),
        ("${a} = 'y' or ${n} < 12", {}),
        ("count-selected(${p}) > 1", {}),
        ("${a} = ${b}", {}),
        ("${n} + 1 > 20", {}),
        ("${n} > 10 + 9", {}),
        ("${p} = 'cat'", {}),
    ],
)
def test_conditions_are_imported_completely_or_reported_as_missing(relevant, carried):
    made = read(
        ("select_one yn", "a", "A"),
        ("integer", "n", "N", None, ". >= 0 and . <= 59", None),
        ("select_multiple pets", "p", "P"),
        ("select_one yn", "q", "Q", relevant),
    )
    assert attributes(made)["q"].ask_if == carried
    assert any(relevant in said for said in made.left_out) != bool(carried)
    assert bool(made.survey.unconfirmed) != bool(carried)


def test_a_partly_imported_constraint_must_be_confirmed():
    constraint = ". >= 15 and . <= 99 and ${n} != 3"
    made = read(
        ("integer", "n", "N", None, ". >= 1 and . <= 9", None),
        ("integer", "age", "Age", None, constraint, None),
        ("select_one yn", "q", "Q", "${age} >= 18 and ${age} < 50"),
    )
    age, asked = attributes(made)["age"], attributes(made)["q"]
    assert (age.number.minimum, age.number.maximum) == (15, 99)
    assert made.survey.unconfirmed == (
        "attribute 'age': a part of its constraint is left out: ${n} != 3",
    )
    # Bins of one width cannot begin at 18 and 50: ages below 18 and from 50 on are not asked.
    bins = [age.number.categories.index(each) for each in asked.ask_if["age"]]
    assert 15 + min(bins) * age.number.step >= 18
    assert 15 + (max(bins) + 1) * age.number.step <= 50


def test_omitted_repeats_columns_and_settings_are_reported():
    columns = ("type", "name", "label", "readonly", "choice_filter", "default", "media::image")
    made = read_questionnaire(
        workbook(
            [
                columns,
                ("begin repeat", "people", "People"),
                ("select_one yn", "inside", "Inside?"),
                ("end repeat",),
                ("select_one yn", "fixed", "Fixed?", "yes"),
                ("select_one yn", "q", "Q?", None, "x=${a}", "y", "a.png"),
            ],
            settings=[("form_id", "public_key"), ("f", "k")],
        ),
        "form.xlsx",
    )
    assert list(attributes(made)) == ["q"]
    assert set(made.left_out) == {
        "settings of the form are left out: public_key",
        "texts without a language are taken as English",
        "question 'a': left out: it is not in the form",
        "2 texts are missing in 'fr', and shown in another language: f",
        "question 'people': left out with its questions: they are asked several times",
        "question 'fixed': left out: it is read only",
        *(f"question 'q': '{name}' is left out" for name in columns[4:]),
    }
    assert made.survey.unconfirmed == ("attribute 'q': 'choice_filter' is left out",)


def test_omitted_rows_are_reported():
    columns = ("type", "name", "label", "appearance", "disabled", "relevant")
    made = read_questionnaire(
        workbook(
            [
                columns,
                ("begin loop over pets", "each", "Each"),
                ("integer", "inside", "How many?"),
                ("end loop",),
                ("select_one yn", "off", "Off?", None, "yes"),
                ("select_one yn", "head", "Table", "w1 label"),
                ("select_one yn", "found", "Which?", "minimal search('a')"),
                (None, "untyped", "What?"),
                ("select_one none", "unlisted", "Which?"),
                ("select_one yn", "never", "Never?", None, None, False),
                ("select_one yn", "q", "Q?", "list-nolabel", "no", "true()"),
            ]
        ),
        "form.xlsx",
    )
    assert list(attributes(made)) == ["q"]
    assert made.left_out == (
        "question 'off': left out: it is disabled",
        "question 'untyped': left out: ODK refuses it: Question with no type.",
        "texts without a language are taken as English",
        "question 'each': left out with its questions: they are asked several times",
        "question 'head': left out (labels of a table): nothing is answered there",
        "question 'found': left out: its choices are in another file",
        "question 'unlisted': left out: ODK refuses it: List name not in choices sheet: none",
        "question 'never': left out: it is asked of nobody",
        "3 texts are missing in 'fr', and shown in another language: Survey",
    )


def test_a_csv_file_with_the_names_of_sheets_is_read_like_a_workbook(tmp_path):
    survey = "type,name,label\nselect_one yn,q,Q?\n"
    choices = "list_name,name,label\nyn,y,Yes\nyn,n,No\n"
    file = tmp_path / "f.csv"
    file.write_text(
        "".join(
            f"{sheet},,,\n" + "".join(f",{line}\n" for line in table.splitlines())
            for sheet, table in (("survey", survey), ("choices", choices))
        ),
        "utf-8",
    )
    made = import_questionnaire(str(file))
    assert attributes(made)["q"].answers_in("en")[:2] == ("Yes", "No")


def test_a_question_without_a_text_is_not_unchanged():
    made = read(("select_one yn", "a"), ("select_one yn", "b", "B?"))
    assert "question 'a': has no text of its own" in made.left_out
    assert made.counts.startswith("Imported unchanged: 1 question. Changed: 1.")


def test_a_list_of_answers_that_odk_refuses_leaves_out_its_questions():
    choices = [("list_name", "name", "label"), ("yn", "y", "Yes"), ("yn", "n", "No")]
    choices += [("spaced", "a b", "A B"), ("spaced", "c", "C"), ("unnamed", None, "Unnamed")]
    kinds = ["select_one yn", "select_multiple spaced", "select_one spaced", "select_one unnamed"]
    rows = [(kind, f"q{n}", f"Q{n}?") for n, kind in enumerate(kinds)]
    made = read(*rows, choices=choices)
    assert {name: each.categories[:2] for name, each in attributes(made).items()} == {
        "q0": ("y", "n"),
        "q2": ("a b", "c"),
    }
    said = "; ".join(made.left_out)
    assert "'q1': left out: ODK refuses it: Choice names with spaces" in said
    assert "the list of answers 'unnamed' is left out: On the 'choices' sheet" in said
    assert "'q3': left out: ODK refuses it: List name not in choices sheet: unnamed" in said


def packed(**parts):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        for name, content in parts.items():
            archive.writestr(f"{name}.xml", content)
    return file.getvalue()


def with_sheet(change, survey=(("type", "name"), ("integer", "n"))):
    """Return a workbook whose first sheet has other XML."""
    book, file = zipfile.ZipFile(io.BytesIO(workbook(survey))), io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in book.namelist():
            content = book.read(part).decode()
            archive.writestr(part, change(content) if part.endswith("sheet1.xml") else content)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lambda: packed(a=b"\0" * 100_000_001), "at most 100000000 bytes when unpacked"),
        (lambda: packed(a=b"<a>" * 1_000_001), "1000000 in other parts"),
        (lambda: packed(**{"xl/worksheets/a": b"<c>" * 4_000_001}), "at most 4000000 tags"),
        (lambda: packed(**{"xl/worksheets/a": b"<v>" * 250_001}), "at most 250000 filled cells"),
        (lambda: packed(a=b"nothing"), "no XLSForm: "),
        (lambda: b"PK\3\4 and no more", "expected a questionnaire of"),
        (
            lambda: with_sheet(lambda sheet: f"<!DOCTYPE a [<!ENTITY b 'c'>]>{sheet}"),
            "expected a questionnaire of",
        ),
        (lambda: workbook([("kind",), ("text",)]), "column headers were not found: 'type'"),
        (lambda: workbook([()]), "expected a questionnaire of"),
        (
            lambda: workbook([("type", "name", "label", "label"), ("note", "n", "a", "b")]),
            "Duplicate column header: label",
        ),
        (
            lambda: workbook([("type", "name"), ("begin group", "g"), ("integer", "n")]),
            "begin",
        ),
        (lambda: workbook([("type", "name"), *[("integer", "1")] * 300]), "faults, such as: ODK"),
    ],
)
def test_oversized_or_invalid_workbooks_are_refused_in_bounded_time_and_memory(content, said):
    made = content()
    with short_of_memory_and_time(), pytest.raises(ParameterError, match=said):
        read_questionnaire(made, "form.xlsx")


@pytest.mark.parametrize(
    ("content", "file"),
    [
        (b"survey\n,type,name\n" + b",note,n\n" * 1_000_000, "rows.csv"),
        (b"survey\n,type,name" + b",x" * 1_000_000 + b"\n,note,n", "columns.csv"),
        (b'{"elements":[' + b'{"elements":[' * 9_000 + b"]}" * 9_000 + b"]}", "deep.json"),
        (b"<document>" + b"<a>" * 90_000 + b"</a>" * 90_000 + b"</document>", "deep.lss"),
    ],
)
def test_forms_built_to_be_slow_are_refused_in_bounded_time_and_memory(content, file):
    with short_of_memory_and_time(), pytest.raises(ParameterError, match="expected "):
        read_questionnaire(content, file)


def test_rows_that_are_only_coloured_and_drop_downs_down_to_the_last_row_do_not_count():
    coloured = "".join(f'<row r="{n}"><c r="A{n}" s="0"/></row>' for n in range(30, 300_000))
    lists = (
        '<dataValidations count="1"><dataValidation type="list" sqref="A1:A1048576">'
        '<formula1>"integer,text"</formula1></dataValidation></dataValidations>'
    )
    content = with_sheet(
        lambda sheet: sheet.replace("</sheetData>", f"{coloured}</sheetData>{lists}")
    )
    with short_of_memory_and_time():
        made = read_questionnaire(content, "form.xlsx")
    assert list(attributes(made)) == ["n"]


@pytest.mark.parametrize(
    ("constraint", "at_most"),
    [
        ("count-selected(.) <= 2", 2),
        ("count-selected( . )<=1", 1),
        # More than there are options, and other constraints.
        ("count-selected(.) <= 9", None),
        ("count-selected(.) < 3", None),
        ("count-selected(.) <= 2 and selected(., 'cat')", None),
    ],
)
def test_the_largest_number_of_chosen_options_is_imported(constraint, at_most):
    made = read(("select_multiple pets", "p", "P", None, constraint, None))
    assert made.survey.schema.questions[0].at_most == at_most
    assert any(constraint in said for said in made.left_out) == (at_most is None)
