"""CALL and the command line follow from the definition of an operation."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Annotated, NamedTuple

import pytest
import typer
from typer.testing import CliRunner

from parquetry.cli import operations as front
from parquetry.cli.main import app
from parquetry.operations import OPERATIONS, Operation, Timestamp
from parquetry.operations.operation import Context, Option, Presentation, TableName, operation
from parquetry.planner.procedures.signature import converted, parameters, result_rows, result_schema
from parquetry.verification import Misplacement


class Piece(NamedTuple):
    """A record with a field of each kind."""

    name: str
    number: Annotated[int | None, "integer"]
    count: int | None
    bytes: int
    at: Timestamp
    share: float
    ok: bool | None
    columns: tuple[str, ...]


PIECE = Piece("a", 1_000, 1_000, 1_200_000, Timestamp(5), 0.5, None, ("x", "y"))


@operation("Shows pieces.", renamed={"name": "piece", "share": ""})
def pieces(
    _context: Context,
    table: TableName,
    most: Annotated[int | None, "How many."] = None,
    quick: Annotated[bool, "Whether to be quick."] = False,
    names: Annotated[list[str | None] | None, "Which."] = None,
    before: Annotated[Timestamp | None, "When.", Option(of_command=False)] = None,
    zone: Annotated[str | None, "Where.", Option(of_call=False)] = None,
) -> Iterator[Piece]:
    """Show pieces."""
    assert (table, most, quick, names, before, zone) == ("t", 3, True, ["a"], 7, None)
    yield PIECE


def test_a_call_has_the_arguments_of_the_function() -> None:
    """A parameter has the type, comment and default of its annotation.

    One for the command alone is left out.
    """
    assert [(each.name, each.type, each.default) for each in parameters(pieces)] == [
        ("table", "string", None),
        ("most", "bigint", "CAST(NULL AS BIGINT)"),
        ("quick", "boolean", "false"),
        ("names", "array<string>", "CAST(NULL AS ARRAY<STRING>)"),
        ("before", "timestamp", "CAST(NULL AS TIMESTAMP)"),
    ]
    assert parameters(pieces)[1].comment == "How many."
    sent = {"table": "t", "most": "3", "quick": "true", "names": ["a"], "before": "7", "zone": "UTC"}
    (record,) = pieces.run(None, **converted(pieces, sent))
    assert record is PIECE


def test_a_result_has_the_fields_of_the_record() -> None:
    """Columns of CALL have the types of the fields, and other names where the operation says so."""
    schema = {each["name"]: each["type"] for each in result_schema(pieces)["fields"]}
    assert schema == {
        "piece": "string",
        "number": "integer",
        "count": "long",
        "bytes": "long",
        "at": "timestamp",
        "ok": "boolean",
        "columns": "string",
    }
    assert result_rows(pieces, [PIECE]) == [["a", "1000", "1000", "1200000", "5", None, "x, y"]]


def test_a_table_shows_counts_and_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    """A count has separators and a size its unit; a number that says which one has neither."""
    shown = {"name": "piece", "number": "number", "count": "count", "bytes": "size", "columns": "columns"}
    define = operation("Shows pieces.", command=Presentation("Check", "pieces", shown, empty="None."))
    front._print_records(define(pieces.run), [PIECE, PIECE._replace(number=None, count=None)], False)
    assert capsys.readouterr().out.splitlines() == [
        "piece  number  count    size  columns",
        "a        1000  1,000  1.2 MB  x, y",
        "a                     1.2 MB  x, y",
    ]
    front._print_records(define(pieces.run), [PIECE], True)
    assert capsys.readouterr().out == (
        '[{"name": "a", "number": 1000, "count": 1000, "bytes": 1200000, "columns": ["x", "y"]}]\n'
    )
    front._print_records(define(pieces.run), [], False)
    assert capsys.readouterr().out == "None.\n"


def test_verify_shows_buckets_as_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """A bucket is no count, and what is not known is left empty."""
    found = [
        Misplacement("wrong bucket", "d=1", "a.parquet", 1_024, 2_000, "7 is of bucket 3"),
        Misplacement("no bucket", None, None, None, None, "3 files"),
    ]
    front._print_records(OPERATIONS["verify"], found, False)
    assert capsys.readouterr().out.splitlines() == [
        "finding       partition  path       bucket   rows  detail",
        "wrong bucket  d=1        a.parquet    1024  2,000  7 is of bucket 3",
        "no bucket                                          3 files",
    ]


@pytest.mark.parametrize("each", OPERATIONS.values(), ids=OPERATIONS)
def test_definitions_are_whole(each: Operation) -> None:
    """Each operation has words for people, and its result has columns that CALL can show."""
    assert each.title.endswith(".")
    assert inspect.getdoc(each.run)
    assert each.columns
    assert each.renamed.keys() <= each.result.keys()
    for argument in each.arguments:
        assert argument.comment, argument.name
    if each.command is not None:
        assert each.command.table.keys() <= each.result.keys()
        assert each.name.replace("_", "-") == each.command.example.split()[0]


def test_a_flag_takes_away_a_default() -> None:
    """An argument that is true by default is a `--no-` option."""
    command = typer.main.get_command(app).commands["fsck"]  # type: ignore[attr-defined]
    assert {"--no-footers", "--repair"} <= {name for each in command.params for name in each.opts}
    assert CliRunner().invoke(app, ["drop-partition-index", "t", "i", "--columns", "a"]).exit_code == 2
