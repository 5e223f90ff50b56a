"""Errors of the programs' providers: whose fault an error is, from codes where there are any, else from its words.

Belongs here: the words that Claude Code 2.1, Codex CLI 0.155 and Gemini CLI 0.65, and the APIs behind them, use for errors. Does not
belong here: what a kind means for a bead or an agent.
"""

from __future__ import annotations

import re
from typing import Any

# HTTP status codes, as numbers in structured output.
OF_STATUS = {
    401: "auth_failure",
    402: "quota",
    403: "auth_failure",
    408: "provider_error",
    429: "rate_limit",
    500: "provider_error",
    502: "provider_error",
    503: "overloaded",
    504: "provider_error",
    529: "overloaded",
}
# Names of errors, as words of their own in structured output.
OF_NAME = {
    "authentication_failed": "auth_failure",
    "authentication_error": "auth_failure",
    "permission_error": "auth_failure",
    "oauth_org_not_allowed": "auth_failure",
    "billing_error": "quota",
    "insufficient_quota": "quota",
    "rate_limit": "rate_limit",
    "rate_limit_error": "rate_limit",
    "usage_limit_reached": "rate_limit",
    "resource_exhausted": "rate_limit",
    "overloaded": "overloaded",
    "overloaded_error": "overloaded",
    "unavailable": "overloaded",
    "server_error": "provider_error",
    "api_error": "provider_error",
    "timeout_error": "provider_error",
}
# Words in messages for people, as patterns. The first kind that fits decides.
_WORDS: dict[str, tuple[str, ...]] = {
    "quota": (
        r"credit balance",
        r"insufficient[ _]quota",
        r"exceeded your current quota",
        r"check your plan and billing",
        r"billing (error|hard limit)",
        r"out of credits",
        r"payment required",
        r"spend(ing)? limit",
    ),
    "auth_failure": (
        r"invalid (x-)?api[ -]?key",
        r"incorrect api key",
        r"api key (not valid|is missing|expired)",
        r"please run /login",
        r"not logged in",
        r"token (has )?(expired|been revoked|revoked)",
        r"authentication[ _](error|failed)",
        r"failed to authenticate",
        r"set an auth method",
        r"\b(http|status|error|code)[ :]*(401|403)\b",
        r"\b(401|403) (unauthorized|forbidden)",
    ),
    "overloaded": (
        r"overloaded",
        r"at capacity",
        r"temporarily limiting requests",
        r"high demand",
        r"service unavailable",
        r"\b(http|status|error|code)[ :]*(503|529)\b",
    ),
    "rate_limit": (
        r"hit your .{0,30}limit",
        r"usage limit",
        r"rate[ _-]?limit",
        r"too many requests",
        r"limit reached",
        r"resource[ _]exhausted",
        r"quota exceeded",
        r"\b(http|status|error|code|rejected)[ :(]*429\b",
    ),
    "provider_error": (
        r"\b(http|status|error|code)[ :]*(500|502|504)\b",
        r"internal server error",
        r"bad gateway",
        r"gateway time-?out",
        r"stream disconnected",
        r"connection (error|reset|refused|closed)",
        r"econnreset|econnrefused|etimedout|enotfound",
        r"fetch failed",
        r"network error",
        r"unable to connect to api",
        r"request timed out",
        r"socket hang up",
    ),
}
_PATTERNS = {kind: re.compile("|".join(words), re.IGNORECASE) for kind, words in _WORDS.items()}
_SEARCHED = 4000


def kind_of_error(text: str, *codes: Any) -> str:
    """Return the kind of an error, from statuses and names of errors in `codes`, else from its text; "" if none is known."""
    for code in codes:
        kind = OF_STATUS.get(code) if isinstance(code, int) else OF_NAME.get(str(code).lower()) if code else None
        if kind:
            return kind
    text = text[-_SEARCHED:]
    return next((kind for kind, pattern in _PATTERNS.items() if pattern.search(text)), "")
