"""Signatures of commits: extracted, and checked in this process or with ssh-keygen.

Says whose key made one, not whether to trust it.
"""

from __future__ import annotations

import binascii
import hashlib
import os
import tempfile
from contextlib import suppress
from typing import NamedTuple

from bd.store.trust import signing

_HEADER = b"gpgsig "
_BEGIN, _END = b"-----BEGIN SSH SIGNATURE-----", b"-----END SSH SIGNATURE-----"
_MAGIC = b"SSHSIG\0\0\0\1"
_LONGEST = 20_000
_ED25519, _KIND = "ssh-ed25519 ", b"ssh-ed25519"


class Signature(NamedTuple):
    """A commit's signature: the key that it names, the signed bytes, and its armoured text."""

    key: str
    payload: bytes
    text: bytes


def of_commit(data: bytes) -> Signature | None:
    """Return the SSH signature of a raw commit; None if there is none, several, or a malformed one."""
    head, gap, message = data.partition(b"\n\n")
    kept: list[bytes] = []
    found: list[bytes] = []
    is_inside, count = False, 0
    for line in head.split(b"\n"):
        if line.startswith(b" ") and is_inside:
            found.append(line[1:])
            continue
        is_inside = line.startswith(_HEADER)
        if is_inside:
            count += 1
            found.append(line[len(_HEADER) :])
        else:
            kept.append(line)
    text = b"\n".join(found) + b"\n"
    key = _key_in(text) if count == 1 and len(text) < _LONGEST else None
    return Signature(key, b"\n".join(kept) + gap + message, text) if key else None


def _key_in(text: bytes) -> str | None:
    """Return the public key inside an armoured signature, in the form of allowed signers."""
    lines = text.strip().split(b"\n")
    if lines[0] != _BEGIN or lines[-1] != _END:
        return None
    try:
        blob = binascii.a2b_base64(b"".join(lines[1:-1]))
        if not blob.startswith(_MAGIC):
            return None
        raw = _string(blob, len(_MAGIC))
        kind = _string(raw, 0).decode("ascii")
    except (ValueError, IndexError):
        return None
    return f"{kind} {binascii.b2a_base64(raw, newline=False).decode()}"


def _string(blob: bytes, start: int) -> bytes:
    """Read a length and that many bytes. Raises IndexError."""
    size = int.from_bytes(blob[start : start + 4], "big")
    found = blob[start + 4 : start + 4 + size]
    if len(found) != size or not size:
        raise IndexError
    return found


def is_good(signature: Signature) -> bool:
    """Return whether its key signed exactly this, for git. Raises CantSign if there is no ssh-keygen."""
    if is_good_at_once(signature):
        return True
    descriptor, path = tempfile.mkstemp(prefix="bd-signature-")
    try:
        with open(descriptor, "wb") as file:
            file.write(signature.text)
        return signing.run(["-Y", "check-novalidate", "-n", "git", "-s", path], signature.payload)[0] == 0
    finally:
        with suppress(OSError):
            os.unlink(path)


def is_good_at_once(signature: Signature) -> bool:
    """Return whether it is certainly good, checked without a process.

    That needs an ed25519 signature, and the library `cryptography`. False proves nothing: ssh-keygen decides about everything
    else.
    """
    if not signature.key.startswith(_ED25519):
        return False
    try:
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415  most commands check no signature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
    except ImportError:
        return False
    try:
        key, made, signed = _opened(signature)
        Ed25519PublicKey.from_public_bytes(key).verify(made, signed)
    except (IndexError, ValueError, InvalidSignature):
        return False
    return True


def _opened(signature: Signature) -> tuple[bytes, bytes, bytes]:
    """Return key, signature and signed bytes of an ed25519 signature for git. Raises IndexError for anything else."""
    blob = binascii.a2b_base64(b"".join(signature.text.strip().split(b"\n")[1:-1]))
    place = len(_MAGIC)
    parts: list[bytes] = []
    for _ in range(5):
        size = int.from_bytes(blob[place : place + 4], "big")
        parts.append(blob[place + 4 : place + 4 + size])
        place += 4 + size
    public, space, reserved, digest, made = parts
    raw, kind = _string(public, 4 + len(_KIND)), _string(made, 0)
    is_plain = place == len(blob) and _string(public, 0) == kind == _KIND and (space, reserved) == (b"git", b"")
    if not is_plain or digest not in (b"sha512", b"sha256") or (len(public), len(made)) != (51, 83):
        raise IndexError
    told = [space, reserved, digest, hashlib.new(digest.decode(), signature.payload).digest()]
    signed = b"SSHSIG" + b"".join(len(part).to_bytes(4, "big") + part for part in told)
    return raw, _string(made, 4 + len(_KIND)), signed
