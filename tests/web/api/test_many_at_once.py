"""Many callers at once: their claims share a push, and no two of them get the same bead."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from bd.web.writers import AT_ONCE
from tests.race.seeds import seed
from tests.race.test_one_clone import count_pushes, waiting
from tests.truth import git
from tests.waiting import until
from tests.web.api.conftest import agents

if TYPE_CHECKING:
    from pathlib import Path

    from tests.web.api.conftest import Api


def test_claims_at_once_share_a_push(api: Api, hub: Path) -> None:
    """They wait while another process writes, and the first of them that may write takes the others along."""
    seed(api.clone, *(f"hub-{number}" for number in range(2 * AT_ONCE)))
    callers = [api.of(account) for account in agents(api, 2 * AT_ONCE)]
    pushes, before = count_pushes(hub), int(git(hub, "rev-list", "--count", "main"))
    holder = api.site.open_hub()
    with ThreadPoolExecutor(len(callers)) as threads:
        holder.begin_write(fetch=False)
        try:
            answers = [threads.submit(caller.send, "POST", "/claim") for caller in callers]
            until(lambda: len(waiting(api.clone)) == AT_ONCE, every_s=0.02)
        finally:
            holder.close()
        won = [bead["id"] for answer in answers for bead in answer.result().json()]
    assert len(set(won)) == len(callers)
    assert int(git(hub, "rev-list", "--count", "main")) == before + len(callers)
    assert pushes() <= len(callers) // 2
