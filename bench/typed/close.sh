#!/bin/sh
# A close as a person types it.
set -e
git fetch -q origin main
sed -i \
  -e 's/^status: .*$/status: closed/' \
  -e 's/^created_at:/closed_by: agent:bench\nclose_reason: done\ncreated_at:/' \
  "beads/$1.yaml"
mkdir -p .agent-status
printf 'agent: bench\nstatus: available\ncurrent_tasks: 0\nbeads: []\n# %s\n' "$1" > .agent-status/bench.yaml
git add "beads/$1.yaml" .agent-status/bench.yaml
git commit -q -m "close: $1 by bench"
git push -q origin HEAD:main
