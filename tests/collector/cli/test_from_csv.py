"""``halftruth survey from-csv``: a survey file from a table of true records."""

import csv
import os
import random
import stat

import pytest
from halftruth_collector.cli.records import Pilot
from halftruth_shared import Survey, read_survey

PEOPLE = 400
PLANNED = ("--respondents=3000", "--alone", "--groups=smoker", "--questions=smoker")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(columns, name="people.csv", delimiter=",", encoding="utf-8"):
    """Write a file of columns by name."""
    with open(name, "w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return name


def cycle(*answers, people=PEOPLE):
    return [answers[i % len(answers)] for i in range(people)]


def drafted(command, columns, *options, **given):
    """Return the survey of a file, its text, and standard error."""
    status, text, said = command("survey", "from-csv", table(columns, **given), *options)
    assert status == 0, said
    return Survey.from_toml(text), text, said


def attribute(command, answers, name="asked"):
    survey, _, _ = drafted(
        command, {name: answers, "other question": cycle("a", "b", "c", people=len(answers))}
    )
    return survey.schema.attributes[0]


@pytest.mark.parametrize(
    ("answers", "categories"),
    [
        (["yes", "no", "yes"], ("no", "yes")),
        (["Ja", "Nein", "Ja"], ("Nein", "Ja")),
        (["1", "0", "1"], ("no", "yes")),
        (["1.0", "0.0", "1.0"], ("no", "yes")),
        (["True", "False", "True"], ("False", "True")),
    ],
)
def test_answers_yes_and_no_are_in_this_order(command, answers, categories):
    made = attribute(command, cycle(*answers))
    assert (made.kind, made.ordered, made.categories) == ("choice", False, categories)
    assert made.answers_in("en")[0].lower() in ("no", "nein")


def test_texts_are_categories_in_the_order_of_their_frequency(command):
    made = attribute(command, cycle("red", "blue", "blue", "green", "blue", "red"))
    assert (made.categories, made.ordered) == (("blue", "red", "green"), False)


@pytest.mark.parametrize(
    "ordered",
    [
        ("Never", "Sometimes", "Often", "Always"),
        ("strongly disagree", "disagree", "agree", "strongly agree"),
        ("<20", "20 to 29", "30 to 64", "65+"),
        ("up to 999", "1,000-9,999", "10,000 or more"),
        ("1", "2", "3", "4", "5"),
        ("-1", "0", "1", "10"),
    ],
)
def test_answers_that_have_an_order_keep_it(command, ordered):
    made = attribute(command, cycle(*reversed(ordered)))
    assert (made.kind, made.ordered, made.categories) == ("choice", True, ordered)


@pytest.mark.parametrize(
    ("answers", "ends", "first"),
    [
        (range(17, 91), (0, 99, 20), "0 to 19"),
        (range(20, 80), (20, 79, 10), "20 to 29"),
        (range(1_200, 98_000, 313), (0, 99_999, 20_000), "0 to 19999"),
        (range(-30, 31), (-30, 39, 10), "-30 to -21"),
        ([f"{i / 10:.1f}" for i in range(12, 40)], (1, 4, 0.5), "[1, 1.5)"),
        ([f"{i / 10:.1f}" for i in range(5, 600)], (0, 60, 10), "[0, 10)"),
        ([f"0.0{i}" for i in range(10, 99)], (0, 0.1, 0.02), "[0, 0.02)"),
    ],
)
def test_many_numbers_are_bins_with_round_ends(command, answers, ends, first):
    answers = [*map(str, answers)]
    made = attribute(command, cycle(*answers, people=3 * len(answers))).number
    assert tuple(map(float, (made.minimum, made.maximum, made.step))) == ends
    assert 5 <= len(made.categories) <= 8
    assert made.categories[0] == first
    assert None not in map(made.bin, answers)


@pytest.mark.parametrize("empty", ["", "?", "NA", "N/A"])
@pytest.mark.parametrize("answers", [("a", "b", "b"), tuple(map(str, range(30))), ("0", "1")])
def test_cells_without_an_answer_are_one_missing_category(command, empty, answers):
    made = attribute(command, cycle(*answers, empty))
    assert made.missing == (empty or "no answer",)
    assert made.optional is (empty == "")


def test_several_kinds_of_empty_cells_are_one_category(command):
    columns = {"a": cycle("x", "y", "z", "", "?", "NA"), "b": cycle("x", "y", "?", "NA", "?")}
    survey, text, _ = drafted(command, columns)
    assert [each.missing for each in survey.schema.attributes] == [("no answer",), ("?",)]
    assert "# 3 kinds of cells without an answer are merged" in text


def test_rare_answers_are_merged_and_the_question_says_so(command):
    answers = cycle(*"abcd", people=1_000)
    answers[:4] = ["rare one", "rare two", "rare one", "rare three"]
    survey, text, said = drafted(command, {"asked": answers, "b": cycle("x", "y", people=1_000)})
    assert set(survey.schema.attributes[0].categories) == {*"abcd", "other"}
    assert "# 3 rare answers merged into 'other'\n[[attributes]]\nname = \"asked\"" in text
    assert "rare one" not in text + said


def test_merged_answers_join_an_answer_of_that_name(command):
    answers = cycle("a", "b", "Other", people=1_000)
    answers[0] = "rare"
    survey, _, _ = drafted(command, {"asked": answers, "b": cycle("x", "y", people=1_000)})
    assert set(survey.schema.attributes[0].categories) == {"a", "b", "Other"}


def test_beyond_the_twelve_most_frequent_answers_are_merged(command):
    answers = [letter for i, letter in enumerate("abcdefghijklmno") for _ in range(40 - i)]
    assert attribute(command, answers).categories == (*"abcdefghijkl", "other")


def shuffled(answers):
    answers = [*answers]
    random.Random(1).shuffle(answers)
    return answers


@pytest.mark.parametrize(
    ("header", "answers", "why"),
    [
        ("person", [f"P-{i:06}" for i in range(PEOPLE)], "identifier"),
        ("number", [str(i) for i in range(PEOPLE)], "identifier"),
        ("person", shuffled(map(str, range(1_000, 1_000 + PEOPLE))), "identifier"),
        ("customer_id", shuffled(map(str, range(0, 97 * PEOPLE, 97))), "identifier"),
        ("day", [f"2024-01-{i % 28 + 1:02}" for i in range(PEOPLE)], "dates"),
        ("born", cycle("31.12.1970", "1.2.1980", "24.12.1999"), "dates"),
        ("at", cycle("2024-01-01T10:00:00Z", "2024-01-02 10:00"), "dates"),
        ("remarks", cycle("A long remark of somebody, " * 20, "short"), "free text"),
        ("remarks", cycle(*[f"What somebody wrote: {i} " * 3 for i in range(90)]), "free text"),
        ("words", cycle(*[f"word {i}" for i in range(90)]), "too many different answers (90)"),
        ("constant", cycle("same"), "same answer"),
        ("constant", cycle("same", "", "NA"), "same answer"),
        ("empty", cycle(""), "no answers"),
        ("huge", cycle(*[f"{i}e{i * 20}" for i in range(1, 40)]), "too many digits"),
        ("tiny", cycle(*[f"{i}e-{i * 20}" for i in range(1, 40)]), "too many digits"),
        ("comma", cycle(*[f"{i},5" for i in range(40)]), "decimal comma"),
        ("control", cycle("a\x07", "b"), "cannot be categories"),
    ],
)
def test_a_column_that_cannot_be_asked_is_left_out_with_the_reason(command, header, answers, why):
    survey, text, said = drafted(command, {header: answers, "b": cycle("x", "y")})
    assert survey.schema.names == ("b",)
    (comment,) = [line for line in text.splitlines() if line.startswith("# left out")]
    assert comment.startswith(f"# left out: column '{header}': ")
    assert why in comment
    assert f"column '{header}' is left out" in said
    assert not {answer for answer in answers if len(answer) > 3} & {*text.split('"')}


def test_income_that_differs_from_line_to_line_is_a_number(command):
    drawn = random.Random(2).sample(range(10_000, 90_000), PEOPLE)
    assert attribute(command, [*map(str, drawn)], "income").kind == "number"


def test_ten_thousand_different_texts_are_left_out(command):
    columns = {"text": [f"text {i}" for i in range(10_000)], "b": cycle("x", "y", people=10_000)}
    survey, text, _ = drafted(command, columns)
    assert survey.schema.names == ("b",)
    assert len(text) < 2_000


def test_names_become_valid_and_unique_with_the_original_as_label(command):
    answers = cycle("x", "y", "z")
    headers = ["Wie alt?", "Wie-alt", "2nd", "count", "row", "", "größe", "\x1b[1mbold", "=1+1"]
    survey, text, said = drafted(command, dict.fromkeys(headers, answers))
    assert survey.schema.names == (
        *("Wie-alt", "Wie-alt-2", "q-2nd", "count", "row", "column-6", "gr-e", "q-1mbold", "q-1-1"),
    )
    labels = [each.label_in("en") for each in survey.schema.attributes]
    assert labels[:4] == ["Wie alt?", "Wie-alt", "2nd", "count"]
    assert "\x1b" not in text + said


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_delimiter_and_byte_order_mark_are_recognized(command, delimiter, encoding):
    columns = {"größe, Länge": cycle("a", "b;c", "d"), "b": cycle("x", "y;z"), "c": cycle(*"abc")}
    survey, _, _ = drafted(command, columns, delimiter=delimiter, encoding=encoding)
    assert survey.schema.attributes[0].label_in("de") == "größe, Länge"
    assert survey.schema.shape == (3, 2, 3)


def test_one_column_is_enough(command):
    survey, _, _ = drafted(command, {"smoker": cycle("no", "yes")})
    assert survey.schema.names == ("smoker",)


SECRET = "Secretanswer"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "expected the names of the columns"),
        (b"\n\n", "expected the names of the columns"),
        (b"a,b\n", "expected the names of the columns, and a line for each person"),
        (f"a,b\nx,{SECRET}\ny,{SECRET},z\n".encode(), "line 3: 3 cells; expected 2"),
        (f"a,b\nx,{SECRET}\n{SECRET}\n".encode(), "line 3: 1 cells; expected 2"),
        (f"a,a\n{SECRET},x\ny,z\n".encode(), "line 1: 2 columns are named 'a'"),
        (f"{SECRET},4711\n{SECRET},5\n".encode(), "line 1: a number is the name of a column"),
        (f"a\n{SECRET}\n\xe4".encode("latin-1"), "expected CSV in UTF-8"),
        (f"a\n{SECRET}\n{SECRET}\n".encode(), "no column can be asked"),
        (f"a,b\n{SECRET},1\n{SECRET}x,2\n".encode(), "no column can be asked"),
        (f"a\n{SECRET}\n{'x' * 200_000}\n".encode(), "line 3: expected CSV"),
    ],
)
def test_a_file_that_cannot_be_read_gets_one_line_without_answers(command, content, expected):
    with open("bad.csv", "wb") as file:
        file.write(content)
    status, text, said = command("survey", "from-csv", "bad.csv")
    assert (status, text) == (2, "")
    assert said.count("\n") == 1
    assert expected in said
    assert SECRET not in said
    assert "4711" not in said


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--public", "nobody"], "public: no question is named 'nobody'"),
        (["--public", "he", "--public", "she"], "public: no question is named 'he', 'she'; expect"),
        (["--wanted", "a"], "wanted: expected outcomes by groups"),
        (["--wanted", "a by nobody"], "wanted: no question is named 'nobody'"),
        (["--wanted", "a by a"], "'a' is also in of"),
        (["--id", "Not an id"], "id: expected"),
        (["--gamma", "many"], "gamma"),
        (["--records", "true.csv"], "records: expected with --output"),
        (["--output", "people.csv"], "output: expected another file"),
    ],
)
def test_an_invalid_option_writes_nothing(command, folder, options, expected):
    file = table({"a": cycle(SECRET, "x"), "b": cycle("x", "y", "z")})
    before = (folder / file).read_bytes()
    status, text, said = command("survey", "from-csv", file, *options)
    assert (status, text) == (2, "")
    assert expected in said
    assert SECRET not in said
    assert (folder / file).read_bytes() == before
    assert [each.name for each in folder.iterdir()] == [file]


