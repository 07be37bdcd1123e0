"""Find a table by its name, and suggest other tables if there is none."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from parquetry import errors, metastore as ms
from parquetry.catalog.views import full_name
from parquetry.identifiers import parse_name
from parquetry.metastore import DEFAULT_DATABASE

_MAX_SUGGESTED_TABLES = 3


def find_table(
    metastore: ms.Metastore, name: str, *, version: int | str | None = None, as_of: int | None = None
) -> ms.TableSnapshot:
    """Return a version of a table, by default the newest.

    Args:
        metastore: that has the table.
        name: ``database.table``, ``table`` in the default database, or ``catalog.database.table`` as in SQL.
            Any name of the catalog means this one. `database.table.branch_name` is a branch of a table.
        version: number of the version, or its tag, or a branch, or None.
        as_of: milliseconds since the epoch, or None. It selects the newest version made until then.

    Raises:
        NamespaceNotFoundError: there is no such database.
        TableNotFoundError: there is no such table, or no table can have the name.
        VersionNotFoundError: the table never had this version, or has it no longer, or has no such tag.
    """
    try:
        parts = parse_name(name)
    except ValueError:
        parts = []
    base = None
    if _is_branch(metastore, parts):
        *parts, branch = parts
        base = parts[-1].lower()
        parts[-1] = ms.branch_name(parts[-1], branch.lower().removeprefix(ms.BRANCH_PREFIX))
    if len(parts) == 3:
        parts = parts[1:]
    if len(parts) == 1:
        parts = [DEFAULT_DATABASE, *parts]
    if len(parts) != 2:
        raise errors.TableNotFoundError(f"{name!r} does not name a table: say 'database.table'.")
    try:
        return metastore.table(*parts, version=version, as_of=as_of)
    except errors.UnsupportedError as error:  # no table can have such a name
        raise errors.TableNotFoundError(f"{name!r} does not name a table: {error.message}") from None
    except errors.NamespaceNotFoundError:
        raise errors.NamespaceNotFoundError(
            f"Database {parts[0]!r} does not exist{_instead(metastore, *parts)}"
        ) from None
    except errors.OtherKindError:
        raise errors.TableNotFoundError(
            f"{full_name(*parts)} is a view, which only Spark can read: name the tables that it reads."
        ) from None
    except errors.VersionNotFoundError:
        raise
    except errors.TableNotFoundError:
        if base in metastore.tables(parts[0]):
            raise  # it lists the branches of the table
        named = parts[0], base or parts[1]
        raise errors.TableNotFoundError(
            f"Table {'.'.join(named)} does not exist{_instead(metastore, *named)}"
        ) from None


def _is_branch(metastore: ms.Metastore, parts: Sequence[str]) -> bool:
    """Return whether a name is `database.table.branch_name`, and not `catalog.database.branch_name`."""
    if len(parts) < 3 or not parts[-1].lower().startswith(ms.BRANCH_PREFIX):
        return False
    is_table = len(parts) == 3 and parts[1].lower() in metastore.databases()
    return not is_table or parts[2].lower() not in metastore.tables(parts[1])


def _instead(metastore: ms.Metastore, database: str, table: str) -> str:
    """Return the rest of the message: the tables that may be meant, and how to list all."""
    likely = _likely(
        [(owner, name) for owner in metastore.databases() for name in metastore.tables(owner)],
        database.lower(),
        table.lower(),
    )
    suggestion = "" if not likely else f" ({' or '.join(full_name(*pair) for pair in likely)}?)"
    return f"{suggestion}; `parquetry tables`, or tables() of the catalog, lists the tables that do."


def _likely(names: Sequence[tuple[str, str]], database: str, table: str) -> list[tuple[str, str]]:
    """Return tables of this name in other databases, or else tables with similar names.

    >>> known = [("shop", "orders"), ("tpcds", "store_sales"), ("tpcds", "web_sales")]
    >>> _likely(known, "default", "store_sales"), _likely(known, "tpcds", "store_sale"), _likely(known, "x", "y")
    ([('tpcds', 'store_sales')], [('tpcds', 'store_sales')], [])
    """
    if elsewhere := [pair for pair in names if pair[1] == table]:
        return elsewhere[:_MAX_SUGGESTED_TABLES]
    by_text = {".".join(pair): pair for pair in names}
    return [
        by_text[name]
        for name in difflib.get_close_matches(f"{database}.{table}", by_text, _MAX_SUGGESTED_TABLES, 0.9)
    ]
