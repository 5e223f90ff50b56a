"""What programs ask of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.truth import tip
from tests.web.test_feed import next_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.web.conftest import Served


def test_health_says_what_is_shown(served: Served, hub: Path) -> None:
    from queue import Queue

    news: Queue[Any] = Queue()
    with served.site.feed.told(news.put):
        served.site.feed.look()
        if not served.site.feed.tip:
            next_of(news, "moved")
    answer = served.client.get("/healthz")
    assert answer.status_code == 200
    assert answer.json()["status"] == "ok"
    assert answer.json()["tip"] == tip(hub)


def test_prometheus_is_told_what_the_command_tells(served: Served) -> None:
    told = served.client.get("/metrics")
    assert told.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'task_queue_depth{status="ready",priority_tier="high"} 1' in told.text
    assert told.text.count("# TYPE") == served.clone.bd("metrics", "--prometheus").out.count("# TYPE")
