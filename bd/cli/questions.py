"""Questions to a person at a terminal, and their editor. Imports click only when one is needed."""

from __future__ import annotations

from bd.core.errors import BadInput, Interrupted


def is_confirmed(question: str) -> bool:
    """Ask a yes-or-no question on stderr. Raises Interrupted if the person ends the command instead."""
    import click  # noqa: PLC0415  only for a person

    try:
        return click.confirm(question, err=True)
    except click.Abort:
        raise Interrupted("interrupted") from None


def open_editor(name: str) -> None:
    """Open a file in the person's editor. Raises BadInput if it does not run."""
    import click  # noqa: PLC0415  only for a person

    try:
        click.edit(filename=name)
    except click.ClickException as error:
        raise BadInput(error.format_message()) from None
