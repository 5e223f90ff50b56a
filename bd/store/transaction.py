"""The loop of docs/protocol.md: decide, build, publish by compare-and-swap, or decide again. The only writer.

Git's fast-forward push is the compare-and-swap. What happened is always found out by looking
(is our commit in the tip? did the tip move?), never believed from an exit status.
"""

from __future__ import annotations

import contextlib
import os
import random
from typing import NamedTuple

from bd import clock
from bd.errors import BdError, Contention, Damaged, NoHub, Refused, RemoteUnreachable, ServerRefused, TryAgain
from bd.store import checkout, message
from bd.store.chain import Chain
from bd.store.gitrepo import ZERO, GitFailed, GitTimeout
from bd.store.hub import KEPT
from bd.store.place import PUBLISHED, VIEW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bd.model import Change
    from bd.store.chain import Decides
    from bd.store.hub import Hub
    from bd.store.journal import Entry
    from bd.store.snapshot import CachedSnapshot

# Full jitter: the next try waits a random part of base * 2^n, capped (docs/contention.md).
BACKOFF_BASE_S = 0.05
BACKOFF_CAP_S = 2.0
STUCK_LIMIT = 3
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
    "403",
    "archived",
)


class Pending(NamedTuple):
    """Something this clone has and the hub does not: an operation, and the commit it comes from."""

    operation: Decides
    commit: str
    author: str
    at_s: int
    original: str | None = None


class RefusedReplay(NamedTuple):
    """An unpublished commit that the newer hub refuses; it is kept under `refs/bd/kept/<uid>`."""

    uid: str
    commit: str
    error: BdError


class Outcome(NamedTuple):
    """What became of a transaction. `acknowledge` once whoever asked has been told."""

    change: Change | None
    published: bool
    commit: str
    tries: int
    replayed: int = 0
    received: int = 0
    refused: tuple[RefusedReplay, ...] = ()
    notes: tuple[str, ...] = ()
    entry: Entry | None = None

    def acknowledge(self) -> None:
        if self.entry is not None:
            self.entry.remove()


