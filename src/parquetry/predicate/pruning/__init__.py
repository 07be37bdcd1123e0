"""Whether containers of rows can, or must, satisfy a condition, by what is known of them.

`match` judges, `knowledge` says what is known, and `guarantees` says what rows that satisfy the condition have in common.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.predicate.pruning.guarantees import Row as Row
    from parquetry.predicate.pruning.guarantees import allowed_values as allowed_values
    from parquetry.predicate.pruning.held_values import Values as Values
    from parquetry.predicate.pruning.knowledge import NO_NULL as NO_NULL
    from parquetry.predicate.pruning.knowledge import NO_ROWS as NO_ROWS
    from parquetry.predicate.pruning.knowledge import ONLY_NULL as ONLY_NULL
    from parquetry.predicate.pruning.knowledge import SOME_NULL as SOME_NULL
    from parquetry.predicate.pruning.knowledge import Bounds as Bounds
    from parquetry.predicate.pruning.knowledge import Knowledge as Knowledge
    from parquetry.predicate.pruning.knowledge import KnownValues as KnownValues
    from parquetry.predicate.pruning.match import MAX_ALLOWED_TUPLES as MAX_ALLOWED_TUPLES
    from parquetry.predicate.pruning.match import Match as Match
    from parquetry.predicate.pruning.truth_sets import MAX_LISTED_CONTAINERS as MAX_LISTED_CONTAINERS

lazy_exports(
    __name__,
    {
        ".guarantees": ["Row", "allowed_values"],
        ".held_values": ["Values"],
        ".knowledge": ["Bounds", "Knowledge", "KnownValues", "NO_NULL", "NO_ROWS", "ONLY_NULL", "SOME_NULL"],
        ".match": ["MAX_ALLOWED_TUPLES", "Match"],
        ".truth_sets": ["MAX_LISTED_CONTAINERS"],
    },
)
