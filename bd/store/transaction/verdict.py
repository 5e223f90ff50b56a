"""One push, and finding out what became of it by looking: the table of docs/protocol.md.

`landed`; `lost` (somebody was faster); `stuck` (rejected, and nothing moved); `unknown` (no
answer, it may still land); `refused` (for good); `unsided` (the refs beside the branch were refused).
"""

from __future__ import annotations

from bd.core.errors import RemoteUnreachable, ServerRefused
from bd.core.light import NamedTuple
from bd.store.git.push import MOVED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bd.store.contract import PushAnswer, PushLine, Repository, SideRef
    from bd.store.replica import Replica

# A server that says one of these will say it again.
_FOR_GOOD = (
    "hook declined",
    "protected branch",
    "permission",
    "denied",
    "not allowed",
    "prohibited",
    "quota",
    "read-only",
    "read only",
    "refusing to update checked out branch",
    "deny updating",
    "shallow update",
    "error: 403",
    "is archived",
)


# What git says when it never got as far as sending anything, and what when it did.
_NOT_REACHED = (
    "could not read from remote repository",
    "unable to access",
    "does not appear to be a git repository",
    "authentication failed",
    "could not read username",
)
_CUT_OFF = ("hung up", "unexpected disconnect", "rpc failed", "sideband", "broken pipe", "reset by peer")


class Verdict(NamedTuple):
    """What became of a push, the server's words, and which commit landed: an earlier one, where its answer was lost.

    Not `is_looked` where the answer alone said that somebody was faster: the published ref is as old as before.
    """

    kind: str
    words: str = ""
    commit: str = ""
    is_looked: bool = True


class Pushing:
    """Publishes commits of one transaction. `in_doubt` as long as a push without an answer may still land."""

    def __init__(self, hub: Replica, on_step: Callable[[str], None], hand: str | None) -> None:
        self._hub = hub
        self._repo: Repository = hub.repo
        self._step = on_step
        self._hand = hand
        self._unanswered: list[str] = []
        # How long the last push took, in seconds.
        self.push_s = 0.0

    @property
    def in_doubt(self) -> bool:
        return bool(self._unanswered)

    def landed_in(self, tip: str | None) -> str | None:
        """The commit whose push got no answer, and which this tip holds."""
        found = (commit for commit in reversed(self._unanswered) if tip and self._repo.is_ancestor(commit, tip))
        return next(found, None)

    def publish(
        self,
        commit: str,
        base: str | None,
        sides: Sequence[SideRef] = (),
        *,
        exactly: bool = False,
        meanwhile: Callable[[], None] | None = None,
    ) -> Verdict:
        """Move the hub branch from `base` to `commit`, and the refs beside it, all or nothing; or find out why not.

        `meanwhile` is done while git connects. `exactly`: only if the branch is at `base`, for who has not looked just now. A branch that is gone is not made anew.
        """
        if not self._hub.remote_name:
            if meanwhile:
                meanwhile()
            return self._publish_here(commit, base, sides)
        words = ""
        lines: Mapping[str, PushLine] = {}
        begun = self._hub.runtime.monotonic()
        self._unanswered.append(commit)
        try:
            lines, words = self._hub.remote.push(commit, base, sides, exactly=exactly, meanwhile=meanwhile)
        except RemoteUnreachable:
            pass  # no answer in time: what is said of that are bd's words, and no server has refused anything
        self.push_s = self._hub.runtime.monotonic() - begun
        line = lines.get(self._hub.branch)
        if line is not None and line.landed:
            self._unanswered.clear()
            return Verdict("landed", commit=commit)
        if line is not None or (exactly and never_sent(words)):
            self._unanswered.remove(commit)
        if line is not None and not self._unanswered and self._was_overtaken(line.summary, words):
            return Verdict("lost", is_looked=False)
        self._step("look-after-push")
        try:
            tip = self._hub.finish_fetch()
        except RemoteUnreachable:
            return Verdict("unknown")
        said = server_words(words, line.summary if line else "")
        seen = self._seen(commit, base, tip, said, answered=line is not None)
        if sides and seen.kind in ("stuck", "refused"):
            return beside(lines, self._hub.branch) or seen
        return seen

    def _was_overtaken(self, summary: str, words: str) -> bool:
        """Whether the answer itself says that the branch has a newer tip: all that a look could add is which one."""
        return "fetch first" in summary or f"cannot lock ref '{self._hub.branch}': is at" in words

    def _seen(self, commit: str, base: str | None, tip: str | None, words: str, *, answered: bool) -> Verdict:
        """What the remote's tip says about a push that was not simply accepted."""
        landed = commit if tip and self._repo.is_ancestor(commit, tip) else self.landed_in(tip)
        if landed or tip != base:  # whatever else was on its way had to stand where now this stands
            self._unanswered.clear()
            return Verdict("landed", commit=landed) if landed else Verdict("lost")
        if any(sign in words.lower() for sign in _FOR_GOOD):
            if not answered and commit in self._unanswered:
                self._unanswered.remove(commit)
            return Verdict("refused", words)
        return Verdict("stuck" if answered else "unknown", words)

    def _publish_here(self, commit: str, base: str | None, sides: Sequence[SideRef]) -> Verdict:
        """Without a remote: the checkout first, then the branch by compare-and-swap."""
        files = self._hub.worktree
        if files and files.move_ahead(self._hand or base, commit):
            self._step("checked-out")
        lines, words = self._hub.remote.push(commit, base, sides)
        if lines[self._hub.branch].landed:
            return Verdict("landed", commit=commit)
        tip = self._repo.ref(self._hub.branch)
        if files:
            files.take_back(commit, self._hand or tip)
        return Verdict("stuck", words) if tip == base else Verdict("lost")


