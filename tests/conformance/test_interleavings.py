"""Two or three operations at once, in every order of their steps: what comes of it is what some order of the operations comes to.

No table is lost, nobody is told an error of what took place, no file goes that a table lists, and vacuums find nothing that they should not.

To see what a finding is about, replay its schedule: `Explorer(…).replay((0, 0, 1, …))`.
"""

from __future__ import annotations

import pytest

from tests.support.effort import STEP, examples
from tests.support.interleavings.explorer import Explorer, Finding
from tests.support.interleavings.outcomes import make
from tests.support.interleavings.scenarios import (
    COMMITS,
    DATABASES,
    NAMES,
    REPLACING,
    THREE,
    THREE_REPLACING,
    VACUUMS,
    VIEWS,
    Scenario,
)
from tests.support.interleavings.world import Surroundings

STATES = None if STEP == 1 else 3000 // STEP
"""How many states of two actors are gone through, before some orders are drawn instead; all, if the whole test is run."""
CRASHED_STATES = 2000 if STEP == 1 else 0
"""The same where actors crash, which takes many times as long."""

SAME_RENAMING = "both want the same, and who finishes what the other announced cannot tell it from its own"
PARTS = "CASCADE drops table after table: another may look when its table is gone, and the database not yet"
OLD_VERSION = "a version that is being read is vacuumed away, and its rows are missed before it is"
RARE: dict[tuple[str, tuple[str, ...]], str] = {
    ("rename default.t to default.u, rename default.t to default.u", ("done", "done")): SAME_RENAMING,
    ("rename default.t to default.u, rename default.t to default.u", ("TABLE_EXISTS", "done")): SAME_RENAMING,
    ("rename default.t to default.u, rename default.t to default.u", ("done", "TABLE_EXISTS")): SAME_RENAMING,
    ("drop database x, drop database x", ("done", "done")): "a removal that is not answered looks the same",
    (
        "drop database x, drop database x",
        ("done", "NAMESPACE_NOT_EMPTY"),
    ): "each took the other's mark off ten times",
    (
        "drop database x, drop database x",
        ("NAMESPACE_NOT_EMPTY", "done"),
    ): "each took the other's mark off ten times",
    ("drop database x cascade, rename x.t to default.t", ("done", "TABLE_NOT_FOUND")): PARTS,
    ("drop database x cascade, rename x.t to x.u", ("done", "TABLE_NOT_FOUND")): PARTS,
    ("vacuum default.t, roll default.t back to 2", ("done", "TABLE_NOT_FOUND")): OLD_VERSION,
    ("vacuum default.t, vacuum default.t", ("done", "TABLE_NOT_FOUND")): OLD_VERSION,
    ("vacuum default.t, vacuum default.t", ("TABLE_NOT_FOUND", "done")): OLD_VERSION,
}
"""What no order of the operations comes to, and is permitted all the same: by scenario, and what the actors are told."""

TWO = [*NAMES, *VIEWS, *DATABASES, *COMMITS, *VACUUMS, *REPLACING]


def judge(scenario: Scenario, explorer: Explorer) -> None:
    """Make sure that nothing was found but what is permitted."""
    assert [str(each) for each in explorer.findings if not is_permitted(scenario, each)] == []


def is_permitted(scenario: Scenario, finding: Finding) -> bool:
    return finding.what.startswith("no order") and (str(scenario), finding.told) in RARE


@pytest.mark.parametrize("scenario", TWO, ids=str)
def test_every_order_of_two(scenario: Scenario) -> None:
    """Whatever the order of the steps of two operations, the outcome is that of one after the other."""
    around = Surroundings()
    with around.in_force():
        explorer = Explorer(around, make(around, scenario.before), scenario.actors)
        if not explorer.all(STATES):
            explorer.sample(examples(300), seed=1)
    judge(scenario, explorer)


@pytest.mark.parametrize("scenario", TWO, ids=str)
def test_a_crash_at_every_step_of_two(scenario: Scenario) -> None:
    """Wherever one of two crashes, the other does what it would have done alone, before it or after it; vacuums remove what is left."""
    around = Surroundings()
    with around.in_force():
        explorer = Explorer(around, make(around, scenario.before), scenario.actors, crashes=True)
        if not CRASHED_STATES or not explorer.all(CRASHED_STATES):
            explorer.sample(examples(900), seed=2)
    judge(scenario, explorer)


@pytest.mark.parametrize("scenario", [*THREE, *THREE_REPLACING], ids=str)
def test_orders_of_three(scenario: Scenario) -> None:
    """The same of three operations, one of which may crash, in orders that are drawn."""
    around = Surroundings()
    with around.in_force():
        explorer = Explorer(around, make(around, scenario.before), scenario.actors, crashes=True)
        explorer.sample(examples(3000), seed=3)
    judge(scenario, explorer)
