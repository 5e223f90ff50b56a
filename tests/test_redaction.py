"""What bd takes for a secret in the words of a command, and what it must not take for one."""

from __future__ import annotations

import base64
import hashlib
import random
import string
import uuid
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.redaction import found_in, is_secret_name, masked, masked_value, shown_url

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.one_in(3)

LETTERS = string.ascii_letters + string.digits
SEED = 20260221


def some(rng: random.Random, size: int, of: str = LETTERS) -> str:
    return "".join(rng.choice(of) for _ in range(size))


def key_lines(rng: random.Random, lines: int = 6) -> str:
    return "\n".join([*(some(rng, 64, LETTERS + "+/") for _ in range(lines)), some(rng, 21, LETTERS) + "="])


def url_safe(rng: random.Random, size: int) -> str:
    return base64.urlsafe_b64encode(rng.randbytes(size)).decode().rstrip("=")


# A way to make a secret of each kind.
PLANTED: dict[str, Callable[[random.Random], str]] = {
    "github": lambda rng: f"gh{rng.choice('pousr')}_{some(rng, 36)}",
    "github fine": lambda rng: f"github_pat_{some(rng, 22)}_{some(rng, 59)}",
    "gitlab": lambda rng: f"glpat-{some(rng, 20, LETTERS + '-_')}",
    "anthropic": lambda rng: f"sk-ant-api03-{some(rng, 93, LETTERS + '-_')}AA",
    "openai project": lambda rng: f"sk-proj-{some(rng, 48, LETTERS + '-_')}",
    "openai": lambda rng: f"sk-{some(rng, 10)}7T3BlbkFJ{some(rng, 20)}",
    "stripe": lambda rng: f"{rng.choice(['sk', 'rk'])}_live_{some(rng, 24)}",
    "slack": lambda rng: f"xox{rng.choice('bap')}-{rng.randrange(10**11)}-{some(rng, 24)}",
    "slack webhook": lambda rng: f"https://hooks.slack.com/services/T{some(rng, 8)}/B{some(rng, 8)}/{some(rng, 24)}",
    "aws": lambda rng: f"AKIA{some(rng, 16, string.ascii_uppercase + '234567')}",
    "google": lambda rng: f"AIza{some(rng, 35, LETTERS + '-_')}",
    "npm": lambda rng: f"npm_{some(rng, 36)}",
    "package index": lambda rng: f"pypi-AgEIcHlwaS5vcmc{some(rng, 60, LETTERS + '-_')}",
    "hugging face": lambda rng: f"hf_{some(rng, 34)}",
    "sendgrid": lambda rng: f"SG.{some(rng, 22)}.{some(rng, 43)}",
    "telegram": lambda rng: f"{rng.randrange(10**9, 10**10)}:AA{some(rng, 33)}",
    "vault": lambda rng: f"hvs.{some(rng, 24)}",
    "token": lambda rng: f"eyJ{url_safe(rng, 24)}.eyJ{url_safe(rng, 40)}.{url_safe(rng, 32)}",
    "private key": lambda rng: f"-----BEGIN RSA PRIVATE KEY-----\n{key_lines(rng)}\n-----END RSA PRIVATE KEY-----",
    "key as json": lambda rng: (
        "-----BEGIN PRIVATE KEY-----\\n" + key_lines(rng).replace("\n", "\\n") + "\\n-----END PRIVATE KEY-----\\n"
    ),
    "key without its head": lambda rng: f"{key_lines(rng)}\n-----END OPENSSH PRIVATE KEY-----",
    "key without its end": lambda rng: f"-----BEGIN EC PRIVATE KEY-----\n{key_lines(rng)}",
    "guarded key": lambda rng: (
        f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{some(rng, 32, '0123456789ABCDEF')}\n\n"
        f"{key_lines(rng)}\n-----END RSA PRIVATE KEY-----"
    ),
    "url": lambda rng: (
        f"{rng.choice(['https', 'postgres', 'redis', 'amqp', 'HTTP'])}://{rng.choice(['ada', '', 'x-token'])}:"
        f"{some(rng, 14, LETTERS + '@:!%')}9@db.example.org:5432/main"
    ),
}
WORDS = (
    "fixed the flaky proxy test merged as done after review see also bumped reverted because now passes on main risk task "
    "disk desk ask mask token tokens secret key password bearer authorization api rotated header basic private public BEGIN END"
).split()


