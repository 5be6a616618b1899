"""HPKE (RFC 9180) with X25519, HKDF-SHA256 and AES-128-GCM: base mode, one message."""

import hmac

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEM = b"KEM" + bytes.fromhex("0020")
SUITE = b"HPKE" + bytes.fromhex("0020 0001 0001")


def labelled_extract(suite, salt, label, key):
    return hmac.digest(salt, b"HPKE-v1" + suite + label + key, "sha256")


def labelled_expand(suite, key, label, info, length):
    """Return one block of HKDF (RFC 5869), the most that HPKE needs here."""
    assert length <= 32
    labelled = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, labelled + b"\x01", "sha256")[:length]


def seal(recipient, info, plaintext, aad=b"", ephemeral=None):
    """Return the encapsulated key and the ciphertext for a public key of 32 bytes."""
    ephemeral = ephemeral or X25519PrivateKey.generate()
    point = ephemeral.exchange(X25519PublicKey.from_public_bytes(recipient))
    enc = ephemeral.public_key().public_bytes_raw()
    eae = labelled_extract(KEM, b"", b"eae_prk", point)
    secret = labelled_expand(KEM, eae, b"shared_secret", enc + recipient, 32)
    context = b"\x00" + labelled_extract(SUITE, b"", b"psk_id_hash", b"")
    context += labelled_extract(SUITE, b"", b"info_hash", info)
    schedule = labelled_extract(SUITE, secret, b"secret", b"")
    key = labelled_expand(SUITE, schedule, b"key", context, 16)
    nonce = labelled_expand(SUITE, schedule, b"base_nonce", context, 12)
    return enc + AESGCM(key).encrypt(nonce, plaintext, aad)
