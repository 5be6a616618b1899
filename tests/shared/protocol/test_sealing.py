"""Sealed reports: vectors of RFC 9180, a second HPKE implementation, and altered reports."""

import os
import stat
from uuid import UUID

import hpke
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from halftruth_shared import KeyFileError, ParameterError, ReportError
from halftruth_shared.protocol.sealing import (
    SealingKeys,
    create_sealing_key,
    open_sealed,
    retire_sealing_key,
    seal,
)

DIGEST = "d1" * 32
ID = UUID("6f0d3c9e-0d3c-4b8e-9d55-1f5a3c0e7a11")
INVITATION = "1e" * 16
PACKED = bytes([1, 2, 3, 250, 0])


def raw(private: X25519PrivateKey) -> bytes:
    return private.public_key().public_bytes_raw()


def info_of() -> bytes:
    return b"halftruth sealed report 1\n" + bytes.fromhex(DIGEST) + ID.bytes


@pytest.fixture
def private() -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.fixture
def keys(private) -> SealingKeys:
    return SealingKeys((private,))


def refused(keys, sealed, invited=True) -> None:
    with pytest.raises(ReportError, match="cannot be opened; expected a report sealed") as caught:
        open_sealed(keys, DIGEST, ID, sealed, len(PACKED), invited)
    assert caught.value.field == "sealed"


# RFC 9180, appendix A.1.1: base mode of the suite used here.

RFC = {
    name: bytes.fromhex(value)
    for name, value in {
        "info": "4f6465206f6e2061204772656369616e2055726e",
        "skEm": "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
        "pkRm": "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
        "enc": "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
        "pt": "4265617574792069732074727574682c20747275746820626561757479",
        "aad": "436f756e742d30",
        "ct": "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a9"
        "6d8770ac83d07bea87e13c512a",
    }.items()
}


def test_the_reference_hpke_matches_the_published_message():
    ephemeral = X25519PrivateKey.from_private_bytes(RFC["skEm"])
    sealed = hpke.seal(RFC["pkRm"], RFC["info"], RFC["pt"], RFC["aad"], ephemeral)
    assert sealed == RFC["enc"] + RFC["ct"]


def test_sealing_the_same_report_gives_different_bytes(keys):
    assert len({seal(keys.public[0], DIGEST, ID, PACKED) for _ in range(50)}) == 50


# Invalid sealed reports and keys.


def test_a_report_altered_in_any_byte_or_length_is_refused(keys):
    sealed = seal(keys.public[0], DIGEST, ID, PACKED, INVITATION)
    for i in range(len(sealed)):
        # X25519 ignores the highest bit of a key, but authentication covers it.
        for change in (0x01, 0x80, 0xFF):
            refused(keys, sealed[:i] + bytes([sealed[i] ^ change]) + sealed[i + 1 :])
        refused(keys, sealed[:i])
        refused(keys, sealed[i + 1 :])
    for more in (b"\0", sealed[-1:], sealed):
        refused(keys, sealed + more)
        refused(keys, more + sealed)


@pytest.mark.parametrize(
    "point", [bytes(32), b"\x01" + bytes(31), b"\xec" + b"\xff" * 30 + b"\x7f"]
)
def test_a_point_of_small_order_is_refused(keys, point):
    sealed = seal(keys.public[0], DIGEST, ID, PACKED, INVITATION)
    refused(keys, point + sealed[32:])
    with pytest.raises(ParameterError, match="sealing_key: expected an X25519 public key"):
        seal(point.hex(), DIGEST, ID, PACKED)


@pytest.mark.parametrize("public", ["", "00", "zz" * 32, "ab" * 33])
def test_an_invalid_public_key_is_refused(public):
    with pytest.raises(ParameterError) as caught:
        seal(public, DIGEST, ID, PACKED, INVITATION)
    assert caught.value.field == "sealing_key"
    assert INVITATION not in str(caught.value)
    assert caught.value.__suppress_context__


# Key files.


