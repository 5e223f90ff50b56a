"""The API of a site in this process, and callers with tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from starlette.testclient import TestClient

from bd.cli.app import App, Globals
from bd.web.api.endpoints import PREFIX
from bd.web.app import application
from bd.web.authentication import AGENT, CLAIM, Account
from bd.web.site import Site
from tests.runtime import RUNTIME
from tests.web.conftest import ADA, HOST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.running import Clone

ALICE = Account("alice", "the-token-of-alice-0001", AGENT)
BOB = Account("bob", "the-token-of-bob-000001", AGENT)


class Caller(NamedTuple):
    """A caller of the API with the token of an account."""

    client: TestClient
    account: Account

    def send(self, method: str, path: str, *, key: str = "", headers: dict[str, str] | None = None, **values: Any) -> Any:
        """Send a request; `values` are the query of a GET and the body of a POST."""
        given = {"authorization": f"Bearer {self.account.token}", **({"idempotency-key": key} if key else {}), **(headers or {})}
        more: dict[str, Any] = {"params": values} if method == "GET" else {"json": values}
        return self.client.request(method, PREFIX + path, headers=given, **more)

    def get(self, path: str, **values: Any) -> Any:
        """The JSON of an answer that is 200."""
        answer = self.send("GET", path, **values)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, **values: Any) -> Any:
        """The same of a POST."""
        answer = self.send("POST", path, **values)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refused(self, method: str, path: str, **values: Any) -> tuple[int, str]:
        """The status and the code of an answer that refuses."""
        answer = self.send(method, path, **values)
        assert answer.status_code >= 400, answer.text
        return answer.status_code, answer.json()["code"]


class Api(NamedTuple):
    """A site on a clone of a hub with two beads, the second of which waits for the first."""

    clone: Clone
    site: Site
    client: TestClient
    accounts: list[Account]

    def of(self, account: Account) -> Caller:
        return Caller(self.client, account)

    def of_claim(self, bead_id: str, token: str) -> Caller:
        """A caller with a token for one claim."""
        account = Account(bead_id, f"for-the-claim-{token}", CLAIM, token)
        self.accounts.append(account)
        return self.of(account)


def site_on(own: Clone, accounts: Callable[[], tuple[Account, ...]]) -> Site:
    return Site(lambda: App(Globals(directory=str(own.path)), RUNTIME).hub, RUNTIME, accounts)


@pytest.fixture
def api(clone: Callable[[str], Clone]) -> Iterator[Api]:
    own = clone("server")
    own.here("create", "Mend the proxy", "--id", "hub-one", "--priority", "1")
    own.here("create", "Tell the users", "--id", "hub-two", "--deps", "hub-one")
    accounts = [ADA, ALICE, BOB]
    site = site_on(own, lambda: tuple(accounts))
    with TestClient(application(site), base_url=HOST) as client:
        yield Api(own, site, client, accounts)


@pytest.fixture
def alice(api: Api) -> Caller:
    return api.of(ALICE)


@pytest.fixture
def bob(api: Api) -> Caller:
    return api.of(BOB)


@pytest.fixture
def ada(api: Api) -> Caller:
    return api.of(ADA)


def agents(api: Api, number: int) -> list[Account]:
    """So many agents with tokens."""
    made = [Account(f"agent-{place}", f"the-token-of-agent-{place:04}", AGENT) for place in range(number)]
    api.accounts.extend(made)
    return made


def claimed(caller: Caller, bead_id: str = "hub-one") -> str:
    """The fencing token of a bead that the caller claims."""
    [bead] = caller.post("/claim", id=bead_id)
    return str(bead["claim"]["token"])
