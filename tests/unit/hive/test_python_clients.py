"""A served warehouse, asked by clients of Python as their users have them: pymetastore and hmsclient."""

from __future__ import annotations

import os
import subprocess
import sys

import pyarrow as pa
import pytest

from tests.support.clients.hive import served
from tests.support.other_sparks.installed import installed
from tests.support.readers.python_tables import PythonLake

PROGRAMS = {
    ("pymetastore", "0.4.2"): """
import sys
from pymetastore.metastore import HMS

with HMS.create(host="127.0.0.1", port=int(sys.argv[1])) as hms:
    print(hms.list_databases(), hms.list_tables("default"))
    table = hms.get_table("default", "t")
    print([each.name for each in (*table.columns, *table.partition_columns)])
    print(hms.list_partitions("default", "t")[:2], len(hms.get_partitions("default", "t")))
    print(hms.get_partition("default", "t", "p=1/s=ü").values)
""",
    ("hmsclient", "0.1.1"): """
import sys
from hmsclient import hmsclient

with hmsclient.HMSClient(host="127.0.0.1", port=int(sys.argv[1])) as hms:
    print(hms.get_all_databases(), hms.get_all_tables("default"))
    table = hms.get_table("default", "t")
    print([each.name for each in (*table.sd.cols, *table.partitionKeys)])
    print(hms.get_partition_names("default", "t", 2), len(hms.get_partitions("default", "t", -1)))
    (found,) = hms.get_partitions_by_filter("default", "t", "p = 1 and s = 'ü'", -1)
    print(found.values)
    assert hms.check_for_named_partition("default", "t", "p=1/s=ü")
    try:
        hms.drop_table("default", "t", True)
    except Exception as error:
        assert "drop_table is refused" in error.message
    else:
        sys.exit("dropped")
""",
}
READ = """\
['default'] ['e', 't']
['a', 'p', 's']
['p=0/s=__HIVE_DEFAULT_PARTITION__', 'p=0/s=a b'] 10
['1', 'ü']
"""


@pytest.mark.exhaustive("other tests ask by the code that Thrift generates, as these clients do")
@pytest.mark.parametrize(("package", "version"), PROGRAMS)
def test_a_client_of_python(lake: PythonLake, package: str, version: str) -> None:
    """It reads names, columns and partitions, with values that are not ASCII."""
    lake.put("t", "p=1/s=ü/f.parquet", pa.table({"a": [1]}))
    lake.sync("t")
    with served(lake.folder) as port:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAMS[package, version], str(port)],
            env={**os.environ, "PYTHONPATH": str(installed(package, version, "2 MB"))},
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stdout) == (0, READ), done.stderr
