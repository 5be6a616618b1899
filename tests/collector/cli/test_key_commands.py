"""Commands about files of private keys: public keys on standard output, never private ones."""

import re
import stat

import pytest
from halftruth_collector.collector_store import Store
from halftruth_shared.protocol.sealing import SealingKeys
from halftruth_shared.protocol.signing import OperatorKey

PUBLIC = re.compile(r"[0-9a-f]{64}\n")


@pytest.fixture
def halftruth(command):
    """These commands need no database."""
    return command


def test_a_new_operator_key_is_in_its_file_and_its_public_key_printed(halftruth, tmp_path):
    path = tmp_path / "operator.pem"
    status, said, complaint = halftruth("admin", "key", "create", path)
    assert (status, complaint) == (0, "")
    assert PUBLIC.fullmatch(said)
    assert OperatorKey.read(path).public == said.strip()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert halftruth("admin", "key", "show", path) == (0, said, "")
    # It is not overwritten, and not read where others may read it.
    before = path.read_bytes()
    complaint = f"halftruth: {path}: exists; expected the name of a new file\n"
    assert halftruth("admin", "key", "create", path) == (2, "", complaint)
    assert path.read_bytes() == before
    path.chmod(0o644)
    status, said, complaint = halftruth("admin", "key", "show", path)
    assert (status, said, complaint.count("\n")) == (2, "", 1)
    assert "expected mode 0600" in complaint


def test_sealing_keys_are_created_listed_and_retired(halftruth, tmp_path):
    path = tmp_path / "sealing.pem"
    made = [halftruth("admin", "sealing-key", "create", path) for _ in range(3)]
    assert all(status == 0 and PUBLIC.fullmatch(said) and not no for status, said, no in made)
    first, second, third = (said.strip() for _, said, _ in made)
    assert SealingKeys.read(path).public == (third, second, first)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    _, said, _ = halftruth("admin", "sealing-key", "list", path)
    assert re.findall(r"[0-9a-f]{64}", said) == [third, second, first]
    status, _, complaint = halftruth("admin", "sealing-key", "retire", path, second)
    assert (status, complaint.count("\n")) == (2, 1)
    assert "--database" in complaint
    database = f"sqlite:///{tmp_path}/collector.db"
    retire = ("admin", "sealing-key", "retire", path, "--database", database)
    # A mistyped database has no survey that could use the key.
    complaint = halftruth(*retire, second)[2]
    assert complaint.startswith(f"halftruth: database: there is no file {tmp_path}/collector.db; ")
    Store(database).close()
    assert halftruth(*retire, second) == (0, f"retired {second}\n", "")
    assert SealingKeys.read(path).public == (third, first)
    status, said, complaint = halftruth(*retire, second)
    assert (status, said) == (2, "")
    assert "expected one of the public keys of this file" in complaint


def test_no_command_prints_a_private_key(halftruth, tmp_path):
    operator, sealing = tmp_path / "operator.pem", tmp_path / "sealing.pem"
    printed = [
        halftruth("admin", "key", "create", operator),
        halftruth("admin", "key", "show", operator),
        halftruth("admin", "key", "create", operator),
        halftruth("admin", "sealing-key", "create", sealing),
        halftruth("admin", "sealing-key", "list", sealing),
        halftruth("admin", "sealing-key", "retire", sealing, "0"),
        # The file of the other kind.
        halftruth("admin", "key", "show", sealing),
        halftruth("admin", "sealing-key", "list", operator),
    ]
    said = "".join(f"{out}{err}" for _, out, err in printed)
    for path in (operator, sealing):
        body = path.read_text().splitlines()[1]
        assert body not in said
    assert "PRIVATE" not in said
