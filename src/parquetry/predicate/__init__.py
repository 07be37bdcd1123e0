"""Conditions of a query: read them, fit them to a table, rewrite them, and judge containers of rows by them.

`nodes` defines conditions, and `filter` a condition that is ready for use. `reading` makes conditions from
text and from Spark's trees. `pruning` judges many containers at once.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.predicate.bind import NUMBER_TYPE as NUMBER_TYPE
    from parquetry.predicate.expression import (
        ColumnReference as ColumnReference,
        Expression as Expression,
        columns_in as columns_in,
    )
    from parquetry.predicate.filter import EVERY_ROW as EVERY_ROW, Filter as Filter
    from parquetry.predicate.functions.preimage import direction_in as direction_in
    from parquetry.predicate.functions.table import settled_functions as settled_functions
    from parquetry.predicate.functions.text.order import after_all as after_all
    from parquetry.predicate.functions.values import (
        NO_NULL as NO_NULL,
        NO_ROWS as NO_ROWS,
        ONLY_NULL as ONLY_NULL,
        SOME_NULL as SOME_NULL,
        Range as Range,
    )
    from parquetry.predicate.like import (
        Rest as Rest,
        contains as contains,
        ends_with as ends_with,
        head as head,
        matcher as matcher,
        parts_of as parts_of,
        starts_with as starts_with,
    )
    from parquetry.predicate.nodes import (
        FALSE as FALSE,
        NULL as NULL,
        TRUE as TRUE,
        And as And,
        BooleanConstant as BooleanConstant,
        Compare as Compare,
        In as In,
        IsNull as IsNull,
        Like as Like,
        Not as Not,
        Opaque as Opaque,
        Or as Or,
        Predicate as Predicate,
        TupleIn as TupleIn,
        all_of as all_of,
        any_of as any_of,
        columns_of as columns_of,
        equal as equal,
        name_text as name_text,
        opaque_parts as opaque_parts,
    )
    from parquetry.predicate.normalise import (
        conjoin as conjoin,
        conjuncts as conjuncts,
        disjoin as disjoin,
        equalities_as_in as equalities_as_in,
        is_true as is_true,
        tuple_membership as tuple_membership,
    )
    from parquetry.predicate.pruning.guarantees import Row as Row, allowed_values as allowed_values
    from parquetry.predicate.pruning.held_values import (
        HIGHEST as HIGHEST,
        LOWEST as LOWEST,
        Values as Values,
        as_list as as_list,
    )
    from parquetry.predicate.pruning.knowledge import (
        Bounds as Bounds,
        Knowledge as Knowledge,
        KnownValues as KnownValues,
    )
    from parquetry.predicate.pruning.match import (
        MAX_ALLOWED_TUPLES as MAX_ALLOWED_TUPLES,
        Match as Match,
        match as match,
    )
    from parquetry.predicate.pruning.match_formula import (
        Exclusions as Exclusions,
        expression_ranges as expression_ranges,
    )
    from parquetry.predicate.pruning.truth_sets import MAX_LISTED_CONTAINERS as MAX_LISTED_CONTAINERS
    from parquetry.predicate.reading.char_padding import SparkColumns as SparkColumns
    from parquetry.predicate.reading.join_values import raw_values as raw_values, read_key as read_key
    from parquetry.predicate.reading.operand_trees import tree_text as tree_text
    from parquetry.predicate.reading.parse import parse_filter as parse_filter
    from parquetry.predicate.reading.spark_json import (
        expression_from_json as expression_from_json,
        filter_from_json as filter_from_json,
    )

lazy_exports(__name__)
