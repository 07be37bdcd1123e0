"""The command `serve-hive`: a Hive metastore."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass, field
from typing import Annotated

import typer

from parquetry.cli.app import app
from parquetry.cli.options import HostOption, PortOption, StorageOptions, option
from parquetry.cli.servers.options import CatalogOption, WorkersOption

PasswordOption = Annotated[
    str | None,
    typer.Option(
        "--password",
        envvar="PARQUETRY_HIVE_PASSWORD",
        help="A password that clients must give by SASL PLAIN, with any user's name. Other users of the machine see the "
        "arguments of commands: the environment is safer.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class FolderOptions:
    """The folders that clients of a served metastore get."""

    mirror: Annotated[
        str | None,
        option(
            "--mirror",
            "FOLDER",
            "Where clients get folders of hard links to files, on the disk of the tables; else beside each table's folder.",
        ),
    ] = None
    own_folders: Annotated[
        bool,
        typer.Option(
            "--in-place",
            help="Give clients the tables' own folders. Their users must have no right to write there.",
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """The readers that clients of a served metastore bring."""

    catalog: CatalogOption = None
    spark_alone: Annotated[
        bool,
        typer.Option(
            "--spark-alone", help="All clients are Spark's: serve files that others would read wrong, too."
        ),
    ] = False
    utc: Annotated[
        bool,
        typer.Option(
            "--utc", help="All clients' sessions are in UTC: serve tables partitioned by TIMESTAMP."
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class ListeningOptions:
    """Where a served metastore listens, and who may ask."""

    host: HostOption = "127.0.0.1"
    port: PortOption = 9083
    password: PasswordOption = field(default=None, repr=False)
    open: Annotated[
        bool, typer.Option("--open", help="Answer everybody who reaches the port, without a password.")
    ] = False
    certificate: Annotated[
        str | None,
        option("--certificate", "FILE", "A certificate, its chain and its key (PEM): connections have TLS."),
    ] = None


@app.command(epilog="Example: parquetry serve-hive -w /data/lake --port 9083")
def serve_hive(
    *,
    listening: ListeningOptions,
    folders: FolderOptions,
    clients: ClientOptions,
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose", "-v", count=True, help="Log each filter and its keys; twice: plans and times."
        ),
    ] = 0,
    workers: WorkersOption = 1,
    warehouse: StorageOptions,
) -> None:
    """Serve a warehouse to clients of Hive's metastore.

    Clients of a Hive metastore read the warehouse's tables: Spark by its own Hive client, Hive, Trino and
    others. They get read-only folders of hard links to the files. The server refuses calls that would change
    something.
    """
    from parquetry.hive import Choices, ServedMetastore, serve

    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    source = warehouse.find()
    choices = Choices(
        folders.mirror, folders.own_folders, clients.spark_alone, clients.catalog, clients.utc, source.history
    )
    secrets = listening.password, listening.certificate
    served = ServedMetastore(source.location, source.store, warehouse.storage(), choices, *secrets, level)
    location = served.location()

    def announce(port: int) -> None:
        print(
            f"Hive metastore of {location} at thrift://{listening.host}:{port}", file=sys.stderr, flush=True
        )

    address = listening.host, listening.port
    serve(served, address, workers=workers, open_to_all=listening.open, begin=announce)
