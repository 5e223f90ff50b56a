"""Webhook signatures: checks that a delivery comes from a holder of the secret, and how to recognize replays. Pure functions.

| forge | what proves it |
| --- | --- |
| github | `X-Hub-Signature-256`: HMAC-SHA256 of the body |
| gitea, Forgejo | `X-Forgejo-Signature` or `X-Gitea-Signature`: the same |
| gitlab | `webhook-signature` over id, time and body if the secret is a signing token (`whsec_…`), else `X-Gitlab-Token` |

Nothing is parsed before it is verified. Every comparison takes constant time.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import NamedTuple

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SIGNING = "whsec_"
# The allowed clock skew of a signed time.
SKEW_S = 300.0
_ID_LIMIT = 200
_SIGNATURES = 8


class Forged(Exception):
    """A delivery that could not be verified; the message says why, without revealing anything of the secret."""


class Delivery(NamedTuple):
    """A verified delivery: the event's name in the forge's words ("" if the body has it), its id, and the digest of its body."""

    forge: str
    event: str
    id: str
    digest: str


def delivery_of(forge: str, headers: Mapping[str, str], body: bytes, secret: str, now_s: float) -> Delivery:
    """Verify a delivery and return it. Raises Forged."""
    _PROOFS[forge](headers, body, secret, now_s)
    event, name = _NAMES[forge]
    given = next((headers[one] for one in name if headers.get(one)), "")
    if not 0 < len(given) <= _ID_LIMIT or not given.isascii() or not given.isprintable():
        raise Forged(f"no {name[0]}, which is needed to detect replays")
    return Delivery(forge, headers.get(event, ""), given, hashlib.sha256(body).hexdigest()[:32])


def _github(headers: Mapping[str, str], body: bytes, secret: str, now_s: float) -> None:
    given = headers.get("x-hub-signature-256", "")
    if not given.startswith("sha256="):
        raise Forged("no X-Hub-Signature-256: set a secret for the webhook")
    _same(given.removeprefix("sha256="), _hex(body, secret))


def _gitea(headers: Mapping[str, str], body: bytes, secret: str, now_s: float) -> None:
    given = headers.get("x-forgejo-signature") or headers.get("x-gitea-signature", "")
    if not given:
        raise Forged("no X-Gitea-Signature: set a secret for the webhook")
    _same(given, _hex(body, secret))


def _gitlab(headers: Mapping[str, str], body: bytes, secret: str, now_s: float) -> None:
    if not secret.startswith(SIGNING):
        if not headers.get("x-gitlab-token"):
            raise Forged("no X-Gitlab-Token: set a secret token for the webhook")
        _same(headers["x-gitlab-token"], secret)
        return
    said, stamp = headers.get("webhook-signature", ""), headers.get("webhook-timestamp", "")
    if not said or not headers.get("webhook-id"):
        raise Forged("no webhook-signature: give the webhook the same signing token")
    if not stamp.isdigit() or len(stamp) > 12 or abs(int(stamp) - now_s) > SKEW_S:
        raise Forged("its time is not now: an old delivery, or a clock that is wrong")
    try:
        key = base64.b64decode(secret.removeprefix(SIGNING), validate=True)
    except (ValueError, binascii.Error):
        raise Forged("the signing token here is not whsec_ and base64") from None
    signed = b".".join((headers["webhook-id"].encode("utf-8", "replace"), stamp.encode(), body))
    right = "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    if not any(_is_same(one, right) for one in said.split()[:_SIGNATURES]):
        raise Forged("the signature is wrong")


def _hex(body: bytes, secret: str) -> str:
    return hmac.digest(secret.encode(), body, "sha256").hex()


def _same(given: str, right: str) -> None:
    if not _is_same(given, right):
        raise Forged("the signature is wrong")


def _is_same(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), right.encode())


_PROOFS = {"github": _github, "gitea": _gitea, "gitlab": _gitlab}
# The headers with the event's name and with the delivery's id, by forge.
_NAMES = {
    "github": ("x-github-event", ("x-github-delivery",)),
    "gitea": ("x-gitea-event", ("x-gitea-delivery", "x-forgejo-delivery")),
    "gitlab": ("", ("webhook-id", "idempotency-key", "x-gitlab-event-uuid")),
}
