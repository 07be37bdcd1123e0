"""What `compact_metadata` says that it did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Compacted:
    """What was written anew.

    Attributes:
        partitions: whose lists were; those of others are short, or as they should be.
        chunks_before: parts of the lists of these partitions.
        chunks_after: parts that they have now.
    """

    partitions: int
    chunks_before: int
    chunks_after: int
