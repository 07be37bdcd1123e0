"""Tests for those who extend Parquetry. They need ``parquetry[testing]``.

`StoreSuite` tests that a store keeps the contract of `parquetry.store.base`. `KeyReaderSuite` does so for the
contract of `parquetry.store.groups`, which a store need not keep.
"""

import pytest

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.testing.key_reads import KeyReaderSuite as KeyReaderSuite
    from parquetry.testing.store_suite import OpenStore as OpenStore, StoreSuite as StoreSuite

# before they are loaded, so that an assertion that fails shows the values
pytest.register_assert_rewrite(
    *(f"{__name__}.{module}" for module in ("groups", "key_reads", "scans", "store_suite"))
)
lazy_exports(__name__)
