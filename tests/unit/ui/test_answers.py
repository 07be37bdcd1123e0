"""The page's answers have the facts of the catalog and the words of the command line, in bounded pieces."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from parquetry.catalog import Catalog
from parquetry.errors import FilterError, ReportFileError, TableNotFoundError
from parquetry.metastore import Metastore
from parquetry.serving import OpenedMetastore
from parquetry.texts import size_text
from parquetry.ui import attention, filters, survey
from parquetry.ui.answers import Answers, KeptAnswers
from parquetry.ui.recorded import LayoutAdvice, Sources
from parquetry.ui.survey import MAX_CELLS
from parquetry.workload import QueryCondition, QueryJoin, QueryRecord, ReadCount, TableRead
from tests.support.page.lakes import ODD_TABLE, make_uneven
from tests.support.tables.lakes import TableLake

ORDERS = "shop.orders"


@pytest.mark.parametrize("cells", [1, 7, 40, 80, 10**9])
def test_cells_add_up_to_the_table(answers: Answers, catalog: Catalog, cells: int) -> None:
    """However many cells are wanted, each partition is in one, and cells are in the order of keys."""
    table = catalog.table(ORDERS)
    found = answers.answer("cells", {"table": ORDERS, "cells": str(cells)})
    count = len(found["key"])
    assert count == min(cells, MAX_CELLS, table.partitions)
    assert {len(numbers) for numbers in found.values() if isinstance(numbers, list)} - {5} == {count} - {5}
    for name in ("partitions", "files", "rows", "bytes"):
        assert sum(found[name]) == getattr(table, name)
    assert max(found["partitions"]) - min(found["partitions"]) <= 1
    assert found["key"] == sorted(found["key"])
    names = [f"day={p.values['day']}/region={p.values['region']}" for p in catalog.partitions(ORDERS)]
    assert (found["first"][0], found["last"][-1]) == (names[0], names[-1])
    assert [names.index(name) for name in found["last"][:-1]] == [
        names.index(name) - 1 for name in found["first"][1:]
    ]


def test_cells_have_the_times_of_their_versions(answers: Answers, catalog: Catalog) -> None:
    """A cell is as old as the version that wrote its newest partition."""
    found = answers.answer("cells", {"table": ORDERS})
    times = [int(commit.committed_at.timestamp() * 1000) for commit in catalog.history(ORDERS)]
    assert set(found["newest"]) <= set(times)
    assert max(found["newest"]) == times[0], "a deletion wrote a partition last"


def test_the_largest_partition_is_named() -> None:
    """A partition far above the others is called uneven, in words; equal ones are not."""
    even, uneven = make_uneven(1), make_uneven(500)
    assert even.uneven() is None
    assert str(uneven.uneven()).startswith("p=3 has 50 GB, 9")


def pages(answers: Answers, **given: str) -> list[dict[str, Any]]:
    """Return all rows of a list of partitions, page by page."""
    rows, after = [], None
    while True:
        more = {} if after is None else {"after": after}
        page = answers.answer("partitions", {"table": ORDERS, **given, **more})
        assert len(page["rows"]) <= int(given["limit"])
        rows += page["rows"]
        after = page["next"]
        if after is None:
            return rows


@pytest.mark.parametrize(
    "where", [None, "region = 'eu'", "day >= '2026-01-05' AND region IN ('us', 'ap')", "day = '2026-01-03'", "day < '2026-01-01'"]
)  # fmt: skip
@pytest.mark.parametrize("limit", ["3", "500"])
def test_pages_have_each_partition_once(
    answers: Answers, catalog: Catalog, where: str | None, limit: str
) -> None:
    """Pages of any length have what the catalog lists, in its order."""
    rows = pages(answers, limit=limit, **({} if where is None else {"where": where}))
    listed = list(catalog.partitions(ORDERS, where))
    assert [row["values"] for row in rows] == [[str(v) for v in each.values.values()] for each in listed]
    assert [row["bytes"] for row in rows] == [each.bytes for each in listed]


def test_a_list_begins_at_a_cell(answers: Answers) -> None:
    """The key of a cell is the first of the list."""
    found = answers.answer("cells", {"table": ORDERS, "cells": "9"})
    page = answers.answer("partitions", {"table": ORDERS, "from": found["key"][4], "limit": "2"})
    assert page["rows"][0]["key"] == found["key"][4]
    assert [row["location"] for row in page["rows"]] == [None, None], "they are where they usually are"


def test_files_of_a_partition_come_in_pages(answers: Answers, catalog: Catalog) -> None:
    """Pages of files have each file once, and none of the next partition."""
    key = answers.answer("partitions", {"table": "web.visits", "limit": "1"})["rows"][0]["key"]
    given = {"table": "web.visits", "key": key, "limit": "15"}
    rows, first = [], 0
    while first is not None:
        page = answers.answer("files", {**given, "first": str(first)})
        rows += page["rows"]
        first = page["next"]
    assert [row["path"] for row in rows] == [
        file.path.rpartition("/")[2] for file in catalog.files("web.visits", "hour = 0")
    ]


@pytest.mark.parametrize(
    "where",
    ["region = 'eu'", "day = '2026-01-01' AND id > 5", "day > '2026-01-04' OR region = 'us'", "id < 1000"],
)
def test_a_condition_is_planned_as_everywhere(answers: Answers, catalog: Catalog, where: str) -> None:
    """The funnel is the report of a scan, and ranges of keys are what the command `plan` prints."""
    found = answers.answer("plan", {"table": ORDERS, "where": where})
    assert found["text"].removeprefix("shop.orders") == catalog.scan(ORDERS, where).explain().removeprefix(
        "shop.orders"
    )
    keys = found["keys"]
    shown = "\n".join([*keys["ranges"], keys["outcome"]]) if keys["outcome"] else None
    if keys["condition"] is None:
        assert (shown, keys["all"]) == (None, 80)
    else:
        assert shown == str(catalog.plan(ORDERS, keys["condition"], run=True))


def test_a_wrong_condition_says_where(answers: Answers) -> None:
    """An error has the position in the text, and an empty condition reads everything."""
    with pytest.raises(FilterError) as raised:
        answers.answer("plan", {"table": ORDERS, "where": "region = 'eu' AND nowhere = 1"})
    assert raised.value.position == len("region = 'eu' AND ")
    assert answers.answer("plan", {"table": ORDERS})["keys"]["all"] == 80
    assert answers.answer("plan", {"table": "shop.customers", "where": "id = 7"})["keys"] is None


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("", "partitions 80 of 80 · files 691 of 691 · 451 MB of 451 MB"),
        ("region != 'sa'", "partitions 60 of 80 (region != 'sa') · files about 518 of 518 · about "),
        ("region = 'eu'", "partitions 20 of 80 (region = 'eu') · files 163 of 163 · 135 MB of 451 MB"),
        (
            "region != 'sa' AND id < 9",
            "not by id < 9: here, the files of no more than 40 partitions are looked at",
        ),
    ],
)
def test_many_partitions_are_answered_by_totals(
    answers: Answers, monkeypatch: pytest.MonkeyPatch, where: str, said: str
) -> None:
    """A condition that keeps too many partitions lists none of their files, and says what is about."""
    monkeypatch.setattr(filters, "MAX_LISTED_PARTITIONS", 40)
    assert said in answers.answer("plan", {"table": ORDERS, "where": where})["text"]


def test_versions_come_in_pages(answers: Answers, catalog: Catalog) -> None:
    """Each version is on one page, with author and changes; old versions hold what commits removed."""
    rows, before = [], None
    while True:
        more = {} if before is None else {"before": str(before)}
        page = answers.answer("versions", {"table": ORDERS, "limit": "2", **more})
        rows += page["rows"]
        before = page["next"]
        if before is None:
            break
    commits = list(catalog.history(ORDERS))
    assert [(row["version"], row["user_name"], row["statement"]) for row in rows] == [
        (c.version, c.user_name, c.statement) for c in commits
    ]
    assert [row["rows_removed"] for row in rows] == [c.changes and c.changes.rows_removed for c in commits]
    old = answers.answer("table", {"table": ORDERS})["old"]
    assert old["count"] == commits[0].version
    assert old["bytes"] == sum(c.changes.bytes_removed for c in commits if c.changes) > 0
    assert answers.answer("versions", {"table": ORDERS, "before": "0"})["rows"] == []


def test_needs_have_the_words_of_status(
    answers: Answers, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Needs have the words of `parquetry status`, after what is unknown; long lists are read on demand."""
    status = [(row.need, row.detail, row.statement) for row in catalog.status("web.visits")]
    needs = answers.answer("needs", {"table": "web.visits"})
    assert status
    assert [(row["need"], row["detail"], row["statement"]) for row in needs["rows"]][2:] == status
    assert [row["need"] for row in needs["rows"][:2]] == ["unknown rows", "no statistics"]
    assert answers.answer("needs", {"table": "shop.customers"})["rows"] == []
    monkeypatch.setattr(attention, "MAX_FILES_LOOKED_AT", 100)
    monkeypatch.setattr(attention, "table_status", lambda *_: pytest.fail("the lists of files are read"))
    assert not answers.answer("needs", {"table": ORDERS})["looked"]


