"""``halftruth study``: the commands that the distribution adds."""


def test_help_lists_all_studies(command):
    said = command("study", "--help")[1]
    for name in ("compare", "rivals"):
        assert f"  {name} " in said
        assert command("study", name, "--help")[0] == 0


def test_an_unknown_study_is_a_one_line_error(command):
    said = "halftruth: there is no command 'nonsense'; expected one of: compare, rivals\n"
    assert command("study", "nonsense") == (2, "", said)
