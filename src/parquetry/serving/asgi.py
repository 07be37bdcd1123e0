"""The parts of ASGI that applications of servers share: its types, and the start and end of a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

Receive: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]


async def live(receive: Receive, send: Send, end: Callable[[], None]) -> None:
    """Take part in the start and the end of a server.

    Args:
        receive: returns the server's next message.
        send: answers it.
        end: called when the server ends.
    """
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        else:
            end()
            await send({"type": "lifespan.shutdown.complete"})
            return
