"""Commands to dump, restore and relocate a metastore, and to check the installation.

Imports are in the commands, so that each loads only what it needs. `doctor` has the checks.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from parquetry import texts
from parquetry.cli import output
from parquetry.cli.app import app
from parquetry.cli.options import DryRunOption, JsonOption, StorageOptions, WarehouseOptions

if TYPE_CHECKING:
    from parquetry.cli.doctor import InEffect
    from parquetry.metastore import Check, Manifest


@app.command(epilog="Example: parquetry dump /backup/lake-metastore")
def dump(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A directory that is not there yet.")],
    warehouse: WarehouseOptions,
    as_json: JsonOption = False,
) -> None:
    """Write the metastore into a directory, as text.

    This includes databases, tables and all readable versions. Data files stay where they are. The directory
    appears when all is written. `restore` reads it, into a metastore of any kind.
    """
    from parquetry.metastore import dump
    from parquetry.progress import progress_bar

    with warehouse.metastore() as metastore, progress_bar() as progress:
        manifest = dump(metastore, folder, progress)
    _print_manifest(manifest, f"written to {folder}", as_json)


@app.command(epilog="Example: parquetry restore /backup/lake-metastore -w /data/lake")
def restore(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A directory that `dump` made.")],
    *,
    claim: Annotated[
        bool,
        typer.Option(
            "--claim", help="Take the warehouse from any metastore, not only from the one that was dumped."
        ),
    ] = False,
    warehouse: StorageOptions,
    as_json: JsonOption = False,
) -> None:
    """Fill an empty metastore from a dump.

    It also gets the warehouse. The metastore is made if it does not exist, and refused if it has tables.
    Tables below the dumped warehouse get locations below this one: copy their files there. Other tables keep
    their locations.

    From then on the warehouse belongs to this metastore. The one that was dumped may be read, and refuses
    writes, if it has the same warehouse. If the warehouse belongs to neither, or the dumped one has changed
    since, the restore is refused.
    """
    from pathlib import Path

    from parquetry.hive import register_followers
    from parquetry.metastore import look_into, restore
    from parquetry.progress import progress_bar

    register_followers()  # the catalogs that follow tables show the restored versions
    warehouse.find()
    look_into(Path(folder))  # before a metastore is made that stays empty
    with (
        warehouse.file_systems(),
        warehouse.metastore(create=True) as metastore,
        progress_bar() as progress,
    ):
        manifest = restore(metastore, folder, progress, claims=claim)
    _print_manifest(manifest, f"restored from {folder}", as_json)


@app.command(epilog="Example: parquetry relocate /mnt/old /mnt/new --dry-run")
def relocate(
    old: Annotated[
        str,
        typer.Argument(metavar="FROM", help="The folder's old place, by path or URI."),
    ],
    new: Annotated[str, typer.Argument(metavar="TO", help="Its place now.")],
    *,
    dry_run: DryRunOption = False,
    warehouse: StorageOptions,
    as_json: JsonOption = False,
) -> None:
    """Change locations after a folder was moved.

    This is for all tables, and no file is touched. Locations below the warehouse need no change: they are
    relative to it. This is for tables and partitions elsewhere, and for a moved warehouse that a Parquetry
    before format 4 wrote. If FROM and TO are the same, absolute locations below the warehouse become
    relative. If it is interrupted, run it again.
    """
    import dataclasses

    from parquetry.progress import progress_bar

    with warehouse.open() as catalog, progress_bar() as progress:
        moved = catalog.relocate(old, new, dry_run=dry_run, progress=progress)
    if as_json:
        output.print_json(map(dataclasses.asdict, moved))
        return
    output.print_table(
        ("kind", "name", "count", "first was", "and is" if not dry_run else "and would be"),
        (
            (change.kind, change.name, texts.count(change.count), change.before, change.after)
            for change in moved
        ),
        numbers=("count",),
        empty="Nothing to change: all locations there are recorded as they should be.",
    )


def _print_manifest(manifest: Manifest, done: str, as_json: bool) -> None:
    from parquetry.catalog import full_name

    if as_json:
        output.print_json({"table": full_name(t.database, t.name), "id": t.id} for t in manifest.tables)
    else:
        tables = texts.quantity(len(manifest.tables), "table")
        print(f"{tables} of {texts.quantity(len(manifest.databases), 'database')} {done}")


@app.command(epilog="Example: parquetry doctor --warehouse /data/lake")
def doctor(
    *,
    write: Annotated[
        bool,
        typer.Option(
            "--write", help="Write a small file to the warehouse, read it back and delete it, for its rights."
        ),
    ] = False,
    settings: Annotated[
        bool, typer.Option("--settings", help="Also show all settings, with their values and defaults.")
    ] = False,
    warehouse: StorageOptions,
    as_json: JsonOption = False,
) -> None:
    """Check the installation and the warehouse.

    The checks cover Python, PySpark, Java, libraries, the bridge, the metastore with its clock, and the
    warehouse's files: reach, rights, and with --write the clock. Without --write, the command only reads.
    Files are reached as this command reaches them, outside of Spark. CALL lake.system.doctor() checks them in
    a session, with the session's settings of the file system.

    With --settings, the settings outside of a session follow. They are the catalog's values, with the origin
    of each, and the tables' defaults, with the ways to set them. Spark's own settings for joins of bucketed
    tables come last.

    The exit code is 1 if a check fails. The remedy is printed beside it.
    """
    from parquetry.cli.doctor import examine, settings_in_effect

    checks = list(examine(warehouse.warehouse, warehouse.store, warehouse.storage(), write=write))
    shown = list(settings_in_effect(warehouse.warehouse, warehouse.store)) if settings else None
    (_print_checks_as_json if as_json else _print_checks)(checks, shown)
    if any(c.ok is False for c in checks):
        raise typer.Exit(1)


def _print_checks_as_json(checks: Sequence[Check], settings: Sequence[InEffect] | None) -> None:
    from parquetry.config import SPARK_SETTINGS

    of_spark = SPARK_SETTINGS if settings is not None else ()
    output.print_json(
        [
            *({"check": c.name, "ok": c.ok, "found": c.found, "remedy": c.remedy} for c in checks),
            *(
                {"setting": s.name, "value": s.value, "from": s.origin, "set_with": s.how}
                for s in settings or ()
            ),
            *({"spark_setting": s.name, "configure_sets": s.value, "for": s.text} for s in of_spark),
        ]
    )


def _print_checks(checks: Sequence[Check], settings: Sequence[InEffect] | None) -> None:
    marks = {True: "ok", False: "PROBLEM", None: "note"}
    for c in checks:
        print(f"{marks[c.ok]:8} {c.name}: {c.found}")
        if c.remedy is not None:
            print(f"{'':8} → {c.remedy}")
    if settings is None:
        print("\nSettings: parquetry doctor --settings")
    else:
        _print_settings(settings)


def _print_settings(settings: Sequence[InEffect]) -> None:
    """Print each setting on lines of its own, so that users can copy names and values of any length."""
    from parquetry.config import SPARK_SETTINGS

    print()
    for s in settings:
        origin = "" if s.origin is None else f"  ({s.origin})"
        print(f"{s.name}{'' if s.value is None else f' = {s.value}'}{origin}")
        print("".join(f"    {way}\n" for way in s.how), end="")
    print("\nSettings of Spark's, with the value that parquetry.configure gives them:")
    for setting in SPARK_SETTINGS:
        print(f"{setting.name}{'' if setting.value is None else f' = {setting.value}'}")
        for line in textwrap.wrap(setting.text, 76, break_long_words=False, break_on_hyphens=False):
            print(f"    {line}")
