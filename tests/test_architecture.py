"""The rules of docs/architecture.md that no linter knows: who may import what, and how large things may grow."""

from __future__ import annotations

import ast
import functools
import graphlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import bd
from bd.cli.derivations import DERIVATIONS
from bd.store.cache.fingerprint import STORE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bd.core.queries import Derivation

PACKAGE = Path(bd.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if "examples" not in path.parts)

# Who may import a library at all; a name that ends in / is a folder.
IMPORTERS: dict[str, tuple[str, ...]] = {
    "click": ("cli/click_commands.py", "cli/completion.py", "cli/reference.py", "cli/questions.py"),
    "git": ("store/git/repository.py", "store/git/create.py"),
    "ruamel": ("store/yaml/codec.py",),
    "filelock": ("store/local/lock.py",),
    "ulid": ("core/ids.py",),
    "rich": ("cli/columns.py", "cli/output.py", "demo/view.py"),
    "sqlite3": ("store/cache/database.py",),
    "starlette": ("web/",),
    "uvicorn": ("web/server.py", "web/connections.py"),
    "mcp": ("web/mcp_server.py",),
    "watchfiles": ("worker/wakeup.py",),
}
HEAVY = ("git", "ruamel", "filelock", "ulid", "rich")
# Who may start a process: git alone in the store, and Python to read many files; agents' work, demonstrations and editors
# where agents run and in cli.
STARTERS = (
    "store/git/process.py",
    "store/cache/load.py",
    "processes/",
    "schedule/",
    "demo/processes.py",
    "cli/commands/edit.py",
)
# What time, chance and new names come from: cli/runtime.py alone uses it, and everybody else the Runtime that was handed in.
# Who does so all the same, and why.
RUNTIME = "cli/runtime.py"
BY_THEMSELVES = {
    "time": {
        "processes/supervisor.py": "a program of its own, which counts how long a dying bd's command may take",
        "store/git/process.py": "how long a git may take is counted by the system that waits for it",
    },
    "random": {
        "simulation/run.py": "the same numbers for the same seed",
        "demo/coding.py": "whom a seed has killed, and when",
    },
    "secrets": {
        "web/authentication.py": "what nobody may guess or repeat is not for a Runtime to make",
        "cli/commands/demo.py": "a seed that a person may repeat",
    },
    "uuid": {},
    "os.urandom": {
        "store/git/fetch.py": "the name of a folder of refs that is gone when the fetch is",
        "store/heartbeat/side_refs.py": "the name of a ref that is gone when the probe is",
        "cli/output.py": "what no text can have in it, to tell bd's own styles by",
    },
    "datetime.now": {},
    "datetime.utcnow": {},
    "datetime.today": {},
    "date.today": {},
}
# Who waits with a limit for a thread or a process, whose word or end ends the wait: that is no sleep.
WAITERS = (
    "demo/processes.py",
    "processes/run.py",
    "processes/tree.py",
    "store/git/process.py",
    "web/feed.py",
    "web/gateway_thread.py",
    "worker/child.py",
    "worker/drain.py",
    "worker/events.py",
    "worker/job.py",
    "worker/wakeup.py",
)

FUNCTION_LIMIT = 40
# What was longer when this test was written. Entries may go and numbers may fall; nothing may be added.
LONG_FUNCTIONS: dict[str, int] = {}


class Module(NamedTuple):
    """What the rules ask about a module. Each is read once; to keep its tree would cost more than it saves."""

    docstring: str
    lines: int
    imports: list[str]
    imports_at_the_top: list[str]
    names_imported_from: list[str]  # `datetime.now` of `from datetime import now`
    calls: list[tuple[int, str]]  # (line, `a.b.c` of `a.b.c()`)
    tries: list[int]  # the lines of every `try`
    has_limited_wait: bool  # `x.wait(5)`, `x.get(timeout=5)`
    functions: dict[str, int]  # the lines of each function, its signature and docstring not counted, by qualified name


@functools.cache
def read(module: str) -> Module:
    text = (PACKAGE / module).read_text(encoding="utf-8")
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    imports = imports_of(nodes)
    return Module(
        ast.get_docstring(tree) or "",
        len(text.splitlines()),
        [name for name, _ in imports],
        [name for name, statement in imports if statement in tree.body],
        [f"{name}.{alias.name}" for name, node in imports if isinstance(node, ast.ImportFrom) for alias in node.names],
        [(node.lineno, dotted(node.func)) for node in nodes if isinstance(node, ast.Call)],
        [node.lineno for node in nodes if isinstance(node, (ast.Try, ast.TryStar))],
        any(isinstance(node, ast.Call) and is_limited_wait(node) for node in nodes),
        functions_of(tree),
    )


