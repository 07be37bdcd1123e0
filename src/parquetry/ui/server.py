"""Serve the page of a warehouse by HTTP, by itself or in one process with an Iceberg REST catalog.

It listens on 127.0.0.1 alone by default. Elsewhere it needs a token.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from parquetry.iceberg import ServedWarehouse
from parquetry.serving import OpenedMetastore, ServedSource, require_secret, run_application
from parquetry.ui.answers import Answers
from parquetry.ui.application import Beside, PageApplication
from parquetry.ui.history import OF_WAREHOUSE

PATH_BESIDE = "/ui"
"""The path of the page on a server of something else."""
_REMEDY = "give --token, or leave --host out"


@dataclass(frozen=True)
class ServedPage(ServedSource):
    """The page of a warehouse, as a process of a server opens it.

    Attributes:
        token: that requests must have, or None.
        reports: the folder of saved reports, or None.
    """

    token: str | None = None
    reports: Path | None = None

    def open(self) -> PageApplication:
        """Open the warehouse, and return the application that answers the requests of this process."""
        reopen = self.start()
        answers = Answers(OpenedMetastore(reopen(), reopen), OF_WAREHOUSE, reports=self.reports)
        return PageApplication(answers, self.token)


def serve(page: ServedPage, host: str, port: int, begin: Callable[[], None] = lambda: None) -> None:
    """Serve the page until the process is interrupted.

    Args:
        page: the page.
        host: the address to listen on.
        port: the port.
        begin: called before the first request.

    Raises:
        ConfigurationError: uvicorn is not installed, or others could ask without a token.
    """
    require_secret(host, page.token, _REMEDY)
    run_application(functools.partial(ServedPage.open, page), (host, port), "ui", begin=begin)


def _open_both(served: ServedWarehouse, page: ServedPage) -> Beside:
    return Beside(served.open(), page.open(), PATH_BESIDE)


def serve_beside(
    served: ServedWarehouse,
    page: ServedPage,
    address: tuple[str, int],
    workers: int = 1,
    begin: Callable[[], None] = lambda: None,
) -> None:
    """Serve an Iceberg REST catalog, and the page below `/ui`, in the same processes.

    Args:
        served: the catalog.
        page: the page.
        address: to listen on, and the port.
        workers: number of processes that answer.
        begin: called before the first request.

    Raises:
        ConfigurationError: uvicorn is not installed, or others could ask without a token.
    """
    require_secret(address[0], served.token, _REMEDY)
    run_application(functools.partial(_open_both, served, page), address, "iceberg", workers, begin)
