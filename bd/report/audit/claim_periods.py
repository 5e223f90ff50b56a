"""Claims over time, each followed from the commit that begins it to the commits that end it. Pure.

Histories with merges are followed, too: of two claims on a bead, one must have ended in the history of the commit in which the
other begins.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.report.audit import rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bd.report.audit.bead_versions import Version
    from bd.report.commits import Commit

    Blame = Callable[[str, Commit, str, str], None]
    State = Mapping[str, tuple["Held", ...]]


class Held(NamedTuple):
    """An exclusive claim; `exclusive` is the bead's exclusive name."""

    agent: str
    token: str
    exclusive: str = ""


def held(version: Version | None) -> tuple[Held, ...]:
    """Return the claims of a bead that is not advisory: at most one, if it is intact."""
    if version is None or version.is_advisory:
        return ()
    return tuple(Held(str(claim.get("agent", "")), str(claim["token"]), version.exclusive) for claim in version.claims)


class _Interval:
    """A claim's lifetime: where it begins, and each place where it ends (several only in parallel branches)."""

    __slots__ = ("ends", "held", "start")

    def __init__(self, claim: Held, start: int) -> None:
        self.held = claim
        self.start = start
        self.ends: list[int] = []


class Tenures:
    """Walks the commits, parents first, and refers to them by their position in that order. `blame` is called with violations."""

    def __init__(self, blame: Blame) -> None:
        self._blame = blame
        self.tokens: set[str] = set()
        self.claims: dict[str, int] = {}
        self._intervals: dict[str, list[_Interval]] = {}
        self._commits: list[Commit] = []
        self._place: dict[str, int] = {}
        self._states: list[State] = []
        self._outside: dict[str, State] = {}
        self._has_merges = False

    def knows(self, commit: str) -> bool:
        """Return whether a commit was taken, or found."""
        return commit in self._place or commit in self._outside

    def find(self, commit: str, versions: Iterable[Version]) -> None:
        """Accept the claims at a commit before the audited range as they are."""
        found = [version for version in versions if version.claims]
        self._outside[commit] = {version.bead: held(version) for version in found if held(version)}
        self.tokens.update(token for version in found for token in version.tokens)
        for bead, claims in self._outside[commit].items():
            known = {interval.held.token for interval in self._intervals.get(bead, [])}
            self._intervals.setdefault(bead, []).extend(_Interval(claim, -1) for claim in claims if claim.token not in known)

    def take(self, commit: Commit, changed: Mapping[str, Version | None], before: Mapping[str, Version | None]) -> bool:
        """Follow the claims through one more commit. Return whether it begins or ends one."""
        here = len(self._commits)
        self._has_merges = self._has_merges or commit.is_merge
        pasts = [self._state_of(parent) for parent in commit.parents]
        now = self._after(pasts[0] if pasts else {}, changed)
        self._commits.append(commit)
        self._place[commit.name] = here
        self._states.append(now)
        touched = set(changed)
        if len(pasts) > 1:
            touched.update(*pasts)
        moved = [bead for bead in sorted(touched) if self._follow(commit, here, bead, pasts)]
        shared = [bead for bead in changed if self._share(commit, bead, before.get(bead), changed[bead])]
        return bool(moved or shared)

    def _state_of(self, commit: str) -> State:
        place = self._place.get(commit)
        return self._outside.get(commit, {}) if place is None else self._states[place]

    def _after(self, before: State, changed: Mapping[str, Version | None]) -> State:
        now = {bead: held(version) for bead, version in changed.items()}
        if all(before.get(bead, ()) == claims for bead, claims in now.items()):
            return before
        return {bead: claims for bead, claims in {**before, **now}.items() if claims}

    def _follow(self, commit: Commit, here: int, bead: str, pasts: list[State]) -> bool:
        """Follow one bead's claims through a commit. Return whether it begins or ends one."""
        now = self._states[here].get(bead, ())
        known = {claim.token: claim for past in pasts for claim in past.get(bead, ())}
        kept = {claim.token for claim in now}
        begun = [claim for claim in now if claim.token not in known]
        ended = [known[token] for token in known if token not in kept and not self._ended_before(bead, token, commit)]
        for claim in now:
            was = known.get(claim.token)
            if was and claim.agent != was.agent:
                self._blame("changed_hands", commit, bead, f"the claim of {was.agent} became {claim.agent}'s")
            if claim.exclusive and (was is None or was.exclusive != claim.exclusive):
                self._refuse_rivals(commit, here, bead, claim.exclusive)
        for claim in ended:
            self._end(commit, here, bead, claim, begun)
        for claim in begun:
            self._begin(commit, bead, claim.agent, claim.token)
            self._intervals.setdefault(bead, []).append(_Interval(claim, here))
        if len(now) > 1 and (begun or commit.is_merge):
            names = " and ".join(claim.agent for claim in now)
            self._blame("two_owners", commit, bead, f"it is held by {names} at once")
        return bool(begun or ended)

    def _share(self, commit: Commit, bead: str, before: Version | None, after: Version | None) -> bool:
        """Follow advisory claims: their tokens must be fresh and announced. Return whether one begins or ends."""
        if commit.is_merge or after is None or not after.is_advisory:
            return bool(before and before.is_advisory and before.claims and not commit.is_merge)
        known = before.tokens if before else frozenset()
        begun = [claim for claim in after.claims if claim["token"] not in known]
        for claim in begun:
            self._begin(commit, bead, str(claim.get("agent")), str(claim["token"]))
        return bool(begun or known - after.tokens)

    def _begin(self, commit: Commit, bead: str, agent: str, token: str) -> None:
        is_back = commit.verb == "undo"
        if token in self.tokens and not is_back:
            self._blame("token_reused", commit, bead, f"the token of {agent}'s claim was used before")
        elif commit.parents and token not in commit.tokens and commit.verb not in ("undo", "import"):
            self._blame("unannounced", commit, bead, f"a claim of {agent} begins, and the commit does not name its token")
        self.tokens.add(token)
        self.claims[agent] = self.claims.get(agent, 0) + 1

    def _refuse_rivals(self, commit: Commit, here: int, bead: str, name: str) -> None:
        for other, holders in self._states[here].items():
            if other != bead and any(holder.exclusive == name for holder in holders):
                self._blame("exclusive", commit, bead, f"{name} is held by {other} already")

    def _end(self, commit: Commit, here: int, bead: str, claim: Held, begun: list[Held]) -> None:
        for interval in self._intervals.get(bead, []):
            if interval.held.token == claim.token:
                interval.ends.append(here)
        if begun and not (_is_own(commit, claim, begun[0]) or rules.is_take(commit)):
            words = f"the claim of {claim.agent} was replaced by one of {begun[0].agent} without an end"
            self._blame("replaced", commit, bead, words)
        elif not begun and not rules.may_touch(commit, frozenset({claim.token})):
            words = f"the claim of {claim.agent} ended, and the commit neither names its token nor says why"
            self._blame("taken_away", commit, bead, words)

    def _ended_before(self, bead: str, token: str, commit: Commit) -> bool:
        """Return whether a merge only brings in an end that was made on the other side."""
        if not commit.is_merge:
            return False
        ends = [end for interval in self._intervals.get(bead, []) if interval.held.token == token for end in interval.ends]
        parents = [self._place[parent] for parent in commit.parents if parent in self._place]
        return any(self._is_before(end, parent) for end in ends for parent in parents)

    def _is_before(self, older: int, newer: int) -> bool:
        """Return whether one commit is the other or in its history."""
        if not self._has_merges or older >= newer:
            return older <= newer
        waiting, seen = [newer], {newer}
        while waiting:
            place = waiting.pop()
            if place == older:
                return True
            for parent in self._commits[place].parents:
                above = self._place.get(parent, -1)
                if above >= older and above not in seen:
                    seen.add(above)
                    waiting.append(above)
        return False

    def compare(self) -> None:
        """Check that of any two claims on a bead, the earlier ended in the history of the later."""
        for bead, intervals in self._intervals.items():
            for place, later in enumerate(intervals):
                for earlier in intervals[:place] if self._has_merges else intervals[max(0, place - 1) : place]:
                    if later.start > earlier.start and not any(self._is_before(end, later.start) for end in earlier.ends):
                        both = f"{later.held.agent} claimed it while {earlier.held.agent} held it"
                        self._blame("two_owners", self._commits[later.start], bead, both)


def _is_own(commit: Commit, claim: Held, heir: Held) -> bool:
    """Return whether a claim goes on under another token: its agent resumes it, under any of its names, or undoes that."""
    if commit.verb == "undo":
        return claim.token in commit.tokens and claim.agent == heir.agent
    if not rules.is_resume(commit):
        return False
    given = commit.args.get("also_me")
    also = given if isinstance(given, list) else []
    return claim.agent in (heir.agent, *also) or claim.agent.split("@", 1)[0].casefold() == heir.agent
