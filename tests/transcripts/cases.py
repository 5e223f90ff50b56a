"""What is typed on each hub: a line a case, in the form that `stage.Hub` explains. A case is a table's row: more are welcome."""

from __future__ import annotations

_COMMANDS = """\
ready claim start release close fail wait-human handoff why work poll wait heartbeat progress cost whoami context prime
create q plan dag spawn list show search count children update edit comment comments note answer label dep schedule trigger
assign defer undefer heat reopen cancel delete undo history brief remember recall forget take give
attention blocked stalled overseer stats metrics epic dlq friction agent board pause resume pool rebalance drain undrain
offline online doctor upgrade archive audit log serve mcp token trust
init identity clone setup onboard sync config schema cron simulate import migrate export demo completion version
repo workspace memories
hooks dolt info where ping types statuses stale priority tag purge repair-deps quickstart human help
""".split()
_BELOW = (
    """\
plan apply|plan export|dag show|dag list|dag cancel|label add|label remove|label list|label list-all|dep add|dep remove|dep list
dep tree|dep cycles|schedule add|schedule list|schedule remove|schedule run|trigger add|trigger list|trigger remove|trigger fire
trigger run|epic status|epic close-eligible|dlq list|dlq show|dlq retry|dlq edit|dlq cancel|dlq review|agent add|agent list
agent status|agent show|agent remove|agent rename|agent clear|pool list|pool status|pool scale|pool events|pool run
rebalance status|identity init|identity show|identity list|identity allow|identity revoke|config show|config list|config get
config set|config unset|cron show|cron install|cron remove|comments add|hooks run|hooks install|hooks uninstall|hooks list
dolt pull|dolt push|dolt status|completion bash
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
_ALIASES = "new done view unpause status".split()
HELP = "\n".join(
    [
        "~--help",
        "~-h",
        "~help --all",
        "~help --json",
        "~help claim",
        "~help nothing-like-it",
        *(f"~{words} --help" for words in (*_COMMANDS, *_BELOW, *_ALIASES)),
    ]
)
# Bare, these make something of a place without a hub, or run until they are ended.
_NOT_BARE = {"demo", "init", "schema", "help", "completion", "simulate"}
_ENDLESS = {"overseer", "serve", "wait"}


def everywhere() -> str:
    """Where there is no hub: every command without a word more; those that need words say so."""
    bare = [name for name in (*_COMMANDS, *_ALIASES) if name not in _NOT_BARE]
    return "\n".join(
        [
            "list --json --no-fetch",
            "claim hub-a --agent bob",
            "close hub-a",
            "schema",
            "nothing-like-it",
            *(f"~{name}" for name in bare),
            *_NOWHERE,
        ]
    )


_NOWHERE = [
    "init . --prefix hub",
    "init . --prefix 'no good'",
    "~sh:git init --quiet . ;; list",
    "~sh:git init --quiet . ;; init ;; list",
    "init . --prefix hub --remote ../missing.git",
    "clone ../missing.git copy",
    "-C missing list",
    "--agent",
    "list --no-such-option",
    "config get no_such_key",
]
_IN_JSON_TOO = set(
    "ready list count stats board agent attention blocked log metrics audit doctor info types config export".split()
)
EMPTY = "\n".join(
    [
        *(
            name if name in _IN_JSON_TOO else f"~{name}"
            for name in (*_COMMANDS, *_ALIASES)
            if name not in {*_NOT_BARE, *_ENDLESS}
        ),
        *"""\
claim --next --agent bob
claim hub-none --agent bob
show hub-none
wait --agent bob --timeout 0s
overseer --once
doctor --offline
list --at 2020-01-01
""".splitlines(),
    ]
)

# What stands here was taken from the tests of the same commands, where each is explained.
BOARD_AGENTS = """\
update hub-bug --claim-mode advisory ;; claim hub-bug --agent ann ;; ready
ready
ready --agent bob --no-fetch
ready --limit 1
ready --quiet
claim hub-bug --agent bob
claim hub-bug
claim --next --agent bob
claim --next --count 2 --agent bob
claim hub-bug --agent bob --reserve
claim hub-bug --agent bob --reserve ;; start hub-bug --agent bob
claim hub-work --agent codemonkey --resume
claim hub-work --agent bob
claim hub-kid2 --agent bob
claim hub-done --agent bob
claim hub-none --agent bob
claim hub-kid --agent bob
claim hub-bug hub-kid2 --agent bob
claim hub-bug --agent 'No Name'
claim --next --agent bob ;; claim --next --agent bob ;; claim --next --agent bob ;; claim --next --agent bob
update hub-bug --claim-mode advisory ;; claim hub-bug --agent bob
update hub-bug --claim-mode advisory ;; claim hub-bug --agent ann ;; claim hub-bug --agent bob
start hub-work --agent bob
release hub-work --reason tired --agent codemonkey
release hub-work --agent bob
release hub-bug --agent bob
fail hub-work --reason crash --error broke --agent codemonkey
fail hub-work -r timeout -e slow --cost 0.5 --agent codemonkey
fail hub-work --reason budget_exceeded --error revoked --agent codemonkey
fail hub-work --reason no-such-reason --agent codemonkey
fail hub-work --reason crash --error broke --agent bob
work --agent bob --once --max-tasks 1 true
work --agent bob --once --max-tasks 1 false
work --agent bob --dry-run true
poll --agent bob
heartbeat --agent codemonkey
heartbeat --agent bob
claim hub-bug --agent bob ;; progress hub-bug half --agent bob
claim hub-bug --agent bob ;; progress hub-bug half --keep --agent bob
progress hub-bug half --agent bob
cost hub-work --usd 0.5 --tokens-in 9 --agent codemonkey
cost hub-work --usd 0.5 --agent codemonkey ;; cost hub-work
cost hub-work --usd 0.5 --agent codemonkey ;; cost --by day
cost hub-work --usd 0.5 --agent codemonkey ;; cost --since 2h
cost
cost hub-work --usd -1 --agent codemonkey
wait-human hub-work --reason which --agent codemonkey
wait-human hub-bug --reason which
wait-human hub-work --reason which --agent codemonkey ;; answer hub-work yes ;; show hub-work
handoff hub-kid1 --to hub-kid2 --artifact form=https://x.org/f
handoff hub-bug --to new:Tell-them --note fixed
handoff hub-bug --to agent:axiom --title Why --artifact .beads/config.yaml
handoff hub-bug --to hub-none
close hub-work --reason done --agent codemonkey
close hub-work --reason done --agent bob
close hub-bug hub-res
close hub-bug hub-none
close hub-done
close hub-epic
close hub-kid2
claim hub-bug --agent bob ;; close hub-bug --reason done --agent bob ;; show hub-bug
close hub-work --next --agent codemonkey
done hub-bug
why hub-kid2
why hub-work
why hub-done
why hub-later
why hub-bug --agent bob
why hub-res --agent bob
why hub-none
whoami
whoami --agent bob
BD_AGENT=bob whoami
wait --agent bob
prime --agent codemonkey
prime
context
context hub-kid2
context hub-work
"""
BOARD_PEOPLE = """\
create Something --id hub-new
create Something
create Below --parent hub-epic --deps hub-bug
create '' --id hub-new
create Something --id hub-bug
create Something --id 'no good'
create Something --deps hub-none
create Something -p 9
create Something -t no-such-type
create Something --dry-run
create Something --id hub-new --due tomorrow -l a,b --notes n --acceptance a --design d --estimate 90m
new Something --id hub-new
create -f - << # One\\n\\n- a\\n\\n# Two\\n
q Quick -t bug -p 0 -l a,b
plan apply ../plan.yaml
plan apply ../plan.yaml --dry-run
plan apply ../plan.yaml --idempotency-key k ;; plan apply ../plan.yaml --idempotency-key k
plan apply ../missing.yaml
plan apply ../event.json
plan export hub-epic
dag show hub-epic
dag show hub-bug
dag list
dag list --status failed
dag cancel hub-epic --reason no
spawn hub-work More --agent codemonkey
spawn hub-work More -t bug --wait --agent codemonkey
spawn hub-bug More --agent bob
list
list --all --limit 2
list --all --sort priority --reverse
list -t gate
list --status closed
list --status no-such-status
list --label merge
list --parent hub-epic
list --ready
list --long
list --all --quiet
list --at 2026-02-21T15:10Z
list --format csv
wait-human hub-bug --reason which --agent codemonkey ;; list --waiting human
show hub-bug
show hub-work
show hub-epic
show hub-bug hub-res
show hub-bug hub-none
show bug
show kid
show hub-later
show hub-done
show hub-off
view hub-kid2
search form
search nothing-like-it
search
count
count --by-type
count --by-status
count --ready --agent bob
children hub-epic
children hub-bug
children hub-none
update hub-bug --priority 3 --add-label x
update hub-bug --claim --actor bob
update hub-bug
update hub-bug --status no-such-status
update hub-bug --status closed
update hub-bug --title ''
update hub-bug -t task --description new --assignee bob --notes n
update hub-bug hub-none --priority 1
update hub-work --priority 1 --agent bob
update hub-kid1 --parent hub-kid2
edit hub-bug
comment hub-bug so it is
comment hub-bug
comment hub-none so it is
comments hub-bug
comments hub-res
comments add hub-res hello
note hub-bug more of it
wait-human hub-bug --reason which ;; answer hub-bug the blue one
answer hub-bug the blue one
label add hub-bug hub-res urgent
label remove hub-bug infra/auth
label remove hub-bug missing
label list hub-kid1
label list hub-res
label list-all
dep add hub-bug hub-res
dep add hub-kid1 hub-kid2
dep add hub-bug hub-bug
dep add hub-bug hub-none
dep add hub-bug hub-res --type relates-to
dep remove hub-kid2 hub-kid1
dep rm hub-kid2 hub-kid1
dep remove hub-bug hub-res
dep list hub-kid2
dep list hub-bug hub-kid2
dep tree hub-kid2
dep tree hub-epic
dep cycles
dep relate hub-bug hub-res
schedule add audit --cron '0 9 * * 1' --title Audit
schedule add audit --cron 'no such thing' --title Audit
schedule add audit --cron '0 9 * * 1' --title Audit ;; schedule list
schedule add audit --cron '0 9 * * 1' --title Audit ;; schedule run
schedule add audit --cron '* * * * *' --title Audit ;; schedule run
schedule add audit --cron '0 9 * * 1' --title Audit ;; schedule remove audit
schedule run
schedule list
schedule remove audit
trigger add t --on github:issues.opened --plan ../plan.yaml
trigger add t --on nonsense --plan ../plan.yaml
trigger add t --on github:issues.opened --plan ../plan.yaml ;; trigger list
trigger list
trigger add t --on github:issues.opened --plan ../plan.yaml ;; trigger remove t
trigger add t --on github:issues.opened --plan ../plan.yaml ;; trigger fire t ../event.json --delivery d
trigger run
trigger add o --on dag:hub-done --plan ../plan.yaml ;; trigger run
assign hub-bug codemonkey
assign hub-res ''
assign hub-bug 'No Name!'
defer hub-bug --until tomorrow
defer hub-bug --until nonsense
undefer hub-later
undefer hub-bug
heat hub-res
heat hub-res hub-done +25.5
heat hub-bug --by -3
reopen hub-done --reason again
reopen hub-bug
cancel hub-bug --reason never
cancel hub-work --reason never
cancel hub-epic --reason never
delete hub-bug --force
delete hub-bug
delete hub-kid1 --force
delete hub-none --force
undo
comment hub-bug one ;; undo ;; undo
history hub-work
history hub-work -n 1
history hub-none
"""
BOARD_OVERSEERS = """\
attention
wait-human hub-bug --reason which ;; attention
blocked
blocked --parent hub-bug
stalled
stalled --reassign
stalled --after 1m
stalled --reassign --after 1m
overseer --once
stats
status
metrics
metrics --since 1h
metrics --prometheus
epic status
epic close-eligible
close hub-kid1 ;; close hub-kid2 ;; epic close-eligible
dlq list
dlq show hub-bug
dlq retry hub-bug --reason again
friction
friction --create
agent add bob --role coding --max 2 --capability git,python
agent add bob --role no-such-role
agent add 'No Name'
agent add bob ;; agent add bob --interval 15m
agent add bob --role coding ;; agent add bob --role coding
agent list
agent status
agent add bob --role coding ;; agent status bob
agent status bob
agent add bob --role coding ;; agent show bob
agent show codemonkey
agent show nobody
agent rename codemonkey gibbon --release
agent rename codemonkey gibbon
agent remove codemonkey --release
agent remove codemonkey
agent add bob ;; agent remove bob
agent remove bob
agent clear codemonkey
board
board --publish
brief hub-bug
remember "the tests need port 8080" --key port ;; recall
remember x --key port ;; memories ;; forget port
recall nothing
take hub-work ;; give hub-work
repo list
repo show nothing
workspace list
token list
mcp --no-such
pause --reason moving
pause --reason moving ;; claim --next --agent bob
pause ;; resume
pause ;; unpause
resume
pool list
agent add worker ;; pool list
agent add worker ;; pool status
agent add worker ;; pool scale worker 2
pool scale worker 2
pool events
pool run --once
rebalance
rebalance --dry-run
rebalance status
drain codemonkey
drain codemonkey ;; claim --next --agent codemonkey
drain codemonkey ;; undrain codemonkey
undrain codemonkey
offline codemonkey
offline codemonkey ;; online codemonkey
drain nobody
upgrade --dry-run
upgrade
doctor --offline
doctor
archive
archive --older-than 1m
archive --older-than 1m --limit 1
archive --older-than 1m --dry-run
archive --older-than 1m ;; list --all
archive --older-than 1m ;; show hub-done
archive --older-than 1m ;; reopen hub-done
audit
audit --since 30m
log
log --since 70m --limit 1
log --agent codemonkey
trust
"""
BOARD_SET_UP = """\
init
init . --prefix other
identity init --agent bob
identity show --agent bob
identity init --agent bob ;; identity show --agent bob
identity init --agent bob ;; identity allow --agent bob
identity allow --agent bob
identity list
identity init --agent bob ;; identity allow --agent bob ;; identity list
identity init --agent bob ;; identity allow --agent bob ;; identity revoke bob --agent bob
identity init --agent bob ;; identity allow --agent bob ;; claim hub-bug --agent bob
clone . ../copy
clone . ../copy ;; -C ../copy list
setup claude
setup codex ;; setup codex
setup cursor ;; setup cursor --remove
setup aider ;; setup aider --check
setup aider --check
setup no-such-tool
setup --list
onboard
sync
sync --kept
sh:printf 'notes: by hand\\n' >> beads/hub-bug.yaml ;; sync
sh:printf 'notes: by hand\\n' >> beads/hub-bug.yaml ;; sync --dry-run
sh:printf 'id: hub-hand\\ntitle: By hand\\n' > beads/hub-hand.yaml ;; sync ;; show hub-hand
sh:rm beads/hub-bug.yaml ;; sync ;; show hub-bug
sh:printf 'title: [\\n' > beads/hub-hand.yaml ;; sync
config show
config list
config get prefix
config get no_such_key
config set claim_ttl 30m
config set claim_ttl nonsense
config set no_such_key 1
config set claim_ttl 30m ;; config unset claim_ttl
BD_CLAIM_TTL=5m config show
~schema
-schema config
schema no-such-file
cron show --agent bob --interval 15m true
cron show --agent bob --systemd true
cron show --agent bob --interval nonsense true
simulate --agents 3 --duration 1h
simulate --arrivals 0/h --backlog 5 --service 1m
import ../more.jsonl
import ../missing.jsonl
import ../plan.yaml
import - << {"id": "hub-piped", "title": "From a pipe"}\\n
import ../more.jsonl --dry-run
migrate ../more.jsonl --dry-run
migrate ../more.jsonl
migrate
migrate --inspect
export
export -o ../out.jsonl ;; sh:cat ../out.jsonl
~completion bash
~completion zsh
~completion fish
completion words cla
version
hooks run pre-push origin https://x.org/hub.git
hooks install --force
hooks uninstall
hooks list
dolt pull
dolt push
dolt status
info
info --schema --whats-new
where
ping
types
config set types.custom convoy ;; types
config set types.custom convoy ;; create Many -t convoy --id hub-new
statuses
config set status.custom reviewing:wip ;; statuses
stale
stale --days 0 --status open,deferred
priority hub-bug P3
priority hub-bug P9
tag hub-bug seen
purge
purge --dry-run
repair-deps
repair-deps --fix
quickstart
human
sql select
gate list
branch
ready --mol x
"""
FAILED = """\
list --all
ready
blocked
show hub-dead
show hub-again
show hub-asks
show hub-behind
why hub-again --agent bob
why hub-behind
claim --next --agent bob
claim hub-dead --agent bob
claim hub-again --agent bob
attention
dlq list
dlq list --unreviewed
dlq show hub-dead
dlq show hub-again
dlq retry hub-dead --reason renewed
dlq retry hub-dead --reason renewed ;; claim hub-dead --agent ann ;; show hub-dead
dlq retry --all --reason renewed
dlq edit hub-dead
dlq cancel hub-dead --reason gone
dlq cancel hub-dead --reason gone ;; why hub-behind
dlq review hub-dead --note seen
dlq review hub-dead --note seen ;; dlq list --unreviewed
dlq review hub-dead --note seen ;; dlq review hub-dead --undo
friction
friction --least 1
friction --create --least 1
answer hub-asks blue ;; claim --next --agent bob
cost
cost --by agent
agent status
agent show bob
agent clear bob
agent remove bob
board
stats
metrics
log
history hub-dead
audit
doctor --offline
export
cancel hub-dead --reason gone
reopen hub-dead
delete hub-dead --force
undo
"""
FLEET = """\
list
list --long
ready
ready --agent pltops
ready --agent codemonkey
ready --agent romanov
ready --agent brenner
claim --next --agent pltops
claim --next --agent codemonkey
claim --next --agent romanov
claim --next --agent brenner
claim --next --count 3 --agent stranger
why hub-docs --agent pltops
why hub-docs --agent codemonkey
why hub-notes
why hub-relay --agent romanov
blocked
attention
board
stats
epic status
dag list
dag show hub-notes
dep tree hub-notes
dep cycles
agent list
agent status
agent show pltops
agent show brenner
pool list
rebalance --dry-run
rebalance status
metrics
log
audit
doctor --offline
count --by-type
search deploy
label list-all
overseer --once
overseer --once ;; log
export
trust
prime --agent codemonkey
poll --agent pltops
handoff hub-queue --to hub-pqueue --note found --force
config show
"""
SHARED = """\
list
list --no-fetch
claim hub-afar --agent bob
claim hub-two --agent ann
-C ../other claim hub-one --agent ann ;; claim hub-one --agent bob
-C ../other claim hub-one --agent ann ;; claim --next --agent bob
-C ../other comment hub-one 'from afar' ;; comment hub-one here ;; comments hub-one
-C ../other update hub-one --title Theirs ;; update hub-one --title Ours ;; history hub-one
-C ../other close hub-two --reason stolen --agent ann
-C ../other close hub-two --reason done --agent bob
close hub-two --reason done --agent bob
sync
sync --kept
sh:printf 'notes: by hand\\n' >> beads/hub-one.yaml ;; -C ../other update hub-one --notes theirs ;; sync
sh:mv ../hub.git ../away ;; list
sh:mv ../hub.git ../away ;; claim hub-one --agent ann
sh:mv ../hub.git ../away ;; create Kept --id hub-kept
sh:mv ../hub.git ../away ;; comment hub-one kept ;; close hub-two --reason done --agent bob
sh:mv ../hub.git ../away ;; sync
sh:mv ../hub.git ../away ;; create Kept --id hub-kept ;; sh:mv ../away ../hub.git ;; sync
sh:mv ../hub.git ../away ;; update hub-one --title Ours ;; sh:mv ../away ../hub.git ;; -C ../other update hub-one --title Theirs ;; sync
sh:mv ../hub.git ../away ;; comment hub-one kept ;; sh:mv ../away ../hub.git ;; -C ../other delete hub-one --force ;; sync ;; sync --kept
sh:mv ../hub.git ../away ;; comment hub-one kept ;; sh:mv ../away ../hub.git ;; list
sh:mv ../hub.git ../away ;; doctor
sh:printf '#!/bin/sh\\necho no such luck >&2\\nexit 1\\n' > ../hub.git/hooks/pre-receive; chmod +x ../hub.git/hooks/pre-receive ;; claim hub-one --agent ann
sh:printf '#!/bin/sh\\necho no such luck >&2\\nexit 1\\n' > ../hub.git/hooks/pre-receive; chmod +x ../hub.git/hooks/pre-receive ;; create More
BD_TEST_STOP_AT=push claim hub-one --agent ann ;; claim hub-one --agent ann
BD_TEST_STOP_AT=pushed claim hub-one --agent ann ;; claim hub-one --agent ann
BD_TEST_STOP_AT=pushed claim hub-one --agent ann ;; claim hub-one --agent bob
BD_TEST_STOP_AT=pushed create More --id hub-more ;; doctor
heartbeat --agent bob
heartbeat --agent bob ;; -C ../other agent status
progress hub-two half --agent bob ;; -C ../other show hub-two
stalled --reassign --after 1m
doctor
audit
info
context
where
undo
clone ../hub.git ../fresh
clone ../hub.git ../fresh ;; -C ../fresh list
"""
BROKEN = """\
list
list --all
list --strict
ready
ready --strict
count
show hub-sound
show hub-torn
show hub-kind
show hub-bytes
why hub-torn
why hub-waits
claim hub-sound --agent bob
claim hub-torn --agent bob
claim hub-kind --agent bob
claim --next --agent bob
update hub-torn --title Mended
update hub-kind --title Mended
comment hub-torn hello
close hub-torn
close hub-kind
delete hub-torn --force
delete hub-kind --force
reopen hub-torn
dep add hub-sound hub-torn
create More --deps hub-torn
create More --id hub-torn
history hub-torn
export
doctor --offline
attention
stats
board
audit
log
sync
archive --older-than 1m
sh:printf 'id: hub-torn\\ntitle: Mended\\n' > beads/hub-torn.yaml ;; sync ;; show hub-torn
sh:printf 'claim_ttl: [\\n' > .beads/config.yaml; git commit --quiet -am broken ;; list
sh:printf 'format: 99\\nprefix: hub\\n' > .beads/config.yaml; git commit --quiet -am newer ;; list
sh:printf 'format: 99\\nprefix: hub\\n' > .beads/config.yaml; git commit --quiet -am newer ;; create More
sh:mkdir -p .beads/agents; printf 'skills: 7\\n' > .beads/agents/bob.yaml; git add .; git commit --quiet -m agent ;; agent show bob
sh:mkdir -p .beads/agents; printf 'skills: 7\\n' > .beads/agents/bob.yaml; git add .; git commit --quiet -m agent ;; claim --next --agent bob
sh:mv .git/refs/heads/main ../gone ;; list
sh:printf garbage > .git/HEAD ;; list
sh:rm -rf .git/objects/pack; find .git/objects -type f -delete ;; list
"""
