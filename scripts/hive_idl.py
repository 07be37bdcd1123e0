"""Write `src/parquetry/hive/wire/metastore.thrift`: the calls of Hive's metastore, and their records.

    java -cp hive-exec-4.1.0.jar:… scripts/HiveDefinitions.java > hive-4.1.0.txt
    python -m scripts.hive_idl hive-4.1.0.txt hive-3.1.3.txt hive-2.3.10.txt > …/metastore.thrift

`HiveDefinitions.java` prints the definitions of Hive's own classes. The first file has
precedence; later ones, of older versions, add calls that Hive has removed. Calls that are answered, or made
to other metastores, have their arguments. The others are refused, and the file has only their names and
errors.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from parquetry.hive.calls.registry import answered_calls
from parquetry.hive.metastore_client import MADE_CALLS

_HEADER = """\
/*
 * Licensed to the Apache Software Foundation (ASF) under one or more contributor license agreements. See the
 * NOTICE file of Apache Hive for additional information regarding copyright ownership. The ASF licenses this
 * file to you under the Apache License, Version 2.0 (the "License"); you may not use this file except in
 * compliance with the License. You may obtain a copy of the License at
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software distributed under the License is
 * distributed on an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See
 * the License for the specific language governing permissions and limitations under the License.
 *
 * An excerpt of the interface definition of Apache Hive's metastore (hive_metastore.thrift), changed:
 * scripts/hive_idl.py makes it of Hive's classes. Enumerations are i32, and calls that Parquetry neither answers
 * nor makes have no arguments.
 */
"""
_WORD = re.compile(r"\w+")


@dataclass
class _Version:
    """The definitions of one version: fields as texts, by the names of calls and records."""

    calls: dict[str, list[str]] = field(default_factory=dict)
    results: dict[str, list[str]] = field(default_factory=dict)
    records: dict[str, list[str]] = field(default_factory=dict)
    exceptions: set[str] = field(default_factory=set)


def _read(lines: Iterable[str]) -> _Version:
    version = _Version()
    fields: list[str] = []
    for line in lines:
        if "\t" in line:
            number, kind, name = line.rstrip("\n").split("\t")
            fields.append(f"{number}: {kind} {name}")
            continue
        what, name = line.split()
        fields = []
        if what == "exception":
            version.exceptions.add(name)
        {"call": version.calls, "result": version.results}.get(what, version.records)[name] = fields
    return version


def _merge(versions: list[_Version]) -> _Version:
    merged = _Version()
    for each in reversed(versions):
        merged.calls |= each.calls
        merged.results |= each.results
        merged.records |= each.records
        merged.exceptions |= each.exceptions
    return merged


def _call_text(version: _Version, name: str, whole: bool) -> str:
    result = version.results.get(name)
    returned, thrown = "void", list(result or ())
    if thrown and thrown[0].startswith("0: "):
        returned = thrown.pop(0).removeprefix("0: ").rsplit(" ", 1)[0]
    arguments = ", ".join(version.calls[name]) if whole else ""
    text = f"  {'oneway ' if result is None else ''}{returned if whole else 'void'} {name}({arguments})"
    return f"{text} throws ({', '.join(thrown)})" if thrown else text


def definitions(printed: Iterable[Iterable[str]]) -> str:
    """Return the whole text.

    Args:
        printed: the lines that Java printed for each version, the newest first.
    """
    version, whole = _merge([_read(lines) for lines in printed]), {*answered_calls(), *MADE_CALLS}
    lines = [_call_text(version, name, name in whole) for name in sorted(version.calls)]
    needed: dict[str, None] = {}
    waiting = list(lines)
    while waiting:
        for name in _WORD.findall(waiting.pop()):
            if name in version.records and name not in needed:
                needed[name] = None
                waiting += [each.partition(": ")[2].rsplit(" ", 1)[0] for each in version.records[name]]
    records = [
        f"{'exception' if name in version.exceptions else 'struct'} {name} {{\n"
        + "".join(f"  {each}\n" for each in version.records[name])
        + "}\n"
        for name in sorted(needed)
    ]
    return "\n".join([_HEADER, *records, "service ThriftHiveMetastore {\n" + "\n".join(lines) + "\n}\n"])


if __name__ == "__main__":
    print(definitions(Path(name).read_text("utf-8").splitlines() for name in sys.argv[1:]), end="")
