"""Formats of others, and what clients of the Go `bd` send and read.

Read first: bead_json.py (the `--json` objects), then jsonl_import.py and jsonl_export.py (Beads JSONL).

- plan_files.py and plan_beads.py read plans; dag_plans.py makes one of a DAG that is there.
- go_options.py, go_statuses.py, go_workspace.py are about the Go tool alone.
- Reading is generous, and everything that could not be kept is reported.
"""
