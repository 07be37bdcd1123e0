"""The blocks of code of a page, and what is to be done with each.

```sql, ```python         run, in the order of the page, in one session
```sh                     run if it has a line that begins with `parquetry`
<!-- excerpt -->          directly before a block: it is not run
<!-- output -->           directly before a block: what the block before it printed; a line `…` stands for any lines
<!-- bytes -->            directly before a block: a row of a metastore, which another test looks up
"""

from __future__ import annotations

import re
from dataclasses import dataclass

RUN = ("sql", "python")
UNTOUCHED = ("toml", "ini")
"""Languages of files that users write."""
_MARK = re.compile(r"<!-- (excerpt|output|bytes) -->")
_FENCE = re.compile(r"( *)```(\w*)")
_END_OF_STATEMENT = re.compile(r";[ \t]*(?:--[^\n]*)?(?:\n|$)")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code.

    Attributes:
        language: behind the fence; empty if there is none.
        text: without the fences and their indentation.
        line: number of the first line of the text in its page.
        mark: `excerpt`, `output` or `bytes`, or empty.
    """

    language: str
    text: str
    line: int
    mark: str

    @property
    def is_run(self) -> bool:
        """Whether the block is run."""
        if self.mark:
            return False
        return self.language in RUN or (
            self.language == "sh" and any(line.startswith("parquetry ") for line in self.text.splitlines())
        )

    @property
    def is_accounted_for(self) -> bool:
        """Whether it is known what becomes of the block: it is run or marked, or nothing that could be run
        here.
        """
        return self.is_run or bool(self.mark) or self.language in UNTOUCHED or self.language == "sh"

    @property
    def statements(self) -> list[str]:
        """The statements of SQL, which end with a semicolon at the end of a line."""
        return [each.strip() for each in _END_OF_STATEMENT.split(self.text) if each.strip()]


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page, in order."""
    lines = page.splitlines()
    blocks: list[Block] = []
    number = 0
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        if fence is not None:
            mark = _MARK.fullmatch(lines[number - 1].strip()) if number else None
            end = next(i for i in range(number + 1, len(lines)) if lines[i].strip() == "```")
            text = [line.removeprefix(fence[1]) for line in lines[number + 1 : end]]
            blocks.append(Block(fence[2], "\n".join(text), number + 2, mark[1] if mark else ""))
            number = end
        number += 1
    return blocks


def is_printed(expected: str, printed: str) -> bool:
    """Return whether a page quotes what was printed; blanks at the ends of lines do not count."""
    wanted = [re.escape(line.rstrip()) for line in expected.strip("\n").splitlines()]
    pattern = "\n".join(wanted).replace("\n…\n", "\n(?:.*\n)*").removesuffix("\n…")
    said = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
    more = "(?:\n.*)*" if wanted and wanted[-1] == "…" else ""
    return re.fullmatch(pattern + more, said) is not None
