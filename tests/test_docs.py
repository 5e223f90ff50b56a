"""The documentation says what the code does: names, tables, links, examples, and every block that shows a terminal.

All ```console blocks of a page are one session (see terminal.py) in an empty home folder, or in a
clone of a hub where the page has `<!-- session: in a hub -->`. The lines of ```sh blocks are typed one after the
other in a hub that has the beads of the examples; what can't be is in NOT_TYPED.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bd.cli.commands.agent_view import skill_words
from bd.cli.table import ALIASES, COMMANDS
from bd.core import errors, schema
from bd.core.settings import KEYS, PLACE_KEYS
from bd.core.times import duration_text
from bd.policy.roles import ROLES
from tests.race.seeds import put
from tests.running import Clone, run_here
from tests.sealing import GIT_CONFIGURATION
from tests.terminal import Session, typed_in, with_bd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.one_in(9)

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"])


def _generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate_commands", DOCS / "generate_commands.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generator = _generator()


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """The part of a page below a heading, up to the next heading of the same or a higher level."""
    level = len(heading) - len(heading.lstrip("#"))
    start = text.index(f"\n{heading}\n")
    end = re.compile(rf"^#{{1,{level}}} ", re.MULTILINE).search(text, start + len(heading) + 2)
    return text[start : end.start() if end else len(text)]


def rows(text: str) -> list[list[str]]:
    """The cells of every table row, without header lines and the lines below them."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    tables = [
        line for place, line in enumerate(lines) if not _is_rule(line) and not _is_rule("".join(lines[place + 1 : place + 2]))
    ]
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in tables]


def _is_rule(line: str) -> bool:
    return bool(line) and not set(line) - set("|-: ")


