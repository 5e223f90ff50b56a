"""Move one section of moves.txt: `python tools/move.py SECTION` moves the files, and follows them in imports, strings, docs, tests.

Nothing else changes. Names that a file imports as modules (`from bd.store import codec`) are renamed in it, too; where the new name
is taken there, it is imported under the old one, and printed.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_name("moves.txt")
# History, and what is about names of other versions.
LEFT_ALONE = ("CHANGELOG.md", "tools/", "tests/transcripts/", ".git-blame-ignore-revs")
TEXTS = (".py", ".md", ".toml", ".yml", ".yaml", ".txt", ".sh", ".cfg", "")
# Where a bare `hub.py` is the name of a module.
SPEAKS_OF_MODULES = ("bd/", "tests/", "bench/", "docs/architecture.md", "docs/adding-a-command.md", "CONTRIBUTING.md")


def sections() -> dict[str, dict[str, str]]:
    """For each section its paths, old -> new; and what is made new, as path -> its text."""
    found: dict[str, dict[str, str]] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            moves = found.setdefault(line.strip("[]"), {})
        elif line.startswith("- "):
            moves[f"-{line[2:]}"] = ""
        elif line.startswith("+"):
            path, _, text = line[2:].partition(": ")
            moves[f"+{path}"] = f'"""{text}"""\n'
        elif " -> " in line and not line.startswith("#"):
            old, _, new = line.partition(" -> ")
            moves[old] = new
    return found


def dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class Followed:
    """How a text follows a section's moves."""

    def __init__(self, moves: dict[str, str], earlier: dict[str, str]) -> None:
        self._modules = {dotted(old): dotted(new) for old, new in moves.items()}
        self._paths = moves
        self._earlier = {new: old for old, new in earlier.items()}  # of the sections that have moved
        self._all = {**moves, **earlier}
        names = "|".join(map(re.escape, sorted(self._modules, key=len, reverse=True)))
        self._packages = {dotted(old) for old in moves if old.endswith("__init__.py")}
        self._dotted = re.compile(rf"(?<![\w.])({names})(?!\w)(\.\w| import)?")
        paths = sorted(
            {*moves, *(old.partition("/")[2] for old in moves if old.startswith("bd/") and old.count("/") > 1)},
            key=len,
            reverse=True,
        )
        self._path = re.compile(rf"(?<![\w/-])({'|'.join(map(re.escape, paths))})(?!\w)")
        self._bare = re.compile(r"(?<![\w/.*-])([a-z_]+)\.py(?!\w)")

    def text(self, path: str, text: str) -> str:
        """Mentions of modules by their dotted names and paths."""
        text = self._dotted.sub(self._new_name, text)
        text = self._path.sub(self._new_path, text)
        if path.startswith(SPEAKS_OF_MODULES):
            text = self._bare.sub(lambda match: self._new_bare(path, match), text)
        return text

    def _new_name(self, match: re.Match[str]) -> str:
        """A package is renamed by itself; before a module of it, where that module moves."""
        name, after = match[1], match[2] or ""
        return match[0] if after and name in self._packages else self._modules[name] + after

    def _new_path(self, match: re.Match[str]) -> str:
        whole = match[1] if match[1] in self._paths else f"bd/{match[1]}"
        return self._paths[whole].removeprefix("" if match[1] in self._paths else "bd/")

    def _new_bare(self, path: str, match: re.Match[str]) -> str:
        """A sibling of the file as it was before anything moved, or the only module of that name."""
        was = self._earlier.get(path, path)
        beside = f"{was.rpartition('/')[0]}/{match[1]}.py"
        alike = [old for old in ALL_OLD if old.rpartition("/")[2] == match[0]]
        old = beside if beside in ALL_OLD else alike[0] if len(alike) == 1 else ""
        new = self._paths.get(old, "")
        return new.rpartition("/")[2] if new and not new.endswith("__init__.py") else match[0]

    def imports(self, path: str, text: str) -> str:
        """`from package import module`, and what the file then calls it."""
        edits: list[tuple[int, int, list[str]]] = []
        renames: dict[str, str] = {}
        tree = ast.parse(text)
        bound = _bound(tree)
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or node.level or not node.module:
                continue
            moved = [one for one in node.names if f"{node.module}.{one.name}" in self._modules]
            if not moved and node.module not in self._packages:
                continue
            rest = [ast.unparse(one) for one in node.names if one not in moved]
            by_package = {self._modules.get(node.module, node.module): rest} if rest else {}
            for one in moved:
                package, _, name = self._modules[f"{node.module}.{one.name}"].rpartition(".")
                known = one.asname
                if not known and name != one.name:
                    if name in bound:
                        known = one.name
                        print(f"{path}: {name} is taken, known as {known}")
                    else:
                        renames[one.name] = name
                by_package.setdefault(package, []).append(name + (f" as {known}" if known and known != name else ""))
            indent = " " * node.col_offset
            lines = [f"{indent}from {package} import {', '.join(names)}" for package, names in by_package.items()]
            edits.append((node.lineno, node.end_lineno or node.lineno, lines))
        found = text.splitlines()
        for first, last, lines in sorted(edits, reverse=True):
            comment = re.search(r"\s+# noqa.*$", found[first - 1])
            found[first - 1 : last] = [line + (comment[0] if comment else "") for line in lines]
        text = "\n".join(found) + "\n" * text.endswith("\n")
        for old, new in renames.items():
            text = _renamed(text, old, new)
        return text


