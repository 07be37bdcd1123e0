"""Blocks of pages are read as their marks say, and every block of the docs is run, quoted or marked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages.blocks import Block, blocks_of, is_printed

ROOT = Path(__file__).parents[3]
GENERATED = ("cli.md", "configuration.md", "errors.md")
"""Pages that the code writes; their examples have tests of their own."""
PAGES = [
    ROOT / "README.md",
    *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in GENERATED),
]
TEXT = """# Title

```sql
SELECT 1; -- one
SELECT ';'
```

<!-- output -->
```text
1
```

- an item:

  <!-- excerpt -->
  ```python
  x = …
  ```

```sh
make demo
```

```sh
parquetry tables
```
"""


def test_blocks_have_their_marks_lines_and_statements() -> None:
    """A mark counts directly before the fence; indentation of a list goes; a semicolon ends a statement at a
    line's end.
    """
    blocks = blocks_of(TEXT)
    assert blocks == [
        Block("sql", "SELECT 1; -- one\nSELECT ';'", 4, ""),
        Block("text", "1", 10, "output"),
        Block("python", "x = …", 17, "excerpt"),
        Block("sh", "make demo", 21, ""),
        Block("sh", "parquetry tables", 25, ""),
    ]
    assert [block.is_run for block in blocks] == [True, False, False, False, True]
    assert blocks[0].statements == ["SELECT 1", "SELECT ';'"]


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("a\nb", "a  \nb\n\n", True),
        ("a\nb", "a\nb\nc", False),
        ("a\n…\nd", "a\nb\nc\nd", True),
        ("a\n…\nd", "a\nd", True),
        ("a\n…", "a\nb", True),
        ("a.c", "abc", False),
    ],
)
def test_output_is_compared_line_by_line(expected: str, printed: str, same: bool) -> None:
    """A line `…` stands for any lines; blanks at the ends of lines do not count."""
    assert is_printed(expected, printed) is same


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_every_block_is_run_quoted_or_marked(page: Path) -> None:
    """A block that no test runs says so, and an output follows a block that is run."""
    blocks = blocks_of(page.read_text())
    assert [f"{page.name}:{block.line}" for block in blocks if not block.is_accounted_for] == []
    outputs = [pair for pair in zip([None, *blocks], blocks, strict=False) if pair[1].mark == "output"]
    assert [block.line for one, block in outputs if one is None or not one.is_run] == []
