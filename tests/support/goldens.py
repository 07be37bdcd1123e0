"""Golden files: the code's answers in words that a person reads, rewritten when the answers shall change."""

from __future__ import annotations

import os
from pathlib import Path

GOLDENS = Path(__file__).parents[1] / "golden"
UPDATE = "PARQUETRY_UPDATE_GOLDENS"


def check_golden(path: Path, text: str) -> None:
    """Assert that a file's text is this; with PARQUETRY_UPDATE_GOLDENS=1 in the environment, write it."""
    if os.environ.get(UPDATE) == "1":
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, (
        f"if this is meant, run again with {UPDATE}=1, and read the diff"
    )
