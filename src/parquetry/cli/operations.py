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
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, get_origin

import typer

from parquetry import texts
from parquetry.cli import output
from parquetry.cli.app import app
from parquetry.cli.options import FilterOptions, JsonOption, StorageOptions, TableArgument, keyword, read_time
from parquetry.operations import OPERATIONS, Argument, Operation, Timestamp

if TYPE_CHECKING:
    from parquetry.metastore import Metastore, TableSnapshot
    from parquetry.operations import OperationEngine


@dataclass(frozen=True, slots=True)
class _Warehouse:
    """A warehouse outside of Spark, as operations take it; see `operations.operation.Context`."""

    metastore: Metastore
    engine: OperationEngine
    time_zone: str = "UTC"

    def find(self, name: str) -> TableSnapshot:
        from parquetry.catalog import find_table
        from parquetry.metastore import require_table

        return require_table(find_table(self.metastore, name))

    def full_name(self, snapshot: TableSnapshot) -> str:
        from parquetry.catalog import full_name

        return full_name(snapshot.database, snapshot.name)

    def cache(self, snapshot: TableSnapshot) -> TableSnapshot:
        return snapshot


@contextmanager
def _open_context(options: StorageOptions) -> Iterator[_Warehouse]:
    from parquetry.planner import NoEngine

    with options.file_systems(), options.metastore() as metastore:
        yield _Warehouse(metastore, NoEngine())


def _add_command(operation: Operation) -> None:
    """Register the command of an operation."""
    command = operation.command
    assert command is not None
    shown = [argument for argument in operation.arguments if argument.option.of_command]

    def run(*, warehouse: StorageOptions, as_json: bool, **given: Any) -> None:
        arguments = {argument.name: _value(argument, given) for argument in shown}
        if (complaint := command.misuse(arguments)) is not None:
            raise typer.BadParameter(complaint)
        with _open_context(warehouse) as context:
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
        output.print_json(
            {name: _plain(types[name], getattr(record, name)) for name in names} for record in records
        )
    else:
        output.print_table(
            tuple(table.values()),
            ([_cell(name, types[name], getattr(record, name)) for name in table] for record in records),
            numbers=[heading for name, heading in table.items() if types[name] in ("long", "integer")],
            empty=command.empty,
        )


def _plain(kind: str, value: Any) -> Any:
    """Return a value, and of a timestamp, in microseconds, the time."""
    return datetime.fromtimestamp(value / 1e6, UTC) if kind == "timestamp" and value is not None else value


def _cell(name: str, kind: str, value: Any) -> Any:
    """Return a value as tables show it. An `integer` is a number that says which, not how many."""
    value = _plain(kind, value)
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, tuple):
        return ", ".join(value)
    return value if kind != "long" else texts.size_text(value) if name == "bytes" else texts.count(value)


# -- arguments


_COMMON = (
    keyword("warehouse", StorageOptions),
    keyword("as_json", JsonOption, False),
)
"""The options of every command."""
_POSITIONAL = ("table", "where")


def _parameters(argument: Argument) -> Iterator[inspect.Parameter]:
    """Yield the parameters of the command's function for an argument."""
    name, words = argument.name, argument.option.help or _help(argument.comment)
    if name == "table":
        yield keyword(name, TableArgument, argument.default)
    elif name == "where":
        yield keyword(name, FilterOptions)
    elif argument.kind is bool:
        name = _flag_name(argument)
        yield keyword(name, Annotated[bool, typer.Option(_option_name(name), help=words)], False)
    else:
        yield keyword(name, _hint(argument, words), argument.default)


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
    if isinstance(value, FilterOptions):
        return value.text()
    if isinstance(value, datetime):
        moment = value.astimezone() if value.tzinfo is None else value
        return int(moment.timestamp() * 1000) * 1000
    if isinstance(value, str) and get_origin(argument.kind) is list:
        return [item.strip() for item in value.split(",")]
    return not value if argument.default is True else value


for _operation in OPERATIONS.values():
    if _operation.command is not None:
        _add_command(_operation)
