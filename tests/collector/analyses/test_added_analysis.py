"""An analysis is two files: its call, command, page and Python method follow from them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import halftruth_collector
import halftruth_shared
import numpy as np
import pytest

ADDED = Path(__file__).parent / "added"
SUPPORT = Path(__file__).parents[2] / "support"


def test_an_analysis_of_two_files_is_offered_everywhere(tmp_path):
    """The share of people with at least two of three options, added to copies of the packages."""
    for package, file in ((halftruth_shared, "shared"), (halftruth_collector, "collector")):
        source = Path(package.__file__).parent
        copy = tmp_path / source.name
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ADDED / file / "at_least.py", copy / "analyses")
    paths = os.pathsep.join(map(str, (tmp_path, SUPPORT)))
    asked = subprocess.run(
        [sys.executable, ADDED / "ask.py", tmp_path / "work.db"],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr
    found = json.loads(asked.stdout)
    truth = (np.array(found["records"]).sum(axis=1) >= 2).mean()
    [share] = found["http"]["estimates"]["value"]
    [error] = found["http"]["estimates"]["standard_error"]
    assert abs(share - truth) < 3 * error < 0.1
    assert found["command"]["estimates"]["value"] == [share]
    assert found["python"] == pytest.approx(share)
    assert found["openapi"]
    assert found["http"]["claims"][0]["kind"] == "estimate"
    # Its sentences and the name of its quantity, with labels on its page and names elsewhere.
    said = "choose 2 or more options of {}."
    counted = "Counted are the options of {}: tired, sad, ill."
    assert said.format("felt") in found["http"]["headline"]
    [caveat] = found["http"]["caveats"]
    assert caveat["values"] == {"question": "felt", "options": ["tired", "sad", "ill"]}
    for text in (said, counted):
        assert text.format("“How did you feel yesterday?”") in found["page"]
    assert "share with so many" in found["page"]
    # Links from other pages keep its level.
    assert "/results/feelings/at-least?question=felt&amp;confidence=0.9&amp;" in found["menu"]
