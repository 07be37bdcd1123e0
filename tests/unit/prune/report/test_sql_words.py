"""A report has SQL's words for things that Spark's optimizer names in its own way."""

import pytest

from parquetry.prune.report.sql_words import key_of_not_in, node_words, plain_text

INNER_NAMES = (
    "knownfloating",
    "normalizenan",
    "subquery",
    "Relation",
    "RDD",
    "#",
    "EXISTENCE",
    "\0",
    "UnionLoop",
)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("normalizenanandzero(a.b) = 1.0", "a.b = 1.0"),
        ("knownnullable(coalesce(x, f(y, ')'))) > 1", "coalesce(x, f(y, ')')) > 1"),
        ("k#7 = listquery()", "k = (SELECT …)"),
        ("k IN (scalar-subquery#12 [])", "k IN ((SELECT …))"),
        ("(NULL OR x IS NULL)", "(x IS NULL)"),
        ("s = 'knownnullable(x)' AND t = '#12'", "s = 'knownnullable(x)' AND t = '#12'"),
        ("`odd (name` = 1", "odd (name = 1"),
        ("`a#1` = 2", "`a#1` = 2"),
        (
            "static_invoke(CharVarcharCodegenUtils.readSidePadding(c, 4)) = 'ab  '",
            "c = 'ab  '",
        ),
        ("IS_NULL(h + 1)", "(h + 1) IS NULL"),
        ("day >= DATE '2026-01-01'", "day >= DATE '2026-01-01'"),
    ],
)
def test_functions_and_ids_of_the_optimizer_go(text: str, plain: str) -> None:
    """The optimizer's functions and ids are removed.

    The user's own words stay, and quoted texts stay letter for letter.
    """
    assert plain_text(text) == plain
    assert plain_text(plain) == plain


@pytest.mark.parametrize(
    "node",
    [
        "OneRowRelation",
        "UnionLoopRef",
        "LogicalRDD",
        "ExternalRDD",
        "LocalRelation",
        "Scan ExistingRDD",
        "InMemoryRelation",
    ],
)
def test_sources_of_rows_have_words(node: str) -> None:
    """No name of a node is left in them."""
    words = node_words(node)
    assert words != node
    assert not any(name in words for name in INNER_NAMES)


def test_the_key_of_not_in_is_the_other_side() -> None:
    """Spark's condition for NOT IN names both keys twice."""
    assert key_of_not_in("((d.x = y) OR ((d.x = y) IS NULL))", "y") == "d.x"