class Transaction:
    """One write of one clone. `revive` makes an operation of a commit's form; `hand` of a hand-made difference."""

    def __init__(
        self,
        hub: Hub,
        *,
        world: Callable[[CachedSnapshot], Any],
        author: Callable[[str], str],
        revive: Callable[[Mapping[str, Any]], Decides],
        by_difference: Callable[[str, str, str | None, str], Decides],
        on_step: Callable[[str], None] | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._hub = hub
        self._repo = hub.repo
        self._world = world
        self._author = author
        self._revive = revive
        self._by_difference = by_difference
        self._step = on_step or _no_step
        self._rng = rng or random.Random()
        self._heal: list[str] = []
        self._inherited = False
        self._in_doubt = False
        self._first_base: str | None = None

    def run(self, operation: Decides | None, *, hand: str | None = None, creates_hub: bool = False) -> Outcome:
        """Publish the operation, with whatever this clone has not published yet before it.

        `hand` also takes commits of that local branch tip. `operation` None publishes only those.
        Raises the operation's refusal, TryAgain (with `written`), ServerRefused, Damaged.
        """
        with self._hub.lock(_tell_waiting):
            self._hub.begin_fetch()
            uid = operation.uid if operation else f"sync-{os.getpid()}"
            entry = self._hub.journal.begin(uid, verb=operation.verb if operation else "sync", **_names(operation))
            try:
                outcome = self._loop(operation, entry, hand, creates_hub=creates_hub)
            except BaseException as error:
                self._leave(entry, error)
                raise
            if not (outcome.change and outcome.change.tokens):
                entry.remove()
                return outcome._replace(entry=None)
            return outcome

    def _leave(self, entry: Entry, error: BaseException) -> None:
        """Keep the entry of an operation that may still land; drop it otherwise."""
        if entry.data["state"] == "pushing" and self._in_doubt:
            entry.write(state="unknown")
            entry.close()
        elif isinstance(error, Exception) or entry.data["state"] == "begun":
            entry.remove()

    # --- the loop ---

    def _loop(self, operation: Decides | None, entry: Entry, hand: str | None, *, creates_hub: bool) -> Outcome:
        deadline: float | None = None
        tries, stuck = 0, 0
        while True:
            tries += 1
            self._step("look")
            try:
                base = self._look(creates_hub=creates_hub)
            except RemoteUnreachable as error:
                return self._without_remote(operation, entry, error, hand)
            self._first_base = self._first_base if tries > 1 else self._repo.ref(VIEW) or base
            chain, world, pending, refused = self._prepared(base, hand, tries, operation)
            deadline = deadline or clock.monotonic() + world.settings.retry_time
            change = None
            if operation is not None:
                change = chain.add(operation, self._author(operation.by), _seconds(operation.at), tries=tries)
            if not chain.steps:
                return self._nothing_to_push(base, change, entry, refused, tries, pending, hand)
            self._step("build")
            commits = self._repo.write_commits(base, chain.drafts)
            tokens = [token for token, _ in change.tokens] if change else []
            entry.write(state="pushing", base=base, commits=commits, tokens=tokens)
            self._step("push")
            verdict = self._publish(commits[-1], base)
            self._step("pushed")
            if verdict == "landed":
                return self._finish(base, commits, chain, change, entry, refused, tries, pending, hand)
            if verdict.startswith("refused:"):
                if len(chain.steps) == 1 or not pending:
                    raise _refused_by_server(verdict[8:])
                self._one_by_one(commits, pending)
                continue
            if verdict.startswith("stuck:"):
                stuck += 1
                if stuck >= STUCK_LIMIT:
                    raise TryAgain(
                        f"the server can't take the push, and nothing else moves: {verdict[6:]}",
                        hint="a lock left in the hub by a killed process? The path above names it",
                    )
            if clock.monotonic() >= deadline:
                raise self._out_of_time(tries)
            clock.sleep(self._rng.uniform(0, min(BACKOFF_CAP_S, BACKOFF_BASE_S * 2 ** min(tries, 10))))

    def _out_of_time(self, tries: int) -> TryAgain:
        if self._in_doubt:
            return RemoteUnreachable(
                "the remote did not say whether it took the write", hint="this clone's next command finds out", written="unknown"
            )
        return Contention(f"{tries} tries, and each time somebody was faster", hint="try again in a moment")

    def _look(self, *, creates_hub: bool) -> str | None:
        """The tip to build on, now; None only for a hub that is being made."""
        tip = self._hub.finish_fetch() if self._hub.remote else self._repo.ref(self._hub.branch)
        if tip is None and not creates_hub:
            raise NoHub(
                f"the hub branch {self._hub.branch.removeprefix('refs/heads/')} does not exist"
                + (f" on {self._hub.remote}" if self._hub.remote else ""),
                hint="`bd init` makes a hub",
            )
        return tip

    def _prepared(
        self, base: str | None, hand: str | None, tries: int, operation: Decides | None
    ) -> tuple[Chain, Any, list[Pending], list[RefusedReplay]]:
        """The chain on the base with everything unpublished replayed onto it."""
        from bd.store.empty import EMPTY  # noqa: PLC0415  a leaf that only init needs

        snapshot: Any = self._hub.snapshot(base) if base else EMPTY
        if base:
            self._hub.check_format(snapshot)
            self._settle(base, snapshot, operation)
        world = self._world(snapshot)
        chain = Chain(self._repo, snapshot, world)
        pending = self._unpublished(base, hand)
        refused: list[RefusedReplay] = []
        for item in pending:
            try:
                chain.add(item.operation, item.author, item.at_s, tries=tries, original=item.original)
            except BdError as error:
                refused.append(RefusedReplay(item.operation.uid, item.commit, error))
            partial = getattr(item.operation, "refusals", None)
            if partial:
                refused += [RefusedReplay(item.operation.uid, item.commit, error) for error in partial]
        return chain, world, pending, refused

    # --- what this clone has and the hub does not ---

    def _unpublished(self, base: str | None, hand: str | None) -> list[Pending]:
        if not self._hub.remote and hand is None:
            return []
        commits: list[str] = []
        view = self._repo.ref(VIEW) if self._hub.remote else None
        if view and view != base:
            commits += self._repo.commits_between(base, view)
        if hand and hand != base:
            commits += [commit for commit in self._repo.commits_between(base, hand) if commit not in commits]
        if not commits:
            return []
        known = self._landed_uids(base, commits[0])
        found: list[Pending] = []
        for commit in commits:
            item = self._pending(commit, base)
            if item is not None and item.operation.uid not in known:
                found.append(item)
        return found

    def _landed_uids(self, base: str | None, first: str) -> set[str]:
        """The uids of the operations that the hub has and the first unpublished commit does not."""
        if base is None:
            return set()
        _, out, _ = self._repo.run("log", "--format=%(trailers:key=Bd-Uid,valueonly)", base, f"^{first}^@", check=False)
        return set(out.decode("utf-8", "replace").split())

    def _pending(self, commit: str, base: str | None) -> Pending | None:
        headers, text = message.split_commit(self._repo.objects.read(commit) or b"")
        parents = headers.get("parent", [])
        author, _, stamp = (headers.get("author") or ["unknown <unknown> 0 +0000"])[0].rpartition("> ")
        author, at_s = f"{author}>", int(stamp.split()[0])
        form = message.form_of(text)
        if form and not form.get("by_difference"):
            try:
                return Pending(self._revive(form), commit, author, at_s)
            except (KeyError, TypeError) as error:
                raise Damaged(f"the commit {commit[:10]} was made by a newer bd ({error})", hint="upgrade bd") from None
        if len(parents) > 1 and base and any(self._repo.is_ancestor(parent, base) for parent in parents):
            # A merge of what the hub has (a plain `git pull`): only what the merge itself decided is new.
            side = next(parent for parent in parents if self._repo.is_ancestor(parent, base))
            if not self._repo.run("diff-tree", "-c", "--name-only", "-r", "--no-commit-id", commit)[1].strip():
                return None
            return Pending(self._by_difference(commit, side, "merge", author), commit, author, at_s, text)
        operation = self._by_difference(commit, parents[0] if parents else "", None, author)
        return Pending(operation, commit, author, at_s, text.split("\n\nBd-Op:")[0])

    # --- settling what a killed process left ---

    def _settle(self, tip: str, snapshot: CachedSnapshot, operation: Decides | None) -> None:
        if self._hub.journal.is_empty():
            return
        current = {(bead.get("claim") or {}).get("token") for bead in snapshot.claimed()}
        for entry in self._hub.journal.of_the_dead():
            data = entry.data
            commits, tokens = data.get("commits") or [], data.get("tokens") or []
            if data["state"] == "begun":
                entry.remove()
                continue
            landed = (
                data["state"] == "won"
                or (commits and self._repo.is_ancestor(commits[-1], tip))
                or any(t in current for t in tokens)
            )
            if landed:
                self._heal += commits[-1:]
                if not any(token in current for token in tokens):
                    entry.remove()
                elif operation is not None and not self._inherited and _inherits(operation, data):
                    self._inherited = True
                    entry.remove()
                elif data["state"] != "won":
                    entry.write(state="won")
            elif data.get("base") != tip:
                entry.remove()  # somebody else's commit stands where ours had to: it can never land
            elif not self._hub.remote and commits:
                self._undo_checkout(commits[-1], tip)
                entry.remove()

    def _undo_checkout(self, there: str, tip: str) -> None:
        """Index and files were moved to a commit that its writer did not live to publish: move them back."""
        if checkout.is_checked_out(self._repo, self._hub.branch):
            with contextlib.suppress(checkout.InTheWay):
                checkout.bring_along(self._repo, self._hub.branch, there, tip)

    # --- publishing ---

    def _publish(self, commit: str, base: str | None) -> str:
        """Push, then find out: `landed`, `lost`, `stuck: words` (nothing moved), `unknown`, or `refused: words` for good."""
        if not self._hub.remote:
            return self._publish_here(commit, base)
        words, line = "", None
        try:
            lines, words = self._repo.push(self._hub.remote, [(commit, self._hub.branch)])
            line = lines.get(self._hub.branch)
        except GitTimeout as error:
            words = str(error)
        if line is not None and line.landed:
            self._in_doubt = False
            return "landed"
        self._in_doubt = line is None
        self._step("look-after-push")
        try:
            tip = self._hub.finish_fetch()
        except RemoteUnreachable:
            return "unknown"
        if tip and self._repo.is_ancestor(commit, tip):
            self._in_doubt = False
            return "landed"
        if tip != base:
            self._in_doubt = False
            return "lost"
        told = _server_words(words, line.summary if line else "")
        if any(sign in told.lower() for sign in _FOR_GOOD):
            self._in_doubt = False
            return f"refused:{told}"
        return f"stuck:{told}" if line is not None else "unknown"

    def _publish_here(self, commit: str, base: str | None) -> str:
        """Without a remote: the checkout first, then the branch by compare-and-swap."""
        if checkout.is_checked_out(self._repo, self._hub.branch):
            try:
                checkout.bring_along(self._repo, self._hub.branch, base, commit)
            except checkout.InTheWay as error:
                raise TryAgain(
                    f"the hub branch is checked out here and can't be moved: {error}",
                    hint="`bd sync` commits edited bead files; commit or stash anything else",
                ) from error
            self._step("checked-out")
        try:
            self._repo.update_refs([(self._hub.branch, commit, base or ZERO)])
        except GitFailed as error:
            if self._repo.ref(self._hub.branch) == base:
                return f"stuck:{error.stderr.strip()}"
            return "lost"
        return "landed"

    def _one_by_one(self, commits: list[str], pending: list[Pending]) -> None:
        """A batch was declined: push its commits singly, so that only the declined operation is set aside."""
        assert self._hub.remote
        for commit, item in zip(commits, pending, strict=False):
            base = self._repo.ref(PUBLISHED)
            verdict = self._publish(commit, base)
            if verdict == "landed":
                self._repo.update_refs([(PUBLISHED, commit, None)])
                continue
            if verdict.startswith("refused:"):
                self._keep(RefusedReplay(item.operation.uid, item.commit, _refused_by_server(verdict[8:])))
                self._drop(item)
            return

    def _keep(self, refused: RefusedReplay) -> None:
        self._repo.update_refs([(f"{KEPT}{refused.uid}", refused.commit, None)])
        reasons = self._hub.noted_json("kept.json") or {}
        reasons[refused.uid] = str(refused.error)
        self._hub.note_json("kept.json", reasons)

    def _drop(self, item: Pending) -> None:
        """Rebuild this clone's unpublished commits without one."""
        view = self._repo.ref(VIEW)
        parents = message.split_commit(self._repo.objects.read(item.commit) or b"")[0].get("parent", [])
        if view == item.commit and parents:
            self._repo.update_refs([(VIEW, parents[0], view)])

    # --- after the push ---

    def _finish(
        self,
        base: str | None,
        commits: list[str],
        chain: Chain,
        change: Change | None,
        entry: Entry,
        refused: list[RefusedReplay],
        tries: int,
        pending: list[Pending],
        hand: str | None,
    ) -> Outcome:
        tip = commits[-1]
        for item in refused:
            self._keep(item)
        notes = self._advance(base, tip, hand)
        self._step("refs")
        if base and self._hub.cache.commit == base:
            self._hub.cache.advance(chain.rows(), tip)
        self._hub.stamp()
        if change is not None and change.subject:
            self._hub.note_json(
                "last.json", {"uid": entry.uid, "commit": tip, "subject": change.subject, "touched": list(change.touched)}
            )
        return Outcome(
            change,
            published=True,
            commit=tip,
            tries=tries,
            replayed=len(chain.steps) - (1 if change is not None and not change.is_empty else 0),
            received=self._received(base),
            refused=tuple(refused),
            notes=tuple(notes),
            entry=entry,
        )

    def _received(self, tip: str | None) -> int:
        if tip is None or self._first_base in (None, tip):
            return 0
        return len(self._repo.commits_between(self._first_base, tip))

    def _nothing_to_push(
        self,
        base: str | None,
        change: Change | None,
        entry: Entry,
        refused: list[RefusedReplay],
        tries: int,
        pending: list[Pending],
        hand: str | None,
    ) -> Outcome:
        """The tip already holds everything: only this clone has to catch up."""
        assert base is not None
        for item in refused:
            self._keep(item)
        notes = self._advance(base, base, hand)
        if self._received(base) or pending:
            self._hub.stamp()
        return Outcome(
            change,
            published=True,
            commit=base,
            tries=tries,
            received=self._received(base),
            refused=tuple(refused),
            notes=tuple(notes),
            entry=entry,
        )

    def _advance(self, base: str | None, tip: str, hand: str | None) -> list[str]:
        """Set the private refs to the published tip, and bring a checked-out branch along."""
        if not self._hub.remote:
            return []
        updates: list[tuple[str, str | None, str | None]] = []
        if self._repo.ref(PUBLISHED) != tip:
            updates.append((PUBLISHED, tip, None))
        if self._repo.ref(VIEW) != tip:
            updates.append((VIEW, tip, None))
        notes: list[str] = []
        branch = self._hub.branch
        if checkout.is_checked_out(self._repo, branch):
            here = self._repo.ref(branch)
            if here != tip:
                notes = self._bring_along(here, tip, base, hand)
                if not notes:
                    updates.append((branch, tip, here or ZERO))
        if updates:
            self._repo.update_refs(updates)
        return notes

    def _bring_along(self, here: str | None, tip: str, base: str | None, hand: str | None) -> list[str]:
        follows = here in (None, base, hand) or self._repo.is_ancestor(here or "", tip)
        if not follows:
            return ["your branch has commits of its own; `bd sync` publishes them"]
        starts = [here, *(commit for commit in self._heal if commit != here)]
        words = ""
        for start in starts:
            try:
                checkout.bring_along(self._repo, self._hub.branch, start, tip)
                return []
            except checkout.InTheWay as error:
                words = words or str(error)
        return [f"the files here stay as they were: {words}"]

    # --- without the remote ---

    def _without_remote(self, operation: Decides | None, entry: Entry, error: RemoteUnreachable, hand: str | None) -> Outcome:
        if self._in_doubt:
            raise RemoteUnreachable(
                error.message, hint="this clone's next command finds out whether it was taken", written="unknown"
            ) from error
        if operation is None or getattr(operation, "needs_remote", False) or getattr(operation, "claims_too", False):
            raise error
        base = self._hub.view()
        snapshot = self._hub.snapshot(base)
        self._hub.check_format(snapshot)
        chain = Chain(self._repo, snapshot, self._world(snapshot))
        change = chain.add(operation, self._author(operation.by), _seconds(operation.at), tries=1)
        if not chain.steps:
            return Outcome(change, published=False, commit=base, tries=1, entry=entry)
        commits = self._repo.write_commits(base, chain.drafts)
        self._step("keep")
        self._repo.update_refs([(VIEW, commits[-1], self._repo.ref(VIEW))])
        self._hub.cache.advance(chain.rows(), commits[-1])
        self._hub.stamp()
        note = f"kept in this clone: {error.message}"
        if _names_token(operation, change, snapshot):
            raise TryAgain(note, hint="`bd sync` publishes it", written="local")
        return Outcome(
            change, published=False, commit=commits[-1], tries=1, notes=(f"{note}; `bd sync` publishes it",), entry=entry
        )


# --- small questions ----------------------------------------------------------------------


def _no_step(name: str) -> None:
    """The default step hook: torture tests stop the process here."""


def _seconds(stamp: str) -> int:
    return int(clock.instant_of(stamp).timestamp())


def _names(operation: Decides | None) -> dict[str, Any]:
    args = getattr(operation, "args", {})
    return {"agent": args.get("agent"), "ids": args.get("ids")}


def _inherits(operation: Decides, data: Mapping[str, Any]) -> bool:
    """Whether this operation takes over what a dead process of the same agent had won."""
    take_over = getattr(operation, "inherit", None)
    return bool(take_over and take_over(data))


def _names_token(operation: Decides, change: Change, snapshot: CachedSnapshot) -> bool:
    token_for = getattr(operation, "token_for", None)
    if token_for is None:
        return False
    claims = (snapshot.bead(bead_id) for bead_id in change.touched)
    return any(bead and bead.claim and token_for(bead.id) == bead.claim.token for bead in claims)


def _server_words(stderr: str, summary: str) -> str:
    lines = [line.strip().removeprefix("remote: ").strip() for line in stderr.splitlines()]
    told = [line for line in lines if line and not line.startswith(("error: failed to push", "To ", "hint:"))]
    words = "; ".join(dict.fromkeys([*told, summary.strip()]))
    return words.strip("; ") or "no words"


def _refused_by_server(words: str) -> Refused:
    return ServerRefused(
        f"push refused by server: {words}", hint="the hub's owner decides what may be pushed; nothing was changed here"
    )


def _tell_waiting() -> None:
    import sys  # noqa: PLC0415

    print("waiting for another bd command in this clone ...", file=sys.stderr)
