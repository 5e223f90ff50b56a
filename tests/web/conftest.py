"""Sites in this process, on real hubs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from starlette.testclient import TestClient

from bd.cli.app import App, Globals
from bd.web.app import application
from bd.web.authentication import Account
from bd.web.site import Site
from tests.runtime import RUNTIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.running import Clone

ADA = Account("Ada Lovelace", "a-token-that-nobody-guesses")
HOST = "http://127.0.0.1"


class Served(NamedTuple):
    """A clone of the hub, the site on it, and a browser of nobody in particular."""

    clone: Clone
    site: Site
    client: TestClient

    def reader(self, path: str, **headers: str) -> str:
        """A page as a person's browser gets it."""
        answer = self.client.get(path, headers={"accept": "text/html", **headers})
        assert answer.status_code == 200, answer.text
        return answer.text


@pytest.fixture
def served(clone: Callable[[str], Clone]) -> Iterator[Served]:
    """A site that Ada may change, on a clone of a hub with two beads."""
    own = clone("server")
    own.here("create", "Mend the proxy", "--id", "hub-one", "--priority", "1")
    own.here("create", "Tell the users", "--id", "hub-two", "--deps", "hub-one")
    site = Site(lambda: App(Globals(directory=str(own.path)), RUNTIME).hub, RUNTIME, (ADA,))
    with TestClient(application(site), base_url=HOST) as client:
        yield Served(own, site, client)
