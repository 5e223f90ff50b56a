"""A history signed after the fact: the same commits, each with a signature of one key, as `git commit -S` would have made it.

Signing ten thousand commits by a process each takes minutes; here it takes a second, and git reads them all the same.
"""

from __future__ import annotations

import base64
import hashlib
import struct
import subprocess
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_COMMIT = 1  # of the kinds of objects in a pack


def new_key() -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate()


def public_line(key: Ed25519PrivateKey) -> str:
    """The public key as OpenSSH writes it."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def signature_of(key: Ed25519PrivateKey, data: bytes) -> bytes:
    """An SSH signature for git, in its armour."""
    public = base64.b64decode(public_line(key).split()[1])
    rest = _string(b"git") + _string(b"") + _string(b"sha512")
    made = key.sign(b"SSHSIG" + rest + _string(hashlib.sha512(data).digest()))
    blob = b"SSHSIG" + struct.pack(">I", 1) + _string(public) + rest + _string(_string(b"ssh-ed25519") + _string(made))
    text = base64.b64encode(blob)
    lines = [text[start : start + 70] for start in range(0, len(text), 70)]
    return b"\n".join([b"-----BEGIN SSH SIGNATURE-----", *lines, b"-----END SSH SIGNATURE-----"])


def sign_all(bare: Path, since: str, key: Ed25519PrivateKey) -> None:
    """Put signed commits in the place of those of main that came since a commit; one line of history, one pack."""
    names = _git(bare, "rev-list", "--reverse", f"{since}..main").split()
    parent = _git(bare, "rev-parse", since).strip()
    objects: list[bytes] = []
    for data in _commits(bare, names):
        head, gap, message = data.partition(b"\n\n")
        lines = [b"parent " + parent.encode() if line.startswith(b"parent ") else line for line in head.split(b"\n")]
        plain = b"\n".join(lines) + gap + message
        armour = signature_of(key, plain).replace(b"\n", b"\n ")
        made = b"\n".join([*lines, b"gpgsig " + armour]) + gap + message
        objects.append(made)
        parent = hashlib.sha1(b"commit %d\0" % len(made) + made, usedforsecurity=False).hexdigest()
    subprocess.run(["git", "-C", str(bare), "index-pack", "--stdin"], input=_pack(objects), check=True, capture_output=True)
    _git(bare, "update-ref", "refs/heads/main", parent)


def _git(bare: Path, *args: str) -> str:
    return subprocess.run(["git", "-C", str(bare), *args], check=True, capture_output=True, text=True).stdout


def _commits(bare: Path, names: list[str]) -> Iterator[bytes]:
    asked = "".join(f"{name}\n" for name in names).encode()
    out = subprocess.run(["git", "-C", str(bare), "cat-file", "--batch"], input=asked, check=True, capture_output=True).stdout
    place = 0
    for _ in names:
        end = out.index(b"\n", place)
        size = int(out[place:end].split()[2])
        yield out[end + 1 : end + 1 + size]
        place = end + size + 2


def _pack(objects: list[bytes]) -> bytes:
    parts = [b"PACK" + struct.pack(">II", 2, len(objects))]
    for data in objects:
        size, head = len(data), bytearray([_COMMIT << 4 | len(data) & 15])
        size >>= 4
        while size:
            head[-1] |= 0x80
            head.append(size & 0x7F)
            size >>= 7
        parts += [bytes(head), zlib.compress(data, 1)]
    body = b"".join(parts)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()