def names_in(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


# --- what the pages list is what there is -----------------------------------------------


def test_the_roles_are_those_of_the_table() -> None:
    page = section(text_of("concepts.md"), "### Roles")
    wanted = [
        [f"`{name}`", duration_text(role.interval_s), skill_words(role.skills) or role.help] for name, role in ROLES.items()
    ]
    assert rows(page) == wanted


def test_the_page_of_commands_is_as_the_commands_are() -> None:
    message = "docs/commands.md is out of date: python docs/generate_commands.py"
    assert text_of("commands.md") == generator.page(), message


def test_what_the_go_tool_has_is_accepted_ignored_or_refused_as_the_page_says() -> None:
    message = "docs/compatibility.md is out of date: python docs/generate_commands.py"
    assert text_of("compatibility.md") == generator.compatibility(), message
    for name in generator.ACCEPTED.split(", "):
        run_here(*name.split(), "--help")


def test_every_command_is_documented_with_an_example() -> None:
    page = text_of("commands.md")
    assert [name for name in COMMANDS if f"\n### {name}\n" not in page] == []
    assert [name for name, command in generator.every_command().items() if not generator.examples(command)] == []


def _error_classes(kind: type[errors.BdError] = errors.BdError) -> Iterator[type[errors.BdError]]:
    yield kind
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _error_classes(below)


def test_the_table_of_errors_is_that_of_the_program() -> None:
    message = "docs/exit-codes.md is out of date: python docs/generate_commands.py"
    assert text_of("exit-codes.md") == generator.exit_codes(), message
    assert set(errors.CODES) == {kind.code for kind in _error_classes()}


def test_the_numbers_of_the_seeds_are_up_to_date() -> None:
    message = "docs/seeds.md is out of date: python docs/generate_commands.py"
    assert text_of("seeds.md") == generator.seeds(), message


def test_the_table_of_exit_codes_has_each_code_once() -> None:
    documented = [int(names_in(cells[0])[0]) for cells in rows(section(text_of("exit-codes.md"), "## The codes"))]
    assert documented == sorted({0, *(kind.exit_code for kind in _error_classes())})


@pytest.mark.parametrize(
    ("heading", "table"),
    [
        ("## A bead file", schema.BEAD_FIELDS),
        ("### The claim of a bead", schema.CLAIM_FIELDS),
        ("### A comment", schema.COMMENT_FIELDS),
        ("### A failure", schema.FAILURE_FIELDS),
        ("## A capacity file", schema.CAPACITY_FIELDS),
        ("## An agent file", schema.AGENT_FIELDS),
        ("## The hub's settings", schema.CONFIG_FIELDS),
    ],
)
def test_every_key_of_a_file_is_documented_with_its_kind_in_the_order_it_is_written(heading: str, table: dict[str, str]) -> None:
    part = (
        section(text_of("format.md"), heading).split("\n### ")[0]
        if heading.startswith("## ")
        else section(text_of("format.md"), heading)
    )
    documented = {names_in(cells[0])[0]: cells[1] for cells in rows(part)}
    assert list(documented.items()) == list(table.items())


def test_every_setting_is_documented_with_its_default() -> None:
    documented = {names_in(cells[0])[0]: cells[1].strip("`") for cells in rows(section(text_of("format.md"), "### Settings"))}
    assert list(documented) == [*KEYS, *PLACE_KEYS]
    # What is unset says in words what then holds.
    wrong = {name: key.default for name, key in KEYS.items() if key.default and key.read(documented[name]) != key.default}
    assert wrong == {}
    assert [name for name, key in KEYS.items() if key.default is False and documented[name] != "false"] == []


def test_statuses_and_types_are_documented() -> None:
    page = text_of("format.md")
    assert {names_in(cells[0])[0] for cells in rows(section(page, "### Status"))} == set(schema.STORED_STATUSES)
    assert set(schema.TYPES) <= set(names_in(section(page, "### Type")))


def test_every_word_of_the_glossary_stands_there_once() -> None:
    words = [word for cells in rows(text_of("glossary.md")) for word in re.findall(r"\*\*([^*]+)\*\*", cells[0])]
    assert len(words) == len(set(words)), sorted(word for word in set(words) if words.count(word) > 1)
    assert set(COMMANDS) | set(ALIASES) <= set(words), sorted((set(COMMANDS) | set(ALIASES)) - set(words))


def test_the_changelog_has_this_version() -> None:
    from bd import __version__

    heading = "Unreleased" if ".dev" in __version__ else __version__
    assert f"## [{heading}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


# --- links ------------------------------------------------------------------------------


def _anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as hosts make them."""
    plain = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", plain, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = page if not path else (page.parent / path).resolve()
        if not there.exists() or (anchor and anchor not in _anchors(there)):
            broken.append(target)
    assert not broken


def test_every_page_is_in_the_contents_of_the_site() -> None:
    contents = re.findall(r"```\{toctree\}\n(.*?)```", text_of("index.md"), re.DOTALL)
    listed = [line for part in contents for line in part.splitlines() if line and not line.startswith(":")]
    there = sorted(path.stem for path in DOCS.glob("*.md") if path.stem != "index")
    assert sorted(listed) == there, "docs/index.md lists the pages in the order one needs them; README.md does too"


def test_the_readme_leads_to_every_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in sorted(DOCS.glob("*.md")) if path.stem != "index" and f"(docs/{path.name})" not in readme] == []


# --- the examples of the help -----------------------------------------------------------

# What has to have happened before an example makes sense.
REMEMBERED = ['remember "the tests need port 8080" --key test-port']
BEFORE = {
    "start": ["claim hub-7k3q --agent codemonkey --reserve"],
    "release": ["claim hub-7k3q"],
    "fail": ["claim hub-7k3q"],
    'bd dlq retry hub-7k3q --reason "the key is renewed"': ["claim hub-7k3q", "fail hub-7k3q -r cancelled -e gone"],
    'EDITOR=vim bd dlq edit hub-7k3q --reason "it names the branch now"': [
        "claim hub-7k3q",
        "fail hub-7k3q -r cancelled -e gone",
    ],
    'bd dlq cancel hub-7k3q --reason "nobody needs it any more"': ["claim hub-7k3q", "fail hub-7k3q -r cancelled -e gone"],
    'bd dlq review hub-7k3q --note "waiting for the vendor"': ["claim hub-7k3q", "fail hub-7k3q -r cancelled -e gone"],
    "progress": ["claim hub-7k3q"],
    "take": ["claim hub-7k3q"],
    "give": ["claim hub-7k3q"],
    "cost": ["claim hub-7k3q"],
    "heartbeat": ["claim hub-7k3q"],
    "bd schedule remove audit": ['schedule add audit --cron "0 9 * * 1" --title Audit'],
    "bd trigger remove review": ["trigger add review --on github:pull_request.opened --plan plan.yaml"],
    "trigger fire": ["trigger add review --on github:pull_request.opened --plan plan.yaml"],
    "spawn": ["claim hub-7k3q"],
    "undefer": ["defer hub-7k3q"],
    "answer": ["wait-human hub-7k3q --reason 'which logo?'"],
    "reopen": ["close hub-7k3q"],
    "undo": ["update hub-7k3q --priority 0"],
    "bd recall port": REMEMBERED,
    "bd recall port --json": REMEMBERED,
    "forget": REMEMBERED,
    "bd token create --claim hub-7k3q": ["claim hub-7k3q"],
    "resume": ["pause"],
    "undrain": ["drain codemonkey"],
    "bd identity allow": ["identity init"],
    "bd identity revoke codemonkey": ["identity init", "identity allow"],
    "online": ["offline codemonkey"],
    "bd claim hub-7k3q --agent codemonkey --resume": ["claim hub-7k3q --agent codemonkey"],
    "bd close hub-7k3q --reason done --next --agent codemonkey": ["claim hub-7k3q --agent codemonkey"],
}
# Exit codes other than 0.
EXPECTED = {
    "bd setup claude --check": 5,  # nobody has set it up
    "bd pool scale codemonkey 2": 2,  # it has no pool
    "bd pool scale codemonkey auto": 2,
    "bd stalled --reassign hub-7k3q": 5,  # it has not stalled
    "bd sync --dismiss UID": 4,  # nothing is kept
    "bd export --at 2026-02-01 --all": 4,  # the hub is younger
}
# Not run, and why: the name of a command or one example.
NOT_RUN = {
    "bd identity allow codemonkey codemonkey.pub": "there is no such key",
    "work": "runs a command for ever; tests/fleet has its tests",
    "bd prime --template prompts/worker.md | claude -p": "the agent is a vendor's program",
    "bd log --follow": "goes on for ever; tests/report has its tests",
    "bd log --follow --json | jq -r .transition": "goes on for ever",
    "bd wait --agent codemonkey && ./agent.sh": "the command is the agent's own",
    "bd wait --agent codemonkey --via https://fleet.example.org": "nobody is at that address",
    "bd board --watch": "goes on for ever, in a terminal",
    "bd overseer --skip board,summary": "goes on for ever; tests/overseer has its tests",
    "bd token revoke 5b1f09ac": "there is no such token",
    **dict.fromkeys(
        ("repo add", "repo show", "repo remove", "repo check", "workspace path", "workspace enter"), "tests/repos has its tests"
    ),
    "serve": "runs until it is ended; tests/serve has its tests",
    "mcp": "runs until it is ended; tests/web has its tests",
    "demo": "has tests of its own, and takes a while",
    "bd cron install --agent codemonkey --interval 30m -- ./worker.sh": "the crontab is the user's own",
    "bd cron remove --agent codemonkey": "the crontab is the user's own",
    "completion": "writes into the folders of a home",
    "bd migrate --branch beads": "a second hub in a hub's clone",
    "bd init hub --prefix hub --remote git@host:team/hub.git": "nobody is at that address",
    "bd clone git@host:team/hub.git": "nobody is at that address",
    "bd clone /srv/git/hub.git work/hub": "nothing is at that path",
    "ssh build-3 bd export | bd import -": "there is no such host",
    "task export | bd import -": "Taskwarrior is another program",
}
FILES = {
    "plan.yaml": "title: Field notes\ntasks:\n  - name: page\n    title: Write the page\n",
    "report.md": "What came of it.\n",
    "event.json": '{"action": "opened", "number": 7, "pull_request": {"title": "Mend it"}}',
    "plan.json": '{"title": "Nightly", "tasks": [{"name": "look", "title": "Look at the logs"}]}',
    "city.toml": '[[agent]]\nname = "refinery"\n\n[agent.pool]\nmax = 1\n',
    ".taskmaster/tasks/tasks.json": '{"master": {"tasks": [{"id": 1, "title": "From task-master"}]}}\n',
    "beads.jsonl": '{"id": "hub-old1", "title": "From elsewhere", "priority": 2}\n',
    ".beads/issues.jsonl": '{"id": "hub-old2", "title": "From this checkout", "priority": 2}\n',
    "../old-hub/.beads/backup/issues.jsonl": '{"id": "hub-old3", "title": "From a dump", "priority": 2, "ephemeral": 0}\n',
}


@pytest.fixture(scope="session")
def examples_hub(templates: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hub without a remote that has the beads of the examples."""
    folder = tmp_path_factory.mktemp("examples") / "hub"
    shutil.copytree(templates / "local", folder)
    for words in (
        'create "Field notes" -t epic --id hub-a1b2',
        'create "Fix CORS in the auth middleware" -t bug -p 1 --id hub-7k3q',
        'create "Handle webhook timeouts" --id hub-m2v8 -l merge',
        'create "Deploy the gateway" --id hub-q9x1 --deps hub-7k3q',
        'create "A" --id hub-a',
        'create "B" --id hub-b',
        "agent add codemonkey --max 9 --skills ''",
    ):
        run_here(*shlex.split(words), cwd=folder, env={"BD_AGENT": "codemonkey"})
    with open(folder / ".beads" / "agents" / "codemonkey.yaml", "a", encoding="utf-8") as file:
        file.write("may: [remember]\n")
    put(Clone(folder), ".beads", "codemonkey may remember")
    return folder


def test_what_is_said_about_examples_is_about_examples() -> None:
    known = {words for pair in generator.every_example() for words in pair}
    assert sorted({*BEFORE, *EXPECTED, *NOT_RUN} - known) == []


@pytest.mark.one_in(36)
@pytest.mark.parametrize(
    ("command", "typed"), [pair for pair in generator.every_example() if not NOT_RUN.keys() & set(pair)], ids=lambda text: text
)
def test_the_examples_of_the_help_work(command: str, typed: str, tmp_path: Path, examples_hub: Path) -> None:
    hub = tmp_path / "hub"
    shutil.copytree(examples_hub, hub)
    for name, content in FILES.items():
        (hub / name).parent.mkdir(parents=True, exist_ok=True)
        (hub / name).write_text(content, encoding="utf-8")
    agent = {"BD_AGENT": "codemonkey", "PATH": with_bd(tmp_path, dict(os.environ))["PATH"]}
    for words in BEFORE.get(typed, BEFORE.get(command, [])):
        run_here(*shlex.split(words), cwd=hub, env=agent)
    typed_here = typed.replace("EDITOR=vim", "VISUAL=true").partition(" | jq")[0]
    if re.match(r"bd [^|$>]*\Z", typed_here):
        run_here(*shlex.split(typed_here)[1:], cwd=hub, env=agent, code=EXPECTED.get(typed, 0))
        return
    ended = subprocess.run(
        ["bash", "-c", typed_here], cwd=hub, env={**os.environ, "PATH": agent["PATH"]}, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr


# --- the terminal sessions of the pages -------------------------------------------------


@pytest.fixture
def session(tmp_path: Path, templates: Path) -> Iterator[Callable[[str], Session]]:
    """`session(page)`: a terminal for a page, in the home folder of somebody named Ada."""
    opened: list[Session] = []

    def start(page: str) -> Session:
        home = tmp_path / "ada"
        home.mkdir()
        configuration = home / ".gitconfig"
        configuration.write_text(GIT_CONFIGURATION.replace("Test Person", "Ada Lovelace"), encoding="utf-8")
        environment = with_bd(tmp_path, {**os.environ, "HOME": str(home), "GIT_CONFIG_GLOBAL": str(configuration)})
        opened.append(Session(home, environment))
        if "<!-- session: in a hub -->" in page:
            shutil.copytree(templates / "hub.git", home / "hub.git")
            code, lines = opened[0].type("git clone --quiet ~/hub.git ~/hub && cd ~/hub")
            assert code == 0, lines
        return opened[0]

    yield start
    for one in opened:
        one.close()


SHOWN = [page for page in PAGES if "```console" in page.read_text(encoding="utf-8")]


@pytest.mark.one_in(27)
@pytest.mark.skipif(sys.platform == "win32", reason="the sessions are bash's")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.slow] if page.name in ("scaling.md", "concepts.md") else [])
        for page in SHOWN
    ],
)
def test_what_the_page_shows_comes_out(page: Path, session: Callable[[str], Session]) -> None:
    text = page.read_text(encoding="utf-8")
    terminal = session(text)
    for typed in typed_in(text):
        code, came = terminal.type(typed.text)
        wrong = terminal.missing(typed.shown, came)
        where = f"{page.name}, line {typed.line}: $ {typed.text}"
        real = "\n".join(came)
        assert code == typed.code, f"{where}\nexit {code}\n{real}"
        assert not wrong, "\n".join([where, *wrong, "--- what came", real])


