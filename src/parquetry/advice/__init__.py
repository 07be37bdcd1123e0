"""Advise on a table's layout from what is in it; nothing here changes a table.

`suggest_skew` counts how often values occur, and suggests a clause SKEWED BY.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.advice.suggest_skew import suggestions as suggestions

lazy_exports(__name__)
