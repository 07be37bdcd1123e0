"""Names and patterns as clients send them.

Clients of Hive 3 and later put the catalog before the database's name: `@hive#sales`. Names are in any case.
A table's name may have a version of the table at its end: `orders@v7`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from parquetry.hive.failures import no_such_object
from parquetry.locations import unescape_path_name
from parquetry.predicate import matcher

CATALOG = "hive"
"""The name of the only catalog."""
_VERSION = re.compile(r"(?P<name>.+)@v(?P<version>\d{1,18})", re.ASCII | re.DOTALL)


def database_name(text: str | None) -> str:
    """Return a database's name without its catalog, in lower case.

    >>> database_name("@hive#Sales"), database_name("sales"), database_name("@hive#!")
    ('sales', 'sales', '')

    Raises:
        HiveFailure: it is of another catalog.
    """
    text = text or ""
    if text.startswith("@"):
        catalog, _, text = text[1:].partition("#")
        require_catalog(catalog)
        text = "" if text == "!" else text
    return text.lower()


def require_catalog(name: str | None) -> None:
    """Make sure that a catalog is the only one.

    Raises:
        HiveFailure: there is no such catalog.
    """
    if name and name.lower() != CATALOG:
        raise no_such_object(f"There is no catalog {name}: a warehouse is the catalog {CATALOG}.")


def table_and_version(text: str | None) -> tuple[str, int | None]:
    """Return a table's name in lower case, and the version that it names.

    >>> table_and_version("Orders@v7"), table_and_version("orders")
    (('orders', 7), ('orders', None))
    """
    match = _VERSION.fullmatch(text or "")
    return (match["name"].lower(), int(match["version"])) if match else ((text or "").lower(), None)


def name_matcher(pattern: str | None) -> Callable[[str], bool]:
    """Return a function that tests names by a pattern: `*` or `.*` is any text, `|` an alternative.

    >>> matches = name_matcher("Or*s|x.*")
    >>> [matches(name) for name in ("orders", "xy", "order", "OR_S")]
    [True, True, False, True]
    """
    tests = []
    for each in (pattern or "*").lower().split("|"):
        parts = re.split(r"\.\*|[*%]", each)
        quoted = (re.sub(r"([\\%_])", r"\\\1", part) for part in parts)
        tests.append(matcher("%".join(quoted), "\\"))
    return lambda name: any(test(name.lower()) for test in tests)


def values_from_name(name: str) -> list[tuple[str, str]]:
    """Return the columns and the values of a partition's name.

    >>> values_from_name("day=2026-11-27/s=a%2Fb")
    [('day', '2026-11-27'), ('s', 'a/b')]

    Raises:
        HiveFailure: it is no such name.
    """
    pairs = []
    for part in name.split("/"):
        column, equals, value = part.partition("=")
        if not equals:
            raise no_such_object(
                f"{name!r} is no name of a partition: write column=value, with / between them."
            )
        pairs.append((unescape_path_name(column).lower(), unescape_path_name(value)))
    return pairs
