"""Who held what, proved from git's history alone: no bead with two owners, no claim taken away in silence.

`judge` is pure: it takes the commits as `Step`s, parents before children, and follows every claim
from the commit that begins it to the commits that end it. `prove` reads a repository (a bare hub
or any clone) into steps. Neither looks at a clone's notes, a cache or a clock.

A history with merges is judged too: of two claims on a bead, one must have ended in the history
of the commit in which the other begins.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from bd.errors import NoHub
from bd.fields import BEAD_FIELDS, BEADS_DIR, DONE_STATUSES
from bd.store import codec, message
from bd.store.files import bead_id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from bd.store.gitrepo import GitRepo

# These verbs end another's claim openly: what they do is their name.
OPEN_VERBS = frozenset({"undo", "reassign", "agent-remove", "agent-rename"})
# A file without it holds no claim, and need not be parsed.
_CLAIM_KEY = re.compile(rb"claims?[\"']?\s*:")


class Held(NamedTuple):
    """A claim as a bead file has it at a commit; `exclusive` is the bead's exclusive name."""

    agent: str
    token: str
    exclusive: str = ""


class Step(NamedTuple):
    """One commit. `claims` holds the beads whose files differ from the first parent's; () is no claim.

    `tokens` are those the commit names: won by it, or presented to it. `is_open` says that it ends
    another's claim by force, a reason given, or by a verb of `OPEN_VERBS`; `is_resume` that an
    agent takes over its own.
    """

    commit: str
    parents: tuple[str, ...]
    by: str
    verb: str
    claims: Mapping[str, tuple[Held, ...]]
    tokens: frozenset[str] = frozenset()
    is_open: bool = False
    is_resume: bool = False
    tries: int = 1


class Violation(NamedTuple):
    """Something that must not be: a snake_case code, where, and a sentence."""

    code: str
    commit: str
    bead: str
    text: str


class Verdict(NamedTuple):
    """What the steps show. `pushes` counts the tries of the commits that began or ended a claim."""

    claims: int
    pushes: int
    violations: tuple[Violation, ...]


class Proof(NamedTuple):
    """The verdict on a hub, and what its tip holds: `beads`, and how many of them are `done`."""

    tip: str
    commits: int
    beads: int
    done: int
    claims: int
    pushes: int
    violations: tuple[Violation, ...]

    @property
    def holds(self) -> bool:
        return not self.violations

    @property
    def doubles(self) -> int:
        """How many beads have ever had two owners, or changed hands in silence."""
        return len({violation.bead for violation in self.violations})

    @property
    def pushes_per_claim(self) -> float:
        return round(self.pushes / self.claims, 2) if self.claims else 0.0

    def lines(self) -> list[str]:
        """The proof in sentences, the violations one by one."""
        owners = "no bead had two owners" if self.holds else f"{self.doubles} with a violation"
        found = [f"  {each.code}: {each.bead} in {each.commit[:10]}: {each.text}" for each in self.violations]
        return [
            f"Read from the git history of the hub ({self.commits} commits, tip {self.tip[:7]}):",
            f"  {self.beads} beads, {self.done} done; {self.claims} claims; {owners}",
            f"  {self.pushes} pushes for claims and closes, {self.pushes_per_claim} for each claim",
            *found,
        ]

    def as_json(self) -> dict[str, Any]:
        return {
            "commits": self.commits,
            "beads": self.beads,
            "done": self.done,
            "claims": self.claims,
            "doubles": self.doubles,
            "pushes": self.pushes,
            "pushes_per_claim": self.pushes_per_claim,
            "violations": [violation._asdict() for violation in self.violations],
            "verified": self.holds,
        }


# --- judging: pure ------------------------------------------------------------------------


class _Interval:
    """A claim's life: where it begins, and each place where it ends (more than one only beside merges)."""

    __slots__ = ("ends", "held", "start")

    def __init__(self, held: Held, start: int) -> None:
        self.held = held
        self.start = start
        self.ends: list[int] = []


