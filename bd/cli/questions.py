"""Questions to a person at a terminal, and their editor. Loads click when one is asked."""

from __future__ import annotations

from bd.core.errors import BadInput, Interrupted


def is_confirmed(question: str) -> bool:
    """Ask yes or no, on stderr. Raises Interrupted where the person ends the command instead."""
    import click  # noqa: PLC0415  only for a person

    try:
        return click.confirm(question, err=True)
    except click.Abort:
        raise Interrupted("interrupted") from None


def open_editor(name: str) -> None:
    """Let the person edit a file. Raises BadInput where their editor does not run."""
    import click  # noqa: PLC0415  only for a person

    try:
        click.edit(filename=name)
    except click.ClickException as error:
        raise BadInput(error.format_message()) from None