def seen(answer: PushAnswer, branch: str, commit: str, base: str | None, tip: str | None, holds: str | None) -> Verdict:
    """What a look says about a push of `commit` onto `base` that was not simply accepted; `holds` is the commit of ours in the tip."""
    line = answer.lines.get(branch)
    words = server_words(answer.words, line.summary if line else "")
    if holds:
        return Verdict("landed", commit=holds)
    if tip != base:
        return Verdict("lost")
    if any(sign in words.lower() for sign in _FOR_GOOD):
        return Verdict("refused", words)
    return Verdict("stuck" if line else "unknown", words)


def was_overtaken(summary: str, words: str, branch: str) -> bool:
    """Whether the answer itself says that the branch has a newer tip: all that a look could add is which one."""
    return "fetch first" in summary or f"cannot lock ref '{branch}': is at" in words


def never_sent(words: str) -> bool:
    """Whether a push ended before anything was sent, so that it can't land later."""
    told = words.lower()
    return any(sign in told for sign in _NOT_REACHED) and not any(sign in told for sign in _CUT_OFF)


def beside(lines: Mapping[str, PushLine], branch: str) -> Verdict | None:
    """Whether the branch stayed where it was only because of a ref beside it: one that moved, or one the server refuses."""
    own = lines[branch].summary if branch in lines else ""
    others = [line.summary for ref, line in lines.items() if ref != branch and not line.landed and "atomic" not in line.summary]
    if not others or ("atomic" not in own and own not in others):
        return None
    told = " ".join(others).lower()
    if any(sign in told for sign in MOVED):
        return Verdict("lost", "beside")
    return Verdict("unsided", "; ".join(dict.fromkeys(others))) if "atomic" in own else None


def server_words(stderr: str, summary: str) -> str:
    """What the server said, without git's own framing."""
    lines = [line.strip().removeprefix("remote: ").strip() for line in stderr.splitlines()]
    told = [line for line in lines if line and not line.startswith(("error: failed to push", "To ", "hint:"))]
    return "; ".join(dict.fromkeys([*told, summary.strip()])).strip("; ") or "no words"


def refused_by_server(words: str) -> ServerRefused:
    """The error for a push that the server refuses for good."""
    hint = "the hub's owner decides what may be pushed; nothing was changed here"
    return ServerRefused(f"push refused by server: {words}", hint=hint)