class _Judge:
    """Walks the steps in order; a step's place in that order stands for it."""

    def __init__(self) -> None:
        self.violations: list[Violation] = []
        self.pushes = 0
        self.tokens: set[str] = set()
        self.intervals: dict[str, list[_Interval]] = {}
        self._steps: list[Step] = []
        self._place: dict[str, int] = {}
        self._states: list[Mapping[str, tuple[Held, ...]]] = []
        self._has_merges = False

    def take(self, step: Step) -> None:
        """Follow the claims through one more commit."""
        parents = [self._place[parent] for parent in step.parents if parent in self._place]
        here = len(self._steps)
        self._has_merges = self._has_merges or len(parents) > 1
        before = self._states[parents[0]] if parents else {}
        after = {**before, **step.claims} if step.claims else before
        if step.claims:
            after = {bead: held for bead, held in after.items() if held}
        self._steps.append(step)
        self._place[step.commit] = here
        self._states.append(after)
        touched = set(step.claims)
        if len(parents) > 1:
            touched.update(*(self._states[parent] for parent in parents))
        moved = [bead for bead in sorted(touched) if self._follow(step, here, bead, parents)]
        if moved:
            self.pushes += step.tries

    def _follow(self, step: Step, here: int, bead: str, parents: list[int]) -> bool:
        """What the commit does to one bead's claims; whether it begins or ends one."""
        now = self._states[here].get(bead, ())
        known = {held.token: held for parent in parents for held in self._states[parent].get(bead, ())}
        kept = {held.token for held in now}
        begun = [held for held in now if held.token not in known]
        ended = [held for token, held in known.items() if token not in kept and not self._ended_before(bead, token, parents)]
        for held in now:
            if held.token in known and held.agent != known[held.token].agent:
                self._blame("changed_hands", step, bead, f"the claim of {known[held.token].agent} became {held.agent}'s")
        for held in ended:
            self._end(step, here, bead, held, begun)
        for held in begun:
            self._begin(step, here, bead, held)
        if len(now) > 1 and (begun or len(parents) > 1):
            self._blame("two_owners", step, bead, f"it is held by {' and '.join(held.agent for held in now)} at once")
        return bool(begun or ended)

    def _begin(self, step: Step, here: int, bead: str, held: Held) -> None:
        if held.token in self.tokens and step.verb != "undo":
            self._blame("token_reused", step, bead, f"the token of {held.agent}'s claim had been used before")
        elif step.parents and held.token not in step.tokens and step.verb != "undo":
            self._blame("unannounced", step, bead, f"a claim of {held.agent} begins, and the commit does not name its token")
        self.tokens.add(held.token)
        self.intervals.setdefault(bead, []).append(_Interval(held, here))
        if not held.exclusive:
            return
        for other, holders in self._states[here].items():
            if other != bead and any(holder.exclusive == held.exclusive for holder in holders):
                self._blame("exclusive", step, bead, f"{held.exclusive} is held by {other} already")

    def _end(self, step: Step, here: int, bead: str, held: Held, begun: list[Held]) -> None:
        for interval in self.intervals.get(bead, []):
            if interval.held.token == held.token:
                interval.ends.append(here)
        heir = begun[0].agent if begun else ""
        if begun and not (step.is_resume or step.is_open):
            self._blame("replaced", step, bead, f"the claim of {held.agent} was replaced by one of {heir} without an end")
        elif not begun and step.by != held.agent and held.token not in step.tokens and not step.is_open:
            self._blame("taken_away", step, bead, f"{step.by or 'somebody'} ended the claim of {held.agent} without its token")

    def _ended_before(self, bead: str, token: str, parents: list[int]) -> bool:
        """Whether a merge only brings in an end that the other side had made."""
        if len(parents) < 2:
            return False
        ends = [end for interval in self.intervals.get(bead, []) if interval.held.token == token for end in interval.ends]
        return any(self._is_before(end, parent) for end in ends for parent in parents)

    def _is_before(self, older: int, newer: int) -> bool:
        """Whether a step is the other or in its history."""
        if not self._has_merges or older >= newer:
            return older <= newer
        waiting, seen = [newer], {newer}
        while waiting:
            place = waiting.pop()
            if place == older:
                return True
            for parent in self._steps[place].parents:
                above = self._place.get(parent, -1)
                if above >= older and above not in seen:
                    seen.add(above)
                    waiting.append(above)
        return False

    def _blame(self, code: str, step: Step, bead: str, text: str) -> None:
        violation = Violation(code, step.commit, bead, text)
        if violation not in self.violations:
            self.violations.append(violation)

    def compare(self) -> None:
        """Of any two claims on a bead, the earlier must have ended in the history of the later."""
        for bead, intervals in self.intervals.items():
            for place, later in enumerate(intervals):
                for earlier in intervals[:place] if self._has_merges else intervals[max(0, place - 1) : place]:
                    if not any(self._is_before(end, later.start) for end in earlier.ends):
                        both = f"{later.held.agent} claimed it while {earlier.held.agent} held it"
                        self._blame("two_owners", self._steps[later.start], bead, both)


def judge(steps: Iterable[Step]) -> Verdict:
    """The verdict on a history. The steps come parents first."""
    judging = _Judge()
    for step in steps:
        judging.take(step)
    judging.compare()
    return Verdict(len(judging.tokens), judging.pushes, tuple(judging.violations))


# --- reading ------------------------------------------------------------------------------


