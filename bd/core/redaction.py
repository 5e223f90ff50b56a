"""Secrets in texts: found by their structure or as values of environment variables, and masked.

Belongs here: what a secret looks like. There are no entropy rules, so commits, ids and checksums stay unchanged.
Does not belong here: which texts are searched.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import urls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

_MOST_TYPED = 1_000_000
# Shorter values of variables are too much like words.
LEAST = 8
# A variable is secret if a part of its name says so, unless the last part says that the value is something else.
_SECRET_PARTS = frozenset(
    "KEY PASS PWD PASSWD PASSWORD PASSPHRASE PAT TOKEN SECRET SECRETS CREDENTIAL CREDENTIALS APIKEY".split()
)
_SECRET_WORDS = ("SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "ACCESSKEY", "PRIVATEKEY")
_OTHERWISE = frozenset(
    "FILE PATH DIR DIRECTORY FOLDER HOME SOCK SOCKET URL URI ENDPOINT HOST PORT NAME USER USERNAME TYPE MODE BACKEND PROVIDER "
    "ALGORITHM FORMAT TTL EXPIRY EXPIRES TIMEOUT LENGTH SIZE LIMIT COUNT STORE REGION PROGRAM COMMAND HELPER".split()
)
# A claim's token (BD_TOKEN) is in the hub, for everybody to read.
_NOT_SECRET = frozenset({"BD_TOKEN", "PWD", "OLDPWD"})

# Kind, prefix, the characters that follow it, and how many at least.
_WORD, _DASHED, _DOTTED = "A-Za-z0-9", "A-Za-z0-9_-", "A-Za-z0-9._-"
_PREFIXES: tuple[tuple[str, str, str, int], ...] = (
    ("GitHub token", "ghp_", _WORD, 30),
    ("GitHub token", "gho_", _WORD, 30),
    ("GitHub token", "ghu_", _WORD, 30),
    ("GitHub token", "ghs_", _WORD, 30),
    ("GitHub token", "ghr_", _WORD, 30),
    ("GitHub token", "github_pat_", "A-Za-z0-9_", 22),
    *(("GitLab token", f"gl{kind}-", _DOTTED, 20) for kind in "pat oas dt rt rtr cbt ptt ft imt agent soat ffct".split()),
    ("Anthropic key", "sk-ant-", _DASHED, 16),
    *(("OpenAI key", f"sk-{kind}-", _DASHED, 16) for kind in ("proj", "svcacct", "admin")),
    ("OpenRouter key", "sk-or-", _DASHED, 16),
    *(("Stripe key", f"{kind}_{mode}_", _WORD, 16) for kind in ("sk", "rk") for mode in ("live", "test")),
    ("webhook secret", "whsec_", "A-Za-z0-9+/=", 20),
    *(("Slack token", f"xox{kind}-", _DASHED, 10) for kind in "abceoprs"),
    ("Slack token", "xapp-", _DASHED, 20),
    ("Slack webhook", "hooks.slack.com/services/", "A-Za-z0-9/", 20),
    ("Google key", "AIza", _DASHED, 35),
    ("Google token", "ya29.", _DOTTED, 20),
    ("Google secret", "GOCSPX-", _DASHED, 20),
    ("npm token", "npm_", _WORD, 36),
    ("package index token", "pypi-Ag", _DASHED, 16),
    ("Hugging Face token", "hf_", _WORD, 30),
    ("Docker token", "dckr_pat_", _DASHED, 20),
    ("Docker token", "dckr_oat_", _DASHED, 20),
    *(("DigitalOcean token", f"do{kind}_v1_", "a-f0-9", 40) for kind in "opr"),
    ("Atlassian token", "ATATT3", "A-Za-z0-9_=-", 50),
    ("Databricks token", "dapi", "a-f0-9", 32),
    *(("Shopify token", f"shp{kind}_", "A-Fa-f0-9", 32) for kind in ("at", "ca", "pa", "ss")),
    ("Linear key", "lin_api_", _WORD, 30),
    ("Vault token", "hvs.", _DASHED, 20),
    ("Vault token", "hvb.", _DASHED, 20),
    ("age key", "AGE-SECRET-KEY-1", "0-9A-Z", 50),
    ("Doppler token", "dp.pt.", _WORD, 30),
    ("Grafana token", "glsa_", "A-Za-z0-9_", 30),
    ("Grafana token", "glc_", "A-Za-z0-9+/=", 30),
    ("Replicate token", "r8_", _WORD, 37),
    ("Groq key", "gsk_", _WORD, 30),
    ("xAI key", "xai-", _WORD, 40),
    ("Perplexity key", "pplx-", _WORD, 40),
    ("Notion token", "ntn_", _WORD, 40),
    ("Tailscale key", "tskey-", _DASHED, 16),
    ("Sentry token", "sntrys_", "A-Za-z0-9+/=_", 40),
    ("Sentry token", "sntryu_", "A-Za-z0-9+/=_", 40),
    ("Postman key", "PMAK-", _DASHED, 40),
    ("RubyGems key", "rubygems_", "a-f0-9", 40),
    ("Supabase key", "sbp_", "a-f0-9", 40),
    ("Supabase key", "sb_secret_", _DASHED, 20),
    *(("PlanetScale token", f"pscale_{kind}_", _DOTTED, 20) for kind in ("tkn", "pw", "oauth")),
    ("Netlify token", "nfp_", _WORD, 30),
    ("Figma token", "figd_", _DASHED, 30),
    ("storage key", "AccountKey=", "A-Za-z0-9+/=", 60),
)


class Kind(NamedTuple):
    """A kind of secret. Every text that holds one contains `mark`; `put` returns the replacement of a match."""

    name: str
    mark: str
    pattern: str
    put: Callable[[re.Match[str]], str] | None = None


def _kept_user(match: re.Match[str]) -> str:
    """Return the URL without its password; a placeholder such as `$PASSWORD` stays."""
    url = urls.parsed(f"{match[0]}host")
    if url is None or not url.password or re.fullmatch(r"\$.*|\{.*|%[a-z]|\*+|\[redacted\]", url.password):
        return match[0]
    return f"{match[1]}{url.user}:[redacted]@"


# A private key has a head, lines, and a foot. Lines are separated by line breaks, or by `\n` as in JSON.
_HEAD = r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_FOOT = r"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_WHOLE_KEY = rf"{_HEAD}(?=(?:(?!-----)[\s\S])*?[A-Za-z0-9+/=]{{16}})(?:(?!-----)[\s\S])*{_FOOT}"
_BREAK = r"[ \t\"',|>]*(?:\r?\n|\\r|\\n)[ \t\"',|>]*"
_KEY_WITHOUT_FOOT = rf"{_HEAD}(?:(?:{_BREAK})+(?:[A-Z][A-Za-z-]+: [^\n\\]*|[A-Za-z0-9+/=]{{16,}}))+(?:{_BREAK}[A-Za-z0-9+/=]{{1,15}}(?![^\s\\\"']))?"
_LINE, _BETWEEN_LINES, _MOST_SHORT_LINES = r"[A-Za-z0-9+/=]+", frozenset("\\\"',|> \t\r\n"), 3
_LONGEST_KEY, _SHORTEST_LINE = 20_000, 16
_KINDS: tuple[Kind, ...] = (
    Kind("private key", "PRIVATE KEY", _WHOLE_KEY),
    Kind("private key", "PRIVATE KEY", _KEY_WITHOUT_FOOT),
    Kind("password", "://", r"([A-Za-z][A-Za-z0-9+.-]{0,30}://)[^\s/?#\"<>`]+@", _kept_user),
    *(Kind(name, mark, rf"(?<![A-Za-z0-9]){re.escape(mark)}[{of}]{{{least},}}") for name, mark, of, least in _PREFIXES),
    Kind("API key", "sk-", r"(?<![A-Za-z0-9_-])sk-(?=[A-Za-z]*[0-9])[A-Za-z0-9]{20,}(?![A-Za-z0-9_-])"),
    *(
        Kind("AWS key", mark, rf"(?<![A-Za-z0-9]){mark}[A-Z2-7]{{16}}(?![A-Za-z0-9])")
        for mark in ("AKIA", "ASIA", "ABIA", "ACCA")
    ),
    Kind("SendGrid key", "SG.", r"(?<![A-Za-z0-9])SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    Kind("Telegram token", ":AA", r"(?<![A-Za-z0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    Kind(
        "JSON web token", "eyJ", r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*"
    ),
)


def masked(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the text with each secret replaced by `[redacted KIND]`."""
    *_, (_, last) = _steps(text, environment)
    return last


