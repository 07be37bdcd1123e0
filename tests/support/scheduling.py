"""Distribution of tests to workers: one runs all tests of a file, or of a server that takes long to start."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

_STORAGES = "tests/spark/storage/"
"""The folder whose tests need HDFS and S3."""


class OneWorkerForAServer(LoadFileScheduling):
    """Files go to a free worker; all tests of HBase go to one worker, and all tests of storages to one."""

    def _split_scope(self, nodeid: str) -> str:
        """Return the group of a test, which one worker runs.

        >>> group = OneWorkerForAServer._split_scope
        >>> group(None, "tests/conformance/test_store.py::test_get[hbase-1]"), group(None, "tests/unit/test_a.py::test_b[1]")
        ('hbase', 'tests/unit/test_a.py')
        """
        file, _, case = nodeid.partition("::")
        if file.startswith("tests/hbase/") or "hbase" in case.partition("[")[2].rstrip("]").split("-"):
            return "hbase"
        return _STORAGES if file.startswith(_STORAGES) else file