def test_a_new_key_comes_first_and_old_keys_still_open_reports(tmp_path):
    path = tmp_path / "sealing.pem"
    first = create_sealing_key(path)
    assert SealingKeys.read(path).public == (first,)
    second = create_sealing_key(path)
    third = create_sealing_key(path)
    assert SealingKeys.read(path).public == (third, second, first)
    assert len({first, second, third}) == 3
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["sealing.pem"]
    for public in (first, second, third):
        sealed = seal(public, DIGEST, ID, PACKED)
        opened = open_sealed(SealingKeys.read(path), DIGEST, ID, sealed, len(PACKED), False)
        assert opened == (PACKED, None)


def test_a_retired_key_opens_no_reports(tmp_path):
    path = tmp_path / "sealing.pem"
    publics = [create_sealing_key(path) for _ in range(3)]
    retire_sealing_key(path, publics[1])
    keys = SealingKeys.read(path)
    assert keys.public == (publics[2], publics[0])
    refused(keys, seal(publics[1], DIGEST, ID, PACKED), invited=False)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_unknown_or_the_last_key_cannot_be_retired(tmp_path):
    path = tmp_path / "sealing.pem"
    only = create_sealing_key(path)
    before = path.read_bytes()
    with pytest.raises(ParameterError, match="one of the public keys of this file") as caught:
        retire_sealing_key(path, "ab" * 32)
    assert caught.value.field == "public"
    with pytest.raises(ParameterError, match="the only key of this file"):
        retire_sealing_key(path, only)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["sealing.pem"]


def test_concurrent_changes_do_not_lose_a_key(tmp_path):
    path = tmp_path / "sealing.pem"
    create_sealing_key(path)
    before = path.read_bytes()
    (tmp_path / "sealing.pem.new").write_bytes(b"")
    with pytest.raises(KeyFileError, match=r"is being changed; expected no file .*\.new"):
        create_sealing_key(path)
    assert path.read_bytes() == before
    # The file of the other process must not be removed.
    assert (tmp_path / "sealing.pem.new").exists()


def test_an_interrupted_change_leaves_the_old_keys(tmp_path, monkeypatch):
    path = tmp_path / "sealing.pem"
    first = create_sealing_key(path)

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(KeyFileError, match="cannot be written: No space left on device"):
        create_sealing_key(path)
    with pytest.raises(KeyFileError, match="cannot be written: No space left on device"):
        create_sealing_key(tmp_path / "new.pem")
    monkeypatch.undo()
    assert SealingKeys.read(path).public == (first,)
    assert [file.name for file in tmp_path.iterdir()] == ["sealing.pem"]


def test_key_files_readable_by_others_are_refused(tmp_path):
    path = tmp_path / "sealing.pem"
    create_sealing_key(path)
    path.chmod(0o644)
    for use in (SealingKeys.read, create_sealing_key):
        with pytest.raises(KeyFileError, match="others may read this private key"):
            use(path)
    assert [file.name for file in tmp_path.iterdir()] == ["sealing.pem"]


def pem(private: X25519PrivateKey | Ed25519PrivateKey) -> bytes:
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no key",
        pem(Ed25519PrivateKey.generate()),
        pem(X25519PrivateKey.generate()) + pem(Ed25519PrivateKey.generate()),
        pem(X25519PrivateKey.generate()) + b"and more",
        pem(X25519PrivateKey.generate())[:-20],
    ],
    ids=["empty", "text", "other", "one-other", "more", "cut"],
)
def test_an_invalid_key_file_is_a_one_line_error(tmp_path, content):
    path = tmp_path / "sealing.pem"
    path.write_bytes(content)
    path.chmod(0o600)
    for use in (SealingKeys.read, create_sealing_key):
        with pytest.raises(KeyFileError, match="expected X25519 private keys in PEM") as caught:
            use(path)
        assert str(path) in str(caught.value)
    assert path.read_bytes() == content


def test_the_repr_of_keys_contains_no_private_key(private, keys):
    for shown in (repr(keys), str(keys), f"{[keys]}"):
        assert keys.public[0] in shown
        assert private.private_bytes_raw().hex()[:8] not in shown
