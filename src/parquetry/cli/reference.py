"""Write the reference of the commands, `docs/cli.md`, from the commands themselves.

python -m parquetry.cli.reference > docs/cli.md
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from parquetry.cli.commands import GROUPS
from parquetry.cli.main import app

INTRODUCTION = """\
# The command `parquetry`

<!-- Written by `python -m parquetry.cli.reference > docs/cli.md`; change the commands instead. -->

`parquetry` does what the Python API does (`parquetry.open()`): it shows the tables of a warehouse, their
partitions and their files, and maintains them as `CALL lake.system.…` does in Spark. It needs no Spark and no
Java, except for `conf`, `erase`, `publish` and the checks of `doctor`.

**Which warehouse.** `--warehouse`; else the environment variable `PARQUETRY_WAREHOUSE`; else the nearest
`parquetry.toml` in the working directory and the folders above it, or `~/.config/parquetry/config.toml`:

```toml
warehouse = "/data/lake"                            # relative to this file
store = "sqlite:////var/lib/parquetry/lake.sqlite"  # only if the metastore is not in the warehouse
```

The store comes from the same place as the warehouse (`PARQUETRY_STORE` goes with `PARQUETRY_WAREHOUSE`).
`--store` takes precedence. The password of a store on PostgreSQL comes from `PARQUETRY_STORE_PASSWORD`,
`PGPASSWORD` or `~/.pgpass`: see [Passwords](postgresql.md#passwords).

**Object stores.** Outside of Spark, Arrow reaches S3, Google's and Azure's stores with the environment's
credentials (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_ENDPOINT_URL`, profiles). `--storage-option`
gives single options, with the names that `parquetry.open(storage_options=…)` takes ([Storage](storage.md)).
Keep secrets in the environment: other users of a machine see the arguments of commands.

**Names.** `database.table`, `table` in the default database, or `catalog.database.table` as in SQL. If there
is no such table, the error suggests others. `parquetry --install-completion` makes the shell complete
commands, options and names of tables.

**Output.** Tables for people. Their paths are relative to the table's location if they are below it, except
with `fsck`. With `--json`, a list of objects, one a line, with absolute paths; `conf` and `plan` print one
object. In JSON, dates and times are ISO text, decimals are text, binary values are hexadecimal text, and NULL
is `null`. `rows` is `null` if it is unknown for some file.

**Exit codes.** 0: success. 1: an error, in one sentence on standard error, or a problem that `doctor`, `fsck`
or `verify` found. 2: wrong usage.
"""


_COMMON = 20
"""Commands that have an option in the same words: it is listed once for all of them."""


def reference() -> str:
    """Return the reference as Markdown."""
    known: dict[str, Any] = getattr(typer.main.get_command(app), "commands")  # noqa: B009
    commands = {name: known[name] for group in GROUPS.values() for name in group}
    counts = Counter(row for command in commands.values() for row in _options(command))
    common = [row for row, count in counts.items() if count >= _COMMON]
    sections = [_section(name, command, common) for name, command in commands.items()]
    return "\n".join([INTRODUCTION, _contents(), _common_options(commands, common), *sections])


def _common_options(commands: Mapping[str, Any], common: list[str]) -> str:
    """Return the table of options that nearly all commands have, with the commands that lack them."""
    rows = []
    for row in common:
        lacking = [f"`{name}`" for name, command in commands.items() if row not in _options(command)]
        rows.append(f"{row.removesuffix(' |')} Not with {', '.join(lacking)}. |" if lacking else row)
    title = ["## Options of nearly all commands", "", "The commands below take these, too.", ""]
    return "\n".join([*title, "| | |", "|---|---|", *rows, ""])


def _contents() -> str:
    lines = (f"| {title} | {', '.join(f'`{name}`' for name in names)} |" for title, names in GROUPS.items())
    return "\n".join(["| | |", "|---|---|", *lines, ""])


def _section(name: str, command: Any, common: list[str]) -> str:
    return "\n".join(_lines(name, command, common))


def _lines(name: str, command: Any, common: list[str]) -> Iterator[str]:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    usage = " ".join(["parquetry", name, *map(_argument, arguments), "[OPTIONS]"])
    yield from (f"## `{usage}`", "", inspect.cleandoc(command.help), "")
    yield from ("```console", f"$ {command.epilog.removeprefix('Example: ')}", "```", "")
    rows = [f"| `{argument.metavar}` | {argument.help} |" for argument in arguments]
    rows += [row for row in _options(command) if row not in common]
    if rows:
        yield from ("| | |", "|---|---|", *rows, "")


def _options(command: Any) -> list[str]:
    """Return a row of a table for each option of a command."""
    rows = []
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            continue
        value = f" {parameter.metavar}" if parameter.metavar else ""
        default = f" Default: `{parameter.default}`." if parameter.default and not parameter.is_flag else ""
        rows.append(f"| `{', '.join(parameter.opts)}{value}` | {parameter.help}{default} |")
    return rows


def _argument(argument: Any) -> str:
    return str(argument.metavar if argument.required else f"[{argument.metavar}]")


if __name__ == "__main__":
    print(reference(), end="")
