"""Names as SQL quotes them: what is written is read back."""

from hypothesis import given, strategies as st

from parquetry.identifiers import (
    column_lists_text,
    join_name,
    ordered_columns_text,
    parse_column_lists,
    parse_name,
    parse_ordered_columns,
    quote_part,
)

PARTS = st.text(st.sampled_from("aß1_ .,;`-\n\tDESC "), min_size=1)


@given(st.lists(PARTS, min_size=1))
def test_a_name_is_read_as_it_was_written(parts):
    """Dots, blanks and backticks in a part come back, whether or not the others needed backticks."""
    assert parse_name(join_name(parts)) == parts
    assert parse_name(" . ".join(map(quote_part, parts))) == parts


@given(st.lists(st.tuples(PARTS, st.booleans()), min_size=1))
def test_a_list_of_columns_is_read_as_it_was_written(columns):
    """Commas in a name, and a name that is `desc` itself, change neither the names nor their directions."""
    assert parse_ordered_columns(ordered_columns_text(columns)) == tuple(columns)


@given(st.lists(st.lists(PARTS, min_size=1), min_size=1))
def test_lists_of_columns_are_read_as_they_were_written(lists):
    """Semicolons in a name separate nothing."""
    assert parse_column_lists(column_lists_text(lists)) == tuple(map(tuple, lists))