def test_uneven_partitions_need_attention(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition far above the others is a need, with the procedure that looks for heavy values."""
    monkeypatch.setattr(survey, "_MIN_UNEVEN_BYTES", 1)
    monkeypatch.setattr(survey, "UNEVEN", 2)
    (uneven,) = (row for row in answers.answer("needs", {"table": ORDERS})["rows"] if "uneven" in row["need"])
    assert uneven["statement"] == "CALL lake.system.suggest_skew('shop.orders')"
    assert f" has {size_text(uneven['bytes'])}, " in uneven["detail"]


def test_tables_come_in_pages(answers: Answers, catalog: Catalog) -> None:
    """Pages have all tables once, and a word chooses the tables that have it in their names."""
    first = answers.answer("tables", {"limit": "3"})
    rest = answers.answer("tables", {"limit": "3", "after": first["next"]})
    assert [row["table"] for row in first["rows"] + rest["rows"]] == catalog.tables()
    assert rest["next"] is None
    assert [row["table"] for row in answers.answer("tables", {"like": "ORDER"})["rows"]] == [ORDERS]
    assert {row["name"]: row["tables"] for row in answers.answer("warehouse", {})["databases"]} == {
        "default": 0,
        "shop": 2,
        "web": 2,
    }


def test_secrets_are_hidden(answers: Answers) -> None:
    """A property whose name says that it is a secret has no value on the page."""
    facts = dict(answers.answer("table", {"table": ORDERS})["facts"])
    assert facts["property s3.secret-key"] == "(hidden)"
    assert facts["property target-file-size"] == "134217728"


def test_queries_and_advice_are_shown_once_something_keeps_them(
    metastore: Metastore, answers: Answers
) -> None:
    """Without a history the answers name the setting; with one they have its records."""
    for path in ("queries", "advice"):
        said = answers.answer(path, {"table": ORDERS})
        assert (said["kept"], said["rows"]) == (False, [])
        assert "pruning-history" in said["message"]
    read = TableRead(
        ORDERS,
        7,
        (QueryCondition("id = ?", ("id",), False),),
        (QueryJoin("id", "shop.customers", "id"),),
        files=ReadCount(1, 9),
    )
    sources = Sources(
        lambda _, table, limit: [QueryRecord((read,), time=5)][: limit if table in (None, ORDERS) else 0],
        lambda _, table: [LayoutAdvice("sort by id", "advised", 9, 1)] if table == ORDERS else None,
    )
    kept = Answers(OpenedMetastore(metastore), sources)
    (query,) = kept.answer("queries", {})["rows"]
    assert query["reads"][0]["files"] == {"read": 1, "of": 9}
    assert kept.answer("queries", {"table": "lake.shop.orders"})["rows"] == [query], (
        "a name of three parts, too"
    )
    assert kept.answer("queries", {"table": "shop.customers"})["rows"] == []
    assert kept.answer("advice", {"table": ORDERS})["made"] is False, "an adviser reads rows only if asked to"
    assert kept.answer("advice", {"table": ORDERS, "now": "1"})["rows"][0]["bytes"] == 1
    assert kept.answer("advice", {"table": "shop.customers", "now": "1"})["kept"] is False


def test_odd_names_are_found(answers: Answers) -> None:
    """A table is found by any name that it can have, and a missing one is an error."""
    found = answers.answer("table", {"table": f"web.{ODD_TABLE}"})
    assert found["table"] == f"web.{ODD_TABLE}"
    values = [
        row["values"]
        for row in answers.answer("partitions", {"table": f"web.{ODD_TABLE}", "limit": "9"})["rows"]
    ]
    assert [None] in values
    with pytest.raises(TableNotFoundError):
        answers.answer("table", {"table": "web.none"})


@pytest.mark.parametrize(
    "given",
    [{"cells": "x"}, {"cells": "-1"}, {"cells": "9" * 30}, {"cells": "٣"}],
    ids=lambda given: given["cells"][:4],
)
def test_wrong_numbers_are_errors(answers: Answers, given: dict[str, str]) -> None:
    """A parameter that is no number, or a key that is none, is named in the error."""
    with pytest.raises(ValueError, match="Parameter cells"):
        answers.answer("cells", {"table": ORDERS, **given})
    with pytest.raises(ValueError, match="Parameter after"):
        answers.answer("partitions", {"table": ORDERS, "after": "zz"})
    with pytest.raises(ValueError, match="Parameter table is missing"):
        answers.answer("cells", {})


def test_an_answer_is_made_once() -> None:
    """Several requests for one heavy answer make it once; after a failure the next one tries again."""
    kept, made = KeptAnswers(), []

    def make() -> int:
        made.append(threading.get_ident())
        time.sleep(0.05)
        return 7

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: kept.get(("a",), make), range(4))) == [7] * 4
    assert len(made) == 1
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            kept.get(("b",), lambda: 1 // 0)
    assert kept.get(("b",), make) == 7


def test_a_new_version_has_new_answers(tmp_path: Path) -> None:
    """After a commit, cells are of the new version."""
    lake = TableLake(tmp_path)
    answers = Answers(OpenedMetastore(lake.metastore))
    lake.append((1, "a"), "one")
    assert answers.answer("cells", {"table": "default.t"})["partitions"] == [1]
    lake.append((2, "b"), "two")
    assert answers.answer("cells", {"table": "default.t"})["partitions"] == [1, 1]


def test_reports_are_drawn_from_their_folder_alone(answers: Answers, reports: Path) -> None:
    """A listed file is drawn; another name, and a file without a report, are errors."""
    (reports.parent / "outside.json").write_text('{"scans": []}')
    (reports / "q1.json").write_text(
        '{"scans": [{"table": "t<b>", "steps": [{"name": "files", "kept": 1, "of": 4}]}]}'
    )
    (reports / "other.json").write_text('{"rows": 3}')
    (reports / "broken.json").write_text("{")
    assert {row["name"] for row in answers.answer("reports", {})["rows"]} == {
        "q1.json",
        "other.json",
        "broken.json",
    }
    drawn = answers.answer("report", {"name": "q1.json"})
    assert drawn["text"] == "t<b>: files 1 of 4"
    assert "t&lt;b&gt;" in drawn["html"]
    assert "style=" not in drawn["html"]
    for name in ("../outside.json", "broken.json", "other.json", str(reports.parent / "outside.json")):
        with pytest.raises(ReportFileError):
            answers.answer("report", {"name": name})
