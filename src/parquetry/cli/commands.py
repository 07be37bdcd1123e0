"""How commands are listed, and what is answered to the name of a command that does not exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
import typer.core

from parquetry.operations import OPERATIONS

_GROUPS = {
    "Look at tables": (
        "databases",
        "tables",
        "describe",
        "head",
        "query",
        "partitions",
        "files",
        "plan",
        "history",
        "tags",
        "branches",
        "detail",
        "report",
        "ui",
        "queries",
    ),
    "Check": ("doctor", "audit", ...),
    "Maintain a table": ("advise", ..., "erase", "publish"),
    "Maintain a warehouse": (..., "write-metrics", "serve-metrics"),
    "Other engines": ("serve-hive", "serve-iceberg"),
    "Indexes": (...,),
    "Set up and move a warehouse": ("conf", "dump", "restore", ..., "relocate"),
}
"""The commands of each group. The dots stand for the commands of operations."""


def _of_operations(group: str) -> Iterator[str]:
    for operation in OPERATIONS.values():
        if operation.command is not None and operation.command.group == group:
            yield operation.name.replace("_", "-")


GROUPS = {
    group: tuple(
        name for entry in names for name in (_of_operations(group) if entry is ... else [str(entry)])
    )
    for group, names in _GROUPS.items()
}
"""The commands in the order of the help: reading first."""

_SQL = "spark-sql $(parquetry conf --flags) -e '{}'"
_POINTERS = {
    "tables are made in SQL: " + _SQL.format("CREATE TABLE lake.db.t (…)"): ("create", "create-table", "new", "init", "make"),
    "tables are dropped in SQL: " + _SQL.format("DROP TABLE lake.db.t"): ("drop", "drop-table", "delete-table", "rm", "remove"),
    "tables are renamed in SQL: " + _SQL.format("ALTER TABLE lake.db.t RENAME TO u"): ("rename", "rename-table", "mv", "move"),
    "tables are altered in SQL: " + _SQL.format("ALTER TABLE lake.db.t …"): ("alter", "set", "unset", "add-column", "properties"),
    "rows are written in SQL: " + _SQL.format("INSERT INTO lake.db.t …"): ("insert", "write", "append", "load", "delete", "update", "merge", "truncate"),
    "say `parquetry head TABLE`": ("cat", "tail", "sample", "read", "scan", "rows", "data"),
    "say `parquetry query SQL`": ("select", "sql", "count", "export"),
    "files are compacted in SQL: " + _SQL.format('CALL lake.system.compact("db.t")'): ("compact", "optimize", "optimise", "rewrite", "cluster", "rebucket"),
    "say `parquetry tables`": ("list", "ls", "show", "show-tables"),
    "say `parquetry databases`": ("namespaces", "schemas", "catalogs", "show-databases"),
    "say `parquetry describe TABLE`": ("schema", "info", "desc", "table", "columns", "location", "uuid", "spec", "stat", "stats", "inspect"),
    "say `parquetry history TABLE`": ("snapshots", "versions", "log", "changes"),
    "say `parquetry tags TABLE`": ("refs", "list-tags", "create-tag"),
    "say `parquetry branch TABLE BRANCH`": ("create-branch", "fork"),
    "say `parquetry publish-branch TABLE BRANCH`": ("fast-forward", "merge-branch"),
    "say `parquetry plan TABLE FILTER`": ("explain",),
    "say `parquetry vacuum TABLE`": ("expire", "expire-snapshots", "gc", "clean", "purge", "remove-orphan-files"),
    "say `parquetry sync TABLE`": ("register", "import", "add-files", "migrate", "refresh", "repair", "msck", "adopt"),
    "say `parquetry rollback TABLE VERSION`": ("revert", "undo", "reset", "checkout", "rollback-to-snapshot"),
    "say `parquetry doctor --settings`, or `parquetry conf` for Spark's": ("config", "settings", "configure", "env"),
    "say `parquetry --help`": ("help", "commands"),
    "say `parquetry --version`": ("version",),
}  # fmt: skip
"""The commands of other tools, and the answer to each."""
POINTERS = {name: pointer for pointer, names in _POINTERS.items() for name in names}

_INDEXED = max(len(name) for names in GROUPS.values() for name in names)


class Command(typer.core.TyperCommand):
    """A command whose usage has no braces: elsewhere they mean a choice."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


class Group(typer.core.TyperGroup):
    """All commands, in groups."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names in the order of the groups."""
        return [name for names in GROUPS.values() for name in names]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, each with the first line of its help."""
        for title, names in GROUPS.items():
            rows = []
            for name in names:
                command = self.get_command(ctx, name)
                if command is not None:
                    rows.append((name.ljust(_INDEXED), (command.help or "").splitlines()[0]))
            with formatter.section(title):
                formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, or say what to use instead."""
        if args and self.get_command(ctx, args[0]) is None and args[0].lower() in POINTERS:
            ctx.fail(f"No such command '{args[0]}': {POINTERS[args[0].lower()]}.")
        return super().resolve_command(ctx, args)
