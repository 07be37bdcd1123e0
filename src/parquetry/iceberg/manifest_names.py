"""Names of manifests and of lists of manifests, which no other history and no other place can have.

A version number says which version of *this* metastore is meant. A restored dump, or a copy of the warehouse,
goes on with the same numbers and other rows. So a name has an identity of the version beside the number: a
hash of the commit's random id, of where table and warehouse are, and of the store's epoch. A file
whose identity is another one is of another history or place. It is never read, and never written over.

Locations are written here as Iceberg's readers get them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from parquetry.data_files import EXISTS_DEFAULT
from parquetry.locations import join_location
from parquetry.metastore import PartitionSnapshot, TableMetadata, TableSnapshot

_IDENTITY_BYTES = 10
"""Length of an identity: 80 bits, so that no two of a warehouse are equal."""


@dataclass(frozen=True, slots=True)
class ManifestNames:
    """The names of the manifests of a table's versions.

    Attributes:
        table: id of the table, hexadecimal.
        folder: location of the folder with its manifests.
        place: bytes that differ where the same versions have files in other places.
    """

    table: str
    folder: str
    place: bytes

    @classmethod
    def from_table(cls, table: TableSnapshot, warehouse: str, epoch: bytes) -> ManifestNames:
        """Return the names for a table, where its newest version is.

        Args:
            table: the newest version.
            warehouse: location of the warehouse.
            epoch: of the store; see `metastore.locations_epoch`.
        """
        location = table.metadata.location
        place = [table.id.hex(), location, warehouse, epoch]
        return cls(table.id.hex(), manifest_folder(location), msgspec.msgpack.encode(place))

    def identity(self, commit: str) -> str:
        """Return the identity of a version, hexadecimal.

        Args:
            commit: the random id of its commit.
        """
        return hashlib.blake2b(self.place + commit.encode(), digest_size=_IDENTITY_BYTES).hexdigest()

    def list(self, version: int, commit: str) -> str:
        """Return the location of a version's list of manifests, whether it was made or not.

        It is always named: an engine that plans by itself has to fail on a list that is not there. Iceberg's
        Java reads a snapshot without a list as a table without rows.

        Args:
            version: its number.
            commit: the random id of its commit.
        """
        name = f"{self._prefix}{version}-{self.identity(commit)}.avro"
        return file_uri(join_location(self.folder, name))

    def versions(self, names: Sequence[str]) -> Iterator[tuple[int, str]]:
        """Yield the versions that lists in the folder are of, and their identities, the newest first.

        Args:
            names: the names of the files in the folder.
        """
        found = []
        for name in names:
            if name.startswith(self._prefix) and name.endswith(".avro"):
                number, _, identity = name[len(self._prefix) : -len(".avro")].partition("-")
                if number.isdigit() and identity:
                    found.append((int(number), identity))
        yield from sorted(found, reverse=True)

    @property
    def _prefix(self) -> str:
        return f"snap-{self.table}-"

    def manifest(self, group: str, commit: str) -> str:
        """Return the location of the manifest of a group of partitions.

        Args:
            group: what `group_name` returns.
            commit: the random id of the commit of the version that it is written for.
        """
        name = f"manifest-{self.table}-{group}-{self.identity(commit)}.avro"
        return file_uri(join_location(self.folder, name))

    def group_of(self, manifest: str) -> str:
        """Return the name of the group that a manifest is of, given the manifest's location."""
        return manifest.rpartition("/")[2].removeprefix(f"manifest-{self.table}-").partition("-")[0]


def group_name(definition: bytes, group: Sequence[PartitionSnapshot]) -> str:
    """Return the name of a group of partitions, which differs if a manifest of them would differ.

    Within one history of a table, the ticket of a partition's row stands for its files.

    Args:
        definition: what `definition_of` returns.
        group: the partitions.
    """
    name = hashlib.blake2b(definition, digest_size=16)
    for partition in group:
        name.update(len(partition.key).to_bytes(4, "big") + partition.key)
        name.update(partition.ticket.to_bytes(8, "big") + partition.record_bytes.to_bytes(8, "big"))
    return name.hexdigest()


def definition_of(metadata: TableMetadata) -> bytes:
    """Return what manifests, and refusals of files, depend on in a table's definition."""
    columns = [
        [column.name, column.physical, column.type, column.metadata.get(EXISTS_DEFAULT)]
        for column in metadata.columns
    ]
    return msgspec.msgpack.encode([metadata.format, metadata.replacement, metadata.partition_by, columns])


MANIFEST_FOLDER = "_iceberg"
"""The folder below a table with manifests that were made for engines that plan by themselves."""


def manifest_folder(location: str) -> str:
    """Return the location of the folder with a table's manifests.

    Args:
        location: of the table.
    """
    return join_location(location, MANIFEST_FOLDER)


def file_uri(location: str) -> str:
    """Return a location as all engines read it: with a scheme, and with three slashes on a local disk.

    >>> file_uri("file:/lake/t"), file_uri("/lake/t"), file_uri("s3a://bucket/t")
    ('file:///lake/t', 'file:///lake/t', 's3a://bucket/t')
    """
    if location.startswith("/"):
        return f"file://{location}"
    if location.startswith("file:/") and not location.startswith("file://"):
        return f"file://{location.removeprefix('file:')}"
    return location
