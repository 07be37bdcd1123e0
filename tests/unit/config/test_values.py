"""Settings: their values, and the errors of values that are not valid."""

from __future__ import annotations

import pytest

from parquetry.config.checks import check_catalog_options, check_properties, is_fixed
from parquetry.config.column_names import naming, rename_column
from parquetry.config.precedence import settle
from parquetry.config.registry import TABLE_SETTINGS
from parquetry.config.setting import parse_size
from parquetry.errors import ConfigurationError, PropertyError
from parquetry.identifiers import paths_text


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("10 b", 10), ("64kb", 65536), ("1.GB", None), ("2MiB", 2 << 20), ("1 T", 1 << 40)],
)
def test_sizes(text: str, size: int | None) -> None:
    """A size is a whole number with an optional unit of 1024s, in any case."""
    if size is None:
        with pytest.raises(ValueError, match="not a size such as 128mb"):
            parse_size(text)
    else:
        assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "0mb", "-1", "mb", "1 parsec", "1e3", "1kbb"])
def test_what_is_no_size(text: str) -> None:
    """Nothing, zero, negative numbers and unknown units are not sizes."""
    with pytest.raises(ValueError, match="not a size"):
        parse_size(text)


def test_a_size_beyond_any_file() -> None:
    """Sizes end at an exbibyte: more does not fit where Java counts bytes."""
    assert parse_size("1048576tb") == 1 << 60
    for text in ("1048577tb", "9" * 30):
        with pytest.raises(ValueError, match="more than an exbibyte"):
            parse_size(text)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("a", ("a",)),
        (" a ,b,  c d".replace("  c d", "`c d`"), ("a", "b", "c d")),
        ("`a,b`, `c``d`, ü", ("a,b", "c`d", "ü")),
        ("a asc, b", ("a", "b")),
        ("asc, `a.b`", ("asc", "a.b")),
    ],
)
def test_lists_of_columns(text: str, columns: tuple[str, ...]) -> None:
    """Names are separated by commas, and names that are not plain words are in backticks."""
    assert settle(properties={"sort-by": text})["sort-by"].paths == tuple((column,) for column in columns)
    assert [name for name, _ in settle(properties={"partition-order": text})["partition-order"]] == list(
        columns
    )


def test_fields_among_columns() -> None:
    """Names with dots between them lead to fields of structs, where these can be named."""
    text = "a . b, s.`x.y` ASC,`d e`.f"
    assert settle(properties={"sort-by": text})["sort-by"].paths == (("a", "b"), ("s", "x.y"), ("d e", "f"))
    assert paths_text((("a", "b"), ("s", "x.y"))) == "a.b, s.`x.y`"


def test_curves() -> None:
    """A curve is through two to six different columns, or fields."""
    order = settle(properties={"sort-by": " ZOrder( a, s.`b)` ) "})["sort-by"]
    assert (order.is_curve, order.paths, str(order)) == (True, (("a",), ("s", "b)")), "zorder(a, s.`b)`)")
    for text in ("zorder(a)", "zorder(a, a)", "zorder(a, b, c, d, e, f, g)", "zorder()", "zorder(a, b), c"):
        with pytest.raises(PropertyError, match="sort-by"):
            settle(properties={"sort-by": text})["sort-by"]


def test_directions() -> None:
    """A partition column may have DESC after it, in any case; a column named desc is one all the same."""
    text = "a DESC, `b c` desc,d asc, desc, `e desc`"
    assert settle(properties={"partition-order": text})["partition-order"] == (
        ("a", True), ("b c", True), ("d", False), ("desc", False), ("e desc", False),
    )  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", ",", "a,", "a b", "a,,b", "`a", "a desc", "a desc desc", "a`b", "a.", ".a", "a..b"]
)
def test_what_is_no_list_of_columns(text: str) -> None:
    """A list with a gap, or a name that would need backticks, is an error that says so."""
    with pytest.raises(PropertyError, match=r"'sort-by' is .*not a list of column names"):
        check_properties({"sort-by": text})


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("target-file-sise", "did you mean 'target-file-size'"),
        ("Target-File-Size", "did you mean 'target-file-size'"),
        ("target_file_size", "did you mean 'target-file-size'"),
        ("target.file.size", "did you mean 'target-file-size'"),
        ("sortby", "did you mean 'sort-by'"),
        ("parquetry.sort.by", "did you mean 'sort-by'"),
        ("vacuum.retention.check", "did you mean 'vacuum-retention-check'"),
        ("bucket.begin.partition.date20200520", "say 'bucket-begin-partition' = 'value'"),
        ("bucket.begin.partition", "say 'bucket-begin-partition' = 'value'"),
        ("BUCKET_BEGIN_PARTITION_hour", "say 'bucket-begin-partition' = 'value'"),
        ("parquetry.anything", "known are auto-compact, .*auto-skew-share, .*compression, "),
    ],
)
def test_slips(name: str, says: str) -> None:
    """A name so near a known one that it is a slip, and any of our own name space, is unknown."""
    with pytest.raises(PropertyError, match=rf"Table property '{name}' is unknown; .*{says}"):
        check_properties({name: "x"})


