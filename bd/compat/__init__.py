"""Other formats, and compatibility with clients of the Go `bd`.

Read first: bead_json.py (the `--json` objects), then jsonl_import.py and jsonl_export.py (Beads JSONL).

- plan_files.py and plan_beads.py read plans; dag_plans.py makes a plan from an existing DAG.
- go_options.py, go_statuses.py and go_workspace.py concern only the Go tool.
- Readers are lenient, and they report everything that could not be kept.
"""
