"""For tests of plans and keys: read what a plan names from a list of keys, and look at keys' bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from parquetry.key_schema import KeySchema
from parquetry.keys import split_fields
from parquetry.scan import ScanPlan, compile_residual
from parquetry.types import Value


def read_plan(
    plan: ScanPlan, schema: KeySchema, scan: Callable[[bytes, bytes | None], Iterable[bytes]]
) -> Iterator[bytes]:
    """Return the keys that a plan finds, in order; `scan` returns the keys of a range."""
    for part in plan.scans:
        yield from filter(compile_residual(part.residual, schema), scan(part.start, part.stop))


def leading(schema: KeySchema, values: Sequence[Value]) -> bytes:
    """Return the bytes that the keys of some leading values begin with."""
    return b"".join(field.encode(value) for field, value in zip(schema.fields, values, strict=False))


def fields_reader(count: int, prefix: int = 0, suffix: int = 0) -> Callable[[bytes], Sequence[bytes]]:
    """Make the function that gives a store the fields of a row, as `put_many` wants it."""
    return lambda key: split_fields(key[prefix : len(key) - suffix], count)
