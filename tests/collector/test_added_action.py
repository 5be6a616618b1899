"""An action is one file: its call, command, form, descriptions and refusals follow from it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import halftruth_collector

ADDED = Path(__file__).parent / "added"


def test_an_action_of_one_file_is_offered_everywhere(tmp_path):
    """The extension of a deadline by some days, added to a copy of the package."""
    source = Path(halftruth_collector.__file__).parent
    copy = tmp_path / source.name
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ADDED / "extension.py", copy / "operations")
    done = subprocess.run(
        [sys.executable, ADDED / "use.py", tmp_path / "work.db"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["refused"] == [
        [422, "days: expected an integer from 1 to 366"],
        [404, "there is no survey 'no'"],
        [422, "survey 'open': expected one with a deadline"],
        [401, "token: expected 'Authorization: Bearer' with the token of an operator"],
    ]
    assert found["complaints"] == [
        [2, "", f"halftruth: {said}"] for _, said in found["refused"][:3]
    ]
    assert found["bad"] == 422
    # Two days by the call, seven by default, three by the form.
    assert found["call"] == "2031-03-03T00:00:00Z"
    assert found["command"][:2] == [0, "extended health by 7 days\n"]
    assert found["form"] == 303
    assert found["deadline"] == "2031-03-13T00:00:00+00:00"
    entries = found["entries"][found["before"] :]
    assert entries == [["survey extend", f"{days} days"] for days in (2, 7, 3)]
    assert "Extend the deadline of a survey." in found["help"]
    assert "--days INTEGER  Days after the present deadline; by default 7." in found["help"]
    assert "<h2>Deadline</h2>" in found["page"]
    assert 'name="days" value="7"' in found["page"]
    assert "Extend the deadline</button>" in found["page"]
    assert "deadline" not in found["other"].partition("How reports are taken")[0].lower()
    assert found["openapi"]["summary"] == "Extend the deadline of a survey"
    assert found["openapi"]["x-role"] == "operator"
    assert found["openapi"]["responses"].keys() >= {"200", "401", "403", "404", "422", "503"}
