"""Measure variants of one job side by side, and keep what was found.

On a machine with other work, seconds mean little and ratios within a run more: the variants take turns,
each is warmed up, and medians are compared.
"""

from __future__ import annotations

import json
import math
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of the variants of one job, round by round.

    Attributes:
        job: what the variants do.
        seconds: by the clock, for each variant.
        processor: the processor's seconds in the same rounds; empty if they were not measured.
    """

    job: str
    seconds: dict[str, list[float]]
    processor: dict[str, list[float]] = field(default_factory=dict)

    def median(self, variant: str) -> float:
        """Return a variant's median, in seconds."""
        return statistics.median(self.seconds[variant])

    def ratio(self, variant: str, of: str) -> float:
        """Return how many times as long a variant takes as another."""
        return self.median(variant) / self.median(of)

    def processor_ratio(self, variant: str, of: str) -> float:
        """Return how many times as much of the processor's time a variant takes as another."""
        return statistics.median(self.processor[variant]) / statistics.median(self.processor[of])


@dataclass(frozen=True, slots=True)
class BenchmarkFinding:
    """A number that has a target, or serves for comparison.

    Attributes:
        what: is measured.
        value: a ratio, unless `unit` says otherwise.
        target: the most it should be; None if there is none.
        unit: of the value.
        at_least: whether the target is the least it should be instead.
    """

    what: str
    value: float
    target: float | None = None
    unit: str = "×"
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the target is met."""
        if self.target is None:
            return True
        return self.value >= self.target if self.at_least else self.value <= self.target


@dataclass(slots=True)
class Result:
    """The result of one benchmark.

    Attributes:
        name: of the benchmark.
        timings: of its jobs.
        findings: that are printed, with their targets.
        details: as JSON has them, for pages and charts.
    """

    name: str
    timings: list[Timing] = field(default_factory=list)
    findings: list[BenchmarkFinding] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    def save(self, folder: Path, scale: float) -> Path:
        """Write everything to a JSON file named for the benchmark, and return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        machine = {"python": platform.python_version(), "system": platform.platform(), "at": time.time()}
        path.write_text(
            json.dumps({**asdict(self), "scale": scale, "machine": machine}, indent=1) + "\n",
            encoding="utf-8",
        )
        return path


def take_turns(
    job: str,
    variants: Mapping[str, Callable[[], object]],
    rounds: int = ROUNDS,
    warmups: int = 1,
    calls: int = 1,
    clock: Callable[[], float] = time.perf_counter,
    processor: Callable[[], float] | None = None,
) -> Timing:
    """Run all variants to warm up, then all in every round, each round beginning with another.

    Args:
        job: what they do.
        variants: by name.
        rounds: that are timed.
        warmups: rounds before.
        calls: of a variant in each of its turns; the time of a turn is the time of the mean call. Otherwise a
            variant of microseconds would run with the processor's caches full of what ran before.
        clock: in seconds, such as the processor's.
        processor: the processor's clock, if it is to be read in the same turns.
    """
    for _ in range(warmups):
        for run in variants.values():
            run()
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    of_processor: dict[str, list[float]] = {name: [] for name in variants if processor}
    names = list(variants)
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            before, started = processor() if processor else 0.0, clock()
            for _ in range(calls):
                variants[name]()
            seconds[name].append((clock() - started) / calls)
            if processor:
                of_processor[name].append((processor() - before) / calls)
    return Timing(job, seconds, of_processor)


def geometric_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean.

    >>> geometric_mean([1.0, 4.0])
    2.0
    """
    return math.exp(statistics.fmean(map(math.log, ratios)))
