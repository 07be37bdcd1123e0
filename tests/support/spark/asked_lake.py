"""A catalog that answers the bridge's questions without Spark, for statements that change tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from parquetry.layout.bucket_spec import BucketSpec
from parquetry.layout.skew_map import SkewMap
from parquetry.metastore import Metastore, TableSnapshot
from parquetry.planner.engine import NoEngine
from parquetry.planner.planner import Planner
from parquetry.planner.protocol.codec import PROTOCOL

COLUMNS = {"x": "integer", "y": "string", "p": "integer"}
PARTITIONED_BY_P = [
    {"name": "identity", "columns": [["p"]], "arguments": [{"col": ["p"]}], "text": "p"},
]
BUCKETS = {"name": "bucket", "columns": [["x"]], "arguments": [{"lit": "4", "type": "int"}, {"col": ["x"]}], "text": "bucket(4, x)"}  # fmt: skip


class BridgeLake:
    """A catalog, asked as the bridge asks it.

    Attributes:
        folder: of the warehouse.
    """

    def __init__(self, folder: Path, metastore: Metastore) -> None:
        self._planner = Planner(NoEngine("UTC"))
        self.folder = folder
        self._metastore = metastore

    def ask(self, op: str, **question: Any) -> Any:
        """Return an answer, or the error."""
        head = {"protocol": PROTOCOL, "op": op, "catalog": "lake", "options": {"warehouse": str(self.folder)}}
        answer = json.loads(self._planner.ask(json.dumps({**head, **question})))
        return answer.get("ok", answer.get("error"))

    def create(
        self, name: str = "t", op: str = "create_table", by: Any = None, columns: Any = None, **question: Any
    ) -> Any:
        """Make a table with these properties."""
        types = COLUMNS if columns is None else columns
        fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in types.items()]
        return self.ask(
            op, namespace=["default"], name=name, schema={"type": "struct", "fields": fields},
            partitioning=PARTITIONED_BY_P if by is None else by, **question,
        )  # fmt: skip

    def alter(self, *changes: dict[str, Any], name: str = "t", **properties: str) -> Any:
        """Change columns, and set properties."""
        set_ = [
            {"change": "set_property", "key": key.replace("_", "-"), "value": value}
            for key, value in properties.items()
        ]
        return self.ask("alter_table", namespace=["default"], name=name, changes=[*set_, *changes])

    def table(self, name: str = "t") -> TableSnapshot:
        """Return a table as the metastore has it."""
        return self._metastore.table("default", name)

    def skew(self, name: str = "t") -> SkewMap | None:
        """Return its heavy values, as its record says them."""
        return self.table(name).metadata.arrangement.skew

    def buckets(self, name: str = "t") -> BucketSpec | None:
        """Return its buckets, as its record says them."""
        return self.table(name).metadata.arrangement.buckets
