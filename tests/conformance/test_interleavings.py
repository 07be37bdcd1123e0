"""Two or three operations at once, in every order of their steps: the outcome equals some serial order's.

No table is lost, no operation that took place reports an error, no file of a table is deleted, and vacuums
find nothing that they should not.

To see what a finding is about, replay its schedule: `Explorer(…).replay((0, 0, 1, …))`.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

import pytest

from tests.support.effort import STEP, examples, portion
from tests.support.interleavings.explorer import Explorer, ForbiddenOutcome
from tests.support.interleavings.outcomes import make
from tests.support.interleavings.scenarios import (
    BRANCHES,
    COMMITS,
    DATABASES,
    NAMES,
    NAMES_TOGETHER,
    OWNERS,
    REPLACING,
    THREE,
    THREE_BRANCHES,
    THREE_REPLACING,
    THREE_TOGETHER,
    TOGETHER,
    VACUUMS,
    VIEWS,
    Scenario,
)
from tests.support.interleavings.world import Surroundings

STATES = 40_000 if STEP == 1 else 1500 // STEP
"""How many states of two actors are gone through; where there are more, orders are drawn besides."""
CRASHED_STATES = 2000 if STEP == 1 else 0
"""The same where actors crash, which takes many times as long."""


class Rare(NamedTuple):
    """An outcome that no serial order has, and that is permitted all the same.

    Attributes:
        scenario: a pattern.
        told: to the actors, a pattern.
        why: it is permitted.
    """

    scenario: str
    told: str
    why: str


_SAME = "both want the same, and who finishes what the other announced cannot tell it from its own"
_MARKS = "each took the other's mark off, ten times in turn"
_PARTS = "CASCADE drops table after table: another may look, or it may crash, when a table is gone and the database is not"
_VERSION = "a version that is being read is vacuumed away, and its rows are missed before it is"
_NAME = (
    "a transaction has looked for one name before the other took both, and looks for the second one after it"
)
RARE = [
    Rare("rename default.t to default.u, rename default.t to default.u", "done done", _SAME),
    Rare("rename default.t to default.u, rename default.t to default.u", "TABLE_EXISTS done", _SAME),
    Rare("rename default.t to default.u, rename default.t to default.u", "done TABLE_EXISTS", _SAME),
    Rare("(*rename default.s to default.u*), rename default.s to default.u", "done TABLE_EXISTS", _SAME),
    Rare("(*rename default.? to default.u*), rename default.? to default.u", "done done", _SAME),
    Rare(
        "(rename default.s to default.u, *), (*, rename default.t to default.u)",
        "TABLE_NOT_FOUND done",
        _NAME,
    ),
    Rare(
        "(rename default.s to default.u, *), (create default.u N, append g to default.s), *",
        "done TABLE_NOT_FOUND *",
        _NAME,
    ),
    Rare("drop database x, drop database x", "done done", "a removal without an answer looks the same"),
    Rare("drop database x, drop database x", "done NAMESPACE_NOT_EMPTY", _MARKS),
    Rare("drop database x, drop database x", "NAMESPACE_NOT_EMPTY done", _MARKS),
    Rare("drop database x cascade, rename *", "* TABLE_NOT_FOUND*", _PARTS),
    Rare("drop database x cascade, *", "crashed *", _PARTS),
    Rare("*, drop database x cascade", "* crashed", _PARTS),
    Rare(
        "restore, *",
        "crashed *",
        "a restore that was interrupted is run again; until then the new metastore is empty",
    ),
    Rare("*vacuum default.t*", "*TABLE_NOT_FOUND*", _VERSION),
]

TWO = [
    *NAMES,
    *VIEWS,
    *DATABASES,
    *COMMITS,
    *VACUUMS,
    *REPLACING,
    *OWNERS,
    *TOGETHER,
    *NAMES_TOGETHER,
    *BRANCHES,
]


def judge(scenario: Scenario, explorer: Explorer) -> None:
    """Make sure that nothing was found but what is permitted."""
    assert [str(each) for each in explorer.findings if not is_permitted(scenario, each)] == []


def is_permitted(scenario: Scenario, finding: ForbiddenOutcome) -> bool:
    """Return whether the table above says why a finding may come to pass; files and tables are never lost."""
    told = " ".join(finding.answers)
    return finding.what.startswith("no order") and any(
        fnmatchcase(str(scenario), rare.scenario) and fnmatchcase(told, rare.told) for rare in RARE
    )


@pytest.mark.parametrize("scenario", portion(TWO, 4, "orders"), ids=str)
def test_every_order_of_two(scenario: Scenario) -> None:
    """In every order of the steps of two operations, the outcome equals one after the other."""
    around = Surroundings()
    with around.in_force():
        explorer = Explorer(around, make(around, scenario.before), scenario.actors)
        if not explorer.all(STATES):
            explorer.sample(examples(300), seed=1)
    judge(scenario, explorer)


@pytest.mark.parametrize("scenario", portion(TWO, 4, "crashes"), ids=str)
def test_a_crash_at_every_step_of_two(scenario: Scenario) -> None:
    """If one of two operations crashes, the other does what it would have done alone, before or after it.

    Vacuums remove what is left.
    """
    around = Surroundings()
    with around.in_force():
        explorer = Explorer(around, make(around, scenario.before), scenario.actors, crashes=True)
        if not CRASHED_STATES or not explorer.all(CRASHED_STATES):
            explorer.sample(examples(450), seed=2)
    judge(scenario, explorer)


@pytest.mark.parametrize(
    "scenario", portion([*THREE, *THREE_REPLACING, *THREE_TOGETHER, *THREE_BRANCHES], 4, "three"), ids=str
)
def test_orders_of_three(scenario: Scenario) -> None:
    """The outcome of three operations in sampled orders equals some serial order's; one of them may crash."""
    around = Surroundings()
    with around.in_force():
        explorer = Explorer(around, make(around, scenario.before), scenario.actors, crashes=True)
        explorer.sample(examples(900), seed=3)
    judge(scenario, explorer)
