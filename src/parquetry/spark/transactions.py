"""Transactions of several tables around the statements of a session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from parquetry.errors import UnsupportedError
from parquetry.identifiers import part_text


@contextmanager
def transaction(catalog: str = "lake", spark: SparkSession | None = None) -> Iterator[str]:
    """Run statements of a session as one transaction of several tables of a catalog.

    Inside of the block, statements see their own changes, and all tables as they were when the block began.
    At its end, others see the changes of all tables at once. If an error leaves the block, nothing has
    changed.

    Args:
        catalog: name of the catalog; tables of other catalogs are no part of the transaction.
        spark: the session, also one of Spark Connect; by default the active one.

    Yields:
        The id that the tables' histories name the transaction by: 16 hexadecimal digits.

    Raises:
        UnsupportedError: there is no session, or it has a transaction already.
        CommitConflictError: others have changed what the transaction changes. Nothing was written: run the
            block again.
    """
    session = spark or SparkSession.getActiveSession()
    if session is None:
        raise UnsupportedError("There is no active Spark session: give one, transaction(spark=…).")
    system = f"{part_text(catalog)}.system"
    ((id,),) = session.sql(f"CALL {system}.begin()").collect()
    try:
        yield str(id)
    except BaseException:
        session.sql(f"CALL {system}.rollback()").collect()
        raise
    session.sql(f"CALL {system}.commit()").collect()
