"""The hubs that transcripts are played on, and how each came to be."""

from __future__ import annotations

import re

from tests.transcripts import cases
from tests.transcripts.plain import KNOWN
from tests.transcripts.stage import Hub

_BOARD = """\
init . --prefix hub
create 'Ship the login page' --id hub-epic -t epic -p 1 -l web
create 'Draw the form' --id hub-kid1 -p 1 --parent hub-epic -l merge
create 'Wire the form' --id hub-kid2 -p 2 --parent hub-epic --deps hub-kid1
create 'Fix CORS in the auth middleware' --id hub-bug -t bug -p 0 -l infra/auth -d 'It fails.' --external-ref gh-9
update hub-bug --set-metadata team=core
comment hub-bug 'the cause is the proxy' --author Ada
create 'Compare queues' --id hub-res -t research --assignee axiom --deps discovered-from:hub-bug
create 'Review the pull request' --id hub-work -t review -l merge
claim hub-work --agent codemonkey
create 'Set up the pipeline' --id hub-done -t chore
close hub-done --reason 'merged as #12'
create 'Rewrite it all' --id hub-off
cancel hub-off --reason 'no longer wanted'
create 'Renew the certificate' --id hub-later --defer 2099-03-01
sh:printf '{"id": "hub-imported", "title": "From elsewhere", "priority": 2}\\n' > ../more.jsonl
sh:printf 'title: Field notes\\ntasks:\\n  - {name: write, title: Write them}\\n  - {name: put, title: Put it online, depends_on: [write]}\\n' > ../plan.yaml
sh:printf '{"action": "opened", "issue": {}}' > ../event.json
"""
_FAILED = """\
create 'Deploy the site' --id hub-dead --max-attempts 1
claim hub-dead --agent bob
fail hub-dead --reason crash --error 'no space left' --cost 0.5 --agent bob
create 'Run the tests' --id hub-again
claim hub-again --agent bob
fail hub-again --reason timeout --error slow --agent bob
create 'Ask about the colour' --id hub-asks
claim hub-asks --agent ann
wait-human hub-asks --reason 'which blue?' --agent ann
agent add bob --role coding --max 3
comment hub-dead 'the disk is full' --author Ada
create 'Wait for the site' --id hub-behind --deps hub-dead
pause --reason moving
resume
"""
_FLEET = """\
init . --prefix hub
sh:mkdir -p .beads/agents beads; cp "$SOURCE"/examples/demo/agents/*.yaml .beads/agents/; cp "$SOURCE"/examples/demo/beads/*.yaml beads/
sync
claim --next --agent codemonkey
claim --next --agent pltops
claim --next --agent romanov
close hub-cors --reason done --agent codemonkey --force
"""
_SHARED = """\
sh:git init --quiet --bare ../hub.git
init . --prefix hub --remote ../hub.git
create 'The first' --id hub-one -p 1
create 'The second' --id hub-two
claim hub-two --agent bob
sh:git clone --quiet ../hub.git ../other
-C ../other create 'From afar' --id hub-afar
"""
_BROKEN = """\
sh:git init --quiet --bare ../hub.git
init . --prefix hub
create 'A sound bead' --id hub-sound
create 'It waits' --id hub-waits --deps hub-sound
create 'To be broken' --id hub-torn
sh:printf 'id: hub-torn\\ntitle: [never closed\\n' > beads/hub-torn.yaml; printf 'id: hub-kind\\ntitle: 7\\npriority: high\\nstatus: perhaps\\n' > beads/hub-kind.yaml; printf '\\377\\376' > beads/hub-bytes.yaml; git add beads; git commit --quiet -m 'by hand'
"""
HUBS: dict[str, Hub] = {
    "nowhere": Hub("", cases.everywhere()),
    "help": Hub("", cases.HELP),
    "empty": Hub("init . --prefix hub", cases.EMPTY),
    "board-agents": Hub(_BOARD, cases.BOARD_AGENTS),
    "board-people": Hub(_BOARD, cases.BOARD_PEOPLE),
    "board-overseers": Hub(_BOARD, cases.BOARD_OVERSEERS),
    "board-set-up": Hub(_BOARD, cases.BOARD_SET_UP),
    "failed": Hub(_BOARD.partition("create 'Ship")[0] + _FAILED, cases.FAILED),
    "fleet": Hub(_FLEET, cases.FLEET),
    "shared": Hub(_SHARED, cases.SHARED, branch="hub.git"),
    "broken": Hub(_BROKEN, cases.BROKEN),
}
KNOWN.update(re.findall(r"hub-\w+", "".join(hub.story + hub.cases for hub in HUBS.values())))
