"""Run an application of ASGI by uvicorn, in one process or several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parquetry.errors import ConfigurationError


def run_application(
    factory: Callable[[], Any],
    address: tuple[str, int],
    extra: str,
    workers: int = 1,
    begin: Callable[[], None] = lambda: None,
) -> None:
    """Answer requests until the process is interrupted.

    Args:
        factory: makes the application of a process.
        address: the address to listen on, and the port.
        extra: the extra of Parquetry that brings uvicorn.
        workers: number of processes that answer. A process that ends is replaced by another.
        begin: called before the first request, once uvicorn is found.

    Raises:
        ConfigurationError: uvicorn is not installed.
    """
    try:
        import uvicorn
        from uvicorn.supervisors import Multiprocess
    except ImportError:
        raise ConfigurationError(
            f"This needs uvicorn, which is not installed: pip install 'parquetry[{extra}]'."
        ) from None
    begin()
    config = uvicorn.Config(
        factory, *address, factory=True, workers=workers, log_level="warning", access_log=False, ws="none"
    )  # fmt: skip
    if workers == 1:
        uvicorn.Server(config).run()
    else:
        Multiprocess(config, sockets=[config.bind_socket()]).run()
