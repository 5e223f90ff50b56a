"""bd as its users have it: in a virtual environment with what it needs and nothing else.

The environment that runs the benchmarks has test tools beside bd, some of which hook into every start of Python. What is
installed here is copied from there, so that nothing has to be fetched. Both sides of a comparison run in it.
"""

from __future__ import annotations

import re
import shutil
import tomllib
import venv
from importlib import metadata
from pathlib import Path

import bd

PROJECT = "gitbeads"
_SCRIPT = "#!{python}\nimport sys\nfrom {module} import run\nif __name__ == '__main__':\n    sys.exit(run())\n"


def install(folder: Path, checkout: Path | None = None) -> Path:
    """Make the environment; its Python, with the console script `bd` beside it. The bd of another checkout, if one is named."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = next(path for path in (folder / "bin" / "python", folder / "Scripts" / "python.exe") if path.exists())
    site = next(folder.glob("[Ll]ib/**/site-packages"))
    for name in _needed(PROJECT) - {PROJECT}:
        _copy(metadata.distribution(name), site)
    shutil.copytree(
        checkout / "bd" if checkout else Path(bd.__file__).parent, site / "bd", ignore=shutil.ignore_patterns("__pycache__")
    )
    script = python.with_name("bd")
    script.write_text(_SCRIPT.format(python=python, module=_entry(checkout or Path(bd.__file__).parents[1])))
    script.chmod(0o755)
    return python


def _entry(checkout: Path) -> str:
    """The module that the console script of a checkout starts; an older one has another."""
    with (checkout / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["scripts"]["bd"].partition(":")[0])


def add(python: Path, name: str) -> None:
    """Put another distribution into an environment, with all that it needs."""
    site = next(python.parent.parent.glob("[Ll]ib/**/site-packages"))
    for one in _needed(name):
        _copy(metadata.distribution(one), site)


def _needed(name: str) -> set[str]:
    """A distribution and all that it needs without its extras, as far as it is installed here."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        try:
            wanted = metadata.requires(one) or []
        except metadata.PackageNotFoundError:  # of another platform
            continue
        found.add(one)
        names = {re.split(r"[^\w.-]", line, maxsplit=1)[0].lower() for line in wanted if "extra ==" not in line}
        waiting += names - found
    return found


def _copy(distribution: metadata.Distribution, site: Path) -> None:
    for file in distribution.files or ():
        if ".." not in file.parts and "__pycache__" not in file.parts:
            target = site / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(distribution.locate_file(file)), target)
