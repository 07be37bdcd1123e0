"""Parts brought in turn: as a stable sort by partition has them, whether slices are copied or places are."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from parquetry.data_files.many_files.projected_files import Interleaving


@pytest.mark.parametrize("most", [1, 3, 40, 400])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_turns_are_a_stable_sort(most: int, count: int) -> None:
    """The interleaving equals a stable sort of the parts.

    The parts have long or short turns; they overlap, follow each other, or are empty.
    """
    chance = Random(most * count)
    for _ in range(30):
        parts = [
            np.repeat(
                np.arange(low := chance.randrange(5), low + 6), [chance.randrange(most + 1) for _ in range(6)]
            )
            for _ in range(count)
        ]
        numbers = [part.astype(np.int32) for part in parts]
        turns = Interleaving(numbers)
        things = [np.arange(len(part)) + 10_000 * place for place, part in enumerate(parts)]
        order = np.argsort(np.concatenate(numbers), kind="stable")
        expected = np.concatenate(things)[order].tolist()
        assert turns.array(things).tolist() == expected
        assert turns.list([each.tolist() for each in things]) == expected
        assert turns.positions.tolist() == order.tolist()
        assert turns.in_order == (order.tolist() == sorted(order.tolist()))
