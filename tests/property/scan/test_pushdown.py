"""Conditions that a store tests never lose a row, over generated tables, rows and conditions."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings, strategies as st

from parquetry.key_schema import KeySchema
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.nodes import OPERATORS, Compare, In, IsNull, Like, Not, Or, Predicate, TupleIn
from parquetry.scan import compile_residual, plan_scan
from parquetry.scan.pushdown import field_condition, scans_condition
from parquetry.store.condition import holds
from parquetry.types import ColumnType, parse_type
from tests.support.effort import examples
from tests.support.planning.filters import make_filter
from tests.support.planning.keys import fields_reader
from tests.support.tables.generated_tables import POOLS, free_values, literals, predicates, rows, tables

PREFIX, SUFFIX = b"tablename", b"\xff\xff\xff\xff\xff\xff\xff\xf8"
RELAXED = settings(
    max_examples=examples(250),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
TEXT = st.text(st.sampled_from("ab\x00\x01\x02é😀\ud800%_\\\n\u2028"), max_size=6)


def flags(data: st.DataObject, count: int) -> list[bool]:
    return data.draw(st.lists(st.booleans(), min_size=count, max_size=count))


@RELAXED
@given(st.data())
def test_no_row_is_lost(data: st.DataObject) -> None:
    """Wherever a residual is TRUE, or not understood, the condition on the fields holds."""
    columns = data.draw(tables())
    schema = KeySchema.from_columns(columns, flags(data, len(columns)))
    predicate = data.draw(predicates(columns, opaque=True))
    condition = field_condition(make_filter(predicate), schema)
    test = compile_residual(make_filter(predicate), schema, prefix=len(PREFIX), suffix=len(SUFFIX))
    fields = fields_reader(len(columns), len(PREFIX), len(SUFFIX))
    for row in data.draw(rows(columns)):
        key = PREFIX + schema.encode(row) + SUFFIX
        if condition is not None and test(key):
            assert holds(condition, fields(key))


@settings(RELAXED, max_examples=examples(150))
@given(st.data())
def test_no_row_of_several_ranges_is_lost(data: st.DataObject) -> None:
    """One condition for all of a plan's ranges holds wherever the residual of a row's range is TRUE."""
    columns = data.draw(tables())
    schema = KeySchema.from_columns(columns, flags(data, len(columns)))
    plan = plan_scan(make_filter(data.draw(predicates(columns))), schema)
    condition = scans_condition(plan.scans, schema)
    if condition is None:
        return
    fields = fields_reader(len(columns))
    for row in data.draw(rows(columns)):
        key = schema.encode(row)
        for scan in plan.scans:
            within = scan.start <= key and (scan.stop is None or key < scan.stop)
            if within and compile_residual(scan.residual, schema)(key):
                assert holds(condition, fields(key))


@RELAXED
@given(st.data())
def test_comparisons_are_exact(data: st.DataObject) -> None:
    """A single comparison, IN, tuple IN or IS NULL, or its contrary, holds exactly where it is TRUE."""
    type = data.draw(st.sampled_from([parse_type(text) for text in POOLS]))
    schema = KeySchema.from_columns([("a", type), ("b", type)], flags(data, 2))
    some = st.lists(literals(type), min_size=1, max_size=4).map(tuple)
    pairs = st.lists(st.tuples(literals(type), st.none() | literals(type)), min_size=1, max_size=3).map(tuple)
    leaf: Predicate = data.draw(
        st.one_of(
            st.builds(Compare, st.sampled_from(OPERATORS), st.just("a"), literals(type), st.just(type)),
            st.builds(In, st.just("a"), some, st.just(type)),
            st.builds(TupleIn, st.just(("a", "b")), pairs, st.just((type, type))),
            st.just(IsNull("a")),
        )
    )
    predicate = data.draw(st.sampled_from((leaf, Not(leaf))))
    condition = field_condition(make_filter(predicate), schema)
    fields = fields_reader(2)
    drawn = data.draw(st.lists(st.tuples(free_values(type), free_values(type)), max_size=20))
    for row in [*drawn, (None, None)]:
        key = schema.encode(row)
        wanted = evaluate(predicate, dict(zip("ab", row, strict=True))) is True
        if condition is None:
            assert not wanted  # a condition that is never TRUE needs no test, so no row is read
        else:
            assert holds(condition, fields(key)) is wanted


@settings(RELAXED, max_examples=examples(600))
@given(
    TEXT,
    st.lists(st.none() | TEXT, max_size=12),
    st.sampled_from(["string", "varchar(9)", "char(6)"]).map(parse_type),
    st.booleans(),
    st.sampled_from(["\\", "", "a"]),
)
def test_patterns_lose_nothing(
    pattern: str, texts: list[str | None], type: ColumnType, down: bool, escape: str
) -> None:
    """LIKE and NOT LIKE, of any pattern, with bytes that need escaping, hold where they are TRUE."""
    like = Like("a", pattern, escape, type)
    schema = KeySchema.from_columns([("a", type)], (down,))
    for value in [*texts, pattern[: type.length] if type.length else pattern, None]:
        stored = value.ljust(6)[:6] if value is not None and type.name == "char" else value
        fields = fields_reader(1)(schema.encode((stored,)))
        for predicate in (like, Not(like)):
            condition = field_condition(make_filter(predicate), schema)
            if evaluate(predicate, {"a": stored}) is True and condition is not None:
                assert holds(condition, fields)


def test_patterns_are_told_apart() -> None:
    """LIKE leaves out texts that do not match, with wildcards at any position, in both orders."""
    type = parse_type("string")
    texts = [None, "", "a", "ab", "abc", "bab", "aéb", "a\x01b", "xaxbx", "%"]
    for schema in (KeySchema.from_columns([("a", type)], (down,)) for down in (False, True)):
        for pattern in ("a%", "%b", "%a%b%", "a_b", "a%b", "__", "_", "\\%", "ab", "%", "a_%", "%é%", "_%_b"):
            for predicate in (Like("a", pattern), Not(Like("a", pattern))):
                condition = field_condition(make_filter(predicate), schema)
                # `_` is not negated, as a character may have several bytes; NOT LIKE '%' is never TRUE.
                vague = condition is None or ("_" in pattern and isinstance(predicate, Not))
                for text in texts:
                    wanted = evaluate(predicate, {"a": text}) is True
                    fields = fields_reader(1)(schema.encode((text,)))
                    kept = condition is None or holds(condition, fields)
                    assert kept is wanted or (kept and vague), (pattern, text, predicate)
                assert condition is not None or predicate == Not(Like("a", "%"))


def test_long_lists_are_cut_short() -> None:
    """A test that would take a server too long on each row is left out, and no row is lost."""
    type = parse_type("int")
    schema = KeySchema.from_columns([("a", type), ("b", type)])
    rows = [(a, b) for a in (None, 0, 1, 2, 4_000, 9_999, 10_000) for b in (None, 0, 1, 9_999)]
    many = In("a", tuple(range(0, 10_000, 2)), type)
    tuples = TupleIn(("a", "b"), tuple((n, n) for n in range(0, 10_000, 2)), (type, type))
    ors = Or(tuple(Not(Or((IsNull("b"), Compare("=", "a", n, type)))) for n in range(200)))
    lists: list[Predicate] = [many, Not(many), tuples, Not(tuples), ors]
    for predicate in lists:
        condition = field_condition(make_filter(predicate), schema)
        assert len(repr(condition)) < 40_000
        for row in rows:
            fields = fields_reader(2)(schema.encode(row))
            if evaluate(predicate, dict(zip("ab", row, strict=True))) is True:
                assert condition is None or holds(condition, fields)
    condition = field_condition(make_filter(many), schema)
    assert condition is not None
    assert not holds(condition, fields_reader(2)(schema.encode((10_001, 0))))
    assert field_condition(make_filter(ors), schema) is None
