"""What a query asks for: conditions read, fitted to a table, rewritten and judged.

`nodes` are the conditions, `filter` one that is ready for use. `reading` makes them of text and of Spark's trees, `pruning` judges
them for many containers at once.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.predicate.filter import EVERY_ROW as EVERY_ROW
    from parquetry.predicate.filter import Filter as Filter
    from parquetry.predicate.like import Rest as Rest
    from parquetry.predicate.like import head as head
    from parquetry.predicate.like import matcher as matcher
    from parquetry.predicate.like import parts_of as parts_of
    from parquetry.predicate.like import starts_with as starts_with
    from parquetry.predicate.nodes import FALSE as FALSE
    from parquetry.predicate.nodes import NULL as NULL
    from parquetry.predicate.nodes import TRUE as TRUE
    from parquetry.predicate.nodes import And as And
    from parquetry.predicate.nodes import BooleanConstant as BooleanConstant
    from parquetry.predicate.nodes import Compare as Compare
    from parquetry.predicate.nodes import In as In
    from parquetry.predicate.nodes import IsNull as IsNull
    from parquetry.predicate.nodes import Like as Like
    from parquetry.predicate.nodes import Not as Not
    from parquetry.predicate.nodes import Opaque as Opaque
    from parquetry.predicate.nodes import Or as Or
    from parquetry.predicate.nodes import Predicate as Predicate
    from parquetry.predicate.nodes import TupleIn as TupleIn
    from parquetry.predicate.nodes import all_of as all_of
    from parquetry.predicate.nodes import any_of as any_of
    from parquetry.predicate.nodes import columns_of as columns_of
    from parquetry.predicate.nodes import equal as equal
    from parquetry.predicate.nodes import name_text as name_text
    from parquetry.predicate.nodes import opaque_parts as opaque_parts
    from parquetry.predicate.normalise import conjoin as conjoin
    from parquetry.predicate.normalise import conjuncts as conjuncts
    from parquetry.predicate.normalise import disjoin as disjoin
    from parquetry.predicate.normalise import equalities_as_in as equalities_as_in
    from parquetry.predicate.normalise import tuple_membership as tuple_membership

lazy_exports(
    __name__,
    {
        ".filter": ["EVERY_ROW", "Filter"],
        ".like": ["Rest", "head", "matcher", "parts_of", "starts_with"],
        ".nodes": [
            "And",
            "BooleanConstant",
            "Compare",
            "FALSE",
            "In",
            "IsNull",
            "Like",
            "NULL",
            "Not",
            "Opaque",
            "Or",
            "Predicate",
            "TRUE",
            "TupleIn",
            "all_of",
            "any_of",
            "columns_of",
            "equal",
            "name_text",
            "opaque_parts",
        ],
        ".normalise": ["conjoin", "conjuncts", "disjoin", "equalities_as_in", "tuple_membership"],
    },
)
