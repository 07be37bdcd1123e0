"""The commands of operations, made from the definitions in `parquetry.operations`.

A command has an argument or an option for each field of the operation's arguments. It prints the operation's
records as a table, or as JSON.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, get_origin

import typer

from parquetry import texts
from parquetry.cli import output
from parquetry.cli.app import (
    FilterArgument,
    JsonOption,
    StorageOption,
    StoreOption,
    TableArgument,
    WarehouseOption,
    WhereOption,
    app,
    one_filter,
    storage_options,
)
from parquetry.operations import OPERATIONS, Argument, Operation, Timestamp

if TYPE_CHECKING:
    from parquetry.metastore import Metastore, TableSnapshot
    from parquetry.operations import OperationEngine

_TIME_FORMATS = ("%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d")
_AGE = re.compile(r"(\d{1,6})([hd])")
_AGE_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1)}


def read_time(text: str) -> datetime:
    """Return a time that a user has typed: `now`, an age such as `7d`, or a date with or without a time.

    Raises:
        typer.BadParameter: the text is no time.

    >>> read_time("2026-03-01 07:30:00"), read_time("12h") < read_time("now")
    (datetime.datetime(2026, 3, 1, 7, 30), True)
    """
    if text == "now":
        return datetime.now(UTC)
    if (age := _AGE.fullmatch(text)) is not None:
        return datetime.now(UTC) - int(age[1]) * _AGE_UNITS[age[2]]
    for form in _TIME_FORMATS:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    raise typer.BadParameter(
        f"{text!r} is no time: say now, an age such as 12h or 7d, a date such as 2026-03-01, or a time such as "
        "2026-03-01T07:30:00 or 2026-03-01T07:30:00+00:00."
    )


@dataclass(frozen=True, slots=True)
class _Warehouse:
    """A warehouse outside of Spark, as operations take it; see `operations.operation.Context`."""

    metastore: Metastore
    engine: OperationEngine
    time_zone: str = "UTC"

    def find(self, name: str) -> TableSnapshot:
        from parquetry.catalog import find_table

        return find_table(self.metastore, name)

    def full_name(self, snapshot: TableSnapshot) -> str:
        from parquetry.catalog import full_name

        return full_name(snapshot.database, snapshot.name)

    def cache(self, snapshot: TableSnapshot) -> TableSnapshot:
        return snapshot


@contextmanager
def _open_context(
    warehouse: str | None, store: str | None, storage_option: Sequence[str] | None
) -> Iterator[_Warehouse]:
    from parquetry.locations import ArrowFileSystems, use_file_systems
    from parquetry.metastore import open_metastore
    from parquetry.planner import NoEngine
    from parquetry.warehouse import find_warehouse

    options = storage_options(storage_option)
    source = find_warehouse(warehouse, store)
    with (
        open_metastore(source.location, source.store) as metastore,
        use_file_systems(ArrowFileSystems(options)),
    ):
        yield _Warehouse(metastore, NoEngine())


def _add_command(operation: Operation) -> None:
    """Register the command of an operation."""
    command = operation.command
    assert command is not None
    shown = [argument for argument in operation.arguments if argument.option.of_command]

    def run(
        *,
        warehouse: str | None,
        store: str | None,
        storage_option: list[str] | None,
        as_json: bool,
        **given: Any,
    ) -> None:
        arguments = {argument.name: _value(argument, given) for argument in shown}
        if (complaint := command.misuse(arguments)) is not None:
            raise typer.BadParameter(complaint)
        with _open_context(warehouse, store, storage_option) as context:
            records = list(operation.run(context, **arguments))
            sentence = None if as_json else command.sentence(context, records, arguments)
        if sentence is None:
            _print_records(operation, records, as_json)
        else:
            print(sentence)
        if any(map(command.is_problem, records)):
            raise typer.Exit(1)

    shown_first = sorted(
        shown, key=lambda argument: not (argument.option.positional or argument.name in _POSITIONAL)
    )
    parameters = [parameter for argument in shown_first for parameter in _parameters(argument)]
    run.__signature__ = inspect.Signature([*parameters, *_COMMON])  # type: ignore[attr-defined]
    app.command(
        operation.name.replace("_", "-"),
        help=operation.run.__doc__,
        epilog=f"Example: parquetry {command.example}",
    )(run)


def _print_records(operation: Operation, records: Sequence[Any], as_json: bool) -> None:
    types, command = operation.result, operation.command
    assert command is not None
    table = command.table or {name: "size" if name == "bytes" else name for name in types}
    if as_json:
        names = [name for name in types if name in table]
        output.print_json({name: getattr(record, name) for name in names} for record in records)
    else:
        output.print_table(
            tuple(table.values()),
            ([_cell(name, types[name], getattr(record, name)) for name in table] for record in records),
            numbers=[heading for name, heading in table.items() if types[name] in ("long", "integer")],
            empty=command.empty,
        )


def _cell(name: str, kind: str, value: Any) -> Any:
    """Return a value as tables show it. An `integer` is a number that says which, not how many."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ", ".join(value)
    return value if kind != "long" else texts.size_text(value) if name == "bytes" else texts.count(value)


