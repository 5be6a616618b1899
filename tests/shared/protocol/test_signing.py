"""Signatures of surveys, altered signatures, and key files."""

import os
import stat

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from halftruth_shared import KeyFileError, ParameterError, SignatureError
from halftruth_shared.protocol import signing
from halftruth_shared.protocol.base import check_operator_keys
from halftruth_shared.protocol.signing import OperatorKey, sign, statement, verify
from halftruth_shared.protocol.terms import Signature, Terms

DIGEST = "00" * 16 + "5e" * 16
SEALED = Terms(invitations=True, sealing_key="a7" * 32)


def key_of(seed: str) -> OperatorKey:
    return OperatorKey(Ed25519PrivateKey.from_private_bytes(bytes.fromhex(seed)))


@pytest.fixture
def key() -> OperatorKey:
    return key_of("5a" * 32)


def test_an_altered_truncated_or_reformatted_signature_is_refused(key):
    made = sign(key, DIGEST, SEALED)
    value = bytes.fromhex(made.value)
    altered = [
        (value[:i] + bytes([value[i] ^ bit]) + value[i + 1 :]).hex()
        for i in range(len(value))
        for bit in (0x01, 0x80)
    ]
    altered += [made.value[:cut] for cut in (0, 1, 2, 63, 64, 127)]
    altered += [made.value.upper(), made.value + "00", " " + made.value[1:], "é" + made.value]
    for other in altered:
        with pytest.raises(SignatureError, match="does not match"):
            verify(Signature(key=made.key, value=other), DIGEST, SEALED, {key.public})


def test_a_statement_altered_in_any_byte_is_refused(key, monkeypatch):
    made = sign(key, DIGEST, SEALED)
    whole = statement(DIGEST, SEALED)
    altered = [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in range(len(whole))]
    altered += [whole[:i] for i in range(len(whole))] + [whole + b"\n"]
    for other in altered:
        monkeypatch.setattr(signing, "statement", lambda *_, other=other: other)
        with pytest.raises(SignatureError, match="does not match"):
            verify(made, DIGEST, SEALED, {key.public})


@pytest.mark.parametrize(
    ("digest", "terms", "field"),
    [
        ("5E" * 32, Terms(), "digest"),
        ("5e" * 31, Terms(), "digest"),
        (DIGEST, Terms(sealing_key=""), "sealing_key"),
        (DIGEST, Terms(sealing_key="a7" * 32 + "\n"), "sealing_key"),
    ],
)
def test_invalid_digests_and_terms_are_not_signed(key, digest, terms, field):
    with pytest.raises(ParameterError, match="64 lower-case hexadecimal digits") as caught:
        sign(key, digest, terms)
    assert caught.value.field == field


@pytest.mark.parametrize("bad", ["", "ab" * 32, ["AB" * 32], ["ab" * 31], [b"ab" * 32], [None]])
def test_invalid_pins_are_refused(bad):
    with pytest.raises(ParameterError, match="operator_keys: expected a list") as caught:
        check_operator_keys(bad)
    assert caught.value.field == "operator_keys"


def test_a_key_can_be_written_and_read(tmp_path):
    key, path = OperatorKey.create(), tmp_path / "operator.pem"
    key.write(path)
    assert OperatorKey.read(path).public == key.public
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----\n")
    verify(sign(OperatorKey.read(path), DIGEST, SEALED), DIGEST, SEALED, {key.public})


def test_the_mode_of_a_new_file_does_not_depend_on_the_umask(tmp_path):
    before = os.umask(0)
    try:
        OperatorKey.create().write(tmp_path / "operator.pem")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "operator.pem").stat().st_mode) == 0o600


def test_a_file_is_never_overwritten(tmp_path):
    path = tmp_path / "operator.pem"
    path.write_text("something of value")
    with pytest.raises(KeyFileError, match="exists; expected the name of a new file"):
        OperatorKey.create().write(path)
    assert path.read_text() == "something of value"
    # Nor is the target of a symbolic link created.
    (tmp_path / "link.pem").symlink_to(tmp_path / "elsewhere.pem")
    with pytest.raises(KeyFileError, match="exists"):
        OperatorKey.create().write(tmp_path / "link.pem")
    assert not (tmp_path / "elsewhere.pem").exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o620, 0o610, 0o601])
def test_a_key_file_readable_by_others_is_refused(tmp_path, mode):
    path = tmp_path / "operator.pem"
    OperatorKey.create().write(path)
    path.chmod(mode)
    with pytest.raises(KeyFileError, match=rf"others may read .*{mode:04o}.*expected mode 0600"):
        OperatorKey.read(path)
    path.chmod(0o400)
    assert OperatorKey.read(path)


def other_files() -> dict[str, bytes]:
    key, of_another_kind = Ed25519PrivateKey.generate(), X25519PrivateKey.generate()
    return {
        "empty": b"",
        "text": b"no key",
        "another kind": of_another_kind.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        ),
        "encrypted": key.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
        ),
        "raw": key.private_bytes_raw(),
    }


@pytest.mark.parametrize("name", other_files())
def test_an_invalid_key_file_is_a_one_line_error(tmp_path, name):
    path = tmp_path / "operator.pem"
    path.write_bytes(other_files()[name])
    path.chmod(0o600)
    with pytest.raises(KeyFileError, match="expected an Ed25519 private key in PEM") as caught:
        OperatorKey.read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("path", ["missing/operator.pem", "with\0zero"])
def test_an_unusable_file_name_is_a_one_line_error(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KeyFileError, match="cannot be read: "):
        OperatorKey.read(path)
    with pytest.raises(KeyFileError, match="cannot be written: "):
        OperatorKey.create().write(path)


def test_the_repr_of_a_key_contains_no_private_key():
    key = key_of("5a" * 32)
    for shown in (repr(key), str(key), f"{[key]}"):
        assert key.public in shown
        assert "5a5a" not in shown
