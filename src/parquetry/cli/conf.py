"""The command that prints the settings of Spark, or writes them into a file.

Imports are in the command, so that others do not load what it needs.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from parquetry.cli import output
from parquetry.cli.app import app
from parquetry.cli.options import JsonOption, WarehouseOptions, option

_PASSWORD_REMEDY = (
    "the store's URL has a password. Set it in a file that only its owner may read (spark-defaults.conf with mode 600), or give "
    "it to libpq in PGPASSWORD or ~/.pgpass, and take it out of the URL."
)


@app.command(epilog="Example: pyspark $(parquetry conf --flags --warehouse /data/lake)")
def conf(
    *,
    catalog: Annotated[
        str, typer.Option("--catalog", metavar="NAME", help="Name of the catalog in SQL.")
    ] = "lake",
    spark: Annotated[
        str | None,
        option(
            "--spark",
            "VERSION",
            "The Spark that gets the settings, such as 4.1; else the one in SPARK_HOME, else the installed PySpark.",
        ),
    ] = None,
    flags: Annotated[
        bool, typer.Option("--flags", help="Print --conf flags for pyspark and spark-submit.")
    ] = False,
    write: Annotated[
        Path | None,
        option(
            "--write",
            "FILE",
            "Write them into this file, such as $SPARK_HOME/conf/spark-defaults.conf, and keep what else is in it.",
        ),
    ] = None,
    warehouse: WarehouseOptions,
    as_json: JsonOption = False,
) -> None:
    """Print or write Spark's settings for a warehouse.

    They make the warehouse a catalog, and come as lines for spark-defaults.conf. Any Spark that is started
    with them plans with Parquetry: spark-sql, a Thrift server, Spark Connect, spark-shell, PySpark. The
    bridge starts the Python that spark.parquetry.python names.

    spark.jars and spark.sql.extensions keep what others have put there, in the file of --write, or else in
    the spark-defaults.conf of the Spark in use. Another version's jar of Parquetry is taken out. --write can
    be repeated: it replaces its own lines.

    A password in the store's URL is not printed; standard error says where to put it.
    """
    from parquetry.config import beside_existing, defaults_entries
    from parquetry.errors import ConfigurationError
    from parquetry.spark import defaults_file

    if sum((flags, as_json, write is not None)) > 1:
        raise ConfigurationError("Options --flags, --json and --write exclude each other: give one of them.")
    settings, hidden = _settings(catalog, spark, warehouse)
    file = write or defaults_file()
    text = _read(file) if file is not None else ""
    settings = beside_existing({entry.name: entry.value for entry in defaults_entries(text)}, settings)
    if write is not None:
        _write(write, text, settings)
    elif as_json:
        print(output.json_text(settings))
    elif flags:
        _print_flags(settings)
    else:
        _print_lines(settings, hidden)


def _settings(
    catalog: str, spark: str | None, warehouse: WarehouseOptions
) -> tuple[dict[str, str], list[str]]:
    """Return the settings, and the names of passwords, which are not printed."""
    import parquetry
    from parquetry.errors import ConfigurationError
    from parquetry.spark import version_in_use

    source = warehouse.find()
    version = spark or version_in_use()
    if version is None:
        raise ConfigurationError(
            "No Spark was found for parquetry conf, and each series of Spark has a jar of its own: say parquetry conf --spark 4.1, set "
            "SPARK_HOME, or pip install 'parquetry[spark]'."
        )
    options = {**({} if source.store is None else {"store": source.store}), **source.history}
    settings = parquetry.settings(catalog, source.location, spark=version, **options)
    hidden = [name for name in settings if "password" in name]
    for name in hidden:
        del settings[name]  # the command's output ends in files, histories of shells and lists of processes
        print(f"parquetry: {name} is not printed: {_PASSWORD_REMEDY}", file=sys.stderr)
    settings["spark.parquetry.python"] = sys.executable
    return settings, hidden


def _print_lines(settings: Mapping[str, str], hidden: list[str]) -> None:
    from parquetry.config import defaults_line

    for name, value in settings.items():
        print(defaults_line(name, value))
    for name in hidden:
        print(f"# {name} ***")


def _print_flags(settings: Mapping[str, str]) -> None:
    from parquetry.errors import ConfigurationError

    for name, value in settings.items():
        if any(character.isspace() for character in value):
            raise ConfigurationError(
                f"{name} is {value!r}, which a shell would split in $(parquetry conf --flags): write the settings into a "
                "file (parquetry conf --write lake.conf), and say --properties-file lake.conf."
            )
    # Not quoted: a shell does not take quotes away that $(…) brings.
    print(" ".join(f"--conf {name}={value}" for name, value in settings.items()))


def _read(file: Path) -> str:
    from parquetry.errors import ConfigurationError

    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{file} is not a text in UTF-8 ({error}): correct it first.") from None


def _write(file: Path, text: str, settings: Mapping[str, str]) -> None:
    """Write settings into a file, which is replaced at once, and makes its folder."""
    import os
    import shutil

    from parquetry import texts
    from parquetry.config import defaults_entries, with_settings

    after = with_settings(text, settings)
    before = {entry.name: entry.value for entry in defaults_entries(text)}
    changed = sum(before.get(name) != value for name, value in settings.items())
    if after != text:
        target = file.resolve()  # a link stays one
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            beside.write_bytes(after.encode("utf-8"))
            if target.exists():
                shutil.copymode(target, beside)
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)
    kept = texts.quantity(len(settings) - changed, "setting")
    print(f"{shlex.quote(str(file))}: {texts.quantity(changed, 'setting')} written, {kept} there already.")
