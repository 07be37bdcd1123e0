"""Judge by statistics whether the rows of a container can, or must, satisfy a condition.

`match` judges. `knowledge` describes containers. `guarantees` lists the values that satisfying rows have in
common.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.predicate.pruning.guarantees import Row, allowed_values
    from parquetry.predicate.pruning.held_values import Values
    from parquetry.predicate.pruning.knowledge import (
        NO_NULL,
        NO_ROWS,
        ONLY_NULL,
        SOME_NULL,
        Bounds,
        Knowledge,
        KnownValues,
    )
    from parquetry.predicate.pruning.match import MAX_ALLOWED_TUPLES, Match
    from parquetry.predicate.pruning.truth_sets import MAX_LISTED_CONTAINERS

lazy_exports(__name__)
