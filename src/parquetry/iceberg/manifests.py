"""Manifests for engines that plan by themselves, made of the metastore's rows when such an engine asks.

A manifest lists the files of a group of partitions. Groups follow from the partitions' keys, and a manifest's
name from the rows of its group and the table's definition. So a manifest is written once, and serves all
versions until one of its partitions changes. All files are in the folder `_iceberg` of the table, which other
readers of the folder ignore. Each version gets a list of manifests; `manifest_names` has the names.

Manifests have partition values and sizes, and no statistics of columns. Each file is whole from the first
moment on, as several servers may write the same one at once.

PyIceberg's readers and writers of Avro reach files as all files of the warehouse are reached.

A file that is written is put together in memory, and stored whole. Another process never reads a part of it,
and a process that dies leaves none.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow.fs as pafs

from parquetry.errors import UnsupportedError
from parquetry.exchange import ICEBERG, FileCheck
from parquetry.iceberg.clients import Client, manifest_refusal, require_whole_values
from parquetry.iceberg.manifest_names import ManifestNames, definition_of, file_uri, group_name
from parquetry.locations import join_location, open_location, replace_small_file
from parquetry.metastore import PartitionSnapshot, TableSnapshot, TableVersions

_PARTITIONS_PER_GROUP = 64
"""Partitions in a group on average. A change of one partition makes a manifest of so many anew."""
_MAX_FILES_PER_GROUP = 20_000
"""Files in a group, about, at most: a manifest of three megabytes."""
_SEQUENCE_NUMBER = 1
"""The sequence number of all files: there are no deletes that it would order."""
_MAX_PARTITIONS_OF_EARLIER_VERSIONS = 20_000
"""Partitions of earlier versions that are listed when an engine loads a table: about a second."""
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def write_manifests(
    table: TableSnapshot, names: ManifestNames, metadata: dict[str, Any], client: Client
) -> None:
    """Write the manifests of a version that are not there yet, and its list.

    Args:
        table: the version.
        names: of the manifests.
        metadata: the table's metadata, as `metadata.table_metadata` makes them.
        client: that will read them.

    Raises:
        UnsupportedError: a file would be read wrong, or PyIceberg is not installed.
    """
    if metadata["current-snapshot-id"] == -1:
        return
    if client is Client.PYICEBERG:
        _require_readable(table, client)
    if not has_manifests(table, names):
        _require_pyiceberg(table)
        earlier = _earlier_list(table, names)
        _Writer(table, names, metadata, {} if earlier is None else _entries(earlier, names)).write()


def list_earlier_versions(
    table: TableSnapshot, names: ManifestNames, metadata: dict[str, Any]
) -> dict[str, Any]:
    """Write the lists of earlier versions, too, and return the metadata with the versions that have a list.

    The snapshots leave out versions that would take too long, and versions whose files would be read wrong.
    An engine says of such a version that it does not exist.

    Args:
        table: the newest version, whose list was written.
        names: of the manifests.
        metadata: the table's metadata.
    """
    known = TableVersions.read(table.store, table.id)
    if known is None or metadata["current-snapshot-id"] == -1:
        return metadata
    written = _entries(names.list(table.version, table.commit.id), names)
    there = {location.rpartition("/")[2] for location in _names_in_folder(names)}
    kept, partitions = {metadata["current-snapshot-id"]}, 0
    for snapshot in reversed(metadata["snapshots"]):
        number, location = snapshot["snapshot-id"], snapshot["manifest-list"]
        if location.rpartition("/")[2] not in there:
            version = known.version(number)
            if version is None or partitions > _MAX_PARTITIONS_OF_EARLIER_VERSIONS:
                continue
            version.database, version.name = table.database, table.name
            partitions += version.totals.partitions
            try:
                _Writer(version, names, metadata, written).write()
            except UnsupportedError:
                continue
        kept.add(number)
    parts = {
        part: [each for each in metadata[part] if each["snapshot-id"] in kept]
        for part in ("snapshots", "snapshot-log")
    }
    return {**metadata, **parts}


def _require_pyiceberg(table: TableSnapshot) -> None:
    try:
        import pyiceberg.manifest
    except ImportError:
        raise UnsupportedError(
            f"Table {table.label} has no manifests yet, and PyIceberg is needed to write them: pip install 'parquetry[iceberg]'."
        ) from None
    _ = pyiceberg.manifest


def _require_readable(table: TableSnapshot, client: Client) -> None:
    """Make sure that a client reads all files right that other clients read right."""
    require_whole_values(table, client, None)
    for partition in table.partitions():
        for file in partition.each_file():
            if (reason := manifest_refusal(table, client, file)) is not None:
                raise UnsupportedError(f"Table {table.label}: file {file.path}: {reason}.")


def has_manifests(table: TableSnapshot, names: ManifestNames) -> bool:
    """Return whether a version has a list of manifests."""
    filesystem, path = open_location(names.list(table.version, table.commit.id))
    return bool(filesystem.get_file_info(path).type == pafs.FileType.File)


def _earlier_list(table: TableSnapshot, names: ManifestNames) -> str | None:
    """Return the location of the list of another version, whose manifests may be used again, or None.

    It is the newest version with a list that is still readable, and of this history of the table. Only then
    the tickets of partitions mean the same.
    """
    known = TableVersions.read(table.store, table.id)
    if known is None:
        return None
    for number, identity in names.versions(_names_in_folder(names)):
        version = known.version(number)
        if version is not None and names.identity(version.commit.id) == identity:
            return names.list(number, version.commit.id)
    return None


def _names_in_folder(names: ManifestNames) -> list[str]:
    """Return the names of the files in the folder of a table's manifests."""
    filesystem, path = open_location(names.folder)
    entries = filesystem.get_file_info(pafs.FileSelector(path, allow_not_found=True))
    return [entry.base_name for entry in entries]


