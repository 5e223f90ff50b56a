"""One refused call for every command, and every exit code: stderr, JSON, and nothing written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from bd.cli.table import COMMANDS
from tests.cli.test_commands import words
from tests.truth import tip

if TYPE_CHECKING:
    from tests.running import Clone

pytestmark = pytest.mark.one_in(4)


class Case(NamedTuple):
    """A call that is refused: its arguments, exit code, JSON code, and a word of what it says."""

    args: str
    exit_code: int
    code: str
    says: str


CASES = [
    Case("ready --sort sideways", 2, "bad_input", "no order 'sideways'"),
    Case("ready --limit -1", 2, "bad_input", "--limit"),
    Case("claim", 2, "bad_input", "which bead?"),
    Case("claim hub-bug --next --agent bob", 2, "bad_input", "ids and --next can't be combined"),
    Case("claim hub-bug", 2, "no_identity", "give --agent NAME"),
    Case("claim --next", 2, "no_identity", "give --agent NAME"),
    Case("claim hub-bug --agent Not_A_Name", 2, "bad_input", "can't be an agent's name"),
    Case("claim hub-nope --agent bob", 4, "no_such_bead", 'no issue found matching "hub-nope"'),
    Case("claim hub-work --agent bob", 5, "already_claimed", "hub-work is already claimed by codemonkey@hub since"),
    Case("claim hub-kid2 --agent bob", 5, "still_blocked", "it waits on hub-kid1"),
    Case("claim hub-done --agent bob", 5, "wrong_state", "hub-done is not ready"),
    Case("claim hub-res --agent bob", 5, "does_not_fit", "routed to axiom"),
    Case("claim --next --count 0 --agent bob", 2, "bad_input", "--count"),
    Case("start hub-bug --agent bob", 5, "wrong_state", "hub-bug is not claimed"),
    Case("update hub-work --claim-mode advisory", 5, "wrong_state", "its claim_mode stays"),
    Case("update hub-bug --claim-mode shared", 2, "bad_input", "claim-mode"),
    Case("start hub-work --agent bob", 5, "stale_token", "hub-work is claimed by codemonkey@hub"),
    Case("release hub-work", 2, "bad_input", "a release needs a reason"),
    Case("release hub-work --reason x --agent bob", 5, "stale_token", "no token was given"),
    Case("release hub-bug --reason x", 5, "wrong_state", "nobody holds it"),
    Case("fail hub-work --error x --agent codemonkey", 2, "bad_input", "one of timeout, crash, rate_limit"),
    Case("fail hub-work --reason boom --error x --agent codemonkey", 2, "bad_input", "'boom' is not a kind of failure"),
    Case("fail hub-work --reason crash --agent codemonkey", 2, "bad_input", "a failure needs a description (--error)"),
    Case("fail hub-work --reason crash --error x --cost -1 --agent codemonkey", 2, "bad_input", "--cost"),
    Case("fail hub-nope --reason crash --error x", 4, "no_such_bead", "hub-nope"),
    Case("fail hub-work --reason crash --error x --agent bob", 5, "stale_token", "no token was given"),
    Case("fail hub-bug --reason crash --error x --agent bob", 5, "wrong_state", "nobody holds it"),
    Case("cost hub-work --usd 1 --agent bob", 5, "stale_token", "hub-work is held by codemonkey"),
    Case("cost hub-work --usd -1 --agent codemonkey", 2, "bad_input", "--usd"),
    Case("cost hub-work --attempt 1", 2, "bad_input", "the cost is missing"),
    Case("cost hub-bug --usd 1", 2, "bad_input", "nobody has tried hub-bug yet"),
    Case("cost --usd 1", 2, "bad_input", "which bead?"),
    Case("cost hub-work --by day", 2, "bad_input", "leave out the bead"),
    Case("cost hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("agent add bob --budget-per day", 2, "bad_input", "--budget-per without --budget"),
    Case("work --agent bob", 2, "bad_input", "which command?"),
    Case("work --agent bob --once no-such-command", 2, "bad_input", "there is no command no-such-command"),
    Case("work --once true", 2, "no_identity", "give --agent NAME"),
    Case("work --agent bob --jobs 0 true", 2, "bad_input", "--jobs"),
    Case("work --agent bob --grace soon true", 2, "bad_input", "not a duration"),
    Case("poll", 2, "no_identity", "give --agent NAME"),
    Case("simulate --arrivals 3", 2, "bad_input", "'3' is not a rate"),
    Case("simulate --arrivals 3/h --load 0.5", 2, "bad_input", "--arrivals and --load together"),
    Case("simulate --interval 0s", 2, "bad_input", "times must be positive"),
    Case("simulate --push-time fast", 2, "bad_input", "'fast' is not a duration"),
    Case("simulate --sweep wages=1..2", 2, "bad_input", "'wages=1..2' is not something to sweep"),
    Case("simulate --sweep agents=4..2", 2, "bad_input", "has no numbers from LOW up to HIGH"),
    Case("simulate --sweep agents=few..many", 2, "bad_input", "'few' is not a number"),
    Case("heartbeat", 2, "no_identity", "give --agent NAME"),
    Case("heartbeat hub-bug --agent bob", 5, "refused", "bob does not hold hub-bug"),
    Case("heartbeat hub-bug --agent bob --bead hub-a", 2, "bad_input", "name one bead"),
    Case("heartbeat --agent bob --bead hub-bug", 5, "refused", "bob does not hold hub-bug"),
    Case("progress hub-bug x --agent bob", 5, "refused", "bob does not hold hub-bug"),
    Case("stalled --reassign hub-work", 5, "wrong_state", "hub-work has not stalled"),
    Case("stalled hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("overseer --once --interval soon", 2, "bad_input", "not a duration"),
    Case("dlq show hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("dlq review hub-bug", 5, "wrong_state", "hub-bug is open, not a dead letter"),
    Case("dlq cancel hub-bug", 5, "wrong_state", "hub-bug is open, not a dead letter"),
    Case("dlq edit hub-bug", 5, "wrong_state", "hub-bug is not a dead letter"),
    Case("dlq retry hub-bug", 5, "wrong_state", "hub-bug is open, not a dead letter"),
    Case("plan apply /nowhere.yaml", 4, "not_found", "/nowhere.yaml"),
    Case("plan export hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("dag show hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("dag show hub-epic --format png", 2, "bad_input", "--format"),
    Case("dag list --status lost", 2, "bad_input", "--status"),
    Case("dag cancel hub-done", 5, "already_closed", "everything is done already"),
    Case("dag cancel hub-work --reason x", 5, "stale_token", "no token was given"),
    Case("dag cancel hub-work --force", 2, "bad_input", "--force needs --reason"),
    Case("spawn hub-nope More", 4, "no_such_bead", "hub-nope"),
    Case("spawn hub-bug More", 5, "wrong_state", "hub-bug is open, nobody works on it"),
    Case("spawn hub-work More --agent bob", 5, "stale_token", "no token was given"),
    Case("spawn hub-work ''  --agent codemonkey", 2, "bad_input", "a bead needs a title"),
    Case("schedule add x --cron daily --title X", 2, "bad_input", "'daily' is not a cron expression"),
    Case(
        "schedule add x --cron 0\u00a09\u00a0*\u00a0*\u00a0* --title X --tz Mars/One", 2, "bad_input", "no time zone 'Mars/One'"
    ),
    Case("schedule add X --cron 0\u00a09\u00a0*\u00a0*\u00a0* --title X", 2, "bad_input", "can't be an agent's name"),
    Case("schedule remove nope", 4, "not_found", "there is no schedule nope"),
    Case("schedule run nope", 4, "not_found", "there is no schedule nope"),
    Case("trigger add t --on rain --plan x", 4, "not_found", "there is no x"),
    Case("trigger fire nope /nowhere.json", 4, "not_found", "/nowhere.json"),
    Case("trigger remove nope", 4, "not_found", "there is no trigger nope"),
    Case("trigger run nope", 4, "not_found", "there is no trigger nope"),
    Case("friction --rate 2", 2, "bad_input", "--rate"),
    Case("context hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("dlq nonsense", 2, "bad_input", "nonsense"),
    Case("wait-human hub-bug", 2, "bad_input", "needs a question"),
    Case("wait-human hub-work --reason x --agent bob", 5, "stale_token", "no token was given"),
    Case("wait-human hub-done --reason x", 5, "wrong_state", "hub-done is closed"),
    Case("answer hub-bug", 2, "bad_input", "an empty answer"),
    Case("answer hub-bug yes", 5, "wrong_state", "does not wait for a person"),
    Case("handoff hub-bug --to hub-res", 2, "bad_input", "there is nothing to hand over"),
    Case("handoff hub-bug --to hub-res --artifact nowhere.md", 2, "bad_input", "there is no nowhere.md"),
    Case("handoff hub-bug --to hub-res --artifact a/x=nowhere", 2, "bad_input", "there is no a/x=nowhere"),
    Case(
        "handoff hub-bug --to hub-res --artifact x=http://a --artifact x=http://b",
        2,
        "bad_input",
        "two artifacts with the same name",
    ),
    Case("handoff hub-bug --to new: --note x", 2, "bad_input", "needs one title"),
    Case("handoff hub-bug --to agent:bob --note x", 2, "bad_input", "needs one title"),
    Case("handoff hub-bug --to agent:No_Name --title x --note x", 2, "bad_input", "can't be an agent's name"),
    Case("handoff hub-bug --to hub-res --title x --note x", 2, "bad_input", "a new bead's"),
    Case("handoff hub-bug --to hub-bug --note x", 2, "bad_input", "to itself"),
    Case("handoff hub-bug --to hub-done --note x", 5, "wrong_state", "hub-done is closed"),
    Case("handoff hub-done --to hub-bug --note x", 5, "already_closed", "hub-done is already closed"),
    Case("handoff hub-work --to hub-bug --note x --agent bob", 5, "stale_token", "no token was given"),
    Case("handoff hub-bug --to hub-nope --note x", 4, "no_such_bead", "hub-nope"),
    Case("attention --no-such", 2, "bad_input", "--no-such"),
    Case("attention --at 1999-01-01", 4, "not_found", "no commit as old"),
    Case("archive --older-than soon", 2, "bad_input", "soon"),
    Case("upgrade 0.10", 2, "bad_input", "0.10"),
    Case("archive --limit 0", 2, "bad_input", "--limit"),
    Case("agent", 2, "bad_input", ""),
    Case("agent add", 2, "bad_input", "Missing argument"),
    Case("agent add Bad_Name", 2, "bad_input", "can't be an agent's name"),
    Case("agent add bob --interval soon", 2, "bad_input", "is not a duration"),
    Case("agent add bob --interval 0m", 2, "bad_input", "an interval must be positive"),
    Case("agent add bob --max 0", 2, "bad_input", "--max"),
    Case("agent add bob --type bugg", 2, "bad_input", "is not a bead type"),
    Case("agent show codemonky", 4, "no_such_agent", "did you mean codemonkey?"),
    Case("agent status nobody", 4, "no_such_agent", "no agent 'nobody'"),
    Case("agent remove nobody", 4, "no_such_agent", "no agent 'nobody'"),
    Case("agent remove codemonkey", 5, "holds_beads", "codemonkey holds hub-work"),
    Case("agent rename codemonkey gibbon", 5, "holds_beads", "give them back with --release"),
    Case("agent rename codemonkey codemonkey", 5, "id_taken", "exists already"),
    Case("agent clear nobody", 4, "no_such_agent", "no agent 'nobody'"),
    Case("pause too much", 2, "bad_input", "unexpected extra argument"),
    Case("resume hub-bug", 2, "bad_input", "unexpected extra argument"),
    Case("pool scale nobody 2", 4, "no_such_agent", "nobody"),
    Case("pool scale nobody much", 2, "bad_input", "not a size"),
    Case("rebalance --loop --dry-run", 2, "bad_input", "leave out --loop"),
    Case("rebalance nonsense", 2, "bad_input", "nonsense"),
    Case("drain nobody", 4, "no_such_agent", "`bd agent list`"),
    Case("undrain nobody", 4, "no_such_agent", "no agent 'nobody'"),
    Case("offline codemonky", 4, "no_such_agent", "did you mean codemonkey?"),
    Case("online Bad_Name", 2, "bad_input", "can't be an agent's name"),
    Case("list --type bugg", 2, "bad_input", "did you mean bug?"),
    Case("close", 2, "bad_input", "Missing argument"),
    Case("close hub-nope", 4, "no_such_bead", 'no issue found matching "hub-nope"'),
    Case("close hub-work --reason done --agent bob", 5, "stale_token", "hub-work is claimed by codemonkey@hub"),
    Case("close hub-kid2", 5, "still_blocked", "hub-kid2 still waits on hub-kid1"),
    Case("close hub-epic", 5, "still_blocked", "unfinished children"),
    Case("close hub-off", 5, "wrong_state", "was cancelled"),
    Case("close hub-bug --next", 2, "no_identity", "--agent"),
    Case("heat", 2, "bad_input", "Missing argument"),
    Case("heat +25", 2, "bad_input", "which bead?"),
    Case("heat hub-bug +hot", 2, "bad_input", "'+hot' is not a number"),
    Case("heat hub-bug +0", 2, "bad_input", "can't heat by 0"),
    Case("heat hub-bug +101", 2, "bad_input", "can't heat by 101"),
    Case("heat hub-bug --by nan", 2, "bad_input", "'nan' is not a number"),
    Case("heat hub-bug +5 --by 5", 2, "bad_input", "+5 and --by together"),
    Case("heat hub-bug -5", 2, "bad_input", "-5"),
    Case("heat hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("config set heat_half_life 2h --clone", 2, "bad_input", "set for the whole hub"),
    Case("config set heat_half_life 0", 2, "bad_input", "half-life"),
    Case("why hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("whoami --agent Not_A_Name", 2, "bad_input", "can't be an agent's name"),
    Case("create", 2, "bad_input", "a bead needs a title"),
    Case("create ''", 2, "bad_input", "a bead needs a title"),
    Case("create X --type nonsense", 2, "bad_input", "is not a bead type"),
    Case("create X --priority 7", 2, "bad_input", "is not a priority"),
    Case("create X --id hub-bug", 5, "id_taken", "hub-bug exists already"),
    Case("create X --id ../up", 2, "bad_input", "can't be a bead's id"),
    Case("create X --deps hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("create X --deps wrong-kind:hub-bug", 2, "bad_input", "not a kind of dependency"),
    Case("create X --parent hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("create X --due someday", 2, "bad_input", "is not a time"),
    Case("create X --expected long", 2, "bad_input", "is not a duration"),
    Case("create X --metadata nonsense", 2, "bad_input", "is not JSON"),
    Case("create X --metadata [1]", 2, "bad_input", "is not a JSON object"),
    Case("create X --body-file /nowhere", 2, "bad_input", "can't read"),
    Case("create X --file plan.yaml", 2, "bad_input", "either a title or --file"),
    Case("q", 2, "bad_input", "Missing argument"),
    Case("list --status nonsense", 2, "bad_input", "no status nonsense"),
    Case("list --priority 9", 2, "bad_input", "is not a priority"),
    Case("list --sort sideways", 2, "bad_input", "no order"),
    Case("list --created-after someday", 2, "bad_input", "is not a time"),
    Case("list --metadata-field x", 2, "bad_input", "is not KEY=VALUE"),
    Case("list --at 2001-01-01", 4, "not_found", "no commit as old as"),
    Case("list --at nonsense", 2, "bad_input", "is not a time"),
    Case("list --at tomorrow", 2, "bad_input", "is in the future"),
    Case("show hub-nope", 4, "no_such_bead", 'no issue found matching "hub-nope"'),
    Case("show hub", 2, "ambiguous_id", "hub could be hub-bug"),
    Case("show hub-nope hub-never", 4, "not_found", "no issues found matching the provided IDs"),
    Case("search", 2, "bad_input", "nothing to search for"),
    Case("count --status nonsense", 2, "bad_input", "no status"),
    Case("children hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("update hub-nope --priority 1", 4, "no_such_bead", "hub-nope"),
    Case("update hub-bug --title ''", 2, "bad_input", "title can't be empty"),
    Case("update hub-bug --status nonsense", 2, "bad_input", "is not a status"),
    Case("update hub-bug priority=1", 2, "bad_input", "is not an id"),
    Case("update hub-work --status closed --agent bob", 5, "stale_token", "hub-work"),
    Case("update hub-work --claim --actor bob", 5, "already_claimed", "already claimed by codemonkey"),
    Case("update hub-work --assignee bob", 5, "stale_token", "hub-work"),
    Case("update hub-kid1 --parent hub-kid1", 5, "would_cycle", "hub-kid1"),
    Case("update hub-work --status open --force", 2, "bad_input", "--force needs --reason"),
    Case("edit hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("comment hub-nope hello", 4, "no_such_bead", "hub-nope"),
    Case("comment hub-bug", 2, "bad_input", "an empty comment"),
    Case("comments hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("comments add", 2, "bad_input", "which bead?"),
    Case("note hub-bug ''", 2, "bad_input", "an empty note"),
    Case("note hub-nope hello", 4, "no_such_bead", "hub-nope"),
    Case("label add hub-bug", 2, "bad_input", "give ids and a label"),
    Case("label add hub-nope x", 4, "no_such_bead", "hub-nope"),
    Case("label list hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("dep add hub-bug", 2, "bad_input", "which bead does it wait for?"),
    Case("dep add hub-bug hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("dep add hub-bug hub-bug", 5, "would_cycle", "can't depend on itself"),
    Case("dep add hub-kid1 hub-kid2", 5, "would_cycle", "hub-kid1 waits for hub-kid2, which waits for hub-kid1"),
    Case("dep add hub-kid1 hub-epic", 5, "would_cycle", "which closes after its child hub-kid1"),
    Case(
        "dep add hub-epic hub-kid1 --type parent-child",
        5,
        "would_cycle",
        "hub-epic is a child of hub-kid1, which is a child of hub-epic",
    ),
    Case("dep add hub-res hub-bug", 5, "wrong_state", "another kind of link"),
    Case("dep remove hub-bug hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("dep list hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("dep tree hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("assign hub-nope bob", 4, "no_such_bead", "hub-nope"),
    Case("assign hub-work bob", 5, "stale_token", "hub-work"),
    Case("defer hub-bug --until someday", 2, "bad_input", "is not a time"),
    Case("defer hub-done", 5, "wrong_state", "hub-done"),
    Case("undefer hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("reopen hub-work", 5, "wrong_state", "hub-work is in progress"),
    Case("reopen hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("cancel hub-work", 5, "stale_token", "hub-work"),
    Case("cancel hub-done", 5, "wrong_state", "closed beads can't be cancelled"),
    Case("delete hub-nope --force", 4, "no_such_bead", "hub-nope"),
    Case("delete hub-work --force", 5, "stale_token", "hub-work"),
    Case("history hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("blocked --no-such", 2, "bad_input", "--no-such"),
    Case("epic", 2, "bad_input", "Missing command"),
    Case("epic statos", 2, "bad_input", "statos"),
    Case("dep", 2, "bad_input", "Missing command"),
    Case("clone /nowhere/at-all ../x", 4, "not_found", "no repository at /nowhere/at-all"),
    Case("clone . ..", 2, "bad_input", "is not empty"),
    Case("init --prefix no/slash", 2, "bad_input", "can't be an id prefix"),
    Case("sync --dismiss nothing", 4, "not_found", "nothing is kept under nothing"),
    Case("config get", 2, "bad_input", "Missing argument"),
    Case("config set max_atempts 5", 2, "bad_input", "did you mean max_attempts?"),
    Case("cost --since tomorrow", 2, "bad_input", "is in the future"),
    Case("config set nonsense 1", 2, "bad_input", "no setting 'nonsense'"),
    Case("config set max_attempts many", 2, "bad_input", "is not a whole number"),
    Case("config set branch x", 2, "bad_input", "set per clone"),
    Case("cron show --systemd --agent bob", 2, "bad_input", "which command works on the beads?"),
    Case("cron install --agent bob", 2, "bad_input", "which command works on the beads?"),
    Case("cron show true", 2, "no_identity", "give --agent NAME"),
    Case("cron show --agent bob --interval 30s true", 2, "bad_input", "one minute"),
    Case("import /nowhere.jsonl", 4, "not_found", "/nowhere.jsonl"),
    Case("prime --no-such", 2, "bad_input", "--no-such"),
    Case("onboard --no-such", 2, "bad_input", "--no-such"),
    Case("setup", 2, "bad_input", "which tool?"),
    Case("setup emacs", 2, "bad_input", "no tool 'emacs'"),
    Case("setup claude --check --remove", 2, "bad_input", "--check and --remove together"),
    Case("completion powershell", 2, "bad_input", "powershell"),
    Case("migrate /nowhere", 4, "not_found", "nothing to migrate in /nowhere"),
    Case("import", 4, "not_found", "no file was given"),
    Case("export -o /nowhere/x.jsonl", 2, "bad_input", "/nowhere/x.jsonl"),
    Case("stats --no-such", 2, "bad_input", "--no-such"),
    Case("doctor --no-such", 2, "bad_input", "--no-such"),
    Case("board --watch", 2, "bad_input", "in a terminal"),
    Case("board --path x.md", 2, "bad_input", "add --publish"),
    Case("board --publish --path ../x.md", 2, "bad_input", "can't be a board's path"),
    Case("board --publish --at HEAD", 2, "bad_input", "can't be changed"),
    Case("metrics --since sometime", 2, "bad_input", "sometime"),
    Case("metrics --prometheus --since 1d", 2, "bad_input", "counts from the beginning"),
    Case("metrics --html --plot", 2, "bad_input", "leave out all but one"),
    Case("token create", 2, "bad_input", "for whom?"),
    Case("token create --person Ada --for-agent bob", 2, "bad_input", "for whom?"),
    Case("token create --for-agent No", 2, "bad_input", "No"),
    Case("token create --claim hub-bug", 5, "wrong_state", "not held"),
    Case("token create --claim hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("token create --person agent:bob", 2, "bad_input", "can't be a person's name"),
    Case("token revoke 12345678", 4, "not_found", "no token 12345678"),
    Case("token revoke x --token-file .", 2, "bad_input", "can't be read"),
    Case("serve --private", 2, "bad_input", "--token-file"),
    Case("serve --hook-secrets nope", 2, "bad_input", "the secrets can't be read"),
    Case("serve --forward bob=nowhere", 2, "bad_input", "not AGENT=URL"),
    Case("serve --port 70000", 2, "bad_input", "70000"),
    Case("wait", 2, "no_identity", "give --agent NAME"),
    Case("wait --agent bob --timeout soon", 2, "bad_input", "not a duration"),
    Case("wait --agent bob --token-file x", 2, "bad_input", "--token-file is for --via"),
    Case("wait --agent bob --via x", 2, "bad_input", "not the address of a `bd serve`"),
    Case("wait --agent bob --via http://127.0.0.1:9/ --token-file nope", 2, "bad_input", "the token can't be read"),
    Case("schema hub", 2, "bad_input", "agent"),
    Case("log --since sometime", 2, "bad_input", "sometime"),
    Case("log --follow --at HEAD", 2, "bad_input", "leave one of them out"),
    Case("audit --since sometime", 2, "bad_input", "sometime"),
    Case("identity allow --agent bob", 2, "no_key", "bob has no key on this machine"),
    Case("identity allow nobody nothing.pub --agent bob", 2, "bad_input", "can't read nothing.pub"),
    Case("identity revoke nobody --agent bob", 4, "no_such_agent", "no agent 'nobody'"),
    Case("trust --no-such", 2, "bad_input", "--no-such"),
    Case("undo --no-such", 2, "bad_input", "--no-such"),
    Case("demo --beads 0", 2, "bad_input", "--beads"),
    Case("version --no-such", 2, "bad_input", "--no-such"),
    Case("list --watch", 2, "bad_input", "--watch is not supported"),
    Case("ready --mol hub-bug", 2, "bad_input", "--mol is not supported"),
    Case("hooks run", 2, "bad_input", "Missing argument"),
    Case("dolt remote add", 2, "bad_input", "no `bd dolt remote`"),
    Case("priority hub-nope 1", 4, "no_such_bead", "hub-nope"),
    Case("priority hub-bug 7", 2, "bad_input", "'7' is not a priority"),
    Case("tag hub-nope x", 4, "no_such_bead", "hub-nope"),
    Case("stale --days few", 2, "bad_input", "--days"),
    Case("stale --status odd", 2, "bad_input", "no status odd"),
    *(Case(f"{name} --no-such", 2, "bad_input", "--no-such") for name in "info where context ping types statuses".split()),
    *(Case(f"{name} --no-such", 2, "bad_input", "--no-such") for name in "purge repair-deps quickstart human".split()),
    Case("brief hub-nope", 4, "no_such_bead", "hub-nope"),
    Case("remember x --key No", 2, "bad_input", "can't be a key"),
    Case("recall nothing", 4, "not_found", "nothing that is remembered"),
    Case("forget nothing", 4, "not_found", "nothing is remembered under"),
    Case("memories --no-such", 2, "bad_input", "--no-such"),
    Case("take hub-done", 5, "wrong_state", "hub-done"),
    Case("give hub-bug", 5, "wrong_state", "not yours to give back"),
    Case("repo show nothing", 4, "not_found", "nothing"),
    Case("workspace path hub-bug", 4, "not_found", "hub-bug"),
    Case("token revoke nothing", 4, "not_found", "nothing"),
    Case("mcp --no-such", 2, "bad_input", "--no-such"),
    Case("help --all --no-such", 2, "bad_input", "--no-such"),
]


def test_every_command_is_refused_something() -> None:
    assert {case.args.split()[0] for case in CASES} == set(COMMANDS)


@pytest.mark.one_in(16)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.args)
def test_refused(board: Clone, case: Case) -> None:
    before = tip(board.path)
    text = board.here(*words(case.args), check=False)
    assert (text.code, text.out) == (case.exit_code, ""), text
    assert text.err.startswith("Error: "), text
    assert case.says in text.err, text
    assert text.err.count("Error: ") == 1, text
    refused = board.here(*words(case.args), "--json", code=case.exit_code)
    assert (refused.json["code"], refused.json["schema_version"]) == (case.code, 1)
    assert refused.json["error"] in refused.err
    assert refused.err == text.err
    assert tip(board.path) == before


def test_nothing_ready_says_when_to_ask_again(local_hub: Clone) -> None:
    refused = local_hub.here("claim", "--next", "--agent", "bob", "--json", code=3)
    assert refused.json["code"] == "nothing_ready"
    assert refused.json["retry_after_s"] > 0
    assert "bd why" in refused.err
    for reading in ("list", "ready", "blocked"):
        assert local_hub.here(reading, "--json").json == []


def test_some_fail_and_some_do_not(board: Clone) -> None:
    """What worked is done and shown; what failed is named on stderr, and its code is the exit code."""
    result = board.here("close", "hub-bug", "hub-nope", "hub-kid2", "--json", code=4)
    assert [entry["id"] for entry in result.json] == ["hub-bug", "hub-nope", "hub-kid2"]
    assert [entry.get("status") for entry in result.json] == ["closed", None, None]
    assert [entry.get("code") for entry in result.json] == [None, "no_such_bead", "still_blocked"]
    assert "hub-nope" in result.err
    assert "hub-kid2" in result.err
    text = board.here("close", "hub-res", "hub-nope", code=4)
    assert text.lines == ["✓ Closed hub-res — Compare queues: Closed"]
    shown = board.here("show", "hub-bug", "hub-nope", code=4)
    assert "hub-bug" in shown.out
    assert 'no issue found matching "hub-nope"' in shown.err


def test_errors_are_wrapped_too(board: Clone) -> None:
    envelope = board.here("show", "hub-nope", "--json", code=4, env={"BD_JSON_ENVELOPE": "1"}).json
    assert envelope["schema_version"] == 1
    assert envelope["data"]["code"] == "no_such_bead"


@pytest.mark.parametrize("args", [("ready",), ("count", "--ready"), ("why", "hub-bug"), ("claim", "--next"), ("list",)])
def test_what_is_no_agents_name_is_bad_input_wherever_it_is_typed(board: Clone, args: tuple[str, ...]) -> None:
    refused = board.here(*args, "--agent", "Bad_Name", "--json", code=2)
    assert "can't be an agent's name" in refused.json["error"]
    assert "lower case" in refused.json["hint"]


@pytest.mark.parametrize("args", [("list",), ("ready",), ("count",), ("search", "the")])
def test_a_type_that_is_none_names_the_nearest_and_all(board: Clone, args: tuple[str, ...]) -> None:
    refused = board.here(*args, "--type", "bugg", code=2)
    assert "no type bugg" in refused.err
    assert "did you mean bug?" in refused.err
    assert "chore" in refused.err
    assert refused.out == ""


def test_a_type_that_the_hub_adds_or_a_bead_has_is_none_of_these(board: Clone) -> None:
    board.here("config", "set", "types", "recipe")
    assert board.here("list", "--type", "recipe", "--json").json == []
    assert board.here("list", "--type", "gate,convoy", "--json").json == []
    file = board.path / "beads" / "hub-odd.yaml"
    file.write_text("id: hub-odd\ntitle: Odd\ntype: oddity\n")
    board.here("sync")
    assert [bead["id"] for bead in board.here("list", "--type", "oddity", "--json").json] == ["hub-odd"]
