"""Define an operation once: its arguments, its result, its work, and its words for people.

An operation is a function with the decorator `operation`. Each parameter after the context is a parameter of
CALL and an option of the command. Its annotation has the type and the comment; its default holds for both.

`CALL lake.system.vacuum('db.t', dry_run => true)` and `parquetry vacuum db.t --dry-run` both run
`vacuum(context, 'db.t', dry_run=True)`. The function's docstring is the help of the command.

The result is a sequence of records, dataclasses or named tuples. Their fields are the columns of CALL, of the
command's table, and of its JSON.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, NewType, Protocol, get_args, get_type_hints

if TYPE_CHECKING:
    from parquetry.metastore import Metastore, TableSnapshot
    from parquetry.operations.engine import OperationEngine

Timestamp = NewType("Timestamp", int)
"""Microseconds since the epoch."""

SPARK_TYPES = {int: "long", bool: "boolean", float: "double", Timestamp: "timestamp"}
"""Spark's JSON types of the fields of records and of arguments, where they are no ``string``."""


@dataclass(frozen=True, slots=True)
class Option:
    """How a command takes an argument, as far as the argument's name, type and comment do not say it.

    Attributes:
        help: instead of the argument's comment.
        metavar: the word for the value in the usage.
        positional: whether the value has no `--name` before it.
        of_call: whether CALL has the argument, too.
        of_command: whether the command has the argument at all.
    """

    help: str | None = None
    metavar: str | None = None
    positional: bool = False
    of_call: bool = True
    of_command: bool = True


TableName = Annotated[str, "The table, as 'database.table', or 'table' of the current database."]
Where = Annotated[str | None, "A condition on partition columns: only these partitions."]
DryRun = Annotated[bool, "Whether to report only.", Option("Report what would be done, and change nothing.")]


class Context(Protocol):
    """The opened warehouse that an operation works on; `planner.lake.Lake` is one."""

    @property
    def metastore(self) -> Metastore:
        """Return the metastore of the warehouse."""
        ...

    @property
    def engine(self) -> OperationEngine:
        """Return what does the work that only an engine can do."""
        ...

    @property
    def time_zone(self) -> str:
        """Return the zone of timestamps in conditions."""
        ...

    def find(self, name: str, /) -> TableSnapshot:
        """Return a table as it is now.

        Raises:
            TableNotFoundError: there is none.
        """
        ...

    def full_name(self, snapshot: TableSnapshot, /) -> str:
        """Return a table's name as the users write it."""
        ...

    def cache(self, snapshot: TableSnapshot, /) -> TableSnapshot:
        """Keep a version that the operation has made, for questions about it."""
        ...


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of an operation.

    Attributes:
        name: of the parameter.
        hint: its annotation.
        kind: its type, without None.
        comment: for CALL.
        option: how the command takes it.
        default: or `inspect.Parameter.empty`, if it must be given.
    """

    name: str
    hint: Any
    kind: Any
    comment: str
    option: Option
    default: Any

    @property
    def is_required(self) -> bool:
        """Return whether it has no default."""
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Presentation:
    """The words and the look of an operation's command, beside its arguments and its result.

    Attributes:
        group: its heading in the help of `parquetry`.
        example: its line, from its name on.
        table: the fields that are printed, in this order, with their headings; empty for all fields. JSON has
            the same fields.
        empty: the text if there are no records.
        sentence: makes a text for people from the records, or gives None: then the table is printed. It is
            called with the context, the records, and the arguments by name.
        misuse: makes a complaint about the arguments, or gives None.
        is_problem: whether a record makes the exit code 1.
    """

    group: str
    example: str
    table: Mapping[str, str] = field(default_factory=dict)
    empty: str = "nothing"
    sentence: Callable[[Context, list[Any], Mapping[str, Any]], str | None] = lambda *_: None
    misuse: Callable[[Mapping[str, Any]], str | None] = lambda _: None
    is_problem: Callable[[Any], bool] = lambda _: False


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on a warehouse.

    Attributes:
        name: of the procedure, in the namespace ``system``. The command has dashes for its underscores.
        title: one sentence.
        arguments: in the order of CALL.
        run: does the work.
        changes: whether it changes the warehouse, unless its arguments say otherwise.
        by_engine: whether it needs an engine, so that `Catalog` has no method for it.
        renamed: columns of CALL that have other names than their fields. One without a name is left out.
        command: or None, if none is derived.
    """

    name: str
    title: str
    arguments: tuple[Argument, ...]
    run: Callable[..., Iterable[Any]]
    changes: bool
    by_engine: bool
    renamed: Mapping[str, str]
    command: Presentation | None

    @property
    def result(self) -> dict[str, str]:
        """Return the fields of a record, with their types as Spark's JSON has them."""
        (record,) = get_args(get_type_hints(self.run)["return"])
        hints = get_type_hints(record, include_extras=True)
        return {name: _spark_type(hint) for name, hint in hints.items()}

    @property
    def columns(self) -> dict[str, str]:
        """Return the fields of a record that CALL shows, each with its name there."""
        names = {name: self.renamed.get(name, name) for name in self.result}
        return {name: shown for name, shown in names.items() if shown}


def operation(
    title: str,
    *,
    changes: bool = False,
    by_engine: bool = False,
    renamed: Mapping[str, str] | None = None,
    command: Presentation | None = None,
) -> Callable[[Callable[..., Iterable[Any]]], Operation]:
    """Make a function an operation of its name; see `Operation`."""

    def define(run: Callable[..., Iterable[Any]]) -> Operation:
        return Operation(
            run.__name__, title, tuple(_arguments(run)), run, changes, by_engine, renamed or {}, command
        )

    return define


def _arguments(run: Callable[..., Any]) -> Iterable[Argument]:
    """Yield the arguments of a function. The types in its result are not loaded."""
    _, *parameters = inspect.signature(run).parameters.values()
    annotations = SimpleNamespace(
        __annotations__={parameter.name: parameter.annotation for parameter in parameters}
    )
    hints = get_type_hints(annotations, vars(inspect.getmodule(run)), include_extras=True)
    for parameter in parameters:
        kind, (comment, *options) = _parts(hints[parameter.name])
        option = options[0] if options else Option()
        yield Argument(parameter.name, hints[parameter.name], kind, comment, option, parameter.default)


def _parts(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return an annotation's type, without `| None`, and what `Annotated` says besides.

    >>> _parts(Annotated[int | None, "How many."]), _parts(str)
    ((<class 'int'>, ('How many.',)), (<class 'str'>, ()))
    """
    said = getattr(hint, "__metadata__", ())
    kind = hint.__origin__ if said else hint
    others = [member for member in get_args(kind) if member is not type(None)]
    return (others[0] if type(None) in get_args(kind) else kind), said


def _spark_type(hint: Any) -> str:
    """Return the type of a column: an annotation's text, or the type that the field's type has otherwise."""
    kind, said = _parts(hint)
    return str(said[0]) if said else SPARK_TYPES.get(kind, "string")
