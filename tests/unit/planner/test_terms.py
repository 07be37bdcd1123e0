"""Terms go to the bridge once, and the bridge reads only names that are written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import msgspec

from parquetry.joins.plan.shuffle_reasons import SETTINGS
from parquetry.joins.runtime.cost_model import LIMITS
from parquetry.joins.runtime.judge import TRANSPARENT_JOINS
from parquetry.planner.protocol.terms import Terms, terms
from parquetry.prune.report.join_values import How

ANSWERS = (Path(__file__).parents[3] / "bridge" / "protocol" / "Answers.scala").read_text()


def test_terms_are_read_as_they_are_written() -> None:
    """They come back whole."""
    told = msgspec.json.decode(terms(), type=Terms)
    assert told.limits == LIMITS
    assert set(told.transparent_joins) == TRANSPARENT_JOINS
    assert told.join_settings == list(SETTINGS)


def test_the_bridge_reads_limits_that_there_are() -> None:
    """Each limit that it reads is written, as a whole number."""
    fields = re.findall(r"(\w+): Int", ANSWERS.split("case class Limits(")[1])
    read = [re.sub(r"(?=[A-Z])", "_", field).lower() for field in fields]
    written = json.loads(terms())["limits"]
    assert len(read) == len(set(read)) > 5
    assert {name: type(written.get(name)) for name in read} == dict.fromkeys(read, int)


def test_the_bridge_knows_each_outcome() -> None:
    """A verdict has no outcome that the bridge has no name for, nor the other way round."""
    assert re.findall(r'extends Outcome\("(\w+)"\)', ANSWERS) == list(get_args(How))