# --- what the pages tell one to type ------------------------------------------------------

# Not typed, and why: a line of a ```sh block, without its comment.
NOT_TYPED = {
    "BD_FORWARD_TOKEN=... bd serve --forward codemonkey=http://127.0.0.1:18789/hooks/agent --forward-body openclaw-hook.json": (
        "goes on for ever; tests/web has its tests"
    ),
    "bd simulate --scenario examples/scenarios/team.yaml --chart afternoon.svg": "it is a file of the repository",
    "bd simulate --scenario examples/scenarios/team.yaml --timeline 1": "the same",
    "make demo": "tests/fleet has its tests, and this repository's CI types it",
    "make test": "these are the tests",
    "pip install .": "installs from the network",
    "uv tool install .": "installs from the network",
    "pipx install .": "installs from the network",
    "python3 -m venv ~/bd": "the line below it installs from the network",
    "~/bd/bin/pip install .": "installs from the network",
    "export PATH=~/bd/bin:$PATH": "nothing is installed there",
    "bd work --agent codemonkey -- ./agent.sh": "goes on for ever; tests/fleet has its tests",
    "bd work --agent codemonkey --isolated --with claude": "the same; tests/fleet/test_isolated_work.py",
    'bd-api POST beads/$BD_BEAD_ID/progress \'{"text": "found the cause"}\'': "an isolated command types it",
    "bd-api GET openapi.json": "the same",
    "bd work --agent codemonkey --with claude --folder ../relay": "needs a program; tests/fleet has its tests",
    "bd work --agent codemonkey --with codex -- --profile ci": "needs a program; tests/fleet has its tests",
    "bd board --watch": "goes on for ever, in a terminal",
    "bd log --follow": "goes on for ever; tests/report has its tests",
    "bd identity allow codemonkey codemonkey.pub": "there is no such key",
    "bd identity revoke codemonkey": "it was not allowed",
    "bd wait --agent codemonkey && ./agent.sh": "the command is the agent's own",
    "bd wait --agent codemonkey --timeout 10m --json": "may take ten minutes; tests/fleet has its tests",
    'echo "github 7c9e…" > ~/.bd-hooks; chmod 600 ~/.bd-hooks': "the secret is the reader's own",
    "pip install 'gitbeads[serve]'": "installs from the network",
    "pip install 'gitbeads[mcp]'": "installs from the network",
    "bd mcp --agent codemonkey": "goes on for ever; tests/web has its tests",
    "bd mcp --http --name fleet.example.org": "goes on for ever; tests/web has its tests",
    "cd ~/hub && bd serve": "goes on for ever; tests/serve has its tests",
    "bd serve --token-file ~/.bd-tokens": "goes on for ever; tests/serve has its tests",
    "bd serve --token-file ~/.bd-tokens --name fleet.example.org": "goes on for ever; tests/serve has its tests",
    "bd serve --host 0.0.0.0 --token-file ~/.bd-tokens --private": "goes on for ever; tests/serve has its tests",
    """curl -H "Authorization: Bearer $TOKEN" --json '{"title": "Renew the certificate", "priority": 1}' http://127.0.0.1:8750/beads""": "no server runs",
    """curl -H "Authorization: Bearer $TOKEN" --json '{"text": "the blue one"}' http://127.0.0.1:8750/beads/hub-7k3q/answer""": "no server runs",
    "bd serve --hook-secrets ~/.bd-hooks --name fleet.example.org": "goes on for ever; tests/serve has its tests",
    'env -i HOME="$HOME" PATH=/usr/bin:/bin git ls-remote ADDRESS': "ADDRESS is the reader's own",
}
# Stand-ins for programs of the machine that a page calls, and a test must not.
STAND_INS = {
    "crontab": """if [ "$1" = - ]; then cat > ~/crontab; elif [ -e ~/crontab ]; then cat ~/crontab; else echo "no crontab for ada" >&2; exit 1; fi""",
    "systemctl": ":",
    "loginctl": ":",
}


