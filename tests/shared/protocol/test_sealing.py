"""Sealed reports: the vectors of RFC 9180, a second HPKE, and nothing altered is opened."""

import hmac
import os
import random
import stat
from dataclasses import dataclass
from uuid import UUID

import pytest
from cryptography.hazmat.bindings._rust import openssl
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from halftruth_shared import KeyFileError, ParameterError, ReportError, ReportSpace
from halftruth_shared.protocol.sealing import (
    SealingKeys,
    create_sealing_key,
    open_sealed,
    retire_sealing_key,
    seal,
)

DIGEST, OTHER_DIGEST = "d1" * 32, "d2" * 32
ID = UUID("6f0d3c9e-0d3c-4b8e-9d55-1f5a3c0e7a11")
INVITATION = "1e" * 16
PACKED = bytes([1, 2, 3, 250, 0])


# HPKE once more, from RFC 9180 and RFC 5869 alone.


def labelled_extract(suite: bytes, salt: bytes, label: bytes, key: bytes) -> bytes:
    return hmac.digest(salt, b"HPKE-v1" + suite + label + key, "sha256")


def labelled_expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    labelled = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    made, block, count = b"", b"", 1
    while len(made) < length:
        block = hmac.digest(key, block + labelled + bytes([count]), "sha256")
        made, count = made + block, count + 1
    return made[:length]


@dataclass
class Schedule:
    """What both sides of one message compute."""

    shared_secret: bytes
    context: bytes
    secret: bytes
    key: bytes
    base_nonce: bytes
    exporter_secret: bytes


def schedule(point: bytes, enc: bytes, recipient: bytes, info: bytes) -> Schedule:
    kem = b"KEM" + bytes([0x00, 0x20])
    suite = b"HPKE" + bytes([0x00, 0x20, 0x00, 0x01, 0x00, 0x01])
    eae_prk = labelled_extract(kem, b"", b"eae_prk", point)
    shared = labelled_expand(kem, eae_prk, b"shared_secret", enc + recipient, 32)
    psk_id_hash = labelled_extract(suite, b"", b"psk_id_hash", b"")
    context = b"\x00" + psk_id_hash + labelled_extract(suite, b"", b"info_hash", info)
    secret = labelled_extract(suite, shared, b"secret", b"")
    return Schedule(
        shared,
        context,
        secret,
        labelled_expand(suite, secret, b"key", context, 16),
        labelled_expand(suite, secret, b"base_nonce", context, 12),
        labelled_expand(suite, secret, b"exp", context, 32),
    )


def raw(private: X25519PrivateKey) -> bytes:
    return private.public_key().public_bytes_raw()


def hpke_seal(recipient: bytes, info: bytes, plaintext: bytes, aad: bytes = b"") -> bytes:
    ephemeral = X25519PrivateKey.generate()
    point = ephemeral.exchange(X25519PublicKey.from_public_bytes(recipient))
    made = schedule(point, raw(ephemeral), recipient, info)
    return raw(ephemeral) + AESGCM(made.key).encrypt(made.base_nonce, plaintext, aad)


def hpke_open(private: X25519PrivateKey, info: bytes, sealed: bytes, aad: bytes = b"") -> bytes:
    enc, ciphertext = sealed[:32], sealed[32:]
    point = private.exchange(X25519PublicKey.from_public_bytes(enc))
    made = schedule(point, enc, raw(private), info)
    return AESGCM(made.key).decrypt(made.base_nonce, ciphertext, aad)


def info_of(digest: str = DIGEST, report_id: UUID = ID) -> bytes:
    return b"halftruth sealed report 1\n" + bytes.fromhex(digest) + report_id.bytes


@pytest.fixture
def private() -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.fixture
def keys(private) -> SealingKeys:
    return SealingKeys((private,))


def refused(keys, sealed, digest=DIGEST, report_id=ID, invited=True) -> None:
    with pytest.raises(ReportError, match="cannot be opened; expected a report sealed") as caught:
        open_sealed(keys, digest, report_id, sealed, len(PACKED), invited)
    assert caught.value.field == "sealed"


# RFC 9180, appendix A.1.1: base mode of the one suite that is used here.

