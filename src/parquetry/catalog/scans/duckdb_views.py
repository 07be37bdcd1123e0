"""Tables as DuckDB's relations and views: its filters and columns come to our planner.

DuckDB asks a dataset of PyArrow for a scanner, with the columns and the filter of the query. `ScanDataset`
answers with a scan of ours. Through the Arrow stream interface DuckDB would open all files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from parquetry.catalog.scans.arrow_expressions import read_expression
from parquetry.catalog.scans.libraries import NarrowableScan, require_extra
from parquetry.errors import (
    ColumnNotFoundError,
    NamespaceNotFoundError,
    TableNotFoundError,
    UnsupportedError,
    ValueTypeError,
)
from parquetry.identifiers import quote_part
from parquetry.predicate import And, Predicate

if TYPE_CHECKING:
    import duckdb


_DEFAULT_SCHEMA = "main"
_SHOW_TABLES = re.compile(r"\s*SHOW\s+(ALL\s+)?TABLES\s*;?\s*", re.IGNORECASE)
_NAMES = pa.schema([("database", pa.string()), ("name", pa.string())])
_MISSING_TABLE = re.compile(r"Table with name (\w+) does not exist")
_METADATA_TABLES = ("history", "files", "partitions")
"""Metadata tables of Spark's sessions, each with a command of this name."""
_EXPLAIN = re.compile(r"\s*EXPLAIN\s+(ANALYZE\s+)?", re.IGNORECASE)
_NO_ROWS = (
    "The statement has no rows: write a query, such as SELECT * FROM db.t. "
    "`--output FILE` and the relation's to_parquet(…) write its rows."
)
_WITHOUT_ROWS = (exp.Alter, exp.Attach, exp.Copy, exp.Create, exp.Detach, exp.Drop)
_TERMINAL_CODE = re.compile(r"\x1b\[\d*m")
"""The codes that underline a part of sqlglot's errors."""


def relation(scan: NarrowableScan, connection: duckdb.DuckDBPyConnection | None) -> duckdb.DuckDBPyRelation:
    """Return a scan as a relation of DuckDB; see `Scan.to_duckdb`."""
    module = require_extra("duckdb")
    chosen = module.default_connection() if connection is None else connection
    scan.schema  # noqa: B018 - raises its own error here, and not within DuckDB
    return chosen.from_arrow(ScanDataset(scan))


class ScanDataset(ds.Dataset):  # type: ignore[misc]
    """A scan that looks like a dataset of PyArrow, so far as DuckDB uses one: `schema` and `scanner`.

    Args:
        scan: the rows.
        look: called with the scan of each query, or None.
    """

    def __init__(self, scan: NarrowableScan, look: Callable[[NarrowableScan], None] | None = None) -> None:
        self._scan = scan
        self._look = look

    @property
    def schema(self) -> pa.Schema:
        """Return the schema of the rows."""
        return self._scan.schema

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        **_: Any,
    ) -> ds.Scanner:
        """Return a scanner of the rows that satisfy a filter, by SQL's order of NaN, which DuckDB shares.

        What the filter says of columns chooses the files.

        Raises:
            UnsupportedError: the filter is not understood, and columns have floats. PyArrow, which could test
                it, has another order of NaN.
        """
        scan, wanted = self._scan, list(self.schema.names) if columns is None else list(columns)
        read = None if filter is None else read_expression(filter, self.schema)
        if filter is not None and read is None:  # PyArrow tests it
            if _has_floats(self.schema):
                raise UnsupportedError(
                    f"A condition that DuckDB hands over is not understood here: {filter}. Have DuckDB test it: put "
                    "(SELECT * FROM … OFFSET 0) in the table's place."
                )
            return self._scanner_of(scan, wanted, filter)
        if read is None:
            return self._scanner_of(scan.select(*wanted) if wanted else scan, wanted)
        conditions = [each for each in (read.of_columns, read.of_fields) if each is not None]
        tested: tuple[Predicate, ...] = ()
        for condition in conditions:
            narrowed = None if scan.is_limited else _narrow(scan, condition)
            tested = (*tested, condition) if narrowed is None else tested
            scan = narrowed or scan
        names = dict.fromkeys([*wanted, *(read.roots if tested else [])])
        return self._scanner_of(
            scan.select(*names) if names else scan,
            wanted,
            test=(lambda batch: read.rows(And(tested), batch)) if tested else None,
        )

    def _scanner_of(
        self,
        scan: NarrowableScan,
        columns: list[str],
        filter: pc.Expression | None = None,
        test: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None,
    ) -> ds.Scanner:
        if self._look is not None:
            self._look(scan)
        rows = scan.to_batches()
        if test is not None:
            rows = pa.RecordBatchReader.from_batches(rows.schema, map(test, rows))
        return ds.Scanner.from_batches(rows, columns=columns, filter=filter)

    def _refuse(self) -> NoReturn:
        raise UnsupportedError(
            "This dataset is for DuckDB alone: Scan.to_dataset gives one for other libraries."
        )

    def get_fragments(self, filter: pc.Expression | None = None) -> NoReturn:  # noqa: ARG002 - PyArrow's method
        """Refuse: the object has no files of PyArrow's."""
        self._refuse()

    def filter(self, expression: pc.Expression) -> NoReturn:  # noqa: ARG002 - PyArrow's method
        """Refuse: the object has no files of PyArrow's."""
        self._refuse()

    def replace_schema(self, schema: pa.Schema) -> NoReturn:  # noqa: ARG002 - PyArrow's method
        """Refuse: the object has no files of PyArrow's."""
        self._refuse()

    @property
    def partition_expression(self) -> pc.Expression:
        """Return the guarantee for all rows: none."""
        return pc.scalar(True)


