"""Names, bodies and parameters of requests, checked before anything uses them.

A body of another form than Iceberg's specification says is a `ValueError`. The client gets an error 400.

A name that nothing can have is the name of nothing that exists.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qs

import msgspec

from parquetry.errors import NamespaceNotFoundError, TableNotFoundError, UnsupportedError
from parquetry.metastore import normalise_name

_PAGE_SIZE = 1_000
"""Names in one answer to a client that asks for pages, and says no size."""
_BINARY = ("eq", "not-eq", "lt", "lt-eq", "gt", "gt-eq", "starts-with", "not-starts-with")
_UNARY = ("is-null", "not-null", "is-nan", "not-nan")
_Request = TypeVar("_Request", bound=msgspec.Struct)


class PlanRequest(msgspec.Struct, frozen=True, rename="kebab"):
    """The body of a request for a plan; Iceberg's specification has the fields."""

    snapshot_id: int | None = None
    select: list[str] | None = None
    filter: bool | dict[str, Any] | None = None
    min_rows_requested: int | None = None
    case_sensitive: bool = True
    use_snapshot_schema: bool = False
    start_snapshot_id: int | None = None
    end_snapshot_id: int | None = None
    stats_fields: list[str] | None = None


class TasksRequest(msgspec.Struct, frozen=True, rename="kebab"):
    """The body of a request for a further page of a plan."""

    plan_task: str


class ReportRequest(msgspec.Struct, frozen=True, rename="kebab"):
    """The body of a client's report of a scan or a commit, as far as it is looked at."""

    report_type: str | None = None


def decode_request(body: bytes, form: type[_Request]) -> _Request:
    """Return the request that a body has.

    Raises:
        ValueError: the body is not of this form.
    """
    try:
        request = msgspec.json.decode(body, type=form)
    except msgspec.MsgspecError as error:
        raise ValueError(
            f"The body of the request is not as Iceberg's specification says: {error}."
        ) from None
    except RecursionError:
        raise ValueError("The body of the request is nested too deep.") from None
    if isinstance(request, PlanRequest) and request.filter is not None:
        _require_well_formed(request.filter)
    return request


def _require_well_formed(expression: Any) -> None:
    """Make sure that a filter's parts have the fields of their kind. Unknown kinds are left alone.

    Raises:
        ValueError: a field is missing.
    """
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, bool):
            continue
        if not isinstance(node, dict) or not isinstance(node.get("type"), str):
            raise ValueError(f"A part of the filter is no expression: {str(node)[:80]}.")
        kind = node["type"].lower().replace("_", "-")
        for fields in _fields_of(kind):
            if not any(field in node for field in fields):
                raise ValueError(f"A part of the filter lacks {' or '.join(fields)}: {str(node)[:80]}.")
        if kind in ("in", "not-in") and not isinstance(node["values"], list | dict):
            raise ValueError(f"A part of the filter has no list of values: {str(node)[:80]}.")
        if kind in ("and", "or"):
            waiting += [node["left"], node["right"]]
        elif kind == "not":
            waiting.append(node["child"])


def _fields_of(kind: str) -> Sequence[tuple[str, ...]]:
    """Return the fields that an expression must have; of each tuple one."""
    if kind in ("and", "or"):
        return ("left",), ("right",)
    if kind == "not":
        return (("child",),)
    if kind in ("in", "not-in"):
        return ("term", "child"), ("values",)
    if kind in _BINARY:
        return ("term", "left"), ("value", "right")
    return (("term", "child"),) if kind in _UNARY else ()


class Query:
    """The parameters of a request.

    Args:
        text: the part of the URL after the question mark.
    """

    def __init__(self, text: bytes) -> None:
        self._values: Mapping[str, list[str]] = parse_qs(text.decode("latin-1"), keep_blank_values=True)

    def get(self, name: str) -> str | None:
        """Return the first value of a parameter that is not empty, or None."""
        return next(filter(None, self._values.get(name, ())), None)

    def page(self, field: str, names: Sequence[str], parts: Sequence[Any]) -> dict[str, Any]:
        """Return the answer of a list: the page that the client asks for, or all of it.

        A client wants pages if it sends a `pageToken`, which is empty for the first page. Otherwise the
        answer has all names. The token is the last name of the page before, so names that are made or dropped
        meanwhile move no others.

        Args:
            field: of the answer.
            names: all names, in order.
            parts: what the answer says of each.

        Raises:
            ValueError: the size is no number from 1 on.
        """
        tokens, size = self._values.get("pageToken"), self.get("pageSize")
        limit = _PAGE_SIZE if size is None else _positive(size)
        if tokens is None:
            return {field: list(parts), "next-page-token": None}
        chosen = [n for n, name in enumerate(names) if name > tokens[0]]
        page = chosen[:limit]
        following = names[page[-1]] if len(chosen) > limit else None
        return {field: [parts[n] for n in page], "next-page-token": following}


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise ValueError(f"pageSize {text[:40]!r} is not a number from 1 on.")
    return int(text)


_SEPARATOR = "\x1f"
"""The character that Iceberg's clients write between the parts of a namespace."""


@functools.lru_cache(maxsize=1024)
def database_name(name: str) -> str:
    """Return the name of a database.

    Raises:
        NamespaceNotFoundError: it has several parts, or no database can have it.
    """
    if _SEPARATOR in name:
        raise NamespaceNotFoundError(
            f"Namespace {name.replace(_SEPARATOR, '.')!r} does not exist: names have one part."
        )
    try:
        return normalise_name("database", name)
    except UnsupportedError:
        raise NamespaceNotFoundError(
            f"Namespace {name!r} does not exist, and no database can have this name."
        ) from None


@functools.lru_cache(maxsize=1024)
def table_name(database: str, name: str) -> str:
    """Return the name of a table or a view.

    Args:
        database: its database, as `database_name` returns it.
        name: as the request has it.

    Raises:
        TableNotFoundError: no table can have it.
    """
    try:
        return normalise_name("table", name)
    except UnsupportedError:
        raise TableNotFoundError(
            f"Table {name!r} does not exist in {database}, and no table can have this name."
        ) from None
