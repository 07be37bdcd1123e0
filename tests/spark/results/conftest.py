"""Tests of results run without code generation, too, as tests of reading do."""

from tests.spark.reading.conftest import _code, pytest_generate_tests

__all__ = ["_code", "pytest_generate_tests"]
