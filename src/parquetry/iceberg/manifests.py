"""Manifests for engines that plan by themselves, made of the metastore's rows when such an engine asks.

A manifest lists the files of a group of partitions. Groups follow from the partitions' keys, and a manifest's
name from the rows of its group. So a manifest is written once, and serves all versions until one of its
partitions changes. All files are in the folder `_iceberg` of the table, which other readers of the folder
ignore. Each version gets a list of manifests with its number in the name.

Manifests have partition values and sizes, and no statistics of columns.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow.fs as pafs

from parquetry.errors import UnsupportedError
from parquetry.iceberg.clients import Client, manifest_refusal, require_whole_values
from parquetry.iceberg.metadata import file_uri, manifest_folder, manifest_list
from parquetry.locations import join_location, open_location
from parquetry.metastore import PartitionSnapshot, TableSnapshot
from parquetry.publishing import file_refusal

_PARTITIONS_PER_GROUP = 64
"""Partitions in a group on average. A change of one partition makes a manifest of so many anew."""
_MAX_FILES_PER_GROUP = 20_000
"""Files in a group, about, at most: a manifest of three megabytes."""
_SEQUENCE_NUMBER = 1
"""The sequence number of all files: there are no deletes that it would order."""
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def write_manifests(table: TableSnapshot, metadata: dict[str, Any], client: Client) -> None:
    """Write the manifests of a version that are not there yet, and its list.

    Args:
        table: the version.
        metadata: its metadata, as `metadata.table_metadata` makes them.
        client: that will read them.

    Raises:
        UnsupportedError: a file would be read wrong, or PyIceberg is not installed.
    """
    if metadata["current-snapshot-id"] == -1:
        return
    if client is Client.PYICEBERG:
        _require_readable(table, client)
    if has_manifests(table):
        return
    writer = _Writer(table, metadata, _newest_list(table))
    filesystem, folder = open_location(manifest_folder(table))
    filesystem.create_dir(folder, recursive=True)
    manifests = [writer.manifest(group) for group in _groups(table)]
    writer.list([each for each in manifests if each is not None], manifest_list(table, table.version))


def _require_readable(table: TableSnapshot, client: Client) -> None:
    """Make sure that a client reads all files right that other clients read right."""
    require_whole_values(table, client, None)
    for partition in table.partitions():
        for file in partition.each_file():
            if (reason := manifest_refusal(table, client, file)) is not None:
                raise UnsupportedError(f"Table {table.label}: file {file.path}: {reason}.")


def has_manifests(table: TableSnapshot) -> bool:
    """Return whether a version has a list of manifests."""
    filesystem, path = open_location(manifest_list(table, table.version))
    return bool(filesystem.get_file_info(path).type == pafs.FileType.File)


def _newest_list(table: TableSnapshot) -> str | None:
    """Return the location of the list of the newest version that has one, or None."""
    filesystem, path = open_location(manifest_folder(table))
    prefix, suffix = f"snap-{table.id.hex()}-", ".avro"
    entries = filesystem.get_file_info(pafs.FileSelector(path, allow_not_found=True))
    numbers = [
        int(number)
        for entry in entries
        if entry.base_name.startswith(prefix)
        and (number := entry.base_name.removeprefix(prefix).removesuffix(suffix)).isdigit()
    ]
    return manifest_list(table, max(numbers)) if numbers else None


def _groups(table: TableSnapshot) -> Iterator[list[PartitionSnapshot]]:
    """Yield groups of partitions in key order, whose bounds other partitions do not move."""
    group: list[PartitionSnapshot] = []
    files = 0
    for partition in table.partitions():
        group.append(partition)
        files += partition.file_count
        is_last = hashlib.blake2b(partition.key, digest_size=1).digest()[0] % _PARTITIONS_PER_GROUP == 0
        if is_last or files >= _MAX_FILES_PER_GROUP:
            yield group
            group, files = [], 0
    if group:
        yield group


def _file(location: str) -> Any:
    """Return a file for PyIceberg's readers and writers, reached as all files of the warehouse are."""
    from pyiceberg.io.pyarrow import PyArrowFile

    filesystem, path = open_location(location)
    return PyArrowFile(location=location, path=path, fs=filesystem)


