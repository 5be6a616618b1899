"""Secrets that commands create: who can read them, and that failures create none."""

import os
import stat
from contextlib import redirect_stdout

import pytest
from halftruth_collector import operations
from halftruth_collector.cli import main
from halftruth_shared.protocol.terms import Terms

COMMANDS = {
    "token": ("admin", "token", "create", "--role", "analyst"),
    "invitations": ("survey", "invite", "create", "health", "3"),
}


@pytest.fixture(params=COMMANDS)
def words(request, store, survey):
    operations.publish_survey(store, survey, Terms(invitations=True))
    return COMMANDS[request.param]


@pytest.fixture
def made(store):
    """Return a function that counts tokens and invitations."""
    return lambda: (len(store.tokens.all()), store.invitations.count("health").issued)


@pytest.fixture
def redirected(database, monkeypatch, capsys):
    """Return a function that runs a command with output to a file, and returns status and error."""
    monkeypatch.setenv("HALFTRUTH_DATABASE", database)

    def run(words, file, mask=0o022):
        before = os.umask(mask)
        try:
            with open(file, "w") as output, redirect_stdout(output):
                main(list(words))
        except SystemExit as end:
            return end.code, capsys.readouterr().err
        finally:
            os.umask(before)
        return 0, capsys.readouterr().err

    return run


def test_a_new_file_is_readable_by_its_owner_only_and_holds_the_output(
    done, words, made, tmp_path, store
):
    file = tmp_path / "secrets"
    assert done(*words, "--output", file).endswith(f" in {file}\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    lines = file.read_text("utf-8").splitlines()
    printed = done(*words).splitlines()
    assert [len(line) for line in lines] == [len(line) for line in printed]
    assert sum(made()) == len({*lines, *printed})
    if words is COMMANDS["token"]:
        assert store.tokens.bearer(lines[0]).role == "analyst"


@pytest.mark.parametrize("file", ["there", "folder/there", ""])
def test_an_unwritable_file_is_refused_before_a_secret_is_created(
    refused, words, made, tmp_path, file, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").write_text("kept", "utf-8")
    assert "output: expected a new file that can be written" in refused(*words, "--output", file)
    assert made() == (0, 0)
    assert (tmp_path / "there").read_text("utf-8") == "kept"


def test_failed_commands_leave_no_file(refused, words, made, tmp_path, store):
    operations.delete_survey(store, "health", confirm="health")
    words = (*words, "--survey", "health") if words is COMMANDS["token"] else words
    assert "there is no survey 'health'" in refused(*words, "--output", tmp_path / "secrets")
    assert not (tmp_path / "secrets").exists()


def test_secrets_are_not_printed_to_files_that_others_can_read(
    redirected, words, made, database, tmp_path
):
    file = tmp_path / "secrets"
    status, complaint = redirected(words, file)
    assert (status, complaint) == (
        2,
        "halftruth: output: standard output is a file that other accounts can read; expected"
        " --output FILE in its place\n",
    )
    assert (file.read_text("utf-8"), made()) == ("", (0, 0))
    # A file that only its owner can read is accepted, and so is /dev/null.
    file.unlink()
    named = f"halftruth: database {database}\n"
    assert redirected(words, file, 0o077) == (0, named)
    assert len(file.read_text("utf-8").splitlines()) == sum(made()) > 0
    assert redirected(words, "/dev/null") == (0, named)