def _entries(location: str, names: ManifestNames) -> dict[str, Any]:
    """Return the entries of a list of manifests by the names of their groups."""
    from pyiceberg.manifest import read_manifest_list

    entries = read_manifest_list(input_file(location))
    return {names.group_of(entry.manifest_path): entry for entry in entries}


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
        names: of the manifests.
        metadata: Iceberg's, of the table.
        written: the entries of manifests that are used again, by the names of their groups. New ones are
            added.
    """

    def __init__(
        self, table: TableSnapshot, names: ManifestNames, metadata: dict[str, Any], written: dict[str, Any]
    ) -> None:
        from pyiceberg.table.metadata import TableMetadataUtil

        known = TableMetadataUtil.parse_obj(metadata)
        self._table = table
        self._names = names
        self._schema = known.schema()
        self._spec = _with_ascii_names(known.spec())
        self._definition = definition_of(table.metadata)
        self._check = FileCheck(table.metadata, ICEBERG)
        self._written = written

    def write(self) -> None:
        """Write the manifests and the list.

        Raises:
            UnsupportedError: a file would be read wrong.
        """
        manifests = [self._manifest(group) for group in _groups(self._table)]
        self._list([each for each in manifests if each is not None])

    def _manifest(self, group: Sequence[PartitionSnapshot]) -> Any:
        """Return the entry of a group's manifest in a list, or None if the group has no files.

        The manifest is written if the earlier list does not have it.
        """
        from pyiceberg.manifest import ManifestEntryStatus, write_manifest

        name = group_name(self._definition, group)
        if name in self._written:
            return self._written[name]
        entries = [
            self._entry(partition, file, ManifestEntryStatus.ADDED)
            for partition in group
            for file in partition.each_file()
        ]
        if not entries:
            return None
        file = MemoryFile(self._names.manifest(name, self._table.commit.id))
        with write_manifest(2, self._spec, self._schema, file, _SEQUENCE_NUMBER, "deflate") as writer:
            for each in entries:
                writer.add_entry(each)
        entry = writer.to_manifest_file()
        entry.sequence_number = entry.min_sequence_number = _SEQUENCE_NUMBER
        file.store()
        self._written[name] = entry
        return entry

    def _entry(self, partition: PartitionSnapshot, file: Any, status: Any) -> Any:
        from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry
        from pyiceberg.typedef import Record

        location = join_location(partition.location, file.path)
        self._check.require_readable(self._table.label, location, file)
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

    def _list(self, manifests: Sequence[Any]) -> None:
        from pyiceberg.manifest import write_manifest_list

        version = self._table.version
        file = MemoryFile(self._names.list(version, self._table.commit.id))
        with write_manifest_list(2, file, version, None, max(version, 1), "deflate") as writer:
            writer.add_manifests(list(manifests))
        file.store()


def input_file(location: str) -> Any:
    """Return a file for PyIceberg's readers."""
    from pyiceberg.io.pyarrow import PyArrowFile

    filesystem, path = open_location(location)
    return PyArrowFile(location=location, path=path, fs=filesystem)


class MemoryFile:
    """A file in memory, in the form of PyIceberg's `OutputFile`.

    Args:
        location: where it will be stored.
    """

    def __init__(self, location: str) -> None:
        self.location = location
        self._buffer = _Buffer()

    def create(self, overwrite: bool = False) -> io.BytesIO:  # noqa: ARG002
        """Return the stream to write to."""
        return self._buffer

    def __len__(self) -> int:
        """Return the number of bytes that were written."""
        return len(self._buffer.getbuffer())

    def store(self) -> None:
        """Write the file to its location, whole from the first moment on.

        Raises:
            OSError: it cannot be written.
        """
        replace_small_file(self.location, self._buffer.getvalue())


class _Buffer(io.BytesIO):
    """A buffer that PyIceberg's writers close, and that is read afterwards."""

    def close(self) -> None:
        """Keep the bytes."""
