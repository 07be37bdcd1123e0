"""Draw docs/images/report.svg: the report that the README's quick start prints.

python scripts/report_picture.py
"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Run the quick start in an empty folder, and draw what it printed."""
    code = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    printed = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(printed),
    ):
        exec(compile(code, "README.md", "exec"), {})
    console = Console(record=True, width=116, file=io.StringIO())
    console.print(">>> query.show()\n>>> print(parquetry.report(query))", highlight=False)
    console.print(printed.getvalue().rstrip(), highlight=True, markup=False)
    console.save_svg(str(ROOT / "docs" / "images" / "report.svg"), title="parquetry.report")


if __name__ == "__main__":
    main()
