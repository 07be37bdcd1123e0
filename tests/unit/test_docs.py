"""The pages that are generated from the code say what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from parquetry.config.reference import reference

ROOT = Path(__file__).parents[2]


def test_configuration_reference_is_current() -> None:
    """docs/configuration.md is what the registry of settings writes."""
    assert (ROOT / "docs" / "configuration.md").read_text() == reference(), "run `make docs`"


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/concepts.md",
        "docs/sql.md",
        "docs/hbase.md",
        "docs/postgresql.md",
        "docs/list-bucketing.md",
        "docs/buckets.md",
        "docs/runtime-pruning.md",
        "docs/streaming.md",
    ],
)
def test_links_lead_somewhere(page: str) -> None:
    """A link to a file of the project leads to one."""
    path = ROOT / page
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text())
    assert [target for target in targets if not (path.parent / target).exists()] == []