def ordinary(rng: random.Random) -> str:
    """What closes beads: words, and whatever looks like a secret and is none."""
    near: list[Callable[[], str]] = [
        lambda: some(rng, 40, "0123456789abcdef"),
        lambda: some(rng, 64, "0123456789abcdef"),
        lambda: hashlib.sha256(rng.randbytes(8)).hexdigest()[:7],
        lambda: str(uuid.UUID(int=rng.getrandbits(128))),
        lambda: f"01{some(rng, 24, '0123456789ABCDEFGHJKMNPQRSTVWXYZ')}",
        lambda: (
            f"{rng.choice(['hub', 'sk', 'hf', 'gh', 'npm', 'task', 'risk'])}-{some(rng, 4, string.ascii_lowercase + string.digits)}"
        ),
        lambda: f"sha256-{base64.b64encode(rng.randbytes(32)).decode()}",
        lambda: f"sha512:{base64.b64encode(rng.randbytes(64)).decode()}",
        lambda: f"image@sha256:{some(rng, 64, '0123456789abcdef')}",
        lambda: f"https://example.org:{rng.randrange(1, 65536)}/x@{rng.randrange(9)}x.png?at=a:b@c",
        lambda: f"https://github.com/org/repo/pull/{rng.randrange(9999)}#issuecomment-{rng.randrange(10**9)}",
        lambda: f"git@github.com:org/{some(rng, 8)}.git",
        lambda: f"ssh://git@host.example:{rng.randrange(9999)}/srv/hub.git",
        lambda: "postgres://app:$PGPASSWORD@db/main and redis://:${REDIS}@cache and https://ada:***@host/",
        lambda: f"ada.{some(rng, 5)}@example.org",
        lambda: f"refs/heads/agents/{some(rng, 6)} at {some(rng, 12, '0123456789abcdef')}",
        lambda: f"v{rng.randrange(9)}.{rng.randrange(99)}.{rng.randrange(99)}-rc.{rng.randrange(9)}",
        lambda: rng.choice(
            ["npm_config_cache", "npm_lifecycle_event", "hf_hub_download", "sk-learn", "task-force", "pypi-server"]
        ),
        lambda: rng.choice(["the ghp_ prefix", "keys such as sk_live_...", "AKIA", "eyJ", "xoxb-", "hvs.", "glpat-", "AIza"]),
        lambda: "files that begin with -----BEGIN RSA PRIVATE KEY----- are refused, -----END PRIVATE KEY----- too",
        lambda: f"-----BEGIN CERTIFICATE-----\n{key_lines(rng, 2)}\n-----END CERTIFICATE-----",
        lambda: f"-----BEGIN PUBLIC KEY-----\n{key_lines(rng, 2)}\n-----END PUBLIC KEY-----",
        lambda: f"ssh-ed25519 {base64.b64encode(rng.randbytes(51)).decode()} ada@host",
        lambda: f"/home/ada/{some(rng, 8)}/.venv/lib/python3.11/site-packages/{some(rng, 9)}.py:{rng.randrange(999)}",
        lambda: "".join(word.capitalize() for word in rng.sample(WORDS, 4)) + "Error",
        lambda: f"API_KEY is unset; exit code {rng.randrange(256)} after {rng.random():.3f}s at 12:{rng.randrange(60):02}:AA",
        lambda: f"0x{some(rng, 16, '0123456789abcdef')} {rng.randrange(10**12)}",
        lambda: f"data:image/png;base64,{base64.b64encode(rng.randbytes(90)).decode()}",
    ]
    parts = [*rng.choices(WORDS, k=rng.randrange(2, 12)), *(rng.choice(near)() for _ in range(rng.randrange(3)))]
    rng.shuffle(parts)
    return rng.choice([" ", " ", " ", "\n", ", "]).join(parts)


# Some of the variables that a machine of a fleet has; their values stand in ordinary texts, too.
ENVIRONMENT = {
    "HOME": "/home/ada",
    "PWD": "/home/ada/work",
    "SSH_AUTH_SOCK": "/tmp/ssh-agent/agent.1",
    "TOKENIZERS_PARALLELISM": "disabled",
    "PASSWORD_STORE_DIR": "/home/ada",
    "SECRET_BACKEND": "kubernetes",
    "MAX_TOKENS": "100000000",
    "KEYBOARD": "us-intl-dead",
    "GIT_ASKPASS": "/usr/bin/askpass",
    "API_KEY": "short",
    "BD_TOKEN": "01KB6ZZZZZZZZZZZZZZZZZZZA1",
}


def test_ordinary_words_stay_as_they_are() -> None:
    rng = random.Random(SEED)
    for _ in range(10_000):
        text = ordinary(rng)
        assert masked(text, ENVIRONMENT) == text


