"""Owners of a place in its several spellings; locations with secrets in them."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

from tests.support.spark.storages import Storage

pytestmark = pytest.mark.s3


def test_another_spelling_is_the_same_place(s3: Storage) -> None:
    """The folder of a managed table below `s3a:` is not given away as one below `s3:`."""
    s3.spark.sql(f"CREATE TABLE {s3.database}.t (id BIGINT)")
    for scheme in ("s3", "s3n"):
        location = f"{s3.warehouse}/db.db/t/below".replace("s3a:", f"{scheme}:")
        with pytest.raises(AnalysisException, match="LOCATION_TAKEN"):
            s3.spark.sql(f"CREATE TABLE {s3.database}.o (id BIGINT) USING parquet LOCATION '{location}'")


def test_secrets_in_locations(s3: Storage) -> None:
    """A location with a password or a signature is refused with a reason, and the secret is not shown."""
    for location in ("s3a://key:topsecret@lake/t", "s3a://lake/t?X-Amz-Signature=topsecret"):
        with pytest.raises(AnalysisException, match=r"password|signed URL") as caught:
            s3.spark.sql(f"CREATE TABLE {s3.database}.o (id BIGINT) USING parquet LOCATION '{location}'")
        assert "topsecret" not in str(caught.value)


def test_an_unknown_scheme(s3: Storage) -> None:
    """A scheme that Hadoop does not know is named, with where its settings belong."""
    table = f"{s3.database}.o"
    s3.spark.sql(f"CREATE TABLE {table} (id BIGINT) USING parquet LOCATION 'nowhere://a/t'")
    with pytest.raises(AnalysisException, match=r"No FileSystem for scheme .nowhere.*spark\.hadoop\.fs"):
        s3.spark.sql(f"MSCK REPAIR TABLE {table}")
