"""Bringing a hub of an older format forward to the one of this bd, in one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core.errors import NewerFormat
from bd.core.model import Change
from bd.core.schema import CONFIG_PATH, FORMAT_VERSION
from bd.operations.base import Operation, register

if TYPE_CHECKING:
    from typing import ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext


@register
class Upgrade(Operation):
    """Give the hub this format. Up to now every older file is read as it is, so only the version changes; `archive` gathers old files."""

    verb: ClassVar[str] = "upgrade"
    brings_forward: ClassVar[bool] = True

    @property
    def needs_remote(self) -> bool:
        return True

    @property
    def is_portable(self) -> bool:
        return False  # another clone may have an older bd

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        settings = snapshot.record(CONFIG_PATH) or {}
        version = settings.get("format", FORMAT_VERSION)
        if version > FORMAT_VERSION:
            raise NewerFormat(version, FORMAT_VERSION)
        if version == FORMAT_VERSION:
            return Change({}, "")
        words = f"upgrade: the hub from format {version} to {FORMAT_VERSION} by {self.agent}"
        return Change({}, words, records={CONFIG_PATH: {**settings, "format": FORMAT_VERSION}})
