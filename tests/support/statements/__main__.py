"""Run files in sqllogictest's form on a new catalog, or print ours for other runners.

python -m tests.support.statements select1.test select2.test
python -m tests.support.statements --plain tests/spark/catalog/views.test

Files of other projects run, too. A run goes on after a record that fails. A printed file has no loop and no
section, so that other runners read it.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.support.statements.records import Record, Section, read, substitute
from tests.support.statements.running import RecordError, Runner


def plain(section: Section) -> Iterator[str]:
    """Yield the lines of a section's records for other runners, once for each turn of its loops."""
    turns: list[dict[str, str]] = [{}]
    for loop in section.loops:
        turns = [
            {**turn, **dict(zip(loop.names, values, strict=True))} for turn in turns for values in loop.turns
        ]
    for turn in turns:
        yield f"# {' '.join([section.name, *turn.values()])}: {section.claim}"
        for record in section.records:
            yield from ["", *_plain_record(record, {**turn, **record.loops})]
        yield ""


def _plain_record(record: Record, loops: dict[str, str]) -> list[str]:
    variables = {
        name: f"${{{name}}}" for name in ("db", "name", "folder", "stock", "stock_name", "warehouse")
    }
    variables |= {record.label: f"${{{record.label}}}"} if record.kind == "let" else {}
    for name, value in loops.items():
        variables[name] = substitute(value, variables, record.location)

    def text(of: str) -> str:
        return substitute(of, _Unknown(variables), record.location)

    heads = {
        "let": f"let {record.label}",
        "query": " ".join(filter(None, ("query", record.types, record.sort, record.label))),
    }
    head = heads.get(record.kind, f"statement {record.kind} {text(record.message)}".rstrip())
    answer = [] if record.expected is None else ["----", *map(text, record.expected)]
    return [*(f"{kind} {label}" for kind, label in record.conditions), head, text(record.sql), *answer]


class _Unknown(dict[str, str]):
    """Variables with values. A variable that a record sets keeps its name."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return f"${{{name}}}"


def run(path: Path) -> Counter[str]:
    """Run a file's records, print the ones that fail, and return how many passed and failed."""
    from tests.support.random_histories.__main__ import session
    from tests.support.statements.spark_session import SparkRecords, labels

    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="statements-") as folder:
        spark = session(Path(folder))
        for number, section in enumerate(read(path)):
            spark.sql(f"CREATE NAMESPACE lake.db{number}")
            spark.sql(f"USE lake.db{number}")
            variables = {"db": f"lake.db{number}", "name": f"db{number}", "folder": folder}
            runner = Runner(lambda name: SparkRecords(spark), labels(), variables, {})
            for record in section.records:
                try:
                    runner.run([record])
                    counts["passed"] += 1
                except RecordError as error:
                    counts["failed"] += 1
                    print(error, end="\n\n", flush=True)
        spark.stop()
    return counts


def main() -> None:
    """Run or print the files that the command names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument(
        "--plain", action="store_true", help="print the records without loops, for other runners"
    )
    arguments = parser.parse_args()
    for path in arguments.files:
        if arguments.plain:
            print("\n".join(line for section in read(path) for line in plain(section)))
        else:
            counts = run(path)
            print(f"{path}: {counts['passed']} records pass, {counts['failed']} fail.")


if __name__ == "__main__":
    main()
