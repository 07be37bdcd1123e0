"""The options that these commands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from parquetry.cli.options import option

CatalogOption = Annotated[
    str | None,
    option(
        "--catalog",
        "NAME",
        "The name of the warehouse's catalog in Spark, such as lake: views are served, too, which name their tables by it.",
    ),
]
WorkersOption = Annotated[
    int,
    typer.Option("--workers", metavar="N", help="Number of processes that answer, one for each core.", min=1),
]


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """The processes of a server, and the page beside what it serves."""

    workers: WorkersOption = 1
    page: Annotated[
        bool,
        typer.Option("--ui", help="Serve the page of the warehouse, too, below /ui: see `parquetry ui`."),
    ] = False
