"""The flags of create and update for how a bead is worked on: its maps `spec`, `retry` and `output`.

This module declares and reads them. Operations store them; flags for plain fields are elsewhere.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import Option, list_option, real_number
from bd.cli.values import flat, text_argument, text_of
from bd.core.errors import BadInput
from bd.core.nearest import nearest
from bd.core.schema import RETRY_KEYS
from bd.core.times import duration_s
from bd.policy.retry import STRATEGIES
from bd.policy.validation import NONE, parse_check

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

WORK_OPTIONS = (
    Option("--prompt", help="The prompt that `work --prompt` passes to the command; - reads stdin."),
    list_option("--context", help="The context: task:ID:output, artifact:REF, NAME=REFERENCE."),
    list_option("--models", help="The models to use, the preferred one first."),
    list_option("--fallback-models", help="The models for later attempts."),
    Option("--max-duration", help="The maximum duration of an attempt, such as 30m; then it is ended."),
    Option("--max-cost", kind=real_number(0), metavar="USD", help="The maximum cost of an attempt; a claim reserves it."),
    Option("--retry", multiple=True, metavar="KEY=VALUE", help="How it is retried: fixed, max_delay=1m, retry_on=timeout ..."),
    Option(
        "--validation",
        metavar="KIND[:RULE]",
        help="The check that its output has to pass: regex:^ok, json-schema:@FILE, test-pass ...",
    ),
)


def maps_of(flags: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return a bead's maps as far as they were typed; a value that was typed as empty is None. Raises BadInput."""
    spec: dict[str, Any] = {}
    _put(spec, "prompt", flags.get("prompt"), lambda text: text_argument(text, None, "prompt"))
    for flag, key in (("context", "context_refs"), ("models", "model_preferences"), ("fallback_models", "fallback_models")):
        if flags.get(flag):
            spec[key] = flat(flags[flag]) or None
    _put(spec, "max_duration", flags.get("max_duration"), _duration)
    if flags.get("max_cost") is not None:
        spec["max_cost_usd"] = flags["max_cost"]
    found = {"spec": spec, "retry": _retry(flags.get("retry") or ()), "output": _validation(flags.get("validation"))}
    return {key: value for key, value in found.items() if value}


def _put(into: dict[str, Any], key: str, text: str | None, read: Callable[[str], Any]) -> None:
    if text is not None:
        into[key] = read(text) if text else None


def _duration(text: str) -> str:
    duration_s(text)
    return text


def _retry(words: tuple[str, ...]) -> dict[str, Any]:
    """Return the keys of the `retry` map. An empty word removes all of them; a word without `=` is a strategy."""
    found: dict[str, Any] = {}
    if words:
        from bd.policy.hub_settings import setting_of  # noqa: PLC0415  few beads say how they are tried again
    for word in words:
        key, equals, text = word.partition("=")
        if not word:
            found.update(dict.fromkeys(RETRY_KEYS))
        elif not equals and word in STRATEGIES:
            found["strategy"] = word
        elif key not in RETRY_KEYS:
            meant = nearest(key, (*RETRY_KEYS, *(() if equals else STRATEGIES)))
            known = f"{', '.join(STRATEGIES)}, or KEY=VALUE with {', '.join(RETRY_KEYS)}"
            refusal = f"--retry: unknown value {word!r}; expected one of {known}"
            raise BadInput(refusal, hint=f"did you mean {meant}?" if meant else None)
        else:
            found[key] = setting_of(f"defaults.retry.{key}").read(text) if text else None
    return found


def _validation(text: str | None) -> dict[str, Any]:
    """Return the check and its rule for the `output` map. An empty text or `none` removes both."""
    if text is None:
        return {}
    kind, rule = parse_check(text, "--validation")
    if kind == NONE:
        return {"validation": None, "validation_schema": None}
    return {"validation": kind, "validation_schema": (text_of(rule[1:], "the schema") if rule.startswith("@") else rule) or None}


def without_unset(maps: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the maps of a new bead, without the values that were typed as empty."""
    kept = {key: {name: item for name, item in value.items() if item is not None} for key, value in maps.items()}
    return {key: value for key, value in kept.items() if value}
