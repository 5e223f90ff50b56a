#!/bin/sh
# The source paper's claim protocol as a loop: fetch, choose, edit, commit, push; after a lost race look
# again and retry. $1 is the agent. Prints the bead. 3: nothing is open.
agent=$1
git fetch -q origin main && git reset -q --hard origin/main || exit 6
while :; do
  file=$(grep -l '^status: open$' beads/*.yaml | head -n 1)
  [ -n "$file" ] || exit 3
  sed -i "s/^status: open\$/status: in_progress\nassignee: $agent\nowner: $agent@hub\nclaimed_at: $(date -u +%FT%TZ)/" "$file"
  id=$(basename "$file" .yaml)
  git commit -q -m "claim: $id by $agent" "$file"
  if git push -q origin HEAD:main 2>/dev/null; then
    echo "$id"
    exit 0
  fi
  sleep "0.$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')"
  git fetch -q origin main && git reset -q --hard origin/main || exit 6
done
