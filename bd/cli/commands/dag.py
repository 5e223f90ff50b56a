"""bd dag."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command, Flag, Group, Option, one_of
from bd.compat import dag_export
from bd.core import ids
from bd.core.errors import NoSuchBead
from bd.core.queries import made_of
from bd.core.times import age_text
from bd.operations.close import Cancel
from bd.operations.dags import DagAdd
from bd.policy.budget import left_under
from bd.policy.dag_progress import Dags, dag_of, shape_of
from bd.policy.readiness import Readiness

if TYPE_CHECKING:
    from bd.cli.app import App
    from bd.core.model import Bead, Snapshot
    from bd.policy.dag_progress import Dag, Member, Shape


_NAMED = 8


SHOW = Command(
    "show",
    Argument("root"),
    Option("--format", name="form", kind=one_of("text", "mermaid", "dot", "json"), default="text", help="How (text)."),
    help="Show a root with everything below it: states, critical path, progress, cost.",
    examples=["bd dag show hub-7k3q", "bd dag show hub-7k3q --format dot > dag.dot"],
)


def show(app: App, root: str, form: str) -> None:
    """Show a root with everything below it: states, critical path, progress, cost."""
    snapshot = app.snapshot()
    dag = dag_of(_root(root, snapshot), snapshot, app.now)
    settings = app.settings()
    shape = shape_of(dag, snapshot, lambda bead: settings.expected_s(bead.type, bead.get("expected")))
    if app.out.is_json or form == "json":
        app.out.object(dag_export.as_json(dag, shape, snapshot, app.now))
    elif form != "text":
        app.out.line((dag_export.mermaid if form == "mermaid" else dag_export.dot)(dag, shape))
    else:
        _show(app, dag, shape, snapshot)


def _root(typed: str, snapshot: Snapshot) -> Bead:
    bead = snapshot.head(ids.resolve(typed, snapshot.starting, snapshot.exists))
    if bead is None:
        raise NoSuchBead(typed)
    return bead


def _show(app: App, dag: Dag, shape: Shape, snapshot: Snapshot) -> None:
    out = app.out
    tail = f"{dag.status}, {dag.done}/{len(dag.tasks)} done"
    readiness = Readiness(snapshot, app.now)
    out.line(out.bead_line(dag.root, readiness, tail=tail))
    for member, lead in _leads(dag.members):
        out.line(out.bead_line(member.bead, readiness, lead=lead, tail=_after(member.bead, shape)))
    out.line()
    out.line(f"Starts with: {_few(shape.roots)}")
    out.line(f"Ends with:   {_few(shape.leaves)}")
    if shape.critical:
        out.line(f"Critical path: {' → '.join(_ends(shape.critical))} ({age_text(shape.critical_s)} expected)")
    wholes = snapshot.wholes([dag.root.id, *(member.bead.id for member in dag.members)])
    ceiling = wholes[0].get("budget_ceiling_usd")
    spent = dag_export.spent_usd(wholes)
    if spent or ceiling is not None:
        left = left_under(wholes[0], snapshot, app.now)
        of = f" of ${ceiling:.2f}, ${max(0.0, left):.2f} left after what claims reserve" if left is not None else ""
        out.line(f"Cost:        ${spent:.2f}{of}")


def _after(bead: Bead, shape: Shape) -> str:
    targets = shape.edges.get(bead.id)
    return f"after {_few(targets)}" if targets else ""


def _few(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _ends(names: list[str]) -> list[str]:
    """Shorten a long path to its ends."""
    return names if len(names) <= _NAMED else [*names[: _NAMED // 2], "…", *names[-_NAMED // 2 :]]


def _leads(members: list[Member]) -> list[tuple[Member, str]]:
    """Return each bead with its tree lines: which of the levels above it continue below."""
    found: list[tuple[Member, str]] = []
    goes_on: list[bool] = []
    for member in reversed(members):
        depth = member.depth
        del goes_on[depth + 1 :]
        goes_on += [False] * (depth + 1 - len(goes_on))
        lead = "".join("│  " if goes_on[level] else "   " for level in range(depth))
        found.append((member, lead + ("├─ " if goes_on[depth] else "└─ ")))
        goes_on[depth] = True
    return found[::-1]


LIST_DAGS = Command(
    "list",
    Option("--status", kind=one_of("pending", "running", "completed", "failed", "cancelled"), help="Only these."),
    Flag("--all", "-a", name="everything", help="Also completed and cancelled ones."),
    help="List the DAGs: every bead that is below nothing and has something below it.",
    examples=["bd dag list --status failed"],
)


def list_dags(app: App, status: str | None, *, everything: bool) -> None:
    """List the DAGs: every bead that has something below it and nothing above."""
    found = Dags(app.snapshot(), app.now).every()
    hidden = () if everything or status else ("completed", "cancelled")
    shown = [dag for dag in found if dag.status not in hidden and status in (None, dag.status)]
    shown.sort(key=lambda dag: (dag.root.priority, made_of(dag.root.fields), dag.root.id))
    if app.out.is_json:
        app.out.json([dag_export.summary(dag) for dag in shown])
    elif app.out.quiet:
        for dag in shown:
            app.out.line(dag.root.id)
    elif shown:
        rows = [[dag.root.id, dag.status, f"{dag.done}/{len(dag.tasks)}", escaped(dag.root.title)] for dag in shown]
        app.out.table(["dag", "status", "done", "title"], rows)
    else:
        app.out.line("No DAGs." if not found else "No unfinished DAGs; --all lists the others.")


CANCEL = Command(
    "cancel",
    Argument("roots", many=True, required=True),
    Option("--reason", "-r", help="Why."),
    Flag("--force", help="Also cancel beads in progress (needs --reason)."),
    help="Cancel a root with everything unfinished below it, in one commit or not at all.",
    examples=['bd dag cancel hub-7k3q --reason "the client left"'],
)


def cancel(app: App, roots: tuple[str, ...], reason: str | None, *, force: bool) -> None:
    """Cancel a root with everything unfinished below it, in one commit, or nothing."""
    outcome = app.publish(Cancel(**app.asked(roots, ids=list(roots), reason=reason, force=force, tree=True)))
    app.show_written(outcome, "Cancelled")


ADD = Command(
    "add",
    Argument("root"),
    Argument("beads", many=True, required=True),
    help="""Make existing beads parts of a DAG, in one commit or not at all.

    The root becomes their parent, and is done last: it waits for those that none of the others waits for. Any bead can be the
    root. A bead that is part of another DAG is refused.
    """,
    examples=["bd dag add hub-a1b2 hub-m2v8 hub-q9x1"],
)


def add(app: App, root: str, beads: tuple[str, ...]) -> None:
    """Make existing beads parts of a DAG, in one commit or not at all."""
    outcome = app.publish(DagAdd(**app.asked(ids=[root, *beads])))
    if app.out.is_json or app.out.quiet:
        app.show_written(outcome, "Added")
        return
    top, *parts = outcome.change.touched if outcome.change else ()
    app.out.said(f"✓ {top} now has {', '.join(parts)}")
    app.out.said(f"  `bd dag show {top}` shows them" + ("" if outcome.published else "; not published yet"))


SPEC = Group(
    "dag",
    {
        "add": (ADD, add),
        "show": (SHOW, show),
        "list": (LIST_DAGS, list_dags),
        "cancel": (CANCEL, cancel),
    },
    help="Show, list and cancel DAGs, and add beads to one.",
)
