"""bd agent: add, list, show, roles, status, remove, rename, clear, wake. agent_view.py prints them."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.commands.agent_view import show_one, show_roles, show_table
from bd.cli.spec import AGENT, Argument, Command, Flag, Group, Option, list_option, one_of, real_number, whole_number
from bd.cli.values import flat
from bd.coding_agents import known
from bd.core.errors import BadInput
from bd.core.nearest import SIMILAR, nearest
from bd.operations.agents import AddAgent, ClearAgent, RemoveAgent, RenameAgent, WakeAgent, known_agent
from bd.policy.roles import ROLES
from bd.report.agents import names_of
from bd.store.trust import agent_cards
from bd.worker.heartbeats import forget

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App


_FIELDS = {
    "role": "role",
    "version": "version",
    "interval": "interval",
    "limit": "max_concurrent",
    "capabilities": "capabilities",
    "models": "models_available",
    "cool_down": "cool_down",
    "claim_ttl": "claim_ttl",
    "heartbeat": "heartbeat_interval",
    "start": "start",
    "fallback": "fallback",
    "program": "with",
    "account": "account",
}
_RULES = {"words": "title_words", "prefixes": "title_prefix", "labels": "labels", "types": "types"}


ADD = Command(
    "add",
    Argument("name", kind=AGENT),
    Option("--role", help=f"{', '.join(ROLES)}, or your own; `bd agent roles` shows what each brings."),
    Option("--interval", help="Its poll interval, such as 30m."),
    Option("--max", name="limit", kind=whole_number(1), help="How many beads it may hold at once; default: 1."),
    list_option("--skills", "--title-word", name="words", help="Takes beads with these words in the title."),
    list_option("--title-prefix", name="prefixes", help="Takes beads whose title starts with this, such as Research:."),
    list_option("--label", name="labels", help="Takes beads with these labels; infra/* includes all below."),
    list_option("--type", name="types", help="Takes beads of these types."),
    list_option("--capability", name="capabilities", help="Capabilities that it has."),
    list_option("--model", name="models", help="Models it can use."),
    Option("--agent-version", name="version", help="Its version, for people only."),
    Option(
        "--with", name="program", metavar="NAME", help="The coding agent that `bd work` starts for it: claude, codex, gemini."
    ),
    Option("--cool-down", help="How long it rests after each bead."),
    Option("--claim-ttl", help="How long a bead that it reserved may wait to be started; default: the hub's."),
    Option("--start", help="What `bd pool run` runs to keep it on, if it is no pool."),
    Option("--heartbeat", help="The interval of its heartbeats while it works; default: the hub's."),
    Flag("--fallback", off="--no-fallback", default=None, help="Takes beads that nobody has taken for two cycles."),
    Option("--account", help="The provider's account that it works on; agents of one account rest together."),
    Option("--budget", kind=real_number(0), help="Its budget in US dollars."),
    Option("--budget-per", kind=one_of(*("day", "month", "total")), help="The budget's period; default: in total."),
    help="""Add an agent, or change the given fields of one.

    A role brings skills and an interval; explicit values override them. A list replaces the list that was
    there, an empty value unsets it. Skills: any rule may match; without rules it takes everything. A new one
    gets what its identity on this machine declares (bd identity).
    """,
    examples=[
        "bd agent add codemonkey --role coding --max 2",
        "bd agent add codemonkey --interval 15m --capability git,python    changes only these",
        'bd agent add scribe --title-prefix "Publish:" --label "site/*" --cool-down 5m',
    ],
)


def add(app: App, name: str, **flags: Any) -> None:
    """Add an agent, or change the given fields of one."""
    lists = {flag: flat(value) if value else None for flag, value in flags.items() if isinstance(value, tuple)}
    given = {**flags, **lists}
    if given["program"]:
        known.known_agent(given["program"])
    fields = {
        key: given[flag] or (None if given[flag] in ("", []) else given[flag])
        for flag, key in _FIELDS.items()
        if given[flag] is not None
    }
    if flags["budget"] is not None and flags["budget_per"]:
        fields.update({"budget": {"usd": flags["budget"], "per": flags["budget_per"]}, "budget_usd": None})
    elif flags["budget"] is not None:
        fields.update({"budget_usd": flags["budget"], "budget": None})
    elif flags["budget_per"]:
        raise BadInput("--budget-per without --budget", hint="bd agent add NAME --budget 5 --budget-per day")
    skills = {rule: given[flag] for flag, rule in _RULES.items() if given[flag] is not None}
    was_there = app.snapshot().agent(name) is not None
    if not was_there:
        fields = {**{key: value for key, value in agent_cards.read(name).items() if key not in fields}, **fields}
    outcome = app.publish(AddAgent(**app.asked(agent=name, fields=fields, **({"skills": skills} if skills else {}))))
    if app.out.is_json:
        app.out.object({**(outcome.change.result if outcome.change else {}), "published": outcome.published})
        return
    is_new = outcome.change is not None and not outcome.change.is_empty
    app.out.said(f"✓ {'Changed' if was_there else 'Added'} agent {name}" if is_new else f"Agent {name} is unchanged")
    _say_own_role(app, fields.get("role"))


def _say_own_role(app: App, role: str | None) -> None:
    """Say that a role that bd does not know brings nothing, and which one may be meant."""
    if role and role not in ROLES:
        meant = nearest(role, ROLES, SIMILAR)
        words = f"; did you mean {meant}?" if meant else "; `bd agent roles` shows those that do"
        app.out.note(f"the role {role!r} is your own: it brings no skills and no interval{words}")


LIST_ALL = Command(
    "list",
    help="List every agent with its status, as this clone last heard of it.",
    examples=["bd agent list"],
)


def list_all(app: App) -> None:
    """List every agent with its status, as this clone last heard of it."""
    snapshot = app.snapshot()
    show_table(app, snapshot, names_of(snapshot))


STATUS = Command(
    "status",
    Argument("name", required=False, kind=AGENT),
    help="Show how agents are doing now: beads, last heartbeat, next poll. Fetches first.",
    examples=["bd agent status", "bd agent status codemonkey --json"],
)


def status(app: App, name: str | None) -> None:
    """Show how agents are doing now: beads, last heartbeat, next poll. Fetches first."""
    snapshot = app.snapshot(fetch=True)
    show_table(app, snapshot, [known_agent(name, snapshot)] if name else names_of(snapshot))


SHOW = Command(
    "show",
    Argument("name", kind=AGENT),
    help="Show an agent's file, with its role's presets for what is unset, and its status.",
    examples=["bd agent show codemonkey"],
)


def show(app: App, name: str) -> None:
    """Show an agent's file, with its role's presets for what is unset, and its status."""
    snapshot = app.snapshot()
    show_one(app, snapshot, known_agent(name, snapshot))


ROLES_OF_AGENTS = Command(
    "roles",
    help="Show what each role brings to an agent whose file says nothing else.",
    examples=["bd agent roles"],
)


def roles_of_agents(app: App) -> None:
    """Show what each role brings to an agent whose file says nothing else."""
    show_roles(app)


def _tell_left(app: App, outcome: Any, said: str) -> None:
    result = dict(outcome.change.result or {}) if outcome.change else {}
    if app.out.is_json:
        app.out.object({**result, "published": outcome.published})
        return
    app.out.said(f"✓ {said}")
    for key, words in (("released", "Given back"), ("rerouted", "Rerouted")):
        if result.get(key):
            app.out.said(f"  {words}: {', '.join(result[key])}")


REMOVE = Command(
    "remove",
    Argument("name", kind=AGENT),
    Flag("--release", help="Release its beads."),
    help="Remove an agent from the hub. Beads routed to it become unassigned.",
    examples=["bd agent remove codemonkey --release"],
)


def remove(app: App, name: str, release: bool) -> None:
    """Remove an agent from the hub. Beads routed to it become unassigned."""
    outcome = app.publish(RemoveAgent(**app.asked(agent=name, release=release)))
    forget(app.hub, name)
    _tell_left(app, outcome, f"Removed agent {name}")


RENAME = Command(
    "rename",
    Argument("name", kind=AGENT),
    Argument("to", kind=AGENT),
    Flag("--release", help="Release its beads."),
    help="Rename an agent. Beads routed to it follow.",
    examples=["bd agent rename codemonkey gibbon"],
)


def rename(app: App, name: str, to: str, release: bool) -> None:
    """Rename an agent. Beads routed to it follow."""
    outcome = app.publish(RenameAgent(**app.asked(agent=name, to=to, release=release)))
    forget(app.hub, name)
    _tell_left(app, outcome, f"Agent {name} is now {to}")


CLEAR = Command(
    "clear",
    Argument("name", kind=AGENT),
    help="Forget an agent's failed attempts, so that an overloaded one gets work again.",
    examples=["bd agent clear codemonkey"],
)


def clear(app: App, name: str) -> None:
    """Forget an agent's failed attempts, so that an overloaded one gets work again."""
    outcome = app.publish(ClearAgent(**app.asked(agent=name)))
    if app.out.is_json:
        app.out.object({**(outcome.change.result if outcome.change else {}), "published": outcome.published})
    else:
        app.out.said(f"✓ Cleared agent {name}")


WAKE = Command(
    "wake",
    Argument("name", kind=AGENT),
    help="""End the rest of an agent's account, for every agent of that account.

    An account rests while its provider is away or refuses it. After auth_failure or quota somebody usually
    has to log in again or pay first.
    """,
    examples=["bd agent wake codemonkey"],
)


def wake(app: App, name: str) -> None:
    """End the rest of an agent's account, for every agent of that account."""
    outcome = app.publish(WakeAgent(**app.asked(agent=name)))
    result = dict(outcome.change.result or {}) if outcome.change else {}
    if app.out.is_json:
        app.out.object({**result, "published": outcome.published})
    elif result.get("accounts"):
        app.out.said(f"✓ Woke {', '.join(result['accounts'])}")


SPEC = Group(
    "agent",
    {
        "add": (ADD, add),
        "list": (LIST_ALL, list_all),
        "status": (STATUS, status),
        "show": (SHOW, show),
        "roles": (ROLES_OF_AGENTS, roles_of_agents),
        "remove": (REMOVE, remove),
        "rename": (RENAME, rename),
        "clear": (CLEAR, clear),
        "wake": (WAKE, wake),
    },
    help="Add agents, change them, and see how each is doing.",
)
