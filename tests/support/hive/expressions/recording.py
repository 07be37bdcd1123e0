"""Expressions as Hive's own classes write them, and what Hive's metastore answers by them.

`python -m tests.support.hive.expressions.recording` records them again: it fetches four versions of Hive
(270 MB) and takes half a minute. `--layouts VERSION CLASS…` prints how a version writes classes.
"""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from parquetry.hive.expressions.layouts import DIALECTS
from parquetry.types import ColumnType, Value, parse_type, value_from_text
from tests.support.hive.expressions.corpus import COLUMNS, conditions, partitions
from tests.support.jars import fetched, java, pyspark_jars

_FIXTURES = Path(__file__).parents[3] / "fixtures"
RECORDED = _FIXTURES / "hive-expressions.jsonl.xz"
"""The recorded expressions, a line of JSON each."""
RECORDED_LAYOUTS = _FIXTURES / "hive-layouts.jsonl.xz"
"""How each version writes the classes of the allow-list: its registered classes, and the fields of others."""
VERSIONS = ("2.3.10", "3.1.3", "4.0.1", "4.1.0")
_ZONES = ("Asia/Tokyo", "America/New_York")
"""Zones of clients of Hive 2, whose dates and timestamps depend on them."""
_HERE = Path(__file__).parent
_OPENED = ("lang", "math", "net", "text", "time", "util", "util.concurrent.atomic")
_BESIDE = ("antlr-runtime", "commons-", "failureaccess", "guava", "hadoop-client", "jcl-", "jdo-api", "jta")
_BESIDE_TOO = ("libfb303", "libthrift", "log4j-", "slf4j")
_FIRST = ("janino", "commons-compiler", "jackson-annotations", "jackson-core-2", "jackson-databind")
_SUBLISTS = "org/apache/hadoop/hive/ql/exec/SerializationUtilities$ArrayListSubListSerializer.class"
_RENAMED_FIELDS = {"parentOffset": "offset", "parent": "root"}
"""Fields of Java's own lists that Hive 3 looks for, and their names since Java 9."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An expression that Hive wrote.

    Attributes:
        hive: the version.
        zone: the time zone of its JVM.
        text: what was parsed.
        folded: whether constants were folded.
        string: Hive's text of the expression.
        data: the bytes that clients send.
        truths: for each partition: T if it was selected, F if not, ? if it was for want of a truth, ! if Hive
            failed.
    """

    hive: str
    zone: str
    text: str
    folded: bool
    string: str
    data: bytes
    truths: str

    @property
    def id(self) -> str:
        """A name for the test."""
        return f"{self.hive} {self.zone} {self.text[:60]}{' folded' if self.folded else ''}"


@cache
def recorded() -> tuple[Recorded, ...]:
    """Return the recorded expressions."""
    with lzma.open(RECORDED, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return tuple(
        Recorded(
            each["version"],
            each["zone"],
            each["text"],
            each["folded"],
            each["hive"],
            bytes.fromhex(each["bytes"]),
            each["truths"],
        )
        for each in found
    )


def column_types() -> dict[str, ColumnType]:
    """Return our types of the partition columns."""
    return {name: parse_type(type) for name, type in COLUMNS.items()}


@cache
def partition_values() -> tuple[dict[str, Value], ...]:
    """Return our values of the partitions."""
    types = column_types()
    return tuple(
        {
            name: None if text is None else value_from_text(type, text)
            for (name, type), text in zip(types.items(), row, strict=True)
        }
        for row in partitions()
    )


def record() -> None:
    """Have each version write its expressions, and store them."""
    lines = []
    for version in VERSIONS:
        zones = ("UTC", *_ZONES) if version == VERSIONS[0] else ("UTC",)
        for zone in zones:
            texts = [text for text in conditions() if zone == "UTC" or "2024" in text or "1969" in text]
            table = {"columns": list(COLUMNS.items()), "partitions": partitions()}
            answers = _run(version, "ExpressionMain", [], [table, *texts], zone)
            for answer in map(json.loads, answers):
                if "bytes" in answer:
                    lines.append(json.dumps({"version": version, "zone": zone} | answer))
                elif not answer["folded"]:
                    print(f"Hive {version} has no {answer['text']}: {answer['error'][:100]}")
    _store(RECORDED, lines)
    names = sorted({name for dialect in DIALECTS for name in dialect.fields})
    _store(
        RECORDED_LAYOUTS,
        [
            json.dumps({"version": version, "lines": _run(version, "LayoutMain", names, [])})
            for version in VERSIONS
        ],
    )


def recorded_layouts() -> dict[str, tuple[dict[int, str], dict[str, str]]]:
    """Return, for each version, its registered classes by number, and its classes with their fields."""
    found = {}
    with lzma.open(RECORDED_LAYOUTS, "rt", encoding="utf-8") as lines:
        for each in map(json.loads, lines):
            numbers = [line.split() for line in each["lines"] if line.startswith("# ")]
            classes = [line.partition(" ") for line in each["lines"] if not line.startswith("#")]
            found[each["version"]] = (
                {int(number): name for _, number, name, _ in numbers},
                {name: fields for name, _, fields in classes},
            )
    return found


def _store(path: Path, lines: Sequence[str]) -> None:
    data = lzma.compress("".join(f"{line}\n" for line in lines).encode(), preset=9 | lzma.PRESET_EXTREME)
    path.write_bytes(data)
    print(f"{len(lines)} lines in {len(data)} bytes of {path.name}")


def _run(
    version: str, main: str, arguments: Sequence[str], lines: Sequence[object], zone: str = "UTC"
) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder, "ivy.xml")
        module.write_text((_HERE / "ivy.xml").read_text().replace("${hive}", version))
        hive = fetched(module, "Hive", "60 to 100 MB")
        ours = sorted(pyspark_jars().glob("*.jar"))
        path = [
            *(jar for jar in ours if jar.name.startswith(_FIRST)),
            _with_renamed_fields(hive, Path(folder)),
            *sorted(hive.glob("*.jar")),
            *(jar for jar in ours if jar.name.startswith((*_BESIDE, *_BESIDE_TOO))),
        ]
        flags = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in _OPENED]
        command = [java(), *flags, f"-Duser.timezone={zone}", "-cp", os.pathsep.join(map(str, path))]
        command += ["org.codehaus.janino.SimpleCompiler", str(_HERE / f"{main}.java"), main, *arguments]
        text = "\n".join(map(json.dumps, lines))
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"Hive {version} failed\n{done.stderr[-3000:]}")
    return done.stdout.splitlines()


def _with_renamed_fields(hive: Path, folder: Path) -> Path:
    """Return a folder with the class of Hive 3 that names fields of Java 8, with their names since then."""
    (jar,) = hive.glob("hive-exec-*.jar")
    with zipfile.ZipFile(jar) as archive:
        code = archive.read(_SUBLISTS) if _SUBLISTS in archive.namelist() else b""
    if b"parentOffset" in code and b"root" not in code:
        for old, new in _RENAMED_FIELDS.items():
            code = code.replace(_constant(old), _constant(new))
        changed = folder / _SUBLISTS
        changed.parent.mkdir(parents=True)
        changed.write_bytes(code)
    return folder


def _constant(text: str) -> bytes:
    """Return a text as a class file has it: a tag, the length, the characters."""
    return b"\x01" + len(text).to_bytes(2, "big") + text.encode()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--layouts"]:
        print("\n".join(_run(sys.argv[2], "LayoutMain", sys.argv[3:], [])))
    else:
        record()
