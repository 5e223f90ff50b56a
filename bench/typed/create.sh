#!/bin/sh
# A new bead as a person types it; $1 is its number.
set -e
git fetch -q origin main
printf 'id: hub-typed%s\ntitle: Bead number %s\ntype: task\nstatus: open\npriority: 2\ncreated_at: 2026-02-01T00:00:00Z\n' \
  "$1" "$1" > "beads/hub-typed$1.yaml"
git add "beads/hub-typed$1.yaml"
git commit -q -m "create: hub-typed$1 by bench"
git push -q origin HEAD:main