@pytest.mark.parametrize(
    "name",
    ["owner.team", "sort", "parquet.block.size", "orc.compress", "orc.bloom.filter.columns", "size", "k v"],
)
def test_a_users_own_properties(name: str) -> None:
    """Other names are the user's own."""
    check_properties({name: "x"})


def test_properties_that_are_fixed() -> None:
    """Only what the keys depend on, and what procedures change, is fixed when a table is made."""
    assert [setting.name for setting in TABLE_SETTINGS if is_fixed(setting.name)] == [
        "partition-order",
        "partition-indexes",
    ]
    assert not is_fixed("anything else")


def test_a_renamed_column_in_properties() -> None:
    """Properties that name a renamed column have its new name, quoted as needed.

    Other properties stay letter for letter.
    """
    properties = {"sort-by": "a ,  B", "partition-order": "b desc, c", "k": "b"}
    assert rename_column(properties, ["x"], "y") == properties
    assert rename_column(properties, ["b"], "n`ew 1") == {
        "sort-by": "a, `n``ew 1`", "partition-order": "`n``ew 1` desc, c", "k": "b",
    }  # fmt: skip


def test_a_renamed_field_in_properties() -> None:
    """A path that leads through a renamed field has its new name.

    A field of another struct with the same name keeps it.
    """
    properties = {"sort-by": "S.a.x, t.a, a", "partition-order": "a", "bloom-filter-columns": "a"}
    assert rename_column(properties, ["s", "a"], "b.c") == {
        "sort-by": "S.`b.c`.x, t.a, a", "partition-order": "a", "bloom-filter-columns": "a",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "names"),
    [
        (["a"], ["sort-by", "bloom-filter-columns"]),
        (["s"], ["sort-by"]),
        (["s", "X"], ["sort-by"]),
        (["s", "x", "deep"], ["sort-by"]),
        (["s", "y"], []),
        (["x"], []),
    ],
)
def test_properties_that_name_a_column(path: list[str], names: list[str]) -> None:
    """Dropping a path affects the properties that name it, a field within it, or a struct around it."""
    assert naming({"sort-by": "s.x, a", "bloom-filter-columns": "A", "k": "a"}, path) == names


def test_catalog_options() -> None:
    """An unknown option, and a missing warehouse, are named with the whole key to set."""
    check_catalog_options("lake", {"warehouse": "/w", "store": "sqlite"})
    with pytest.raises(
        ConfigurationError, match=r"spark\.sql\.catalog\.lake\.wharehouse is unknown; known are"
    ):
        check_catalog_options("lake", {"warehouse": "/w", "wharehouse": "/w"})
    for options in ({}, {"warehouse": ""}):
        with pytest.raises(ConfigurationError, match=r"set spark\.sql\.catalog\.lake\.warehouse"):
            check_catalog_options("lake", options)


def test_properties_of_other_formats(caplog: pytest.LogCaptureFixture) -> None:
    """Table properties of Delta and Iceberg are kept, and a warning says that they do nothing here."""
    check_properties({"Delta.appendOnly": "true", "write.target-file-size-bytes": "9", "commit.author": "me"})
    assert caplog.messages == [
        "Table property 'Delta.appendOnly' is Delta's and has no effect here.",
        "Table property 'write.target-file-size-bytes' is Iceberg's and has no effect here; ours is 'target-file-size'.",
    ]
