"""bd completion."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.completion import SHELLS, candidates
from bd.cli.spec import Argument, Command, one_of

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "completion",
    Argument("shell", kind=one_of(*SHELLS, "words")),
    Argument("typed", many=True),
    help="""Print a shell completion script.

    It knows commands, flags, and ids with their titles. The scripts call `words`, which prints the candidates, one per line, each with a description.
    """,
    examples=[
        "bd completion bash > ~/.local/share/bash-completion/completions/bd",
        "bd completion zsh > ~/.zfunc/_bd",
        "bd completion fish > ~/.config/fish/completions/bd.fish",
    ],
)


def run(app: App, shell: str, typed: tuple[str, ...]) -> None:
    """Print the script that makes a shell complete command lines."""
    if shell != "words":
        if app.out.is_json:
            app.out.object({"shell": shell, "script": SHELLS[shell]})
        else:
            app.out.lines(SHELLS[shell].splitlines())
        return
    found = list(candidates(app, typed))
    if app.out.is_json:
        app.out.json([{"word": word, "about": about} for word, about in found])
        return
    for word, about in found:
        app.out.line(f"{word}\t{about}")
