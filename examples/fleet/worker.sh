#!/bin/sh
# A worker for `bd work`, with sh and python3 only: it asks any program that reads a prompt and prints an answer.
#
#   bd work --agent codemonkey --once -- examples/fleet/worker.sh claude -p
#
# bd sets BD_BEAD_ID, BD_TOKEN, BD_ATTEMPT, BD_BEAD_FILE (the bead as JSON), and BD_RESULT_FILE, where this script
# says how it went. Without a result file the exit code says it: 0 is done, 75 gives the bead back and costs no attempt.
set -eu

if [ $# -eq 0 ]; then
    echo "which program does the work? worker.sh PROGRAM [ARGS]" >&2
    exit 75
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The bead, as a prompt.
python3 - > "$folder/prompt" <<'END'
import json, os

with open(os.environ["BD_BEAD_FILE"], encoding="utf-8") as file:
    bead = json.load(file)
print(f"# {bead['title']} ({bead['id']}, attempt {os.environ.get('BD_ATTEMPT', '1')})")
for key in ("description", "design", "acceptance_criteria", "notes"):
    if bead.get(key):
        print(f"\n## {key.replace('_', ' ').capitalize()}\n\n{bead[key].strip()}")
END

code=0
"$@" < "$folder/prompt" > "$folder/answer" || code=$?
if [ "$code" -eq 75 ]; then
    exit 75
fi

# What bd is told. `cost` (US dollars), `tokens` and `artifacts` belong here too, for a program that knows them.
python3 - "$folder/answer" "$code" <<'END'
import json, os, sys

with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
    answer = file.read().strip()
if sys.argv[2] != "0":
    result = {"outcome": "failed", "kind": "other", "text": f"exit code {sys.argv[2]}: {answer[-500:]}"}
elif not answer:
    result = {"outcome": "failed", "kind": "invalid_output", "text": "the program said nothing"}
else:
    result = {"outcome": "done", "text": answer.splitlines()[-1][:500], "output": {"answer": answer}}
with open(os.environ["BD_RESULT_FILE"], "w", encoding="utf-8") as file:
    json.dump(result, file)
END
