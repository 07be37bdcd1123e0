"""Start the servers of the tests for a demo on object storage: S3 with its objects in memory, and PostgreSQL.

They end with the demo, and their data with them. `demo.lake` says what is where.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from demo.lake import Servers
from tests.support.postgresql.launcher import DATABASE, USER, PostgreSQLServer
from tests.support.s3.launcher import ACCESS_KEY, REGION, SECRET_KEY, S3Server, s3a_jars

_BUCKET = "demo"
_HEAP = "1g"
"""Memory of the S3 server, which holds the files of all tables: enough for scale 1."""


@contextlib.contextmanager
def started() -> Iterator[Servers]:
    """Start the servers, and end them after the block."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="parquetry-demo-"))
        s3 = S3Server(Path(folder, "s3"), heap=_HEAP)
        stack.callback(s3.stop)
        s3.make_bucket(_BUCKET)
        postgresql = PostgreSQLServer.start_in_temporary_folder()
        stack.callback(postgresql.remove)
        jars = ",".join(map(str, s3a_jars()))
        yield Servers(
            f"s3a://{_BUCKET}",
            f"postgresql://{USER}@127.0.0.1:{postgresql.port}/{DATABASE}",
            {**s3.settings(), "spark.jars": jars, "spark.hadoop.fs.s3a.create.performance": "true"},
            {
                "aws_access_key_id": ACCESS_KEY,
                "aws_secret_access_key": SECRET_KEY,
                "aws_region": REGION,
                "aws_endpoint_url": s3.endpoint,
            },
        )
