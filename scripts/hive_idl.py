"""Write `src/parquetry/hive/wire/metastore.thrift`: the calls of Hive's metastore, and their records.

    python -m scripts.hive_idl > src/parquetry/hive/wire/metastore.thrift

The definitions are Hive 4's, as PyIceberg distributes them in generated code. Calls that are answered have
their arguments. The others are refused, and of them only the names and errors are kept. Calls that Hive
removed after version 2 are added by hand (`_OLD_CALLS`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from hive_metastore import ThriftHiveMetastore, ttypes  # type: ignore[import-untyped]
from thrift.Thrift import TType  # type: ignore[import-untyped]

from parquetry.hive.calls.registry import answered_calls

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
 * scripts/hive_idl.py makes it. Enumerations are i32, and calls that Parquetry refuses have no arguments.
 */
"""
_NAMES = {
    TType.BOOL: "bool",
    TType.BYTE: "byte",
    TType.I16: "i16",
    TType.I32: "i32",
    TType.I64: "i64",
    TType.DOUBLE: "double",
    TType.STRING: "string",
}
_OLD_CALLS = """\
  list<Index> get_indexes(1: string db_name, 2: string tbl_name, 3: i16 max_indexes) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<string> get_index_names(1: string db_name, 2: string tbl_name, 3: i16 max_indexes) throws (1: MetaException o2)
"""
_OLD_RECORDS = "struct Index {\n  1: string indexName\n}\n"


def type_text(kind: int, arguments: Any, used: dict[str, Any]) -> str:
    """Return a type in the language of the definitions, and note the records in it."""
    match kind:
        case TType.STRUCT:
            used[arguments[0].__name__] = arguments[0]
            return str(arguments[0].__name__)
        case TType.STRING:
            return "binary" if arguments == "BINARY" else "string"
        case TType.LIST | TType.SET:
            element = type_text(arguments[0], arguments[1], used)
            return f"{'list' if kind == TType.LIST else 'set'}<{element}>"
        case TType.MAP:
            key = type_text(arguments[0], arguments[1], used)
            return f"map<{key}, {type_text(arguments[2], arguments[3], used)}>"
    return _NAMES[kind]


def fields_of(record: Any, used: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield the number of each field, and its type and name."""
    for field in record.thrift_spec:
        if field is not None:
            number, kind, name, arguments, _ = field
            yield number, f"{type_text(kind, arguments, used)} {name}"


def call_text(name: str, used: dict[str, Any], answered: bool) -> str:
    """Return the line of a call."""
    module = (
        sys.modules[getattr(ThriftHiveMetastore, f"{name}_args").__module__]
        if hasattr(ThriftHiveMetastore, f"{name}_args")
        else _facebook()
    )
    result = getattr(module, f"{name}_result", None)
    fields = dict(fields_of(result, used if answered else {})) if result is not None else {}
    returned = fields.pop(0, "void success").rsplit(" ", 1)[0]
    arguments = fields_of(getattr(module, f"{name}_args"), used) if answered else ()
    listed = ", ".join(f"{number}: {field}" for number, field in arguments)
    thrown = ", ".join(f"{number}: {field}" for number, field in fields.items())
    used |= {field.split()[0]: getattr(ttypes, field.split()[0]) for field in fields.values()}
    oneway = "oneway " if result is None else ""
    return f"  {oneway}{returned if answered else 'void'} {name}({listed})" + (
        f" throws ({thrown})" if thrown else ""
    )


def _facebook() -> Any:
    from fb303 import FacebookService  # type: ignore[import-untyped]

    return FacebookService


def definitions() -> str:
    """Return the whole text."""
    answered = answered_calls()
    calls = sorted(name for name in dir(ThriftHiveMetastore.Iface) if not name.startswith("_"))
    used: dict[str, Any] = {}
    lines = [call_text(name, used, name in answered) for name in calls]
    written: dict[str, str] = {}
    while missing := [name for name in used if name not in written]:
        for name in missing:
            fields = fields_of(used[name], used)
            body = "".join(f"  {number}: {field}\n" for number, field in fields)
            kind = "exception" if issubclass(used[name], Exception) else "struct"
            written[name] = f"{kind} {name} {{\n{body}}}\n"
    records = [written[name] for name in sorted(written)]
    service = "service ThriftHiveMetastore {\n" + "\n".join(lines) + "\n" + _OLD_CALLS + "}\n"
    return "\n".join([_HEADER, *records, _OLD_RECORDS, service])


if __name__ == "__main__":
    print(definitions(), end="")