def _narrow(scan: NarrowableScan, condition: Predicate) -> NarrowableScan | None:
    """Return the scan with a condition, or None if the scan cannot test a field or type of it."""
    try:
        return scan.filter(condition)
    except (ColumnNotFoundError, ValueTypeError):
        return None


def _has_floats(types: Iterable[pa.Field | pa.DataType]) -> bool:
    """Return whether any column, or anything within one, is a float."""
    for each in types:
        kind = each.type if isinstance(each, pa.Field) else each
        if pa.types.is_floating(kind) or _has_floats(kind.field(i) for i in range(kind.num_fields)):
            return True
    return False


def run_query(
    sql: str,
    connection: duckdb.DuckDBPyConnection | None,
    open_scan: Callable[[str], NarrowableScan],
    list_tables: Callable[[], Iterable[tuple[str, str]]],
) -> duckdb.DuckDBPyRelation:
    """Run a query; see `Catalog.query`.

    Args:
        sql: the query.
        connection: of DuckDB, or None for a new one.
        open_scan: returns the scan of a table by its name.
        list_tables: returns all databases and tables, which SHOW TABLES of a new connection lists.
    """
    module = require_extra("duckdb")
    chosen = module.connect() if connection is None else connection
    if connection is None and _SHOW_TABLES.fullmatch(sql):
        names = [{"database": database, "name": name} for database, name in list_tables()]
        return chosen.from_arrow(pa.Table.from_pylist(names, _NAMES))
    sql = _quote_default(sql)
    create_views(chosen, sql, open_scan)
    try:
        rows = chosen.sql(sql)
    except module.Error as error:
        raise UnsupportedError(
            _missing_table(str(error), list_tables) or f"DuckDB does not run the query: {str(error).strip()}"
        ) from error
    if rows is None:
        raise UnsupportedError(_NO_ROWS)
    return rows


def _missing_table(error: str, list_tables: Callable[[], Iterable[tuple[str, str]]]) -> str | None:
    """Return what to say if DuckDB misses a table that the query names without its database, or None."""
    missing = _MISSING_TABLE.search(error)
    if missing is None:
        return None
    name = missing[1]
    known = [f"{database}.{table}" for database, table in list_tables() if table == name.lower()]
    meant = f"did you mean {' or '.join(known)}?" if known else "`parquetry tables` lists them."
    return f"There is no table {name}: tables are named database.table; {meant}"


