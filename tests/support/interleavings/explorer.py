"""All orders of the steps of a few operations. A step is a call of the store or an access to a file.

The operations run in greenlets, which hand over before each step. A state is the content of the store and the
files, and what each actor has read so far. From each state, each actor goes on in turn, depth first; a state
that was seen is not entered again.

A step comes at once if it touches nothing that another actor ever touches, as its place in the order changes
nothing. The explorer learns on the way which rows actors touch; if it learns of more rows, it begins again.

An actor may crash before each step that is not such a one, or that writes.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from greenlet import GreenletExit, getcurrent, greenlet

from parquetry.errors import ParquetryError
from parquetry.metastore.storage import owner
from tests.support.interleavings.operations import NamedOperation, Site
from tests.support.interleavings.outcomes import (
    CRASHED,
    Outcome,
    clean,
    content,
    is_possible,
    leftovers,
    possible,
    run,
)
from tests.support.interleavings.steps import SteppedStore, StoreCall
from tests.support.interleavings.world import SteppedWorld, Surroundings

Schedule = tuple[int, ...]
"""The actor of each step; ~n: actor n crashes."""


class ForbiddenOutcome(NamedTuple):
    """Something that must not happen.

    Attributes:
        what: it is.
        answers: to the actors.
        schedule: a short one that leads to it.
    """

    what: str
    answers: tuple[str, ...]
    schedule: Schedule

    def __str__(self) -> str:
        return f"{self.what}; told {self.answers}, after {shown(self.schedule)}"


def shown(schedule: Schedule) -> str:
    """Return a schedule for messages, such as `0×3 1×2 crash of 0`."""
    parts = []
    for choice, group in itertools.groupby(schedule):
        parts.append(f"crash of {~choice}" if choice < 0 else f"{choice}×{len(list(group))}")
    return " ".join(parts)


class Accesses:
    """The rows and files that each actor touches, as far as it has shown.

    Attributes:
        grew: whether something was learned since this was last set to False.
    """

    def __init__(self, actors: int) -> None:
        self._reads: list[set[bytes]] = [set() for _ in range(actors)]
        self._ranges: list[set[tuple[bytes, bytes | None]]] = [set() for _ in range(actors)]
        self._writes: list[set[bytes]] = [set() for _ in range(actors)]
        self.grew = False

    def note(self, actor: int, call: StoreCall) -> None:
        """Learn from a call."""
        for known, now in (
            (self._reads[actor], call.reads),
            (self._writes[actor], call.writes),
        ):
            self.grew |= not known.issuperset(now)
            known.update(now)
        self.grew |= not self._ranges[actor].issuperset(call.ranges)
        self._ranges[actor].update(call.ranges)

    def touches(self, call: StoreCall, other: int) -> bool:
        """Return whether a call may not change its place with all that another actor does."""
        writes = self._writes[other]
        if any(key in writes for key in call.reads):
            return True
        if any(_within(key, span) for span in call.ranges for key in writes):
            return True
        return any(
            key in writes
            or key in self._reads[other]
            or any(_within(key, span) for span in self._ranges[other])
            for key in call.writes
        )


def _within(key: bytes, span: tuple[bytes, bytes | None]) -> bool:
    return span[0] <= key and (span[1] is None or key < span[1])


class Actor:
    """An operation under way.

    Attributes:
        number: of the actor.
        next: the step that it is about to take.
        answers: to its user, or None if it is not done.
    """

    def __init__(
        self, number: int, operation: NamedOperation, around: Surroundings, accesses: Accesses
    ) -> None:
        self.number = number
        self.next = StoreCall("begin")
        self.answers: str | None = None
        self._history = hash(number)
        self._around = around
        self._accesses = accesses
        self._scheduler = getcurrent()
        self._killed = False
        self._owners: set[bytes] = set()
        self._greenlet = greenlet(lambda: self._run(operation))

    def _run(self, operation: NamedOperation) -> None:
        store = SteppedStore(self._around.world.store, self.step, self.saw)
        self.answers = run(operation, Site(self._around.metastore(store), self._around))

    def step(self, call: StoreCall) -> None:
        """Hand over before a step."""
        if self._killed:
            raise GreenletExit
        self.next = call
        self._accesses.note(self.number, call)
        self._scheduler.switch()
        if self._killed:
            raise GreenletExit

    def saw(self, what: object) -> None:
        """Note what was read, on which hangs all that the actor does from now on."""
        self._history = hash((self._history, what))

    def go_on(self) -> None:
        """Take the step, and all until the next one."""
        around = self._around
        around.actor, around.step, around.saw = f"a{self.number}", self.step, self.saw
        before = set(owner._active)
        self._greenlet.switch()
        self._owners |= owner._active - before

    def kill(self) -> None:
        """Have the actor crash: it takes no step any more."""
        self._killed = True
        if not self._greenlet.dead:
            self._greenlet.throw(GreenletExit)
        owner._active.difference_update(self._owners)
        self.answers = CRASHED

    @property
    def is_done(self) -> bool:
        return self.answers is not None

    @property
    def state(self) -> object:
        return self.answers if self.is_done else (self._history, self.next)


class Explorer:
    """Goes through the orders of the steps of some operations.

    Args:
        around: in force.
        initial: the world before.
        operations: one for each actor.
        crashes: whether an actor may crash.

    Attributes:
        states: how many different ones were come upon.
        runs: how many orders were gone through.
        findings: what must not happen, each once, by the shortest schedule, with how often it did.
    """

    def __init__(
        self,
        around: Surroundings,
        initial: SteppedWorld,
        operations: Sequence[NamedOperation],
        *,
        crashes: bool = False,
    ) -> None:
        self._around = around
        self._initial = initial
        self._operations = operations
        self._crashes = crashes
        self._accesses = Accesses(len(operations))
        self._possible = list(possible(around, initial, operations))
        self._seen: set[object] = set()
        self._ends: dict[tuple[Outcome | None, bool, object], list[str]] = {}
        self._found: dict[tuple[str, tuple[str, ...]], Schedule] = {}
        self.count: Counter[str] = Counter()
        self.runs = 0

    @property
    def states(self) -> int:
        return len(self._seen)

    @property
    def findings(self) -> list[ForbiddenOutcome]:
        return [
            ForbiddenOutcome(what, answers, schedule) for (what, answers), schedule in self._found.items()
        ]

    def all(self, limit: int | None = None) -> bool:
        """Go through all orders; return whether these were all, if there is a limit to the states."""
        self._accesses.grew = True
        while self._accesses.grew:
            self._accesses.grew = False
            self._seen.clear()
            self._found.clear()
            waiting: list[Schedule] = [()]
            while waiting:
                if limit is not None and self.states > limit:
                    return False
                self._one(waiting.pop(), waiting)
        return True

    def sample(self, count: int, seed: int) -> None:
        """Go through random orders: few of them change the actor often, and many do not."""
        chance = random.Random(seed)
        for _ in range(count):
            patience = chance.choice((0.0, 0.5, 0.8, 0.95))
            crash = self._crashes and chance.random() < 0.5

            def choose(choices: list[int], current: int | None, patience: float = patience) -> int:
                if current in choices and chance.random() < patience:
                    return current
                return chance.choice(choices)

            self._drawn(choose, chance, crash)

    def replay(self, schedule: Schedule) -> None:
        """Go through one order, as a finding tells it."""
        self._one(schedule, [])

    def _begin(self) -> list[Actor]:
        self.runs += 1
        self._around.enter(self._initial.copy())
        owner._active.clear()
        numbered = enumerate(self._operations)
        actors = [Actor(number, each, self._around, self._accesses) for number, each in numbered]
        for actor in actors:
            actor.go_on()  # to its first step
        return actors

    def _quiet(self, actors: list[Actor], alive: list[Actor]) -> list[Actor]:
        """Return the actors whose next step touches nothing that others touch who are at work."""
        return [
            actor
            for actor in alive
            if not any(
                self._accesses.touches(actor.next, other.number) for other in alive if other is not actor
            )
        ]

    def _one(self, prefix: Schedule, waiting: list[Schedule]) -> None:
        """Go through one order that begins as given, and add the orders that branch off on the way."""
        actors = self._begin()
        trail: list[int] = []
        current: Actor | None = None
        crashed = False
        while alive := [actor for actor in actors if not actor.is_done]:
            if len(trail) < len(prefix):
                choice = prefix[len(trail)]
            else:
                quiet = self._quiet(actors, alive)
                chosen = current if current in (quiet or alive) else (quiet or alive)[0]
                assert chosen is not None
                choice = chosen.number
                if not quiet:
                    state = (self._around.world.content(), *(actor.state for actor in actors))
                    if state in self._seen:
                        self._abandon(actors)
                        return
                    self._seen.add(state)
                    waiting += [(*trail, other.number) for other in alive if other is not chosen]
                if self._crashes and not crashed:
                    waiting += [
                        (*trail, ~each.number)
                        for each in ([chosen] if quiet else alive)
                        if self._operations[each.number].changes and (not quiet or each.next.writes)
                    ]
            trail.append(choice)
            if choice < 0:
                crashed = True
                actors[~choice].kill()
                continue
            current = actors[choice]
            current.go_on()
        self._end(actors, tuple(trail))

    def _drawn(
        self, choose: Callable[[list[int], int | None], int], chance: random.Random, crash: bool
    ) -> None:
        """Go through one order that is drawn."""
        actors = self._begin()
        trail: list[int] = []
        current: int | None = None
        dies = chance.randrange(len(actors)), chance.randrange(60)
        while alive := [actor for actor in actors if not actor.is_done]:
            if crash and not actors[dies[0]].is_done and len(trail) >= dies[1]:
                crash = False
                trail.append(~dies[0])
                actors[dies[0]].kill()
                continue
            current = choose([actor.number for actor in self._quiet(actors, alive) or alive], current)
            trail.append(current)
            actors[current].go_on()
        self._end(actors, tuple(trail))

    def _abandon(self, actors: list[Actor]) -> None:
        for actor in actors:
            if not actor.is_done:
                actor.kill()

    def _end(self, actors: list[Actor], trail: Schedule) -> None:
        """Look at what an order has come to; an end that was seen is not looked at again."""
        answers = tuple(actor.answers or "" for actor in actors)
        actors.clear()  # what they hold goes
        self._around.actor, self._around.step, self._around.saw = "vacuum", lambda _: None, lambda _: None
        end = (None, CRASHED in answers, (answers, self._around.world.content()))
        if end not in self._ends:
            self._ends[end] = list(self._faults(answers))
        for what in self._ends[end]:
            self.count[what] += 1
            before = self._found.get((what, answers))
            if before is None or _turns(trail) < _turns(before):
                self._found[what, answers] = trail

    def _faults(self, answers: tuple[str, ...]) -> Iterator[str]:
        world = self._around.world
        try:
            before = content(world)
            clean(world)
            after = content(world)
        except (ParquetryError, AssertionError) as error:
            yield f"the tables cannot be read: {error}"
            return
        if before != after:
            yield f"vacuums changed {before} into {after}"
        for left in leftovers(world, whole=CRASHED not in answers):
            yield f"vacuums left {left}"
        if not is_possible(Outcome(answers, after), self._possible):
            yield f"no order of the operations leads to {after}"


def _turns(schedule: Schedule) -> tuple[int, int]:
    return sum(1 for one, other in itertools.pairwise(schedule) if one != other), len(schedule)