def _with_ascii_names(spec: Any) -> Any:
    """Return a partition spec with letters that Avro allows in names.

    PyIceberg's writer replaces other characters, but no letters, on which DuckDB ends the process. Readers go
    by the ids of fields.
    """
    from pyiceberg.partitioning import PartitionSpec

    fields = [
        each.model_copy(update={"name": _NOT_ASCII.sub(lambda found: f"_x{ord(found[0]):X}", each.name)})
        for each in spec.fields
    ]
    return PartitionSpec(*fields, spec_id=spec.spec_id)


class _Writer:
    """Writes the manifests of one version by PyIceberg's writers.

    Args:
        table: the version.
        metadata: Iceberg's, of this version.
        earlier: the location of another version's list, whose manifests are used again, or None.
    """

    def __init__(self, table: TableSnapshot, metadata: dict[str, Any], earlier: str | None) -> None:
        try:
            from pyiceberg.manifest import read_manifest_list
            from pyiceberg.table.metadata import TableMetadataUtil
        except ImportError:
            raise UnsupportedError(
                f"Table {table.label} has no manifests yet, and PyIceberg is needed to write them: pip install 'parquetry[iceberg]'."
            ) from None
        known = TableMetadataUtil.parse_obj(metadata)
        self._table = table
        self._schema = known.schema()
        self._spec = _with_ascii_names(known.spec())
        self._written: dict[str, Any] = {}
        if earlier is not None:
            entries = read_manifest_list(_file(earlier))
            self._written = {entry.manifest_path: entry for entry in entries}

    def manifest(self, group: Sequence[PartitionSnapshot]) -> Any:
        """Return the entry of a group's manifest in a list, or None if the group has no files.

        The manifest is written if no list has it yet.
        """
        from pyiceberg.manifest import ManifestEntryStatus, write_manifest

        name = hashlib.blake2b(digest_size=16)
        for partition in group:
            name.update(len(partition.key).to_bytes(4, "big") + partition.key)
            name.update(partition.ticket.to_bytes(8, "big") + partition.record_bytes.to_bytes(8, "big"))
        file_name = f"manifest-{self._table.id.hex()}-{name.hexdigest()}.avro"
        location = file_uri(join_location(manifest_folder(self._table), file_name))
        if location in self._written:
            return self._written[location]
        entries = [
            self._entry(partition, file, ManifestEntryStatus.ADDED)
            for partition in group
            for file in partition.each_file()
        ]
        if not entries:
            return None
        with write_manifest(
            2, self._spec, self._schema, _file(location), _SEQUENCE_NUMBER, "deflate"
        ) as writer:
            for each in entries:
                writer.add_entry(each)
        entry = writer.to_manifest_file()
        entry.sequence_number = entry.min_sequence_number = _SEQUENCE_NUMBER
        return entry

    def _entry(self, partition: PartitionSnapshot, file: Any, status: Any) -> Any:
        from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry
        from pyiceberg.typedef import Record

        location = join_location(partition.location, file.path)
        if (reason := file_refusal(self._table.metadata, file, by_ids=True)) is not None:
            raise UnsupportedError(
                f"Table {self._table.label} cannot be read by Iceberg's readers: file {location}: {reason}."
            )
        data_file = DataFile.from_args(
            _table_format_version=2,
            content=DataFileContent.DATA,
            file_path=file_uri(location),
            file_format=FileFormat(self._table.metadata.format.upper()),
            partition=Record(*partition.values),
            record_count=file.rows,
            file_size_in_bytes=file.bytes,
            column_sizes={},
            value_counts={},
            null_value_counts={},
            nan_value_counts={},
            lower_bounds={},
            upper_bounds={},
            split_offsets=None,
            equality_ids=None,
            sort_order_id=None,
        )
        return ManifestEntry.from_args(
            status=status,
            snapshot_id=_SEQUENCE_NUMBER,
            sequence_number=_SEQUENCE_NUMBER,
            file_sequence_number=_SEQUENCE_NUMBER,
            data_file=data_file,
        )

    def list(self, manifests: Sequence[Any], location: str) -> None:
        """Write the list of a version's manifests."""
        from pyiceberg.manifest import write_manifest_list

        with write_manifest_list(
            2, _file(location), self._table.version, None, max(self._table.version, 1), "deflate"
        ) as writer:
            writer.add_manifests(list(manifests))
