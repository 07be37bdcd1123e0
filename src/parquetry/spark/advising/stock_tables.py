"""Tables of Spark's own catalog."""

from __future__ import annotations

from pyspark.sql import SparkSession

from parquetry.errors import TableNotFoundError, UnsupportedError


def table_location(name: str) -> str:
    """Return the folder of a Parquet table of Spark's own catalog.

    Raises:
        UnsupportedError: no session is active, or the table's files are not Parquet.
        TableNotFoundError: there is no such table.
    """
    session = SparkSession.getActiveSession()
    if session is None:
        raise UnsupportedError(
            f"No Spark session is active, which would know {name}: name its folder instead."
        )
    if not session.catalog.tableExists(name):
        raise TableNotFoundError(
            f"Table {name} does not exist; SHOW TABLES IN its database lists those that do."
        )
    rows = session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    facts = {row.col_name: row.data_type for row in rows}
    if facts.get("Provider", "").lower() != "parquet" or "Location" not in facts:
        raise UnsupportedError(
            f"The files of {name} are not Parquet: only folders of Parquet can be looked at."
        )
    return str(facts["Location"])
