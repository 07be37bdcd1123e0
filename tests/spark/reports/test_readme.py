"""The quick start of the README does what the README says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.goldens import UPDATE
from tests.support.planning import report_picture
from tests.support.spark import series

README = Path(__file__).parents[3] / "README.md"


def test_quick_start_runs(tmp_path: Path) -> None:
    """The quick start, run as it stands in an empty folder, prints the rows, the report and the last partitions; and so it does again.
    The README's picture shows what it prints, and so does the text for those who do not see it; a file is left out."""
    code = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(code) == 1
    lines = [line for line in code[0].splitlines() if line.strip()]
    assert len(lines) <= 24, "a quick start is quick"
    (tmp_path / "quick_start.py").write_text(code[0] * 2)
    done = subprocess.run(
        [sys.executable, "quick_start.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("lake.shop.sales: partitions 2 of 90 (") == 2
    assert re.findall(r"\|(2026-03-0\d)\|", done.stdout) == ["2026-03-01"] * 2
    assert "{'day': datetime.date(2026, 3, 31)} 1000" in done.stdout
    printed = done.stdout[: len(done.stdout) // 2].partition("{'day'")[0]
    assert done.stdout.count(printed) == 2
    if os.environ.get(UPDATE) == "1":
        report_picture.PICTURE.write_text(report_picture.draw(printed), encoding="utf-8")
    if series.is_before("4.1"):
        return  # its files have other sizes than those of the picture
    picture = report_picture.text(report_picture.PICTURE.read_text(encoding="utf-8"))
    assert picture == report_picture.text(report_picture.draw(printed)), f"run again with {UPDATE}=1"
    (alternative,) = re.findall(r"!\[(.*)\]\(docs/images/report\.svg\)", README.read_text())
    (report,) = re.findall(r"^lake\.shop\.sales: .*", printed, re.MULTILINE)
    told = [part.partition(" (")[0] for part in alternative.split(" · ")]
    assert told == [part.partition(" (")[0] for part in report.partition(": ")[2].split(" · ")]
    assert "files 1 of 2" in told
