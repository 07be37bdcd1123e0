"""The application that commands register with, and the options that several of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from parquetry._version import __version__
from parquetry.cli.commands import Command, Group

if TYPE_CHECKING:
    from parquetry.catalog import Catalog


_Function = TypeVar("_Function", bound=Callable[..., Any])


class _App(typer.Typer):
    def command(self, *arguments: Any, **options: Any) -> Callable[[_Function], _Function]:
        return super().command(*arguments, **{"cls": Command, **options})


app = _App(
    name="parquetry",
    cls=Group,
    help="Show a Parquetry warehouse, its tables, partitions and files, and maintain it.",
    epilog="Example: parquetry tables --warehouse /data/lake",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_WAREHOUSE_HELP = (
    "Folder or URI of the warehouse; else PARQUETRY_WAREHOUSE, or `warehouse` in parquetry.toml here or "
    "above, or in ~/.config/parquetry/config.toml."
)
WarehouseOption = Annotated[
    str | None, typer.Option("--warehouse", "-w", metavar="PATH", help=_WAREHOUSE_HELP, show_default=False)
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="URL", help="Where the metastore is, if not in the warehouse.", show_default=False
    ),
]
StorageOption = Annotated[
    list[str] | None,
    typer.Option(
        "--storage-option",
        metavar="KEY=VALUE",
        help="An option of the warehouse's object store, as in parquetry.open(storage_options=…); may be given "
        "several times. Secrets are better in the environment, such as AWS_SECRET_ACCESS_KEY.",
        show_default=False,
    ),
]
ConfOption = Annotated[
    list[str] | None,
    typer.Option(
        "--conf",
        metavar="KEY=VALUE",
        help="A setting of the Spark session, such as spark.hadoop.hive.metastore.uris=thrift://hive:9083; may be given several times.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _tables(context: typer.Context, incomplete: str) -> list[str]:
    """Return names of tables for a shell's completion, or an empty list without a warehouse."""
    from parquetry.errors import ParquetryError

    try:
        with open_catalog(context.params.get("warehouse"), context.params.get("store")) as catalog:
            return [name for name in catalog.tables() if name.startswith(incomplete.lower())]
    except (ParquetryError, OSError):
        return []


LimitOption = Annotated[
    int | None, typer.Option("--limit", metavar="N", min=0, help="List at most N.", show_default=False)
]
WhereOption = Annotated[
    str | None,
    typer.Option("--where", metavar="FILTER", help="The filter, as an option.", show_default=False),
]
FilterArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="FILTER", help="A filter on partition columns, in SQL: only these.", show_default=False
    ),
]


def one_filter(argument: str | None, option: str | None) -> str | None:
    """Return the filter, which may be an argument or the option --where."""
    if argument is not None and option is not None:
        raise typer.BadParameter("Two filters are given: join them with AND, as FILTER or as --where FILTER.")
    return argument if option is None else option


TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE", help="database.table, or a table of the default database.", autocompletion=_tables
    ),
]


def _version(show: bool) -> None:
    if show:
        print(f"parquetry {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


def open_catalog(
    warehouse: str | None, store: str | None, storage_option: Sequence[str] | None = None
) -> Catalog:
    """Open the catalog that the options name."""
    from parquetry.catalog import Catalog

    return Catalog.open(warehouse, store, storage_options(storage_option))


def storage_options(given: Sequence[str] | None) -> dict[str, str] | None:
    """Return the options of an object store by their names, or None if there are none.

    Args:
        given: each as KEY=VALUE.

    Raises:
        ConfigurationError: one has no `=`. Its text is not shown, since it may be a secret.
    """
    from parquetry.errors import ConfigurationError

    options = {}
    for number, text in enumerate(given or (), 1):
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigurationError(f"The --storage-option number {number} has no =: write KEY=VALUE.")
        options[name] = value
    return options or None
