"""Unpublished writes: when a clone that keeps some has to say so."""

from __future__ import annotations

from datetime import timedelta

# A write that nobody else can see for longer than this needs a person.
KEPT_LONG = timedelta(hours=1)
