"""The default warehouse: from the environment, or from a configuration file.

This module finds the name only. Opening the metastore shows whether it exists.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from parquetry.config import PRUNING_HISTORY, PRUNING_HISTORY_KEEP, PRUNING_HISTORY_ROWS
from parquetry.errors import ConfigurationError, WarehouseError
from parquetry.locations import take_apart, warehouse_location

VARIABLE = "PARQUETRY_WAREHOUSE"
STORE_VARIABLE = "PARQUETRY_STORE"
FILE_NAME = "parquetry.toml"
"""Name of the configuration file in the working directory or in a folder above it."""

HISTORY_VARIABLE = "PARQUETRY_PRUNING_HISTORY"
"""The environment variable that turns the history of queries on or off, outside of Spark."""

_HISTORY_KEYS = (PRUNING_HISTORY, PRUNING_HISTORY_KEEP, PRUNING_HISTORY_ROWS)
_KEYS = ("warehouse", "store", *_HISTORY_KEYS)
_AS_ARGUMENT = "as given"


@dataclass(frozen=True, slots=True)
class Warehouse:
    """The location of a warehouse and of its store, and where each was found.

    Attributes:
        location: absolute local path, or URI, without a trailing slash.
        store: URL of the metastore's store, or None if it is inside the warehouse.
        origin: source of the location, such as ``PARQUETRY_WAREHOUSE`` or the path of a file.
        store_origin: source of the store, or None if nothing names a store and the default holds.
        history: the settings of the history of queries by name, as far as something gives them.
        history_origin: source of these settings.
    """

    location: str
    store: str | None = field(repr=False)  # its URL may have a password
    origin: str
    store_origin: str | None = None
    history: Mapping[str, str] = field(default_factory=dict)
    history_origin: str | None = None


def find_warehouse(warehouse: str | os.PathLike[str] | None = None, store: str | None = None) -> Warehouse:
    """Return the warehouse of the argument, else of PARQUETRY_WAREHOUSE, else of the configuration file.

    The configuration file is the nearest `parquetry.toml` in the working directory and the folders above, or
    else `~/.config/parquetry/config.toml`. A store belongs to a warehouse: if the caller names no store, it
    comes from the same source as the warehouse.

    Raises:
        WarehouseError: no source names a warehouse.
        ConfigurationError: the configuration file cannot be used.
    """
    if warehouse is not None:
        if not (location := os.fspath(warehouse)):
            raise WarehouseError("The warehouse is an empty text: give a folder or a URI.")
        return _with_store(location, _AS_ARGUMENT, store, None, _AS_ARGUMENT)
    if named := os.environ.get(VARIABLE):
        return _with_store(named, VARIABLE, store, os.environ.get(STORE_VARIABLE), STORE_VARIABLE)
    file = configuration_file()
    if file is None:
        raise WarehouseError(
            f"No warehouse is named: give one (--warehouse), set {VARIABLE}, or write a {FILE_NAME} with "
            'the line warehouse = "…".'
        )
    values = _read(file)
    if not values.get("warehouse"):
        raise WarehouseError(f'{file} names no warehouse: add the line warehouse = "…", or give --warehouse.')
    location = os.path.expanduser(values["warehouse"])
    if not take_apart(location).scheme:
        location = os.path.join(file.parent, location)
    source = _with_store(location, str(file), store, values.get("store"), str(file))
    history = {key: values[key] for key in _HISTORY_KEYS if key in values}
    if not history or os.environ.get(HISTORY_VARIABLE):
        return replace(source, history={**history, **source.history})
    return replace(source, history=history, history_origin=str(file))


def _with_store(
    warehouse: str, origin: str, argument: str | None, configured: str | None, beside: str
) -> Warehouse:
    """Return a warehouse with its store: the argument, else the configured one, else the one inside it."""
    store = argument or configured or None
    mode = os.environ.get(HISTORY_VARIABLE)
    return Warehouse(
        warehouse_location(warehouse),
        store,
        origin,
        None if store is None else _AS_ARGUMENT if argument else beside,
        {PRUNING_HISTORY: mode} if mode else {},
        HISTORY_VARIABLE if mode else None,
    )


def configuration_file() -> Path | None:
    """Return the configuration file for the working directory, or None if there is none."""
    current = Path.cwd()
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    candidates = [folder / FILE_NAME for folder in (current, *current.parents)]
    candidates.append(Path(base) / "parquetry" / "config.toml")
    return next((path for path in candidates if path.is_file()), None)


def _read(file: Path) -> dict[str, str]:
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{file} cannot be read: {error}; mend it or remove it.") from None
    for key, value in values.items():
        if key not in _KEYS:
            raise ConfigurationError(f"{file} sets {key!r}, which is unknown; known are {', '.join(_KEYS)}.")
        if not isinstance(value, str):
            raise ConfigurationError(
                f"{file} sets {key!r} to a value of type {type(value).__name__}, and a text in quotes is due."
            )
    return values
