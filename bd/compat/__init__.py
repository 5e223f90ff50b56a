"""Formats of others, and what clients of the Go `bd` send and read. Read jsonl_import.py first."""
