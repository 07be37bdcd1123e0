"""The report of a query as a facet of OpenLineage: files x of y, beside what OpenLineage knows of the job.

A run facet is a part of an event about a run. Each facet has `_producer` and `_schemaURL`; what else it has
is its producer's own. So any client of OpenLineage sends it, and servers such as Marquez show it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from parquetry._version import __version__
from parquetry.prune.report.scan import ScanReport

FACET = "parquetry_scans"
"""The name of the facet among the facets of a run. Names of one's own begin with the producer's."""
_PRODUCER = f"https://pypi.org/project/parquetry/{__version__}"
_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunFacet"
"""The facet's schema: the one that all run facets have, which takes further fields."""


def run_facet(scans: Iterable[ScanReport]) -> dict[str, Any]:
    """Return the run facet of scans: for each table, what each step of pruning kept of how many.

    Args:
        scans: of a report.
    """
    return {
        FACET: {
            "_producer": _PRODUCER,
            "_schemaURL": _SCHEMA,
            "scans": [
                {
                    "table": scan.table,
                    **{step.name: {"read": step.kept, "of": step.of} for step in scan.steps},
                }
                for scan in scans
            ],
        }
    }
