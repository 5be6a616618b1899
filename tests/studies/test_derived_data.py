"""The data that the studies and the demonstration ship are what their scripts derive."""

import subprocess
import sys
from shutil import copyfile

import pytest
from reference import ROOT, reference_file

SCRIPTS = sorted((ROOT / "docs" / "studies" / "data").glob("derive*.py"))
DEMO = ROOT / "collector" / "halftruth_collector" / "demo"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_files_are_those_that_their_script_writes(script, tmp_path):
    folder = reference_file("data/adult.data").parent
    for name in ("data/adult.test", "data/ticdata2000.txt"):
        reference_file(name)
    for place in (script.parent, DEMO):
        (tmp_path / place.relative_to(ROOT)).mkdir(parents=True)
    copied = tmp_path / script.relative_to(ROOT)
    copyfile(script, copied)
    subprocess.run([sys.executable, copied, folder], check=True)
    written = list(tmp_path.rglob("*.csv"))
    assert written
    for file in written:
        assert file.read_bytes() == (ROOT / file.relative_to(tmp_path)).read_bytes(), file.name


def test_every_data_file_has_a_script():
    assert [script.stem for script in SCRIPTS] == ["derive", "derive_census", "derive_coil"]
    shipped = {file.name for place in (SCRIPTS[0].parent, DEMO) for file in place.glob("*.csv")}
    text = "".join(script.read_text(encoding="utf-8") for script in SCRIPTS)
    assert {name for name in shipped if name.removesuffix(".csv") not in text} == set()
