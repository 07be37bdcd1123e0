"""Advice is held against files that are really written, and promises no more than comes."""

from __future__ import annotations

from pathlib import Path

import pytest

from parquetry.adviser import (
    Advice,
    AdviceRequest,
    Alternative,
    TableLayout,
    TableSource,
    advise_on,
    folder_source,
)
from parquetry.adviser.forecast import OPEN_BYTES
from tests.support.adviser.truth import WrittenTable, write_layout
from tests.support.adviser.worlds import Workload, random_workload

ROWS, SAMPLE_ROWS, FILES = 40_000, 8_000, 40
SEEDS = range(4)


def _table(world: Workload, folder: Path) -> tuple[WrittenTable, TableSource]:
    size = max(20_000, world.rows.nbytes // 2 // FILES)
    return write_layout(world.rows, TableLayout(size), folder), folder_source(str(folder))


def _advice(world: Workload, source: TableSource) -> Advice:
    return advise_on(source, AdviceRequest(world.records(source.name), [], sample_rows=SAMPLE_ROWS))


def _truth(world: Workload, written: WrittenTable) -> tuple[float, float]:
    """Return the mean bytes of a query, and its mean cost with the opening of files."""
    weights = sum(weight for _, _, weight in world.queries)
    reads = [(written.read(conditions, columns), weight) for conditions, columns, weight in world.queries]
    size = sum(read[0] * weight for read, weight in reads) / weights
    return size, size + OPEN_BYTES * sum(read[1] * weight for read, weight in reads) / weights


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_advised_is_what_was_planted_and_comes_true(seed: int, tmp_path: Path) -> None:
    """The advised layout is the planted one; its bytes are as forecast, and no promise is too good."""
    world = random_workload(seed, ROWS)
    now, source = _table(world, tmp_path / "now")
    advice = _advice(world, source)
    assert advice.bytes_now == pytest.approx(_truth(world, now)[0], rel=0.01)
    best = advice.best
    assert best is not None
    assert best.spec is not None
    assert world.planted(best.spec), best.layout
    told = [best, *advice.alternatives[:2]]
    ratios = [_ratio(world, each, tmp_path / "then") for each in told]
    assert all(0.67 < ratio < 1.5 for ratio in ratios), ratios
    gain = _truth(world, now)[1] / _truth(world, write_layout(world.rows, best.spec, tmp_path / "then"))[1]
    assert best.gain < 1.5 * gain


def _ratio(world: Workload, each: Alternative, folder: Path) -> float:
    assert each.spec is not None
    return each.bytes / _truth(world, write_layout(world.rows, each.spec, folder))[0]


def test_a_table_with_the_best_layout_stays(tmp_path: Path) -> None:
    """Where the table has the advised layout already, the adviser says that it is as good as it is."""
    world = random_workload(0, ROWS)
    _, source = _table(world, tmp_path / "now")
    first = _advice(world, source)
    assert first.best is not None
    assert first.best.spec is not None
    write_layout(world.rows, first.best.spec, tmp_path / "then")
    second = _advice(world, folder_source(str(tmp_path / "then")))
    assert second.best is None
    assert "Leave the layout as it is" in str(second)