def prove(repo: GitRepo, branch: str) -> Proof:
    """Read the branch's whole history and judge it. Raises NoHub when there is no such branch."""
    tip = repo.ref(branch)
    if tip is None:
        raise NoHub(f"there is no branch {branch.removeprefix('refs/heads/')} here")
    steps = list(read_steps(repo, tip))
    verdict = judge(steps)
    statuses = _statuses(repo, tip)
    done = sum(status in DONE_STATUSES for status in statuses.values())
    return Proof(tip, len(steps), len(statuses), done, *verdict)


def read_steps(repo: GitRepo, tip: str) -> Iterator[Step]:
    """Every commit that a tip has, parents first, with the claims of the beads it touches."""
    _, out, _ = repo.run("rev-list", "--reverse", "--topo-order", "--parents", tip)
    lines = [line.split(" ") for line in out.decode().splitlines()]
    changed = _changed_files(repo, [words[:2] for words in lines])
    texts = repo.objects.read_many([words[0] for words in lines])
    for words, data in zip(lines, list(texts), strict=True):
        claims = dict(_claims(repo, changed.get(words[0], [])))
        yield _step(words[0], tuple(words[1:]), data or b"", claims)


def _changed_files(repo: GitRepo, lines: Sequence[Sequence[str]]) -> dict[str, list[tuple[str, str]]]:
    """The (bead id, blob) pairs in which each commit differs from its first parent; an empty blob: gone. One git process."""
    data = "".join(" ".join(words) + "\n" for words in lines).encode()
    args = ("diff-tree", "--stdin", "-r", "-z", "--root", "--raw", "--no-renames", "--full-index", "--", BEADS_DIR)
    _, out, _ = repo.run(*args, data=data)
    found: dict[str, list[tuple[str, str]]] = {}
    parts = iter(out.decode("utf-8", "surrogateescape").split("\0"))
    commit = ""
    for part in parts:
        if not part.startswith(":"):
            commit = part
            continue
        path = next(parts)
        bead_id = bead_id_of(path)
        if bead_id and path == f"{BEADS_DIR}{bead_id}.yaml":
            oid, change = part.split(" ")[3:5]
            found.setdefault(commit, []).append((bead_id, "" if change == "D" else oid))
    return found


def _claims(repo: GitRepo, files: Sequence[tuple[str, str]]) -> Iterator[tuple[str, tuple[Held, ...]]]:
    """The exclusive claims that bead files hold. A file that can't be read changes nothing."""
    contents = repo.objects.read_many([oid for _, oid in files if oid])
    for bead_id, oid in files:
        data = next(contents) if oid else None
        if data is None or not _CLAIM_KEY.search(data):
            yield bead_id, ()
            continue
        try:
            fields = codec.parse(data, BEAD_FIELDS).fields
        except codec.Unreadable:
            continue
        yield bead_id, tuple(_held(fields))


def _held(fields: Mapping[str, Any]) -> Iterator[Held]:
    """A bead's exclusive claims: one, if all is well. Advisory ones may stand side by side."""
    if fields.get("claim_mode") == "advisory":
        return
    for claim in [fields.get("claim"), *fields.get("claims", [])]:
        if claim and claim.get("token"):
            yield Held(claim.get("agent", ""), claim["token"], fields.get("exclusive", ""))


def _step(commit: str, parents: tuple[str, ...], data: bytes, claims: Mapping[str, tuple[Held, ...]]) -> Step:
    headers, text = message.split_commit(data)
    trailers = message.parse(text)
    form = message.form_of(text) or {}
    args = form.get("args") or {}
    by = (trailers.get("Bd-Agent") or [""])[-1] or headers.get("author", [""])[0].split(" <")[0]
    presented = [token for token in (form.get("tokens") or {}).values() if isinstance(token, str)]
    verb = str(form.get("verb", ""))
    return Step(
        commit,
        parents,
        by,
        verb,
        claims,
        tokens=frozenset([*trailers.get("Bd-Token", []), *presented]),
        is_open=verb in OPEN_VERBS or bool(args.get("force")),
        is_resume=verb == "claim" and bool(args.get("resume")),
        tries=_whole((trailers.get("Bd-Tries") or ["1"])[-1]),
    )


def _whole(text: str) -> int:
    return max(1, int(text[:9])) if text.isdecimal() else 1


def _statuses(repo: GitRepo, tip: str) -> dict[str, str]:
    """The status of every bead at a commit; one whose file can't be read is not done."""
    files = [(bead_id_of(entry.path), entry.oid or "") for entry in repo.diff(None, tip, BEADS_DIR)]
    known = [(bead_id, oid) for bead_id, oid in files if bead_id]
    contents = repo.objects.read_many([oid for _, oid in known])
    found: dict[str, str] = {}
    for (bead_id, _), data in zip(known, contents, strict=True):
        try:
            found[bead_id] = codec.parse(data or b"", BEAD_FIELDS).fields.get("status", "open")
        except codec.Unreadable:
            found[bead_id] = "unreadable"
    return found
