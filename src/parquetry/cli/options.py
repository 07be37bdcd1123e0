"""The options that several commands have, each written once.

A command takes options that belong together as one parameter, such as `warehouse: StorageOptions`. `spread`
makes an option of each field.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from parquetry.catalog import Catalog
    from parquetry.metastore import Metastore
    from parquetry.warehouse import Warehouse

_WAREHOUSE_HELP = (
    "Folder or URI of the warehouse; else PARQUETRY_WAREHOUSE, or `warehouse` in parquetry.toml here or "
    "above, or in ~/.config/parquetry/config.toml."
)
_STORAGE_HELP = (
    "An option of the warehouse's object store, as in parquetry.open(storage_options=…); may be given "
    "several times. Secrets are better in the environment, such as AWS_SECRET_ACCESS_KEY."
)
_CONF_HELP = (
    "A setting of the Spark session, such as spark.hadoop.hive.metastore.uris=thrift://hive:9083; may be given "
    "several times."
)


def option(name: str, metavar: str, help: str, **settings: Any) -> Any:
    """Return an option of a value that a command can do without."""
    names = (name, settings.pop("short")) if "short" in settings else (name,)
    return typer.Option(*names, metavar=metavar, help=help, show_default=False, **settings)


_AGO = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def read_time(text: str) -> datetime:
    """Return the time that an option gives: a date, a time, `now`, or an age such as `7d`."""
    if text.strip().lower() == "now":
        return datetime.now(UTC)
    if (ago := _AGO.fullmatch(text.strip().lower())) is not None:
        return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no time: write 2026-03-01, 2026-03-01T18:00:00+00:00, now, or an age such as 7d or 12h."
        ) from None


def filter_argument(help: str) -> Any:
    """Return the argument FILTER."""
    return typer.Argument(metavar="FILTER", help=help, show_default=False)


JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Report what would be done, and change nothing.")
]
LimitOption = Annotated[int | None, option("--limit", "N", "List at most N.", min=0)]
HostOption = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")]
PortOption = Annotated[int, typer.Option("--port", metavar="N", help="The port.", min=1, max=65535)]


@dataclass(frozen=True, slots=True)
class WarehouseOptions:
    """The warehouse of a command, and its store."""

    warehouse: Annotated[str | None, option("--warehouse", "PATH", _WAREHOUSE_HELP, short="-w")] = None
    store: Annotated[
        str | None, option("--store", "URL", "Where the metastore is, if not in the warehouse.")
    ] = field(default=None, repr=False)  # its URL may have a password

    def find(self) -> Warehouse:
        """Return the warehouse that the options, the environment or a file names."""
        from parquetry.warehouse import find_warehouse

        return find_warehouse(self.warehouse, self.store)

    def open(self) -> Catalog:
        """Open the warehouse's catalog."""
        from parquetry.catalog import Catalog

        return Catalog.open(self.warehouse, self.store, self.storage())

    def metastore(self, *, create: bool = False) -> Metastore:
        """Open the warehouse's metastore."""
        from parquetry.metastore import open_metastore

        source = self.find()
        return open_metastore(source.location, source.store, create=create)

    def storage(self) -> dict[str, str] | None:
        """Return the options of the object store by their names, or None if there are none."""
        return None


@dataclass(frozen=True, slots=True)
class StorageOptions(WarehouseOptions):
    """The warehouse of a command that reads or writes its files, with options of the object store."""

    storage_option: Annotated[list[str] | None, option("--storage-option", "KEY=VALUE", _STORAGE_HELP)] = (
        field(default=None, repr=False)
    )

    def storage(self) -> dict[str, str] | None:
        """Return the options of the object store by their names, or None if there are none.

        Raises:
            ConfigurationError: one has no `=`. Its text is not shown, since it may be a secret.
        """
        from parquetry.errors import ConfigurationError

        options = {}
        for number, text in enumerate(self.storage_option or (), 1):
            name, equals, value = text.partition("=")
            if not equals:
                raise ConfigurationError(f"The --storage-option number {number} has no =: write KEY=VALUE.")
            options[name] = value
        return options or None

    def file_systems(self) -> AbstractContextManager[None]:
        """Have the warehouse's files be reached with these options."""
        from parquetry.locations import ArrowFileSystems, use_file_systems

        return use_file_systems(ArrowFileSystems(self.storage()))


@dataclass(frozen=True, slots=True)
class SparkOptions(WarehouseOptions):
    """The warehouse of a command that starts Spark, with settings of the session."""

    conf: Annotated[list[str] | None, option("--conf", "KEY=VALUE", _CONF_HELP)] = None

    def settings(self) -> dict[str, str]:
        """Return the settings of the session.

        Raises:
            ConfigurationError: one has no `=`.
        """
        from parquetry.errors import ConfigurationError

        settings = {}
        for text in self.conf or ():
            name, equals, settings[name] = text.partition("=")
            if not equals:
                raise ConfigurationError(f"Option --conf {text!r} is no setting: write KEY=VALUE.")
        return settings

    def full_name(self, table: str) -> str:
        """Return the full name of a table. An error comes before Spark is started, with a remedy.

        Raises:
            ParquetryError: there is no such table, or no Spark.
        """
        import parquetry

        with self.open() as catalog:
            name = catalog.table(table).name
        _ = parquetry.configure  # raises if Spark is missing
        return name


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """The filter of a command, which may be an argument or the option --where."""

    condition: Annotated[
        str | None, filter_argument("A filter on partition columns, in SQL: only these.")
    ] = None
    where: Annotated[str | None, option("--where", "FILTER", "The filter, as an option.")] = None

    def text(self) -> str | None:
        """Return the filter.

        Raises:
            typer.BadParameter: there are two.
        """
        if self.condition is not None and self.where is not None:
            raise typer.BadParameter(
                "Two filters are given: join them with AND, as FILTER or as --where FILTER."
            )
        return self.where if self.condition is None else self.condition


def _tables(context: typer.Context, incomplete: str) -> list[str]:
    """Return names of tables for a shell's completion, or an empty list without a warehouse."""
    from parquetry.errors import ParquetryError

    try:
        with WarehouseOptions(context.params.get("warehouse"), context.params.get("store")).open() as catalog:
            return [name for name in catalog.tables() if name.startswith(incomplete.lower())]
    except (ParquetryError, OSError):
        return []


TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE", help="database.table, or a table of the default database.", autocompletion=_tables
    ),
]


def spread(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command whose parameters are single options: a struct's fields instead of the struct.

    >>> def show(table: str, warehouse: WarehouseOptions) -> None: ...
    >>> list(inspect.signature(spread(show)).parameters)
    ['table', 'warehouse', 'store']
    """
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    structs = {each.name: each.annotation for each in parameters if _is_struct(each.annotation)}

    @functools.wraps(command)
    def run(**options: Any) -> Any:
        read = {
            name: struct(**{part.name: options.pop(part.name) for part in fields(struct)})
            for name, struct in structs.items()
        }
        return command(**options, **read)

    single = [one for parameter in parameters for one in _options(parameter)]
    run.__signature__ = inspect.Signature(single)  # type: ignore[attr-defined]
    return run


def _options(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """Yield a parameter, or the fields of its struct."""
    struct = parameter.annotation
    if not _is_struct(struct):
        yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        return
    hints = get_type_hints(struct, include_extras=True)
    for part in fields(struct):
        yield keyword(part.name, hints[part.name], part.default)


def _is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and is_dataclass(hint)


def keyword(name: str, hint: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """Return a parameter that is passed by its name."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