def _bound(tree: ast.AST) -> set[str]:
    """Every name that a file gives to anything."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(one.asname or one.name).partition(".")[0] for one in node.names}
    return found


def _renamed(text: str, old: str, new: str) -> str:
    """A module's name in a file, but not in functions that use it for something of their own."""
    lines = text.splitlines(keepends=True)
    own = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef) and old in _bound(node)]
    left = {number for node in own for number in range(node.lineno, (node.end_lineno or 0) + 1)}
    pattern = re.compile(rf"(?<![\w.\"'/]){old}\.(?!py\b)(?=[A-Za-z_])")
    lines = [line if number in left else pattern.sub(f"{new}.", line) for number, line in enumerate(lines, 1)]
    text = "".join(lines)
    nodes = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id == old and node.lineno not in left
    ]
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        line = lines[node.lineno - 1].encode()
        if line[node.col_offset :].startswith(old.encode()):
            lines[node.lineno - 1] = (line[: node.col_offset] + new.encode() + line[node.col_offset + len(old) :]).decode()
    return re.sub(r"(?<=__all__ = \[)[^]]*", lambda match: re.sub(rf'"{old}"', f'"{new}"', match[0]), "".join(lines))


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


ALL_OLD = {old for moves in sections().values() for old in moves if old[0] not in "+-"}


def main() -> int:
    [section] = sys.argv[1:]
    table = sections()
    made = {old[1:]: text for old, text in table[section].items() if old.startswith("+")}
    moves = {old: new for old, new in table[section].items() if old[0] not in "+-"}
    names = list(table)
    earlier = {old: new for name in names[: names.index(section)] for old, new in table[name].items() if old[0] not in "+-"}
    ALL_OLD.update(path for path in git("ls-files", "bd").split() if path not in earlier.values())
    for path, text in made.items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")
        git("add", path)
    for path in table[section]:
        if path.startswith("-"):
            git("rm", "--quiet", path[1:])
    for old, new in moves.items():
        (ROOT / new).parent.mkdir(parents=True, exist_ok=True)
        git("mv", old, new)
    followed = Followed(moves, {**earlier, **moves})
    for path in git("ls-files").splitlines():
        if (
            path.startswith(LEFT_ALONE)
            or Path(path).suffix not in TEXTS
            or not (ROOT / path).is_file()
            or (ROOT / path).is_symlink()
        ):
            continue
        try:
            text = (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        new = followed.text(path, text)
        new = followed.imports(path, new) if path.endswith(".py") else new
        if new != text:
            (ROOT / path).write_text(new, encoding="utf-8")
    for words in (["check", "--quiet", "--fix", "."], ["format", "--quiet", "."]):
        subprocess.run([sys.executable, "-m", "ruff", *words], cwd=ROOT, check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
