#!/bin/sh
# The source paper's use of git as a queue, a verb a call: YAML files, commit, push; after a lost race rebase, look
# again, retry. recipe.sh init HUB | create TITLE | ready | show ID | claim ID | close ID
set -e
publish() {
  git add beads && git commit -q -m "$1"
  until git push -q origin HEAD:main; do git pull -q --rebase origin main; done
}
become() { # become ID FROM TO: refused where somebody was faster
  git pull -q --rebase origin main
  grep -q "^status: $2\$" "beads/$1.yaml" || exit 5
  sed -i "s/^status: $2\$/status: $3\nassignee: bench/" "beads/$1.yaml"
}
case "$1" in
  init) git remote add origin "$2"; mkdir beads; touch beads/.keep; publish init;;
  create)
    id=hub-$(od -An -N4 -tx1 /dev/urandom | tr -d ' ')
    printf 'id: %s\ntitle: %s\ntype: task\nstatus: open\npriority: 2\n' "$id" "$2" > "beads/$id.yaml"
    git pull -q --rebase origin main 2>/dev/null || true
    publish "create: $id"
    echo "$id";;
  ready) grep -l '^status: open$' beads/*.yaml | xargs grep -h '^title:' ;;
  show) cat "beads/$2.yaml";;
  claim) become "$2" open in_progress; publish "claim: $2";;
  close) become "$2" in_progress closed; publish "close: $2";;
esac
