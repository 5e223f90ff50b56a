"""The audit: what a hub's history proves, who made each claim, what was made by hand, and which rules were broken.

`judge` is pure. `examine` reads a repository, a bare hub or any clone, from its commits alone: no notes, no cache, no clock.
`lineage` uses what this clone saw earlier.
"""

from __future__ import annotations

import contextlib
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BadInput, NotFound
from bd.core.times import instant_of
from bd.policy.clocks import Stamp
from bd.report.audit import rules
from bd.report.audit.claim_periods import Tenures
from bd.report.audit.signed_changes import Believed, believed
from bd.report.audit.steps import Reading
from bd.report.commits import who
from bd.store import REWRITTEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from bd.report.audit.steps import Step
    from bd.report.commits import Commit, Progress
    from bd.store import Clone
    from bd.store.git.repository import GitRepo


class Violation(NamedTuple):
    """A rule that a commit broke: a code of `rules.RULES`, where, by whom, and a description."""

    code: str
    commit: str
    bead: str
    text: str
    at: str = ""
    by: str = ""
    is_by_hand: bool = False

    def todo(self) -> str:
        """Return what to do about it."""
        return rules.RULES[self.code].todo.format(commit=self.commit[:10], bead=self.bead, by=self.by)

    def as_json(self) -> dict[str, Any]:
        where = {key: value for key, value in (("bead", self.bead), ("at", self.at), ("by", self.by)) if value}
        rule = rules.RULES[self.code].words
        return {
            "code": self.code,
            "commit": self.commit,
            **where,
            "by_hand": self.is_by_hand,
            "rule": rule,
            "text": self.text,
            "todo": self.todo(),
        }


class HandMade(NamedTuple):
    """A hand-made commit that breaks no rule: `what` it did, a line for each file."""

    commit: str
    at: str
    by: str
    what: tuple[str, ...]


