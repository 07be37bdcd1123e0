"""`claim`: this metastore becomes the owner of the warehouse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from parquetry import metastore as ms, texts
from parquetry.operations.operation import Context, Option, Presentation, operation


def _sentences(_context: Context, records: list[ms.Claimed], _arguments: Mapping[str, Any]) -> str:
    (done,) = records
    lines = [f"The warehouse {done.warehouse} belongs to the metastore in {done.store}."]
    if done.before is not None:
        state = "was retired" if done.retired else "was not reached, and is refused writes by the mark"
        lines.append(f"The metastore in {done.before} {state}.")
    if done.original is not None:
        lines.append(f"It is a copy of {done.original}.")
    if done.original is not None and done.shared:
        verb = "is" if done.shared == 1 else "are"
        lines.append(f"{texts.quantity(done.shared, 'table')} with files outside of it {verb} only read.")
    return "\n".join(lines)


@operation(
    "Makes this metastore the owner of the warehouse; another one may only be read from then on.",
    renamed={
        "metastore": "",
        "before": "store_before",
        "original": "copy_of",
        "shared": "tables_of_original",
    },
    command=Presentation("Set up and move a warehouse", "claim -w /data/lake-copy", sentence=_sentences),
)
def claim(
    context: Context,
    copy: Annotated[bool, "Whether the warehouse is a copy of one that is not seen from here."] = False,
    outside: Annotated[
        bool,
        "Whether tables outside of a copied warehouse are this one's: they were copied, or it is no more.",
        Option(
            "Tables outside of a copied warehouse are this one's: they were copied, or the original is no more."
        ),
    ] = False,
) -> list[ms.Claimed]:
    """Make this metastore the owner of the warehouse.

    A file in the warehouse's folder names the metastore that the warehouse belongs to; all others may only
    read. Use this command if that metastore is no more, or to give a copy of a warehouse an identity of its
    own. In a copy, tables outside of the warehouse belong to the original still: they are read, and not
    written.
    """
    return [context.metastore.claim(copy=copy, outside=outside)]