RFC = {
    name: bytes.fromhex(value)
    for name, value in {
        "info": "4f6465206f6e2061204772656369616e2055726e",
        "skEm": "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
        "pkRm": "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
        "skRm": "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
        "enc": "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
        "shared_secret": "fe0e18c9f024ce43799ae393c7e8fe8fce9d218875e8227b0187c04e7d2ea1fc",
        "key_schedule_context": "00725611c9d98c07c03f60095cd32d400d8347d45ed67097bbad50fc56da742d07"
        "cb6cffde367bb0565ba28bb02c90744a20f5ef37f30523526106f637abb05449",
        "secret": "12fff91991e93b48de37e7daddb52981084bd8aa64289c3788471d9a9712f397",
        "key": "4531685d41d65f03dc48f6b8302c05b0",
        "base_nonce": "56d890e5accaaf011cff4b7d",
        "exporter_secret": "45ff1c2e220db587171952c0592d5f5ebe103f1561a2614e38f2ffd47e99e3f8",
        "pt": "4265617574792069732074727574682c20747275746820626561757479",
        "aad": "436f756e742d30",
        "ct": "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a9"
        "6d8770ac83d07bea87e13c512a",
    }.items()
}


def test_the_key_schedule_of_this_file_is_the_published_one():
    ephemeral = X25519PrivateKey.from_private_bytes(RFC["skEm"])
    assert raw(ephemeral) == RFC["enc"]
    point = ephemeral.exchange(X25519PublicKey.from_public_bytes(RFC["pkRm"]))
    made = schedule(point, RFC["enc"], RFC["pkRm"], RFC["info"])
    assert made.shared_secret == RFC["shared_secret"]
    assert made.context == RFC["key_schedule_context"]
    assert made.secret == RFC["secret"]
    assert made.key == RFC["key"]
    assert made.base_nonce == RFC["base_nonce"]
    assert made.exporter_secret == RFC["exporter_secret"]
    assert AESGCM(made.key).encrypt(made.base_nonce, RFC["pt"], RFC["aad"]) == RFC["ct"]


def test_the_published_message_is_opened_by_both():
    private = X25519PrivateKey.from_private_bytes(RFC["skRm"])
    assert raw(private) == RFC["pkRm"]
    sealed = RFC["enc"] + RFC["ct"]
    assert hpke_open(private, RFC["info"], sealed, RFC["aad"]) == RFC["pt"]
    # The vector has associated data, which the library takes only in the call for its own tests.
    suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
    opened = openssl.hpke._decrypt_with_aad(suite, sealed, private, RFC["info"], RFC["aad"])
    assert opened == RFC["pt"]


# Both against each other.


@pytest.mark.parametrize("invitation", [None, INVITATION])
@pytest.mark.parametrize("size", [1, 2, 5, 40, 4_000])
def test_each_hpke_opens_what_the_other_seals(private, keys, size, invitation):
    packed = random.Random(size).randbytes(size)
    sealed = seal(keys.public[0], DIGEST, ID, packed, invitation)
    whole = packed + bytes.fromhex(invitation or "")
    assert len(sealed) == 32 + len(whole) + 16
    assert hpke_open(private, info_of(), sealed) == whole
    for one in (sealed, hpke_seal(raw(private), info_of(), whole)):
        opened = open_sealed(keys, DIGEST, ID, one, size, invitation is not None)
        assert opened == (packed, invitation)


@pytest.mark.parametrize("shape", [(2, 3), (256, 2), (257, 2), (65_536, 3), (65_537, 3)])
def test_a_report_comes_out_as_it_went_in(keys, shape):
    names = tuple(f"a{j}" for j in range(len(shape)))
    report_space = ReportSpace(names, shape)
    rng = random.Random(7)
    lengths = set()
    for values in [
        tuple(0 for _ in shape),
        tuple(size - 1 for size in shape),
        *(tuple(rng.randrange(size) for size in shape) for _ in range(20)),
    ]:
        sealed = seal(keys.public[0], DIGEST, ID, report_space.pack(values))
        packed, _ = open_sealed(keys, DIGEST, ID, sealed, report_space.packed_size, False)
        assert report_space.unpack(packed) == values
        lengths.add(len(sealed))
    # The length says nothing of the report.
    assert len(lengths) == 1


def test_the_same_report_is_never_sealed_to_the_same_bytes(keys):
    assert len({seal(keys.public[0], DIGEST, ID, PACKED) for _ in range(50)}) == 50


# What is not opened.


def test_a_report_of_another_survey_or_id_is_refused(keys):
    sealed = seal(keys.public[0], DIGEST, ID, PACKED, INVITATION)
    assert open_sealed(keys, DIGEST, ID, sealed, len(PACKED), True) == (PACKED, INVITATION)
    refused(keys, sealed, digest=OTHER_DIGEST)
    refused(keys, sealed, report_id=UUID(int=ID.int ^ 1))
    refused(keys, sealed, digest=OTHER_DIGEST, report_id=UUID(int=ID.int ^ 1))


