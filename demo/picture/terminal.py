"""The outcomes as lines of the terminal."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from demo.outcome import Outcome, report_text

_WIDTH = 24
_EIGHTHS = " ▏▎▍▌▋▊▉"


def show(console: Console, outcome: Outcome) -> None:
    """Print a scene: the question, both sides, and the reason."""
    console.print()
    console.print(_title(outcome))
    console.print(Padding(Group(Text(outcome.scene.asks), _sides(outcome), *_lines(outcome)), (0, 0, 0, 2)))


def show_alike(console: Console, outcome: Outcome) -> None:
    """Print one line for a query where both sides do the same."""
    line = _title(outcome)
    line.append(f"  plain Spark {outcome.beside.text}, Parquetry {outcome.ours.text}", "dim")
    console.print(line, soft_wrap=True)
    for fault in outcome.faults:
        console.print(Padding(Text(fault, "red"), (0, 0, 0, 2)))


def _title(outcome: Outcome) -> Text:
    mark = Text("✗ ", "red") if outcome.faults else Text("✓ ", "green")
    return mark.append(outcome.scene.name, "bold default")


def _sides(outcome: Outcome) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_row(outcome.beside_name, bar(outcome.beside_share, "bright_black"), outcome.beside.text)
    ours = outcome.share if outcome.ours.counted else 0.0
    table.add_row("Parquetry", bar(min(1.0, ours), "cyan"), Text(outcome.ours.text, "bold"))
    return table


def _lines(outcome: Outcome) -> list[RenderableType]:
    report = report_text(outcome)
    said: list[RenderableType] = (
        [Text("What the report says after the run:", "dim"), Padding(Text(report), (0, 0, 0, 2))]
        if report
        else []
    )
    return [Text(outcome.scene.why, "dim"), *said, *(Text(fault, "red") for fault in outcome.faults)]


def bar(share: float, style: str = "") -> Text:
    """Return a share as a bar; something is never drawn as nothing.

    >>> bar(0.5).plain.rstrip(), bar(0.0001).plain.rstrip(), bar(0.0).plain.rstrip()
    ('████████████', '▏', '')
    """
    eighths = max(1, round(8 * _WIDTH * share)) if share else 0
    full, rest = divmod(eighths, 8)
    drawn = "█" * full + (_EIGHTHS[rest] if rest else "")
    return Text(drawn.ljust(_WIDTH), style)
