"""What a feed is told: what cannot be is refused in the user's words, and nothing secret is repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import whimbrel as wb
from whimbrel.errors import WhimbrelError

FIELDS: Any = {"at": "int64"}
TOLD: Any = {"time": "at", "schema": FIELDS}


@pytest.mark.parametrize("make", [
    lambda: wb.feeds.http("http://ann:hunter2@h/x?api_key=hunter2", format="xx", **TOLD),
    lambda: wb.feeds.events("http://ann:hunter2@h/x?api_key=hunter2", format="xx", **TOLD),
    lambda: wb.feeds.websocket("ws://h/x?token=hunter2", format="xx", **TOLD),
    lambda: wb.feeds.http("htps://ann:hunter2@h/x?a=1&b=hunter2", **TOLD),
    lambda: wb.feeds.postgres("t", "ann:hunter2@127.0.0.1/db", cursor="id", **TOLD),
    lambda: wb.feeds.postgres_changes("t", "ann:hunter2@127.0.0.1/db", **TOLD),
    lambda: wb.feeds.redis("t", "redis://:hunter2/ter2@127.0.0.1:1", **TOLD),
    lambda: wb.feeds.redis("t", "ann:hunter2@127.0.0.1:1", **TOLD),
    lambda: wb.feeds.nats("t", "nats://ann:hunter2/ter2@127.0.0.1:1", **TOLD),
    lambda: wb.feeds.mqtt("t", "mqtt://ann:hunter2/ter2@127.0.0.1:1", **TOLD),
    lambda: wb.feeds.socket("tpc://ann:hunter2@127.0.0.1:1", **TOLD),
    lambda: wb.sinks.postgres("t", "ann:hunter2@127.0.0.1/db", key=["at"]),
    lambda: wb.sinks.redis("t", "redis://:hunter2/ter2@127.0.0.1:1"),
])
def test_no_error_repeats_a_password(make: Callable[[], object]) -> None:
    with pytest.raises(WhimbrelError) as refused:
        make()
    error: BaseException | None = refused.value
    while error is not None:  # and what is shown above it
        assert "hunter2" not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
