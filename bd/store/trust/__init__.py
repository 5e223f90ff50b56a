"""Whose changes count, where a hub requires signatures. Read verification.py first."""
