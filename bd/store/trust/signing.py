"""Signing what this machine writes, with ssh-keygen and the keys of the agents that run here.

Keys are outside every hub, in `$XDG_CONFIG_HOME/bd/keys/<name>`, so that one identity serves many hubs. This module finds, makes
and uses private keys; bd.core.signers has a hub's allowed signers, signatures.py checks.
"""

from __future__ import annotations

import os
from contextlib import suppress

from bd import TYPE_CHECKING
from bd.core import signers
from bd.core.errors import CantSign, NoKey, NotAllowed
from bd.store.git import process

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.store.trust.authority import Standing

_LIMIT_S = 30.0
_HEADER = b"gpgsig "


def folder() -> str:
    """Return the folder of the keys."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "bd", "keys")


def path_of(name: str) -> str:
    """Return the path of a name's private key, whether or not it exists."""
    return os.path.join(folder(), name)


def public_key(name: str) -> str | None:
    """Return the public key of a name on this machine; None if it has none. Raises BadInput, CantSign."""
    try:
        with open(path_of(name) + ".pub", encoding="utf-8", errors="replace") as file:
            return signers.key_of(file.read(10_000).strip())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CantSign(f"can't read {path_of(name)}.pub: {error.strerror}", hint="its owner should be you") from error


def names() -> list[str]:
    """Return the names that have a key on this machine."""
    with suppress(OSError):
        return sorted(entry.removesuffix(".pub") for entry in os.listdir(folder()) if entry.endswith(".pub"))
    return []


def make(name: str) -> bool:
    """Make a key for a name. False if it has one, which is kept. Raises CantSign."""
    path = path_of(name)
    if os.path.lexists(path) or os.path.lexists(path + ".pub"):
        return False
    try:
        os.makedirs(folder(), mode=0o700, exist_ok=True)
    except OSError as error:
        raise CantSign(f"can't make the folder {folder()}: {error.strerror}", hint="keys are kept there") from error
    code, _, words = run(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", path])
    if code:
        raise CantSign(f"ssh-keygen made no key: {words}", hint=f"check that {folder()} is writable")
    with suppress(OSError):
        os.chmod(path, 0o600)
    return True


def run(args: list[str], data: bytes = b"") -> tuple[int, bytes, str]:
    """Run ssh-keygen without prompts. Return its exit code, output and error text. Raises CantSign if there is none."""
    # With an askpass program that answers nothing, no passphrase is asked for on the terminal.
    env = {**os.environ, "LC_ALL": "C", "SSH_ASKPASS": "false", "SSH_ASKPASS_REQUIRE": "force"}
    try:
        running = process.start(["ssh-keygen", *args], env, stdin=True)
    except OSError as error:
        hint = "install OpenSSH (Debian: openssh-client)"
        raise CantSign(f"ssh-keygen can't be run: {error.strerror}", hint=hint) from error
    try:
        out, err = running.communicate(data, _LIMIT_S)
    except TimeoutError as error:
        running.kill()
        running.close()
        raise CantSign("ssh-keygen did not end in time", hint="is an ssh-agent hanging? See $SSH_AUTH_SOCK") from error
    return running.wait(), out, err.decode("utf-8", "replace").strip()


def sign(name: str, data: bytes) -> bytes:
    """Sign some bytes with a name's key. Return the signature as git stores it. Raises CantSign."""
    code, out, words = run(["-Y", "sign", "-q", "-n", "git", "-f", path_of(name)], data)
    if code or not out.startswith(b"-----BEGIN SSH SIGNATURE-----"):
        raise CantSign(f"the key of {name} can't sign: {_last(words)}", hint=_hint(path_of(name), words))
    return out


def _last(words: str) -> str:
    lines = [line.strip() for line in words.splitlines() if line.strip("@ ")]
    return next((line for line in lines if "too open" in line), lines[-1] if lines else "ssh-keygen says nothing")


def _hint(path: str, words: str) -> str:
    if "too open" in words:
        return f"chmod 600 {path}"
    if "passphrase" in words:
        return f"ssh-add {path}, so that an ssh-agent holds it; bd never asks for a passphrase"
    return f"look at {path}; a machine that has no copy of the key needs one of its own: `bd identity init`"


def signed(data: bytes, signature: bytes) -> bytes:
    """Return a raw commit with its signature, as `git commit -S` writes it."""
    head, gap, message = data.partition(b"\n\n")
    return head + b"\n" + _HEADER + signature.rstrip(b"\n").replace(b"\n", b"\n ") + gap + message


def signer_of(by: str, standing: Standing | None, *, is_required: bool) -> Callable[[bytes], bytes]:
    """Return the function that signs commits for an author. Raises NoKey, NotAllowed: no commit beats an untrusted one."""
    name = signers.name_of(by.split(":", 1)[-1])
    key = public_key(name) if name else None
    if key is None:
        raise NoKey(name or by)
    if is_required and standing is not None and not standing.allows(name, key):
        raise NotAllowed(name)
    return lambda data: signed(data, sign(name, data))
