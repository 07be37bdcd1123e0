"""The facet of OpenLineage that a report gives."""

from __future__ import annotations

import json

from parquetry._version import __version__
from parquetry.prune.report.report import Report
from parquetry.prune.report.scan import ScanReport, Step


def test_a_run_facet_has_files_of_how_many() -> None:
    """Each scan has its steps, beside the two fields that all facets need."""
    scan = ScanReport("lake.db.t", (Step("partitions", 2, 10), Step("files", 3, 40), Step("bytes", 1, 9)))
    facets = Report((scan, ScanReport("lake.db.u", ()))).to_openlineage()
    facet = facets.pop("parquetry_scans")
    assert facets == {}
    assert __version__ in facet.pop("_producer")
    assert facet.pop("_schemaURL").endswith("#/$defs/RunFacet")
    expected = {
        "partitions": {"read": 2, "of": 10},
        "files": {"read": 3, "of": 40},
        "bytes": {"read": 1, "of": 9},
    }
    assert json.loads(json.dumps(facet)) == {
        "scans": [{"table": "lake.db.t", **expected}, {"table": "lake.db.u"}]
    }
