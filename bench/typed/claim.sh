#!/bin/sh
# A claim as a person types it: fetch, edit the bead and the capacity file, add, commit, push.
# A merge only where somebody else writes to this copy of the hub: claim.sh ID merge.
set -e
git fetch -q origin main
[ "${2-}" != merge ] || git merge -q --ff-only FETCH_HEAD
sed -i \
  -e 's/^status: open$/status: in_progress/' \
  -e 's/^description:/assignee: bench\nowner: bench@hub\ndescription:/' \
  "beads/$1.yaml"
mkdir -p .agent-status
printf 'agent: bench\nstatus: busy\ncurrent_tasks: 1\nbeads: [%s]\n' "$1" > .agent-status/bench.yaml
git add "beads/$1.yaml" .agent-status/bench.yaml
git commit -q -m "claim: $1 by bench"
git push -q origin HEAD:main