def test_a_missing_file_is_named(command):
    status, _, said = command("survey", "from-csv", "none.csv", "--output", "s.toml")
    assert (status, said) == (2, "halftruth: none.csv: cannot be read: No such file or directory\n")


def test_the_mechanism_has_the_wanted_tables_and_public_columns(command):
    columns = {"Smokes?": cycle("no", "yes"), "sex": cycle("f", "m", "m"), "age": cycle(*"123")}
    survey, text, _ = drafted(
        command, columns, "--public=sex", "--wanted=Smokes? by sex, age", "--title=Habits"
    )
    assert (survey.id, survey.title) == ("people", "Habits")
    assert 'gamma = "19"' in text
    assert '[[mechanism.tables]]\nof = ["Smokes"]\nby = ["sex", "age"]' in text
    assert "max_length" not in text
    assert 'public = ["sex"]' in text
    assert not survey.schema.attributes[1].sensitive


def test_the_command_says_that_the_survey_tells_about_true_records(command):
    _, text, said = drafted(command, {"a": cycle("x", "y")})
    for written in (text, said):
        assert "true records" in written
        assert "categories" in written
    assert "nothing leaves this machine" in said
    assert text.startswith("# Made from the true records in people.csv, on this machine")


def test_a_file_is_a_pilot_of_its_survey_and_its_records_are_perturbed(command):
    columns = {
        "age": cycle(*map(str, range(20, 80))),
        "smoker": cycle("0", "1", "0"),
        "mood": cycle("never", "often", "", "often"),
        "agrees": cycle("True", "False", "?"),
    }
    file = table(columns)
    status, _, said = command("survey", "from-csv", file, "--output", "s.toml")
    assert (status, said.count("\n")) == (0, 1)
    status, text, said = command("plan", "s.toml", *PLANNED, "--pilot", file)
    assert (status, said) == (0, "")
    assert "respondents · split-questionnaire" in text
    status, text, said = command("reports", "perturb", "s.toml", file)
    assert (status, said) == (0, "")
    assert text.count("\n") == PEOPLE + 1
    pilot = Pilot(file, read_survey("s.toml").schema)
    assert pilot(["smoker"]).tolist() == [267, 133]
    assert pilot(["mood"]).tolist() == [100, 200, 100]
    assert pilot(["agrees"]).tolist() == [133, 134, 133]


