"""Hand metrics out: as a file for node_exporter's textfile collector, or by HTTP."""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections.abc import Mapping
from typing import Any

from parquetry.errors import ConfigurationError
from parquetry.metrics.collectors import ProcessCollector, WarehouseCollector, require_client

FILE_VARIABLE = "PARQUETRY_METRICS_FILE"
"""The environment variable that names a session's file for its counters."""
_SECONDS_BETWEEN_WRITES = 15.0
"""Prometheus scrapes every 15 to 60 seconds by default."""
_LOG = logging.getLogger("parquetry")
_writers: dict[str, threading.Thread] = {}


def _registry(*collectors: ProcessCollector | WarehouseCollector) -> Any:
    require_client()
    from prometheus_client import CollectorRegistry

    registry = CollectorRegistry(auto_describe=False)
    for collector in collectors:
        registry.register(collector)
    return registry


def write_metrics(path: str, *collectors: ProcessCollector | WarehouseCollector) -> None:
    """Write metrics to a file, which is replaced as a whole.

    Args:
        path: of the file. node_exporter reads files that end with ``.prom``.
        collectors: what to write.

    Raises:
        ConfigurationError: prometheus-client is not installed, or the file cannot be written.
    """
    registry = _registry(*collectors)
    from prometheus_client import write_to_textfile

    try:
        write_to_textfile(path, registry)
    except OSError as error:
        raise ConfigurationError(f"The metrics cannot be written to {path}: {error.strerror}.") from None


def serve_metrics(host: str, port: int, *collectors: ProcessCollector | WarehouseCollector) -> Any:
    """Serve metrics by HTTP at ``/metrics`` in a thread, and return the server and its thread.

    Args:
        host: the address to listen on.
        port: the port; 0 for any that is free.
        collectors: what to serve. Each request collects anew.

    Raises:
        ConfigurationError: prometheus-client is not installed, or the port is in use.
    """
    registry = _registry(*collectors)
    from prometheus_client import start_http_server

    try:
        return start_http_server(port, host, registry)
    except OSError as error:
        raise ConfigurationError(
            f"Metrics cannot be served at {host}:{port}: {error.strerror}; give another --port."
        ) from None


def write_in_background(environment: Mapping[str, str]) -> bool:
    """Write the counters of this process every 15 seconds and at its end, if the environment names a file.

    ``%p`` in the file's name stands for the process's number. A failure is logged once: metrics never fail a
    query.

    Args:
        environment: of the process.

    Returns:
        Whether a file is named.
    """
    path = environment.get(FILE_VARIABLE, "").replace("%p", str(os.getpid()))
    if not path or path in _writers:
        return bool(path)
    ended = threading.Event()

    def write() -> bool:
        try:
            write_metrics(path, ProcessCollector())
        except ConfigurationError as error:
            _LOG.warning("%s names a file for metrics: %s", FILE_VARIABLE, error.message)
            return False
        return True

    def run() -> None:
        while write() and not ended.wait(_SECONDS_BETWEEN_WRITES):
            pass

    def end() -> None:
        ended.set()
        write()

    _writers[path] = threading.Thread(target=run, name="parquetry-metrics", daemon=True)
    _writers[path].start()
    atexit.register(end)
    return True