def is_allowed(module: str, places: tuple[str, ...]) -> bool:
    return any(module == place or (place.endswith("/") and module.startswith(place)) for place in places)


def dotted(node: ast.expr) -> str:
    """`a.b.c` of an attribute; the empty text for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else node.attr
    return ""


def is_limited_wait(call: ast.Call) -> bool:
    last = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    is_limited = any(keyword.arg == "timeout" for keyword in call.keywords)
    return (last == "wait" and (bool(call.args) or is_limited)) or (last == "get" and is_limited)


def for_types_only(nodes: list[ast.AST]) -> set[ast.AST]:
    """Everything below an `if TYPE_CHECKING:`."""
    found: set[ast.AST] = set()
    for node in nodes:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            found.update(inner for statement in node.body for inner in ast.walk(statement))
    return found


def imports_of(nodes: list[ast.AST]) -> list[tuple[str, ast.stmt]]:
    """(module, statement) of every import that runs."""
    skipped = for_types_only(nodes)
    found: list[tuple[str, ast.stmt]] = []
    for node in nodes:
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            found += [(alias.name, node) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append((node.module, node))
    return found


def functions_of(tree: ast.Module) -> dict[str, int]:
    found: dict[str, int] = {}

    def walk(node: ast.AST, above: str) -> None:
        for inner in ast.iter_child_nodes(node):
            name = above
            if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{above}.{inner.name}" if above else inner.name
            if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = inner.body[1:] if ast.get_docstring(inner) and len(inner.body) > 1 else inner.body
                found[name] = (inner.end_lineno or 0) - body[0].lineno + 1
            walk(inner, name)

    walk(tree, "")
    return found


def test_there_are_modules() -> None:
    assert len(MODULES) > 50


@pytest.mark.parametrize("library", IMPORTERS)
def test_only_its_module_imports_a_library(library: str) -> None:
    strangers = [
        module
        for module in MODULES
        if not is_allowed(module, IMPORTERS[library])
        and any(name == library or name.startswith(f"{library}.") for name in read(module).imports)
    ]
    assert not strangers


def test_heavy_libraries_are_imported_where_they_are_used() -> None:
    assert not [
        (module, name) for module in MODULES for name in read(module).imports_at_the_top if name.partition(".")[0] in HEAVY
    ]


@pytest.mark.parametrize("source", BY_THEMSELVES)
def test_time_chance_and_new_names_come_from_the_runtime(source: str) -> None:
    users = set()
    for module in MODULES:
        used = [name for _, name in read(module).calls] if "." in source else read(module).imports
        if any(name == source or name.endswith(f".{source}") for name in [*used, *read(module).names_imported_from]):
            users.add(module)
    assert users - {RUNTIME} == BY_THEMSELVES[source].keys()


def test_only_few_wait_with_a_limit() -> None:
    """`Event.wait(5)` may be a sleep in disguise. The waits of bd's own classes are made of these, or of the Runtime's sleep."""
    threads = {"threading", "queue", "subprocess", "_thread"}
    waiters = {module for module in MODULES if threads & set(read(module).imports) and read(module).has_limited_wait}
    assert waiters == set(WAITERS)


def test_nothing_reads_the_variables_of_tests() -> None:
    assert not [module for module in MODULES if "BD_TEST" in (PACKAGE / module).read_text(encoding="utf-8")]


def test_only_few_start_programs() -> None:
    starts = ("subprocess.", "os.system", "os.popen", "os.spawn", "os.exec", "os.posix_spawn", "_posixsubprocess.")
    strangers = [
        module
        for module in MODULES
        if not is_allowed(module, STARTERS) and any(name.startswith(starts) for _, name in read(module).calls)
    ]
    assert not strangers


def block_of(heading: str) -> list[str]:
    """The lines of the first block under a heading of docs/architecture.md."""
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    return page.partition(f"\n## {heading}\n")[2].partition("```text\n")[2].partition("\n```")[0].splitlines()


def folder_list() -> dict[str, set[str]]:
    """What "The folders" lists in each package: modules, and folders with a `/` at the end.

    A line begins with one or more names, and two spaces before what they are; a line that is indented further goes on with it.
    """
    listed: dict[str, set[str]] = {"": set()}
    package = ""
    for line in block_of("The folders")[1:]:
        indent = len(line) - len(line.lstrip())
        names = line.strip().partition("  ")[0].split()
        if indent == 2:
            package = names[0]
            listed[""].add(package)
            listed[package] = set()
        elif indent == 4:
            listed[package].update(name if name.endswith("/") else name.removesuffix(".py") for name in names)
    return listed


def test_the_folder_list_names_every_package() -> None:
    """And all modules of those packages that it lists by module: a new one is put where the next reader looks for it."""
    listed = folder_list()
    packages = {module.removesuffix("__init__.py") for module in MODULES if module.endswith("/__init__.py")}
    assert {f"{above}{name}" for above, names in listed.items() for name in names if name.endswith("/")} == packages
    for package in ("core/", "policy/", "store/"):
        inside = {module.removeprefix(package).removesuffix(".py") for module in MODULES if module.startswith(package)}
        assert {name for name in listed[package] if not name.endswith("/")} == {
            name for name in inside if "/" not in name and name != "__init__"
        }, package


def test_the_folder_list_mentions_only_modules_that_exist() -> None:
    known = {*MODULES, *(Path(module).name for module in MODULES)}
    assert set(re.findall(r"[\w/]+\.py", "\n".join(block_of("The folders")))) - known == set()


def test_the_page_has_the_layers_of_the_linter() -> None:
    """Those of all packages, and those of core."""
    contracts = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = {contract["name"]: contract["layers"] for contract in contracts if contract["type"] == "layers"}
    packages, core = " ".join(line.strip() for line in block_of("Layers")).split("core: ")
    assert packages.strip().split(" -> ") == [layer.replace("bd.", "") for layer in layers["The layers of docs/architecture.md"]]
    assert core.split(" -> ") == layers["The layers of core"]


def test_only_the_driver_moves_the_hub_branch() -> None:
    """A push without a commit moves side refs alone."""
    movers = {
        module
        for module in MODULES
        if "remote.push(" in (text := (PACKAGE / module).read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and dotted(node.func).endswith("remote.push")
        if not (isinstance(node.args[0], ast.Constant) and node.args[0].value is None)
    }
    assert movers == {"store/transaction/driver.py"}


def test_only_two_modules_start_git() -> None:
    users = {module for module in MODULES if "bd.store.git.process" in read(module).imports}
    assert users == {
        "store/git/repository.py",
        "store/git/discovery.py",
    }  # the second asks git which repository it is, before there is one


def test_no_modules_import_each_other() -> None:
    """Neither directly nor by way of others, and imports in functions count: a circle is one thing in two files."""
    paths = {module.removesuffix(".py").removesuffix("/__init__").replace("/", "."): module for module in MODULES}
    names = {f"bd.{name}" for name in paths}
    graph: dict[str, set[str]] = {}
    for name, path in paths.items():
        module = read(path)
        found = {one for one in [*module.imports, *module.names_imported_from] if one in names}
        whole = {one for one in found if not any(other.startswith(f"{one}.") for other in found)}  # not the package of a module
        graph[f"bd.{name}"] = whole - {f"bd.{name}"}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_policy_touches_nothing_outside() -> None:
    """Policy is pure: no files, no processes, no environment, no randomness of its own, no clock."""
    forbidden = {"os", "io", "pathlib", "subprocess", "sqlite3", "random", "secrets", "socket", "time", "tempfile"}
    for module in MODULES:
        if module.startswith("policy/"):
            assert not {name.partition(".")[0] for name in read(module).imports} & forbidden, module
            assert not {name for _, name in read(module).calls} & {"open", "print", "input", "now"}, module


def imported_by(module: str) -> set[str]:
    """The module, and all modules of bd that it imports, by itself or through others."""
    found: set[str] = set()
    fresh = [module]
    while fresh:
        module = fresh.pop()
        if module not in found:
            found.add(module)
            names = [*read(module).imports, *read(module).names_imported_from]
            paths = [name.removeprefix("bd.").replace(".", "/") + ".py" for name in names if name.startswith("bd.")]
            fresh += [path for path in paths if path in MODULES]
    return found


@pytest.mark.parametrize("derivation", DERIVATIONS, ids=lambda derivation: derivation.name)
def test_a_derivation_names_all_code_that_it_may_import(derivation: Derivation) -> None:
    """By that the store tells what it keeps from what another version of bd has kept."""
    (start,) = [name for name in derivation.begin.__code__.co_names if name.startswith("bd.")]
    used = imported_by(start.removeprefix("bd.").replace(".", "/") + ".py")
    assert len(used) > 5
    assert not_among(derivation.code, used) == set()
    assert [part for part in derivation.code if not (PACKAGE / part).exists()] == []


def not_among(parts: Iterable[str], modules: set[str]) -> set[str]:
    """Those modules that are neither one of the parts nor in a package that is."""
    return {module for module in modules if not any(module == part or module.startswith(f"{part}/") for part in parts)}


def test_the_store_names_all_code_that_fills_its_cache() -> None:
    """By that it tells its own cache, and its own cached place, from what another version of bd has left there."""
    assert [part for part in STORE if not (PACKAGE / part).exists()] == []
    assert not_among(STORE, imported_by("store/cache/cache.py") | {"store/snapshot.py"}) == set()
    makers = {module for module in MODULES if "bd.store.hub_files.Row" in read(module).names_imported_from}
    assert not_among(STORE, makers) == set(), "the rows of a write go into the cache as they are, too"
    # What a hub is reached by writes nothing into the cached place.
    assert not_among((*STORE, "store/local", "store/worktree"), imported_by("store/hub_location.py")) == set()


def is_exit(name: str) -> bool:
    """Whether the name is that of a call that ends the process, or that catches as a `try` does."""
    last = name.rpartition(".")[2]
    return name in ("sys.exit", "exit", "os._exit", "quit") or last in ("suppress", "__exit__")


def test_commands_catch_nothing_and_exit_nowhere() -> None:
    """The door for errors is one: cli/main.py."""
    offenders = []
    for module in MODULES:
        if not module.startswith("cli/commands/"):
            continue
        offenders += [f"{module}:{line} {name}" for line, name in read(module).calls if is_exit(name)]
        offenders += [f"{module}:{line} try" for line in read(module).tries]
        offenders += [f"{module} {name}" for name in read(module).names_imported_from if is_exit(name)]
    assert not offenders


def test_nobody_imports_typing_for_type_checkers_alone() -> None:
    """`bd.TYPE_CHECKING` does instead, and a claim starts without typing."""
    assert [module for module in MODULES if "typing.TYPE_CHECKING" in read(module).names_imported_from] == []


def test_names_say_what_is_in_it() -> None:
    empty = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "stuff"}
    assert not [module for module in MODULES if empty & set(Path(module).stem.split("_"))]
    silent = [module for module in MODULES if not read(module).docstring]
    assert not silent, "a module's docstring says what belongs in it"


def test_functions_stay_small() -> None:
    lengths = {f"{module}:{name}": length for module in MODULES for name, length in read(module).functions.items()}
    assert {name: length for name, length in lengths.items() if length > LONG_FUNCTIONS.get(name, FUNCTION_LIMIT)} == {}
    outgrown = {name for name in LONG_FUNCTIONS if lengths.get(name, 0) <= FUNCTION_LIMIT}
    assert not outgrown, "these are short enough now: take them off the list"


ALONE = """
import importlib, sys
for name in sys.argv[1:]:
    for known in [known for known in sys.modules if known == "bd" or known.startswith("bd.")]:
        del sys.modules[known]
    try:
        importlib.import_module(name)
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}")
"""


@pytest.mark.slow
def test_every_module_imports_alone() -> None:
    """In any order, without another having been there first: no circles that happen to work."""
    names = [f"bd.{module.removesuffix('.py').replace('/', '.')}".removesuffix(".__init__") for module in MODULES]
    names = ["bd" if name == "bd.__init__" else name for name in names if not name.endswith("__main__")]
    result = subprocess.run([sys.executable, "-c", ALONE, *names], capture_output=True, text=True)
    assert result.stdout == ""
    assert result.returncode == 0, result.stderr


def test_without_the_extras_everything_imports_but_the_pages() -> None:
    """Who did `pip install gitbeads` and no more has every command; those that need an extra say so."""
    extras = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    libraries = {
        re.split(r"[^\w-]", one)[0] for key in ("validate", "notify", "watch", "serve", "signing") for one in extras[key]
    }
    names = [f"bd.{module.removesuffix('.py').replace('/', '.')}" for module in MODULES if not module.startswith("web/")]
    importing = [f"import {name}" for name in names if not name.endswith(("__init__", "__main__"))]
    code = "\n".join(["import sys", *(f"sys.modules[{library!r}] = None" for library in sorted(libraries)), *importing])
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_nothing_is_asked_of_an_operation_by_a_string() -> None:
    """All that may be asked stands in bd/core/operation.py, where mypy holds every operation against it."""
    (protocol,) = (
        node
        for node in ast.walk(ast.parse((PACKAGE / "core/operation.py").read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and node.name == "Operation"
    )
    names = {node.name for node in protocol.body if isinstance(node, ast.FunctionDef)} | {"args", "tokens"}
    assert {"decide", "renamed", "is_portable"} <= names
    asked = [
        f"{module}:{node.lineno}"
        for module in MODULES
        if "attr" in (text := (PACKAGE / module).read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and dotted(node.func) in ("getattr", "hasattr", "setattr", "delattr", "object.__setattr__")
        and any(isinstance(one, ast.Constant) and one.value in names for one in node.args)
    ]
    assert asked == []