def create_views(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    open_scan: Callable[[str], NarrowableScan],
    look: Callable[[NarrowableScan], None] | None = None,
) -> list[str]:
    """Create a view for each table that a query names, and return the names.

    Args:
        connection: of DuckDB.
        sql: the query, in DuckDB's words.
        open_scan: returns the scan of a table by its name, ``database.table`` with backticks where needed.
        look: called with each scan that DuckDB makes of a view.

    Raises:
        TableNotFoundError: a name with a database is no table's.
        ConfigurationError: the text is no SQL.
    """
    names = []
    for catalog, database, table in _table_names(sql):
        if not database and _is_own_table(connection, table):
            continue
        name = ".".join(quote_part(part) for part in (database, table) if part)
        try:
            scan = open_scan(name)
        except (NamespaceNotFoundError, TableNotFoundError):
            if not database:
                continue  # DuckDB knows it, or says that it does not exist: a CTE, a file, a function
            if catalog and table.lower() in _METADATA_TABLES:
                raise UnsupportedError(
                    f"{catalog}.{database}.{table} would be a metadata table, and those are Spark's: say `parquetry {table.lower()} "
                    f"{catalog}.{database}`, or {table.lower()}() of the catalog or the table."
                ) from None
            raise
        source = f"rows of {catalog}.{name}"
        connection.register(source, ScanDataset(scan, look))
        schema = _create_schema(connection, catalog, database)
        connection.execute(
            f"CREATE OR REPLACE VIEW {schema}.{_quote_name(table)} AS SELECT * FROM {_quote_name(source)}"
        )
        names.append(name)
    return names


def _is_own_table(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Return whether DuckDB has a table of a name."""
    question = "SELECT 1 FROM duckdb_tables() WHERE lower(table_name) = lower(?)"
    return connection.execute(question, [name]).fetchone() is not None


def _create_schema(connection: duckdb.DuckDBPyConnection, catalog: str, database: str) -> str:
    """Create the schema of a view if it is missing, and return its name in SQL."""
    schema = _quote_name(database or _DEFAULT_SCHEMA)
    if catalog:
        connection.execute(f"ATTACH IF NOT EXISTS ':memory:' AS {_quote_name(catalog)}")
        schema = f"{_quote_name(catalog)}.{schema}"
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    return schema


def _quote_default(sql: str) -> str:
    """Return a query with the database `default` in quotes, as DuckDB wants it.

    >>> print(_quote_default("SELECT 'default.t' FROM default.t"))
    SELECT 'default.t' FROM "default".t
    """
    if (explain := _EXPLAIN.match(sql)) is not None:  # sqlglot takes what follows for one text
        return explain[0] + _quote_default(sql[explain.end() :])
    try:
        tokens = sqlglot.tokenize(sql, read="duckdb")
    except sqlglot.errors.SqlglotError:
        return sql
    for token, after in reversed([*pairwise(tokens)]):
        if token.token_type == TokenType.DEFAULT and after.token_type == TokenType.DOT:
            sql = f'{sql[: token.start]}"{sql[token.start : token.end + 1]}"{sql[token.end + 1 :]}'
    return sql


def _quote_name(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def _table_names(sql: str) -> Iterator[tuple[str, str, str]]:
    """Yield catalog, database and table of each table in a query, each once; empty for what is not named.

    Raises:
        UnsupportedError: the text is no SQL.
    """
    try:
        statements = sqlglot.parse(
            _EXPLAIN.sub("", sql, count=1) if _EXPLAIN.match(sql) else sql, read="duckdb"
        )
    except sqlglot.errors.SqlglotError as error:
        raise UnsupportedError(
            f"The query is no SQL of DuckDB: {_TERMINAL_CODE.sub('', str(error))}"
        ) from None
    if statements and isinstance(statements[-1], _WITHOUT_ROWS):
        raise UnsupportedError(_NO_ROWS)
    seen = set()
    for statement in statements:
        if isinstance(statement, exp.Insert | exp.Update | exp.Delete | exp.Merge):
            raise UnsupportedError(
                "The statement changes rows, and tables are only read here: Spark writes them."
            )
        for table in () if statement is None else statement.find_all(exp.Table):
            if not isinstance(table.this, exp.Identifier):
                continue  # a function, such as range(5)
            name = table.catalog, table.db, table.name
            if name not in seen:
                seen.add(name)
                yield name
