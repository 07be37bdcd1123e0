"""The servers that tests need (Spark, HBase, PostgreSQL), and the rule that each test has a claim.

`spark/storage/conftest.py` says which tests need HDFS or S3.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from subprocess import Popen

import pytest
from hypothesis import settings
from xdist.remote import Producer

from tests.support.claims import refuse_without_claim
from tests.support.costs import FileCosts
from tests.support.effort import STEP, examples, left_out
from tests.support.parts import in_part
from tests.support.reach.changes import reached
from tests.support.reach.recording import ROOT, Recorder
from tests.support.scheduling import OneWorkerForAServer
from tests.support.suites import tally

_NEED = {f"tests/{server}/": server for server in ("spark", "hbase", "postgresql")}
_MAKING = pytest.StashKey[Popen[bytes] | None]()
# What makes a golden store is no module that can be imported by its folder's name.
collect_ignore = [
    "golden",
    *(
        []
        if find_spec("pyspark")
        else [
            "spark",
            "hbase",
            "postgresql",
            "servers",
            "unit/test_demo.py",
            "unit/test_type_facts.py",
            "unit/release/test_packages.py",
            "unit/release/test_making.py",
        ]
    ),
    "support/dbt/suite.py",  # pytest of dbt's environment runs both
    "support/dbt/adapted.py",
    *([] if STEP == 1 else ["spark/doors/test_dbt.py"]),  # `make test-all` has an environment for dbt
]

# An example is not wrong because the machine was busy; the rest is as it is by default, or on CI.
settings.register_profile("patient", parent=settings(), deadline=None, max_examples=examples(100))
settings.load_profile("patient")


def pytest_configure(config: pytest.Config) -> None:
    """Have each run tell what it cost, and `make reach` what it uses."""
    config.pluginmanager.register(FileCosts())
    if notes := os.environ.get("PARQUETRY_REACH"):
        worker = getattr(config, "workerinput", {}).get("workerid")
        config.pluginmanager.register(Recorder(Path(notes), worker))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneWorkerForAServer | None:
    """Give the tests of one server to one worker, so that it starts once in a run."""
    return OneWorkerForAServer(config, log) if config.option.dist == "loadfile" else None


def pytest_sessionstart(session: pytest.Session) -> None:
    """Make what lets JVMs start quickly while workers run tests that need none."""
    has_workers = session.config.getoption("numprocesses", None) and not hasattr(
        session.config, "workerinput"
    )
    if find_spec("pyspark") and has_workers:
        from tests.support.jvm import quick_start

        session.config.stash[_MAKING] = quick_start.in_background()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave no process behind."""
    if making := config.stash.get(_MAKING, None):
        making.wait()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark a folder's tests with what they need, refuse tests without a claim, and leave some cases out."""
    refuse_without_claim(items)
    for item in items:
        for folder, mark in _NEED.items():
            if item.nodeid.startswith(folder):
                item.add_marker(mark)
    if revision := os.environ.get("PARQUETRY_CHANGED"):
        keep_reached(config, items, revision)
    deselect(config, items, [item for item in items if not in_part(item)])
    if config.option.keyword or any("::" in argument for argument in config.args):
        return  # a user who names tests wants all of their cases
    marks = (*_NEED.values(), "exhaustive")
    deselect(config, items, left_out([item for item in items if any(map(item.get_closest_marker, marks))]))


def deselect(config: pytest.Config, items: list[pytest.Item], out: Collection[pytest.Item]) -> None:
    """Run some of the tests not, and have pytest count them."""
    if out:
        config.hook.pytest_deselected(items=out)
        gone = set(out)
        items[:] = [item for item in items if item not in gone]


def keep_reached(config: pytest.Config, items: list[pytest.Item], revision: str) -> None:
    """Keep the tests that the changes since a revision can reach.

    Raises:
        pytest.UsageError: git knows no such revision.
    """
    files = {item: item.path.relative_to(ROOT).as_posix() for item in items}
    try:
        kept = reached(revision, set(files.values()))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error
    deselect(config, items, [item for item, file in files.items() if file not in kept])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many of Spark's own tests pass in the suites that this run has run, also in its workers."""
    ended = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    properties = [each for report in ended if report.when == "call" for each in report.user_properties]
    if line := tally.summary_line(counts for name, counts in properties if name == tally.PROPERTY):
        terminalreporter.write_line(line)
