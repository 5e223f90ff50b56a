"""Name the modules whose code differs: `python tools/code_unchanged.py [OLD [NEW]] [--paths PATH ...]`.

For commits that change docstrings and comments only. OLD is HEAD unless given, NEW the working tree; PATH is `bd` unless given.
Two versions of a module are the same code if their syntax trees are equal without the docstrings, and they have the same comments
that tools obey (`noqa`, `type: ignore`, `pragma`, `fmt`). Exit status 1 if a module differs, was added or was removed.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIRECTIVE = re.compile(r"# *(?:noqa(?:: *[A-Z]+\d+(?:, *[A-Z]+\d+)*)?|type: *ignore(?:\[[^\]]*\])?|pragma: *[\w ]+|fmt: *\w+)")


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def changed(old: str, new: str | None, paths: list[str]) -> list[str]:
    """Return the Python files below `paths` that differ in any way. Untracked files count as added."""
    names = git("diff", "--name-only", "--no-renames", old, *([new] if new else []), "--", *paths).splitlines()
    if new is None:
        names += git("ls-files", "--others", "--exclude-standard", "--", *paths).splitlines()
    return sorted(name for name in names if name.endswith(".py"))


def text_of(name: str, revision: str | None) -> str | None:
    """Return a file at a revision, or in the working tree; None if it isn't there."""
    if revision is None:
        path = ROOT / name
        return path.read_text(encoding="utf-8") if path.exists() else None
    found = subprocess.run(["git", "show", f"{revision}:{name}"], cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout if found.returncode == 0 else None


def code_of(text: str | None) -> tuple[str, list[str]] | None:
    """Reduce a module to its syntax tree without docstrings, and the comments that tools obey, in order."""
    if text is None:
        return None
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if (
            isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]  # a body needs a statement: one of a docstring alone does nothing
    comments = [token.string for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.COMMENT]
    directives = [found.strip() for comment in comments for found in DIRECTIVE.findall(comment)]
    return ast.dump(tree), directives


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", nargs="?", default="HEAD")
    parser.add_argument("new", nargs="?", help="the working tree unless given")
    parser.add_argument("--paths", nargs="+", default=["bd"])
    given = parser.parse_args()
    old, new = given.old, given.new
    names = changed(old, new, given.paths)
    different = [name for name in names if code_of(text_of(name, old)) != code_of(text_of(name, new))]
    for name in different:
        print(name)
    print(f"{len(different)} of {len(names)} changed modules differ in code", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
