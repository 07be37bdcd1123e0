"""Collectors for Prometheus: gauges of each table, and the counters of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from parquetry import counters
from parquetry.errors import ConfigurationError, ParquetryError, TableNotFoundError
from parquetry.metastore import Metastore, TableSnapshot, old_versions

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_PREFIX = "parquetry_"
_TABLE_GAUGES = {
    "table_version": "The newest version of the table: commits since it was made.",
    "table_committed_seconds": "When the newest version was made, in seconds since the epoch.",
    "table_partitions": "Partitions of the newest version.",
    "table_files": "Data files of the newest version.",
    "table_bytes": "Size of the data files of the newest version.",
    "table_rows": "Rows of the newest version, if all files have their number.",
    "table_old_versions": "Readable versions before the newest one.",
    "table_old_version_bytes": "Size of the files that only old versions list.",
    "table_expired_bytes": "Size of the files that a vacuum with the default time would delete.",
    "table_vacuumed_seconds": "When the last vacuum ended, in seconds since the epoch, if one is known.",
}


def require_client() -> None:
    """Make sure that prometheus-client is installed.

    Raises:
        ConfigurationError: it is not.
    """
    try:
        import prometheus_client  # noqa: F401
    except ImportError:
        raise ConfigurationError(
            "Metrics need prometheus-client, which is not installed: pip install 'parquetry[metrics]'."
        ) from None


class ProcessCollector:
    """The counters of this process, as a collector of prometheus-client."""

    def collect(self) -> Iterator[Metric]:
        """Yield the counters."""
        from prometheus_client.core import CounterMetricFamily

        for name, value in counters.COUNTERS.values().items():
            yield CounterMetricFamily(_PREFIX + name, counters.HELP[name], value=value)


class WarehouseCollector:
    """The tables of a warehouse, as a collector of prometheus-client.

    Each collection opens the metastore and closes it: requests come on threads of their own.

    A table that cannot be read is left out, and counted in `parquetry_unreadable_tables`.

    Args:
        open_metastore: opens the metastore of the warehouse.
    """

    def __init__(self, open_metastore: Callable[[], Metastore]) -> None:
        self._open = open_metastore

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges of all tables."""
        from prometheus_client.core import GaugeMetricFamily

        labels = ["database", "table"]
        families = {
            name: GaugeMetricFamily(_PREFIX + name, text, labels=labels)
            for name, text in _TABLE_GAUGES.items()
        }
        unreadable = 0
        with self._open() as metastore:
            names = [(each, table) for each in metastore.databases() for table in metastore.tables(each)]
            for database, table in names:
                try:
                    values = _table_values(metastore.table(database, table))
                except TableNotFoundError:  # dropped meanwhile
                    continue
                except ParquetryError:
                    unreadable += 1
                    continue
                for name, value in values.items():
                    families[name].add_metric([database, table], value)
        yield from families.values()
        yield GaugeMetricFamily(
            f"{_PREFIX}unreadable_tables",
            "Tables whose record in the metastore cannot be read.",
            value=unreadable,
        )


def _table_values(table: TableSnapshot) -> dict[str, float]:
    """Return the known gauges of a table by name."""
    old, totals = old_versions(table), table.totals
    values: dict[str, float | None] = {
        "table_version": table.version,
        "table_committed_seconds": table.committed_at / 1000,
        "table_partitions": totals.partitions,
        "table_files": totals.files,
        "table_bytes": totals.bytes,
        "table_rows": totals.rows,
        "table_old_versions": old.count,
        "table_old_version_bytes": old.bytes,
        "table_expired_bytes": old.expired_bytes,
        "table_vacuumed_seconds": None if old.vacuumed_at is None else old.vacuumed_at / 1000,
    }
    return {name: value for name, value in values.items() if value is not None}