def test_a_report_altered_in_any_byte_or_of_any_other_length_is_refused(keys):
    sealed = seal(keys.public[0], DIGEST, ID, PACKED, INVITATION)
    for i in range(len(sealed)):
        # The highest bit of an X25519 key is not part of it, but of what is sealed it is.
        for change in (0x01, 0x80, 0xFF):
            refused(keys, sealed[:i] + bytes([sealed[i] ^ change]) + sealed[i + 1 :])
        refused(keys, sealed[:i])
        refused(keys, sealed[i + 1 :])
    for more in (b"\0", sealed[-1:], sealed):
        refused(keys, sealed + more)
        refused(keys, more + sealed)


def test_a_report_with_more_or_less_inside_is_refused(private, keys):
    invited = bytes.fromhex(INVITATION)
    for plaintext in (PACKED, PACKED + invited + b"\0", PACKED + invited[1:], invited, b""):
        refused(keys, hpke_seal(raw(private), info_of(), plaintext))
    # And one with an invitation where none is asked for.
    refused(keys, hpke_seal(raw(private), info_of(), PACKED + invited), invited=False)


def test_a_report_to_another_key_is_refused(keys):
    other = SealingKeys.create()
    refused(keys, seal(other.public[0], DIGEST, ID, PACKED, INVITATION))
    refused(other, seal(keys.public[0], DIGEST, ID, PACKED, INVITATION))


def test_associated_data_of_any_other_kind_is_refused(private, keys):
    plaintext = PACKED + bytes.fromhex(INVITATION)
    bound = bytes.fromhex(DIGEST) + ID.bytes
    for info, aad in [
        (b"", b""),
        (bound, b""),
        (info_of(), bound),
        (b"", info_of()),
        (b"halftruth sealed report 2\n" + bound, b""),
        (b"halftruth sealed report 1\n" + ID.bytes + bytes.fromhex(DIGEST), b""),
    ]:
        refused(keys, hpke_seal(raw(private), info, plaintext, aad))


@pytest.mark.parametrize(
    "point", [bytes(32), b"\x01" + bytes(31), b"\xec" + b"\xff" * 30 + b"\x7f"]
)
def test_a_point_of_small_order_opens_nothing_and_takes_nothing(keys, point):
    sealed = seal(keys.public[0], DIGEST, ID, PACKED, INVITATION)
    refused(keys, point + sealed[32:])
    with pytest.raises(ParameterError, match="sealing_key: expected an X25519 public key"):
        seal(point.hex(), DIGEST, ID, PACKED)


@pytest.mark.parametrize("public", ["", "00", "zz" * 32, "ab" * 33])
def test_what_is_no_key_takes_nothing(public):
    with pytest.raises(ParameterError) as caught:
        seal(public, DIGEST, ID, PACKED, INVITATION)
    assert caught.value.field == "sealing_key"
    assert INVITATION not in str(caught.value)
    assert caught.value.__suppress_context__


# Files of keys.


def test_a_new_key_comes_before_the_others_which_still_open(tmp_path):
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


def test_a_retired_key_opens_nothing(tmp_path):
    path = tmp_path / "sealing.pem"
    publics = [create_sealing_key(path) for _ in range(3)]
    retire_sealing_key(path, publics[1])
    keys = SealingKeys.read(path)
    assert keys.public == (publics[2], publics[0])
    refused(keys, seal(publics[1], DIGEST, ID, PACKED), invited=False)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_key_that_is_not_there_or_the_last_one_is_not_retired(tmp_path):
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


def test_two_changes_at_once_do_not_lose_a_key(tmp_path):
    path = tmp_path / "sealing.pem"
    create_sealing_key(path)
    before = path.read_bytes()
    (tmp_path / "sealing.pem.new").write_bytes(b"")
    with pytest.raises(KeyFileError, match=r"is being changed; expected no file .*\.new"):
        create_sealing_key(path)
    assert path.read_bytes() == before
    # What another one writes is not for this one to remove.
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


def test_keys_that_others_may_read_are_not_used(tmp_path):
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
def test_a_file_of_something_else_is_one_clear_line(tmp_path, content):
    path = tmp_path / "sealing.pem"
    path.write_bytes(content)
    path.chmod(0o600)
    for use in (SealingKeys.read, create_sealing_key):
        with pytest.raises(KeyFileError, match="expected X25519 private keys in PEM") as caught:
            use(path)
        assert str(path) in str(caught.value)
    assert path.read_bytes() == content


def test_no_description_of_keys_holds_a_private_half(private, keys):
    for shown in (repr(keys), str(keys), f"{[keys]}"):
        assert keys.public[0] in shown
        assert private.private_bytes_raw().hex()[:8] not in shown
