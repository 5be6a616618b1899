"""The environment that ``halftruth serve`` passes to the server."""

import os

import pytest
from click.testing import CliRunner
from halftruth_collector.cli.serve import serve


@pytest.mark.parametrize(("given", "threads"), [(None, "1"), ("2", "2")])
def test_blas_has_one_thread_unless_another_number_is_set(tmp_path, monkeypatch, given, threads):
    # monkeypatch records these first, so that it undoes the changes of the command.
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "")
    monkeypatch.setenv("HALFTRUTH_DATABASE", "")
    os.environ.pop("OPENBLAS_NUM_THREADS")
    if given:
        os.environ["OPENBLAS_NUM_THREADS"] = given
    handed = []
    monkeypatch.setattr(os, "execv", lambda *_: handed.append(os.environ["OPENBLAS_NUM_THREADS"]))
    database = f"sqlite:///{tmp_path / 'halftruth.db'}"
    result = CliRunner().invoke(serve, ["--database", database], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert handed == [threads]