def found_in(text: str, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the kinds of secrets in a text, and the names of the variables whose values are in it."""
    return list(dict.fromkeys(name for name, _ in _steps(text, environment) if name))


def masked_value(value: Any, environment: Mapping[str, str] = os.environ) -> Any:
    """Return a JSON value with all its texts masked; keys stay unchanged."""
    if isinstance(value, str):
        return masked(value, environment)
    if isinstance(value, dict):
        return {key: masked_value(one, environment) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked_value(one, environment) for one in value]
    return value


def shown_url(url: str) -> str:
    """Return an address for display: without its password, and without a token in place of the user."""
    return masked(urls.without_password(url), {})


def texts_of(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value, without keys, up to `_MOST_TYPED` characters: nobody types more."""
    left = _MOST_TYPED
    rest = [value]
    while rest and left > 0:
        one = rest.pop()
        if isinstance(one, str):
            left -= len(one)
            yield one
        elif isinstance(one, dict):
            rest += one.values()
        elif isinstance(one, (list, tuple)):
            rest += one


def _steps(text: str, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield ("", text), then the kind and the masked text for each kind of secret that is found."""
    yield "", text
    for name, value in _named(environment):
        if value in text:
            text = text.replace(value, f"[redacted {name}]")
            yield name, text
    for kind in _KINDS:
        if kind.mark not in text:
            continue
        put = f"[redacted {kind.name}]"
        after = re.sub(kind.pattern, kind.put or (lambda _, put=put: put), text)  # type: ignore[misc]
        if after != text:
            text = after
            yield kind.name, text
    if (after := _without_headless_keys(text)) != text:
        yield "private key", after


def _without_headless_keys(text: str) -> str:
    """Return the text with private keys masked whose first lines are missing: the search goes backwards from each last line."""
    if "-----END " not in text:
        return text
    parts, place, first = [], 0, 0
    for foot in re.finditer(_FOOT, text):
        start = _start_of_key(text, max(first, foot.start() - _LONGEST_KEY), foot.start())
        first = foot.end()
        if start < foot.start():
            parts += [text[place:start], "[redacted private key]"]
            place = foot.end()
    return "".join([*parts, text[place:]])


def _start_of_key(text: str, first: int, end: int) -> int:
    """Return where the lines of a key begin that ends at `end`, at least `first`; `end` if there are none."""
    start, place, short = end, end, 0
    for line in reversed(list(re.compile(_LINE).finditer(text, first, end))):
        short += len(line[0]) < _SHORTEST_LINE
        between = text[line.end() : place]
        is_below = place == end or "\n" in between or "\\" in between
        if short > _MOST_SHORT_LINES or not is_below or not _BETWEEN_LINES.issuperset(between):
            break
        place = line.start()
        start = place if len(line[0]) >= _SHORTEST_LINE else start
    return start


def _named(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the variables with secret names, the longest values first: one may be part of another."""
    named = [(name, value.strip()) for name, value in environment.items() if is_secret_name(name)]
    return sorted((one for one in named if len(one[1]) >= LEAST), key=lambda one: -len(one[1]))


def is_secret_name(name: str) -> bool:
    """Return whether a variable of this name holds a secret rather than something about one."""
    word = name.upper()
    parts = word.split("_")
    if word in _NOT_SECRET or parts[-1] in _OTHERWISE:
        return False
    return any(part in _SECRET_PARTS or part.endswith("TOKEN") for part in parts) or any(one in word for one in _SECRET_WORDS)
