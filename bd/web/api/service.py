"""The service: checks a call, and runs it in the reader's thread or in a writer's. HTTP and MCP share it."""

from __future__ import annotations

from threading import Lock

from bd import TYPE_CHECKING
from bd.store import KeyIndex
from bd.web import waits
from bd.web.api.call import Answer, Call, checked_key, claim_of
from bd.web.api.parameters import of_object, refuse_missing
from bd.web.authentication import CLAIM
from bd.web.refusal import Refusal
from bd.worker.long_poll import HELD_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any

    from bd.web.api.endpoints import Endpoint
    from bd.web.authentication import Account
    from bd.web.site import Site, View


class Service:
    """The endpoints of one site."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._keys = KeyIndex(Lock())

    def call_of(self, endpoint: Endpoint, account: Account, values: Mapping[str, Any], key: str = "") -> Call:
        """Return a call whose caller and values have been checked. Raises BadInput, Refusal, StaleToken."""
        refuse_caller(endpoint, account)
        checked = of_object(endpoint.parameters_for(account.kind), dict(values))
        refuse_missing(endpoint.parameters, checked)
        if account.kind == CLAIM and endpoint.write and checked.get("id") != account.name:
            raise Refusal(403, f"this token is for the claim of {account.name} alone", "name the bead by its whole id")
        own_key = checked_key(key) if endpoint.write and endpoint.is_keyed else ""
        return Call(endpoint.name, account, checked, own_key, self._keys, self.site.verbs, self.site.checks.check)

    async def run(self, endpoint: Endpoint, call: Call) -> Answer:
        """Run a call. Raises the refusal."""
        if endpoint.write:
            is_long = endpoint.is_long
            if is_long is None or not await self.site.read(is_long, call):
                return await self.site.write_as_named(endpoint.write, call)
            try:
                return await self.site.checks.do(endpoint.write, call)
            finally:
                self.site.feed.look()
        assert endpoint.read
        return await self.site.read(_read, endpoint, call)

    async def wait(self, call: Call, is_gone: Callable[[], Awaitable[bool]] | None = None) -> Answer:
        """Wait until something is ready for the caller, or its time is up. `is_gone`: whether the caller has left."""
        agent = await self.site.read(lambda view: call.agent(view.snapshot))
        more = (is_gone,) if is_gone else ()
        return Answer(await waits.held(self.site, agent, call.values.get("timeout", HELD_S), *more))


def refuse_caller(endpoint: Endpoint, account: Account) -> None:
    """Raise Refusal if this kind of account may not call an endpoint."""
    if account.kind not in endpoint.callers:
        raise Refusal(403, f"a token for one {account.kind} can't call {endpoint.name}", "an agent's token can")


def _read(view: View, endpoint: Endpoint, call: Call) -> Answer:
    assert endpoint.read
    if call.account.kind == CLAIM:
        claim_of(call.account, view.snapshot)  # an account of a claim ends with it
    answer = endpoint.read(view, call)
    return answer._replace(headers={**answer.headers, "bd-tip": view.tip})
