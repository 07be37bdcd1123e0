"""Write the reference of the commands, `docs/cli.md`, from the commands themselves.

python -m parquetry.cli.reference > docs/cli.md
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
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


def reference() -> str:
    """Return the reference as Markdown."""
    commands: dict[str, Any] = getattr(typer.main.get_command(app), "commands")  # noqa: B009
    names = [name for group in GROUPS.values() for name in group]
    return "\n".join([INTRODUCTION, _contents(), *(_section(name, commands[name]) for name in names)])


def _contents() -> str:
    lines = (f"| {title} | {', '.join(f'`{name}`' for name in names)} |" for title, names in GROUPS.items())
    return "\n".join(["| | |", "|---|---|", *lines, ""])


def _section(name: str, command: Any) -> str:
    return "\n".join(_lines(name, command)) + "\n"


def _lines(name: str, command: Any) -> Iterator[str]:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    usage = " ".join(["parquetry", name, *map(_argument, arguments), "[OPTIONS]"])
    yield from (f"## `{usage}`", "", inspect.cleandoc(command.help), "")
    yield from ("```console", f"$ {command.epilog.removeprefix('Example: ')}", "```", "")
    yield from ("| | |", "|---|---|")
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            yield f"| `{parameter.metavar}` | {parameter.help} |"
        else:
            value = f" {parameter.metavar}" if parameter.metavar else ""
            default = (
                f" Default: `{parameter.default}`." if parameter.default and not parameter.is_flag else ""
            )
            yield f"| `{', '.join(parameter.opts)}{value}` | {parameter.help}{default} |"


def _argument(argument: Any) -> str:
    return str(argument.metavar if argument.required else f"[{argument.metavar}]")


if __name__ == "__main__":
    print(reference(), end="")