# -- arguments


def _parameter(name: str, hint: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


_COMMON = (
    _parameter("warehouse", WarehouseOption, None),
    _parameter("store", StoreOption, None),
    _parameter("storage_option", StorageOption, None),
    _parameter("as_json", JsonOption, False),
)
"""The options of every command."""
_POSITIONAL = ("table", "where")


def _parameters(argument: Argument) -> Iterator[inspect.Parameter]:
    """Yield the parameters of the command's function for an argument."""
    name, words = argument.name, argument.option.help or _help(argument.comment)
    if name == "table":
        yield _parameter(name, TableArgument, argument.default)
    elif name == "where":
        yield _parameter("condition", FilterArgument, None)
        yield _parameter(name, WhereOption, None)
    elif argument.kind is bool:
        name = _flag_name(argument)
        yield _parameter(name, Annotated[bool, typer.Option(_option_name(name), help=words)], False)
    else:
        yield _parameter(name, _hint(argument, words), argument.default)


def _hint(argument: Argument, words: str) -> Any:
    """Return the type of a value, with what Typer is to know of it."""
    kind, option = argument.kind, argument.option
    settings: dict[str, Any] = {"help": words, "metavar": option.metavar, "show_default": False}
    if option.positional:
        accepted_type = list[str] if get_origin(kind) is list else kind
        return Annotated[
            accepted_type if argument.is_required else accepted_type | None, typer.Argument(**settings)
        ]
    if kind is Timestamp:
        kind, settings["parser"] = datetime, read_time
    accepted_type = str if get_origin(kind) is list else kind
    return Annotated[accepted_type | None, typer.Option(_option_name(argument.name), **settings)]


def _help(comment: str) -> str:
    """Return the comment of an argument as the help of an option.

    >>> _help("Whether to report only."), _help("How many buckets.")
    ('Report only.', 'How many buckets.')
    """
    return re.sub(r"^Whether (?:to )?(\w)", lambda match: match[1].upper(), comment)


def _flag_name(argument: Argument) -> str:
    """Return the name of an option: `no_footers` takes away what is done by default."""
    return f"no_{argument.name}" if argument.default is True else argument.name


def _option_name(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _value(argument: Argument, given: Mapping[str, Any]) -> Any:
    """Return an argument as the operation takes it, from what was given to its command."""
    value = given[_flag_name(argument)]
    if argument.name == "where":
        return one_filter(given["condition"], value)
    if isinstance(value, datetime):
        moment = value.astimezone() if value.tzinfo is None else value
        return int(moment.timestamp() * 1000) * 1000
    if isinstance(value, str) and get_origin(argument.kind) is list:
        return [item.strip() for item in value.split(",")]
    return not value if argument.default is True else value


for _operation in OPERATIONS.values():
    if _operation.command is not None:
        _add_command(_operation)
