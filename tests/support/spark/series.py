"""Features that the installed series of Spark lacks.

A test that needs one has the marker `needs`. A test with the marker `lacks` shows what happens without it.
"""

from __future__ import annotations

import re
from typing import Any

import pyspark
import pytest
from pyspark.errors import AnalysisException

from parquetry.config import SPARK_SERIES, series_of
from parquetry.config.spark_versions import Missing

LACKING: dict[str, Missing] = {
    missing.feature: missing for missing in SPARK_SERIES[series_of(pyspark.__version__) or ""]
}
"""By the features' keys."""


def is_before(other: str) -> bool:
    """Return whether it is older than another one, such as 4.1."""
    names = list(SPARK_SERIES)  # the newest first
    return names.index(series_of(pyspark.__version__) or "") > names.index(other)


def has(feature: str) -> bool:
    """Return whether it has a feature.

    Args:
        feature: a key that `parquetry.config.spark_versions` lists.

    Raises:
        KeyError: no series lacks such a feature.
    """
    known = {missing.feature for lacking in SPARK_SERIES.values() for missing in lacking}
    if feature not in known:
        raise KeyError(feature)
    return feature not in LACKING


def shows(item: pytest.Item) -> bool:
    """Return whether the installed series has, or lacks, what a test is about."""
    series = series_of(pyspark.__version__)
    newest = next(iter(SPARK_SERIES))
    return (
        all(has(each.args[0]) for each in item.iter_markers("needs"))
        and not any(has(each.args[0]) for each in item.iter_markers("lacks"))
        and not any(is_before(each.args[0]) for each in item.iter_markers("since"))
        and all(series == each.args[0] for each in item.iter_markers("only"))
        and (series == newest or item.get_closest_marker("newest") is None)
    )


def refused(feature: str) -> Any:
    """Expect an error in the words that the docs have for a feature that is lacking."""
    words = f": on Spark {pyspark.__version__}, {LACKING[feature].words}. "
    return pytest.raises(AnalysisException, match=re.escape(words))
