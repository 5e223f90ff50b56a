"""Pushes whose answers are lost, late or never come: a `git` first in PATH that does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.hub.hooks import git_wrapper
from tests.torture.faults.registry import of_a_call

if TYPE_CHECKING:
    from tests.torture.calls import Call
    from tests.torture.yard import Yard

CUT = 'echo "fatal: the remote end hung up unexpectedly" >&2; exit 128'
AWAY = 'echo "fatal: Could not read from remote repository." >&2; exit 128'


def wrap(yard: Yard, call: Call, verb: str, script: str, *, once: bool = True) -> None:
    """Do this at the verb of the call's git, at the first one only unless told otherwise."""
    folder = yard.fresh("bin")
    call.sign = folder.with_suffix(".once")
    guard = f'[ "$verb" = {verb} ] && ' + (f"mkdir {call.sign} 2> /dev/null" if once else f"mkdir -p {call.sign}")
    call.env.update(git_wrapper(folder, f"if {guard}; then {script}; fi"))


@of_a_call("answer lost")
def answer_lost(yard: Yard, call: Call) -> None:
    """The push is through, and the connection gone before it was said."""
    wrap(yard, call, "push", f'"$real" "$@" > /dev/null 2>&1; {CUT}')


@of_a_call("answers lost, all of them")
def answers_lost(yard: Yard, call: Call) -> None:
    wrap(yard, call, "push", f'"$real" "$@" > /dev/null 2>&1; {CUT}', once=False)


@of_a_call("answer never comes")
def answer_never_comes(yard: Yard, call: Call) -> None:
    """The push is through, and the client waits until its time is up."""
    wrap(yard, call, "push", '"$real" "$@" > /dev/null 2>&1; exec sleep 600')


@of_a_call("push never arrives")
def push_never_arrives(yard: Yard, call: Call) -> None:
    wrap(yard, call, "push", CUT)


@of_a_call("push delayed")
def push_delayed(yard: Yard, call: Call) -> None:
    wrap(yard, call, "push", f"sleep {yard.rng.uniform(0.05, 0.5):.2f}")


@of_a_call("push lands after it was given up")
def push_lands_late(yard: Yard, call: Call) -> None:
    """The client sees the connection go; what it has sent arrives later."""
    wrap(yard, call, "push", _later(yard) + CUT)


@of_a_call("push lands after its client died")
def push_lands_after_death(yard: Yard, call: Call) -> None:
    wrap(yard, call, "push", _later(yard) + "kill -9 $PPID; exit 1")


@of_a_call("look cut off")
def look_cut_off(yard: Yard, call: Call) -> None:
    wrap(yard, call, "fetch", CUT)


def _later(yard: Yard) -> str:
    """The real push, in the background and in a while. The history waits for it before there is peace."""
    due = yard.fresh("due")
    pause = f"{yard.rng.uniform(0.05, 0.6):.2f}"
    return f'touch {due}; ( sleep {pause}; "$real" "$@"; rm -f {due} ) > /dev/null 2>&1 < /dev/null & '
