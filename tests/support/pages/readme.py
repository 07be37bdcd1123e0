"""The README's quick start, typed into a session that runs already, with a catalog of another name."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from tests.support.pages.blocks import blocks_of
from tests.support.processes import ROOT

BLOCKS = blocks_of((ROOT / "README.md").read_text())
(QUICK_START,) = (block.text for block in BLOCKS if block.language == "python")
MAKES_THE_TABLE = QUICK_START.partition("query = ")[0]


def typed(program: str, catalog: str, warehouse: Path | str, store: str | None = None) -> str:
    """Run a program that begins with the quick start, and return what it printed, of a catalog `lake`.

    Args:
        program: its session is the running one.
        catalog: the name that its catalog `lake` has here.
        warehouse: of the catalog.
        store: of the catalog, if it is not in the warehouse.
    """
    where = f'catalog="{catalog}", warehouse="{warehouse}"' + (f', store="{store}"' if store else "")
    named = program.replace('catalog="lake", warehouse="lake"', where)
    assert named != program
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(named.replace("lake.shop", f"{catalog}.shop"), {"__name__": "__main__"})
    return output.getvalue().replace(f"{catalog}.shop", "lake.shop")