def test_every_planted_secret_is_taken_out() -> None:
    rng = random.Random(SEED)
    for number in range(200):
        name = [*PLANTED][number % len(PLANTED)]
        secret = PLANTED[name](rng)
        before, behind = ordinary(rng), ordinary(rng)
        quote, end = rng.choice([("", ""), ('"', '"'), ("'", "'"), ("=", ""), (": ", ","), ("(", ")"), ("`", "`")])
        text = masked(f"{before} {quote}{secret}{end} {behind}", ENVIRONMENT)
        assert "[redacted" in text, (name, secret)
        assert text.startswith(before), name
        assert text.endswith(behind), name
        for part in (secret[place : place + 12] for place in range(len(secret) - 12)):
            users = [f"{secret.partition('://')[0]}://{user}:" for user in ("ada", "", "x-token")]
            is_no_secret = any(part in one for one in (before, behind, *users, "@db.example.org:5432/main"))
            assert is_no_secret or part not in text, (name, part, text)


@given(st.text(max_size=200) | st.sampled_from(sorted(PLANTED)).map(lambda name: PLANTED[name](random.Random(1))))
def test_what_is_masked_stays_as_it_is(text: str) -> None:
    once = masked(text, {})
    assert masked(once, {}) == once
    assert bool(found_in(text, {})) == (once != text)


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        *(
            (name, True)
            for name in "API_KEY GITHUB_TOKEN DB_PASSWORD AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID PGPASSWORD MYSQL_PWD".split()
        ),
        *((name, True) for name in "SECRET_KEY_BASE hf_token OPENAI_API_KEY_2 GITHUBTOKEN APIKEY CI_JOB_TOKEN SMTP_PASS".split()),
        *(
            (name, False)
            for name in "PWD OLDPWD HOME SSH_AUTH_SOCK MAX_TOKENS TOKENIZERS_PARALLELISM GIT_ASKPASS BD_TOKEN".split()
        ),
        *(
            (name, False)
            for name in "PASSWORD_FILE SSH_KEY_PATH TOKEN_URL SECRET_NAME KEYBOARD MONKEY PATH COMPASS PATTERN".split()
        ),
    ],
)
def test_which_variables_are_secret(name: str, is_secret: bool) -> None:
    assert is_secret_name(name) is is_secret


@given(st.text(alphabet=LETTERS + " -_/+=.$\\\"'", min_size=8, max_size=40).map(str.strip).filter(lambda text: len(text) >= 8))
def test_the_value_of_a_secret_variable_is_taken_out_wherever_it_stands(value: str) -> None:
    for text in (value, f"failed for {value}!", f"x{value}y", f"{value}{value}"):
        assert value not in masked(text, {"DEPLOY_TOKEN": value}).replace("[redacted DEPLOY_TOKEN]", "")
    assert masked("nothing of it", {"DEPLOY_TOKEN": value}).startswith("nothing")


def test_short_values_and_parts_of_longer_ones() -> None:
    assert masked("say short", {"API_KEY": "short12"}) == "say short"
    both = {"A_TOKEN": "abcdefgh", "B_TOKEN": "abcdefghijkl"}
    assert masked("abcdefghijkl abcdefgh", both) == "[redacted B_TOKEN] [redacted A_TOKEN]"


def test_a_json_value_is_masked_in_its_texts_alone() -> None:
    secret = PLANTED["github"](random.Random(1))
    value = {"a": [secret, 1, None, True, {secret: f"x {secret}"}], "n": 1.5}
    assert masked_value(value, {}) == {
        "a": ["[redacted GitHub token]", 1, None, True, {secret: "x [redacted GitHub token]"}],
        "n": 1.5,
    }


@pytest.mark.parametrize(
    "text",
    [
        "a+" * 60_000 + "://x",
        "sk-" + "a1" * 60_000 + "_",
        "eyJ" * 40_000,
        "u:" * 40_000 + "://" + "x:" * 40_000,
        ("A" * 64 + "\n") * 2000 + "?-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----" * 4000,
        "-----BEGIN PRIVATE KEY-----\n" + "A" * 40 + " a" * 40_000,
        "Aa: " * 30_000 + "-----END PRIVATE KEY-----" * 500,
    ],
    ids=range(8),
)
def test_no_text_keeps_it_busy(text: str) -> None:
    """One that did would be the test's end."""
    masked(text, {})


def test_an_address_is_shown_without_a_token_in_the_place_of_a_user() -> None:
    token = PLANTED["github"](random.Random(1))
    assert shown_url(f"https://{token}@example.org/x") == "https://[redacted GitHub token]@example.org/x"
    assert shown_url(f"https://{token}:x-oauth-basic@example.org/x") == "https://[redacted GitHub token]@example.org/x"
    assert shown_url(f"ext::https://ada:{token}@x") == "ext::https://ada:[redacted]@x"
    assert shown_url("https://ada:pw@example.org/x") == "https://ada@example.org/x"