class Audit(NamedTuple):
    """The findings of an audit. `pushes` counts the tries of the commits that began or ended a claim.

    `agents` maps each agent to the number of claims it made. `start` is the first commit, or the one after which the audit
    started (not `is_whole`); `is_cut` means that this clone has no more. `notes` would be violations if signatures proved who
    wrote them.
    """

    tip: str
    start: str
    is_whole: bool
    is_cut: bool
    commits: int
    claims: int
    pushes: int
    agents: dict[str, int]
    hand_made: tuple[HandMade, ...]
    violations: tuple[Violation, ...]
    notes: tuple[Violation, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.violations

    def as_json(self) -> dict[str, Any]:
        """Return the document of `bd audit --json`."""
        return {
            "commits": self.commits,
            "from": self.start,
            "to": self.tip,
            "complete": self.is_whole,
            "claims": self.claims,
            "agents": [{"agent": name, "claims": number} for name, number in self.agents.items()],
            "hand_made": [{**made._asdict(), "what": list(made.what)} for made in self.hand_made],
            "violations": [violation.as_json() for violation in self.violations],
            "notes": [note.as_json() for note in self.notes],
            "verified": self.holds,
        }


class _Judge:
    """Takes the steps in order, parents first."""

    def __init__(self, believed: Believed | None = None) -> None:
        self._believed = believed or Believed()
        self.violations: list[Violation] = []
        self.notes: list[Violation] = []
        self.hand_made: list[HandMade] = []
        self._dates: dict[str, tuple[str, str]] = {}
        self.commits = 0
        self.pushes = 0
        self.tenures = Tenures(self._blame)
        self._uids: dict[str, str] = {}
        self._guilty: set[str] = set()

    def take(self, step: Step) -> None:
        commit = step.commit
        self.commits += 1
        for uid in commit.uids:
            if self._uids.setdefault(uid, commit.name) != commit.name:
                self._blame("twice", commit, "", f"{commit.subject!r} was carried out by {self._uids[uid][:10]} already")
        self._hold_dates(commit)
        for fault in self._believed.faults.get(commit.name, ()):
            self._blame("unsigned", commit, fault.bead, fault.text)
        if step.is_found:
            self.tenures.find(commit.name, (change.after for change in step.changes if change.after))
            return
        changes = self._believed.changes(step)
        after = {change.bead: change.after for change in changes}
        before = {change.bead: change.before for change in changes}
        if self.tenures.take(commit, after, before):
            self.pushes += commit.tries
        if not commit.is_merge:
            for change in changes:
                for code, text in rules.faults(change, commit):
                    self._blame(code, commit, change.bead, text)
                for code, text in rules.doubts(change, commit, step.fleet):
                    self._doubt(code, commit, change.bead, text)
        for bead, words in step.lost:
            self._blame("merge_lost", commit, bead, f"{words} of one side is not in it")
        if commit.is_by_hand:
            self._note(step)

    def _note(self, step: Step) -> None:
        what = tuple(_words(step))
        if what:
            commit = step.commit
            self.hand_made.append(HandMade(commit.name, commit.at, who(commit).name, what))

    def _hold_dates(self, commit: Commit) -> None:
        """Compare a commit's date with those of its parents."""
        at, name = commit.committed_at, who(commit).name
        self._dates[commit.name] = at, name
        after, whose = max((self._dates[parent] for parent in commit.parents if parent in self._dates), default=("", ""))
        if after and Stamp(name, instant_of(at), instant_of(after)).is_backdated:
            self._doubt("backdated", commit, "", f"it is dated {at}, and follows one of {whose} dated {after}")

    def _blame(self, code: str, commit: Commit, bead: str, text: str) -> None:
        self._guilty.add(commit.name)
        _add(self.violations, _violation(code, commit, bead, text))

    def _doubt(self, code: str, commit: Commit, bead: str, text: str) -> None:
        """Add a violation if signatures prove who wrote the commit, else a note."""
        if self._believed.requires(commit.name):
            self._blame(code, commit, bead, text)
        else:
            _add(self.notes, _violation(code, commit, bead, text))

    def verdict(self, tip: str, start: str, *, is_whole: bool = True, is_cut: bool = False) -> Audit:
        """Return the result of all steps together."""
        self.tenures.compare()
        made = tuple(one for one in self.hand_made if one.commit not in self._guilty)
        agents = dict(sorted(self.tenures.claims.items(), key=lambda item: (-item[1], item[0])))
        claims = sum(agents.values())
        found = tuple(self.violations), tuple(self.notes)
        return Audit(tip, start, is_whole, is_cut, self.commits, claims, self.pushes, agents, made, *found)


def _violation(code: str, commit: Commit, bead: str, text: str) -> Violation:
    return Violation(code, commit.name, bead, text, commit.at, who(commit).name, commit.is_by_hand)


def _add(found: list[Violation], one: Violation) -> None:
    if one not in found:
        found.append(one)


def _words(step: Step) -> Iterator[str]:
    """Describe what a hand-made commit did to the hub's files, a line for each."""
    commit = step.commit
    own = {file.path: file.bead for file in commit.files}
    for side in commit.sides[1:]:  # of a merge: only what differs from every parent
        paths = {file.path for file in side}
        own = {path: bead for path, bead in own.items() if path in paths}
    beads = {*own.values()}
    for change in step.changes:
        if change.bead in beads:
            yield f"{change.bead}: {_change_words(change)}"
    for path in step.unreadable:
        if path in own:
            yield f"{path}: can't be read any more"
    for path, bead in sorted(own.items()):
        if not bead and path.startswith(("beads/", ".beads/", ".agent-status/", "artifacts/")):
            yield path


def _change_words(change: rules.BeadChange) -> str:
    before, after = change.before, change.after
    if after is None:
        return "deleted"
    if before is None:
        return f"made, {after.status}"
    keys = ("status", "assignee", "owner", "attempts")
    changed = [
        f"{key} {getattr(before, key) or '-'} -> {getattr(after, key) or '-'}"
        for key in keys
        if getattr(before, key) != getattr(after, key)
    ]
    if change.moved:
        changed.append(f"moved to {change.moved[1]}")
    if before.comments != after.comments:
        changed.append("comments")
    return ", ".join(changed) or "edited"


def judge(steps: Iterable[Step], tip: str = "") -> Audit:
    """Judge a history. The steps come parents first."""
    judging = _Judge()
    for step in steps:
        judging.take(step)
    return judging.verdict(tip, "")


def examine(repo: GitRepo, tip: str, since: str | None = None, on_progress: Progress | None = None) -> Audit:
    """Judge the history of a commit, without the commits that `since` already has."""
    judging, reading = _Judge(believed(repo, tip)), Reading(repo)
    begun = ""
    for step in reading.steps(tip, since, on_progress):
        begun = begun or step.commit.name
        for parent in step.commit.parents:
            if since and not judging.tenures.knows(parent):
                judging.tenures.find(parent, reading.versions.claimed_at(parent))
        judging.take(step)
    is_cut = not since and repo.is_shallow
    return judging.verdict(tip, since or begun, is_whole=not since and not is_cut, is_cut=is_cut)


def start_of(hub: Clone, text: str, tip: str) -> str | None:
    """Return the commit that `--since` refers to: a commit, a time, or a duration ago; None if before the hub's first commit.

    Raises BadInput.
    """
    named = hub.repo.commit_of(text)
    if named is None:
        with contextlib.suppress(NotFound):  # a time before the hub existed: the whole history
            return hub.commit_at(text)
        return None
    if not hub.repo.is_ancestor(named, tip):
        raise BadInput(f"{text} is not a commit of the hub's history", hint=f"`git log {hub.branch_name}` lists them")
    return named


def lineage(repo: GitRepo, tip: str, branch: str, remote: str | None) -> list[Violation]:
    """Find commits that this clone saw on the hub and the hub no longer has, by git's reflog and the rewrites accepted here."""
    watched = f"refs/remotes/{remote}/{branch.removeprefix('refs/heads/')}" if remote else branch
    _, out, _ = repo.run("log", "-g", "--format=%H", watched, "--", check=False)
    newest = _newest(repo, tip, repo.ref(watched))
    gone = [*_outside(repo, list(repo.refs(REWRITTEN).values()), tip), *_outside(repo, [tip, *out.decode().split()], newest)]
    words = "this clone saw it on the hub, and the hub no longer has it"
    return [Violation("rewritten", oid, "", words) for oid in dict.fromkeys(gone)]


def _newest(repo: GitRepo, tip: str, tracked: str | None) -> str:
    """Return the tip, or what plain git has fetched since: either may be behind the other."""
    return tracked if tracked and not repo.is_ancestor(tracked, tip) else tip


def _outside(repo: GitRepo, commits: list[str], tip: str) -> list[str]:
    """Return those of the commits that a tip does not contain."""
    data = "".join(f"{oid}\n" for oid in [*commits, f"^{tip}"]).encode()
    code, out, _ = repo.run("rev-list", "--ignore-missing", "--stdin", data=data, check=False)
    missing = {*out.decode().split()} if code == 0 else set()
    return [oid for oid in commits if oid in missing]