def test_records_have_the_names_and_categories_of_the_survey(command):
    people = 1_000
    columns = {
        "Your age": [f" {i % 60 + 20}" for i in range(people)],
        "person": [f"P-{i}" for i in range(people)],
        "drinks": ["rare" if i == 0 else "?" if i == 1 else "ab"[i % 2] for i in range(people)],
        "smoker": cycle("1.0", "0.0", "", people=people),
    }
    file = table(columns, delimiter=";")
    status, text, said = command("survey", "from-csv", file, "--output", "s.toml")
    assert status == 0
    assert "Your age, drinks, smoker; --records FILE" in said
    status, text, said = command(
        "survey", "from-csv", file, "--output=s.toml", "--records=true.csv"
    )
    assert (status, text.splitlines()[0]) == (0, "true records in true.csv")
    assert "--records FILE" not in said
    with open("true.csv", encoding="utf-8") as opened:
        assert opened.read().splitlines()[:4] == [
            "Your-age,drinks,smoker",
            "20,other,yes",
            "21,?,no",
            "22,a,",
        ]
    if os.name == "posix":
        assert stat.S_IMODE(os.stat("true.csv").st_mode) == 0o600
    for words in (
        ("plan", "s.toml", *PLANNED, "--pilot=true.csv"),
        ("reports", "perturb", "s.toml", "true.csv"),
    ):
        status, _, said = command(*words)
        assert (status, said) == (0, "")
    status, _, said = command("survey", "from-csv", file, "--output=s.toml", "--records=true.csv")
    assert (status, "expected a new file" in said) == (2, True)


