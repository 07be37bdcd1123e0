"""The code of each page runs, and prints what the page quotes as its output."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pages.blocks import blocks_of

ROOT = Path(__file__).parents[3]
PAGES = [
    page.relative_to(ROOT).as_posix()
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if any(block.is_run for block in blocks_of(page.read_text()))
]


@pytest.mark.newest("the pages quote what the newest prints")
@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs(page: str, tmp_path: Path) -> None:
    """All blocks but excerpts run in the order of the page, in one session and an empty folder."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.pages.run_page", str(ROOT / page)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
