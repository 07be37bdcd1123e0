"""Reports to look at: a star of two dimensions, and one with odd names."""

from __future__ import annotations

import json
from pathlib import Path

from parquetry.prune import JoinReport, Report, RunTimeReport, ScanReport, Step, ValuesReport
from parquetry.prune.report.join_values import RuntimeValues, StepReduction

_FACT, _DAYS, _STORES, _RETURNS = "lake.shop.sales", "lake.shop.days", "lake.shop.stores", "lake.shop.returns"


def star_report() -> Report:
    """Return the report of a query on a fact table, two dimensions and a second fact."""
    found = RunTimeReport(
        (RuntimeValues("day_id", count=31), RuntimeValues("store_id", count=12)),
        (StepReduction("partitions", 1_823, 31), StepReduction("files", 14_584, 96)),
    )
    scans = (
        ScanReport(
            _FACT,
            (
                Step("partitions", 31, 1_823, ("day_id IN (…)",), origins=("join",)),
                Step("directories", 62, 248, ("store_id IN (…)",), origins=("join",)),
                Step("files", 96, 248, ("amount > 100",)),
                Step("bytes", 412_000_000, 88_000_000_000, ("day_id", "store_id", "amount"), unit="bytes"),
            ),
            run_time=found,
        ),
        ScanReport(
            _DAYS, (Step("files", 1, 4, ("month = 11",)), Step("bytes", 14_000, 1_200_000, unit="bytes"))
        ),
        ScanReport(_STORES, (Step("files", 1, 1), Step("bytes", 51_000, 51_000, unit="bytes"))),
        ScanReport(
            _RETURNS, (Step("files", 800, 812), Step("bytes", 7_900_000_000, 8_000_000_000, unit="bytes"))
        ),
    )
    joins = (
        JoinReport("INNER", _FACT, _DAYS, ("day_id = id",), False, "lake.shop.days is broadcast"),
        JoinReport("INNER", _FACT, _STORES, ("store_id = id",), False, "lake.shop.stores is broadcast"),
        JoinReport("LEFT OUTER", _FACT, _RETURNS, ("sale = sale",), False, "64 buckets by sale", sorts=2),
    )
    values = (
        ValuesReport(
            _FACT, "day_id", "INNER", _DAYS, "id", "shared", values=31, shared=True, where=("month = 11",)
        ),
        ValuesReport(_FACT, "store_id", "INNER", _STORES, "id", "shared", values=12, shared=True),
        ValuesReport(
            _RETURNS, "sale", "LEFT OUTER", _FACT, "sale", "refused", "sale is scattered over all files"
        ),
    )
    return Report(scans, joins, values)


def save_reports(folder: Path) -> Path:
    """Save the reports in a folder, and return it."""
    odd = Report((ScanReport("<img src=x onerror=alert(1)>", (Step("files", 1, 2, ("<b>id</b> = 1",)),)),))
    for name, report in (("star", star_report()), ("odd", odd)):
        (folder / f"{name}.json").write_text(json.dumps(report.to_dict()))
    return folder
