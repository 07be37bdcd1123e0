"""Types of columns, and the forms of their values.

`facts` has a row for each type with the answers to all questions that distinguish types. `column_type` reads
a type, and `values` a value.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.types.column_type import (
        BOOLEAN as BOOLEAN,
        STRING as STRING,
        ColumnType as ColumnType,
        names_within as names_within,
        parse_type as parse_type,
        type_from_json as type_from_json,
        type_text as type_text,
    )
    from parquetry.types.facts import (
        INTEGERS as INTEGERS,
        TIME_NAMES as TIME_NAMES,
        TYPES as TYPES,
        UNKNOWN_TYPE as UNKNOWN_TYPE,
        Family as Family,
        TypeFacts as TypeFacts,
        facts_of as facts_of,
    )
    from parquetry.types.values import (
        Value as Value,
        decimal_from_unscaled as decimal_from_unscaled,
        extreme_values as extreme_values,
        identity as identity,
        nearest_float32 as nearest_float32,
        negative as negative,
        order_key as order_key,
        sql_literal as sql_literal,
        text_from_value as text_from_value,
        to_float32 as to_float32,
        to_python as to_python,
        value_from_text as value_from_text,
    )

lazy_exports(__name__)
