"""Doctests of modules that import pyspark are left out where it is not installed, as for `make test-fast`."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("pyspark") else ["src/parquetry/spark", "demo"]