def lines_to_type(page: str) -> list[str]:
    """The lines of all ```sh blocks, without comments; of a line for cron what stands behind its times."""
    found = []
    for block in re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            typed = re.sub(r"^[*/0-9]+( [*/0-9,-]+){4}\s+", "", re.sub(r"(^|\s)# .*", "", line)).strip()
            found += [typed] if typed else []
    return found


SH_PAGES = {page.name: lines_to_type(page.read_text(encoding="utf-8")) for page in PAGES if page.name != "commands.md"}


def test_what_is_not_typed_is_in_the_pages() -> None:
    assert NOT_TYPED.keys() - {line for lines in SH_PAGES.values() for line in lines} == set()


@pytest.mark.one_in(27)
@pytest.mark.skipif(sys.platform == "win32", reason="the lines are for a shell")
@pytest.mark.parametrize("name", [name for name, lines in SH_PAGES.items() if set(lines) - NOT_TYPED.keys()])
def test_what_a_page_tells_one_to_type_works(name: str, tmp_path: Path, examples_hub: Path) -> None:
    home = tmp_path / "ada"
    shutil.copytree(examples_hub, home / "hub")
    for file, content in {
        **FILES,
        "worker.sh": "#!/bin/sh\n",
        "agent.sh": "#!/bin/sh\n",
        "review.yaml": FILES["plan.yaml"],
    }.items():
        (home / "hub" / file).parent.mkdir(parents=True, exist_ok=True)
        (home / "hub" / file).write_text(content, encoding="utf-8")
    for script in ("worker.sh", "agent.sh"):
        (home / "hub" / script).chmod(0o755)
    environment = with_bd(tmp_path, {**os.environ, "HOME": str(home)})
    for program, script in STAND_INS.items():
        (tmp_path / "programs" / program).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (tmp_path / "programs" / program).chmod(0o755)
    for line in SH_PAGES[name]:
        if line in NOT_TYPED:
            continue
        ended = subprocess.run(["bash", "-c", line], cwd=home / "hub", env=environment, capture_output=True, text=True)
        assert ended.returncode == 0, f"{name}: {line}\n{ended.stdout}{ended.stderr}"
