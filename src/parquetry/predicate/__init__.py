"""Conditions of a query: read them, fit them to a table, rewrite them, and judge containers of rows by them.

`nodes` defines conditions, and `filter` a condition that is ready for use. `reading` makes conditions from
text and from Spark's trees. `pruning` judges many containers at once.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.predicate.filter import EVERY_ROW, Filter
    from parquetry.predicate.like import Rest, head, matcher, parts_of, starts_with
    from parquetry.predicate.nodes import (
        FALSE,
        NULL,
        TRUE,
        And,
        BooleanConstant,
        Compare,
        In,
        IsNull,
        Like,
        Not,
        Opaque,
        Or,
        Predicate,
        TupleIn,
        all_of,
        any_of,
        columns_of,
        equal,
        name_text,
        opaque_parts,
    )
    from parquetry.predicate.normalise import conjoin, conjuncts, disjoin, equalities_as_in, tuple_membership

lazy_exports(__name__)