def test_a_column_count_has_the_number_of_people_of_a_line(command):
    columns = {"a": ["x", "y", "z", "rare"], "b": ["no", "yes", "no", "no"]}
    file = table({**columns, "count": ["500", "480", "300", "1"]})
    status, _, said = command("survey", "from-csv", file, "--output=s.toml", "--records=true.csv")
    assert status == 0
    assert "column 'count' is left out: it is the number of people" in said
    schema = read_survey("s.toml").schema
    assert schema.attributes[0].categories == ("x", "y", "z", "other")
    assert Pilot("true.csv", schema)(["a"]).tolist() == [500, 480, 300, 1]


def test_another_column_count_that_is_left_out_is_named(command):
    columns = {"count": [f"word {i}" for i in range(PEOPLE)], "b": cycle("x", "y")}
    _, _, said = drafted(command, columns)
    assert "columns of people.csv: count; --records FILE" in said


def test_all_pairs_of_many_questions_are_wanted_only_with_a_hint(command):
    many = {f"q{j}": cycle("no", "yes") for j in range(5)}
    for columns, options, hinted in (
        (many, (), True),
        (many, ("--wanted=q0 by q1",), False),
        ({name: many[name] for name in ("q0", "q1")}, (), False),
    ):
        _, _, said = drafted(command, columns, *options)
        assert ("tables of any two questions are wanted" in said) == hinted


def test_bins_with_few_answers_are_named(command):
    ages = [18, *range(20, 67)] * 9
    _, text, said = drafted(
        command, {"age": [str(age) for age in ages], "b": cycle("x", "y", people=len(ages))}
    )
    assert "minimum = 10" in text
    assert "few answers are in" not in said
    ages = [18, *range(20, 67), *range(20, 67), *range(20, 67)] * 3
    _, _, said = drafted(
        command, {"age": [str(age) for age in ages], "b": cycle("x", "y", people=len(ages))}
    )
    assert "few answers are in 10 to 19: another minimum, maximum or step can avoid that" in said
