"""Conditions that Hive reads, and the partitions that it applies them to."""

from __future__ import annotations

COLUMNS = {
    "b": "boolean",
    "t": "tinyint",
    "m": "smallint",
    "i": "int",
    "g": "bigint",
    "f": "float",
    "x": "double",
    "n": "decimal(10,2)",
    "w": "decimal(38,10)",
    "d": "date",
    "ts": "timestamp",
    "s": "string",
    "e": "string",
    "v": "varchar(10)",
    "c": "char(5)",
}
"""The types of the partition columns; `e` has dates as texts."""

VALUES: dict[str, list[str | None]] = {
    "b": ["true", "false", None],
    "t": ["-128", "0", "5", "127", None],
    "m": ["-32768", "-1", "0", "5", "32767", None],
    "i": ["-2147483648", "-1", "0", "1", "2", "10", "16777217", "2147483647", None],
    "g": ["-9223372036854775808", "0", "5", "9007199254740993", "9223372036854775807", None],
    "f": ["-1.5", "0.0", "-0.0", "0.1", "2.5", "1.0E10", "NaN", None],
    "x": ["-1.5", "0.0", "-0.0", "0.1", "2.5", "1.0E300", "NaN", None],
    "n": ["-1.50", "0.00", "0.10", "2.50", "99999999.99", None],
    "w": ["-1.5000000000", "0.1000000000", "2.5000000000", "1234567890123456789012345678.0000000001", None],
    "d": ["1969-12-31", "2023-12-31", "2024-01-01", "2024-02-29", "2024-12-31", "2025-01-01", None],
    "ts": ["1969-12-31 23:59:59", "2024-01-01 00:00:00", "2024-02-29 12:34:56.789", "2024-12-31 23:59:59.999999", None],
    "s": [
        "a", "A", "ab", "abc", "b", "1", "10", "1.0", "2024-01-01", "a%b", "a_b", "a\\b", "it's", "x/y=z", "ä", "\U0001f600",
        "\uffee", "line\nbreak", "a ", None,
    ],
    "e": ["2023-12-31", "2024-01-01", "2024-1-1", "2024-02-29", "20240101", "today", None],
    "v": ["a", "ab", "a ", "b", "ä", None],
    "c": ["a", "ab", "b", "ä", None],
}  # fmt: skip
"""Texts of the values, or None for NULL. A partition has one of each column: see `partitions`."""


def partitions() -> list[list[str | None]]:
    """Return the partitions: as many as the longest list of values, so that each value is in one at least."""
    count = 1 + max(map(len, VALUES.values()))
    rows = [[values[row % len(values)] for values in VALUES.values()] for row in range(count)]
    return [*rows, [values[0] for values in VALUES.values()]]


_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>")
_CONSTANTS = {
    "b": ("true", "false"),
    "t": ("5", "5Y", "300", "2.5", "'5'"),
    "m": ("5", "5S", "-1", "100000"),
    "i": ("2", "10L", "2.5", "2.5BD", "'2'", "16777216", "cast(2.5 as float)", "9007199254740993"),
    "g": ("5", "5L", "9007199254740992", "9007199254740993", "2.5", "9.007199254740993E15", "'5'"),
    "f": ("0.1", "cast(0.1 as float)", "2.5", "0", "5", "2.5BD"),
    "x": ("0.1", "cast(0.1 as float)", "2.5", "0", "2L", "0.1BD"),
    "n": ("0.1", "0.10BD", "2", "2.505BD", "2.5", "cast(2.5 as double)", "'2.5'"),
    "w": ("0.1BD", "2", "2.5", "cast(2.5 as double)", "1234567890123456789012345678.0000000001BD"),
    "d": ("'2024-01-01'", "date '2024-01-01'", "timestamp '2024-01-01 00:00:00'", "timestamp '2024-01-01 12:00:00'",
          "'2024-1-1'", "'2024-01-01 12:00:00'", "'never'"),
    "ts": ("'2024-01-01 00:00:00'", "timestamp '2024-02-29 12:34:56.789'", "date '2024-01-01'", "'2024-01-01'",
           "timestamp '1969-12-31 23:59:59'", "timestamp '2024-12-31 23:59:59.9999990'"),
    "s": ("'a'", "'ab'", "'ä'", "'\U0001f600'", "''", "'it\\'s'", "10", "1.0", "date '2024-01-01'", "'a '"),
    "e": ("'2024-01-01'", "20240101", "date '2024-01-01'"),
    "v": ("'a'", "'a '", "'ab'", "cast('a' as varchar(10))", "cast('ab' as char(5))"),
    "c": ("'a'", "'a '", "'ab'", "cast('a' as char(5))", "cast('a' as varchar(10))", "'abcdefgh'"),
}  # fmt: skip
"""Constants that columns are compared with."""
_LONG_TEXT = "x" * 70
_OTHERS = (
    "i is null", "s is not null", "not (i is null)", "b", "not b", "b and i = 2", "not (b or i > 1)",
    "i in (1, 2, 10)", "i not in (1, 2)", "i in (1, null)", "i not in (1, null)", "not (i in (2))",
    "s in ('a', 'ä', 'it\\'s')", "s not in ('a', 'b')", "d in ('2024-01-01', '2024-02-29')",
    "d in (date '2024-01-01', date '2024-02-29')", "d not in (date '2024-01-01')", "g in (5L, 9007199254740993L)",
    "n in (0.10BD, 2.5BD)", "x in (0.1, 2.5)", "f in (cast(0.1 as float), cast(2.5 as float))", "v in ('a', 'ab')",
    "c in ('a', 'ab')", "ts in (timestamp '2024-01-01 00:00:00')", "t in (5, 7)", "t in (5Y)", "m in (5S, 0S)",
    "b in (true)", "i in (1L, 2)", "s in (1, 10)", "e in (date '2024-01-01')", "i in (s)", "i in (1, 2, 2.5)",
    "i between 1 and 10", "i not between 1 and 10", "d between '2024-01-01' and '2024-02-29'",
    "d between date '2024-01-01' and date '2024-12-31'", "d not between date '2024-01-01' and date '2024-12-31'",
    "s between 'a' and 'b'", "s not between 'a' and 'b'", "x between 0 and 2.5", "n between 0 and 2.5", "g between 0 and 5",
    "ts between timestamp '2024-01-01 00:00:00' and timestamp '2024-12-31 00:00:00'", "v between 'a' and 'b'",
    "c between 'a' and 'b'", "i between null and 10", "i not between null and 1", "s between 1 and 10", "t between 0 and 5",
    "ts between '2024-01-01' and '2024-12-31'", "e between '2024-01-01' and '2024-12-31'", "f between 0.1 and 2.5",
    "i > 1 and s = 'a'", "i > 1 or s = 'a'", "i = 1 and i = 2", "not (i = 1 and s = 'b')", "(i = 1 or i = 2) and (s = 'a' or d > '2024-01-01')",
    "i = 1 or i = 2 or i = 3 or i = 4 or i = 5", "i > 0 and i < 10 and s > 'a' and d > '2023-01-01' and b",
    "((i = 1 and s = 'a') or (i = 2 and s = 'b')) and not (d = '2024-01-01')",
    "i = null", "s = null", "i <=> null", "i <> null", "i = 1 or null", "not (i = null)", "null = s",
    "5 = t", "2 < i", "'a' <= s", "date '2024-01-01' > d", "3 >= i", "1 <=> i",
    "s = '__HIVE_DEFAULT_PARTITION__'", "s <> '__HIVE_DEFAULT_PARTITION__'", "i = '__HIVE_DEFAULT_PARTITION__'",
    "d <> '__HIVE_DEFAULT_PARTITION__'", "not (s = '__HIVE_DEFAULT_PARTITION__')", "s in ('__HIVE_DEFAULT_PARTITION__', 'a')",
    "'__HIVE_DEFAULT_PARTITION__' = s", "s > '__HIVE_DEFAULT_PARTITION__'", "s <=> '__HIVE_DEFAULT_PARTITION__'",
    "s like 'a%'", "s like '%b'", "s like '%b%'", "s like 'a_b'", "s like 'a\\\\_b'", "s like 'a\\\\%b'", "s like '%'", "s like ''", "s like '_'",
    "s not like 'a%'", "s like 'line%break'", "s like '%\\nb%'", "s like 'line_break'", "s like 'a\\\\\\\\b'", "s like 'a\\\\b'", "s like 'A%'", "s like '%ä%'", "s like 'ab'", "s like 'a__'", "s like '%%'", "s like 'l%k'", "s not like '%e_b%'", "s like 'a\\\\_%'",
    "s like 'a.c'", "s like 'a(%'", "s like '%a%b%'", "s like '1_'", "s like null", "i like '1%'", "d like '2024-01%'", "v like 'a%'",
    "c like 'a%'", "c like 'a'", "b like 'tr%'", "x like '0%'", "n like '0.1%'", "ts like '2024%'", "s rlike '^a.*'", "s like s",
    "year(d) = 2024", "year(d) > 2023", "year(d) <> 2024", "year(d) in (2024, 2025)", "year(d) between 2024 and 2024", "month(d) = 1", "day(d) = 31", "year(e) = 2024",
    "year(ts) = 2024", "2024 <= year(d)", "not (year(d) = 2024)", "year(d) < 2024", "year(d) is null",
    "substr(s, 1, 1) = 'a'", "substr(s, 1, 2) = 'ab'", "substr(s, 0, 2) = 'a'", "substr(s, 1, 2) <> 'ab'", "substr(s, 1, 1) = 'ab'",
    "substr(e, 1, 7) = '2024-01'", "substr(e, 1, 7) >= '2024-01'", "substr(e, 1, 7) < '2024-02'", "substr(e, 1, 4) in ('2023', '2024')", "substr(e, 1, 4) between '2023' and '2024'",
    "substr(d, 1, 7) = '2024-01'", "substr(d, 1, 4) > '2023'", "substr(v, 1, 1) = 'a'", "substr(s, 1, 1) < 'b'", "substr(s, 1, 1) > 'a'", "substr(s, 2, 1) = 'b'", "substr(s, -1, 1) = 'b'",
    "substr(s, 1, 3) <= 'a'", "substr(s, 1, 1) is null", "substr(s, 1, 1) <=> 'a'", "not (substr(s, 1, 1) = 'a')", "substr(e, 1, 4) = 2024", "substr(s, 1, 1) like 'a%'", "substring(e, 1, 10) = '2024-01-01'",
    "substr(s, 1, 1) = '\U0001f600'", "upper(s) = 'A'", "lower(s) = 'a'", "concat(s, 'x') = 'ax'", "concat(s, e) = 'a2023-12-31'", "length(s) = 1", "trim(s) = 'a'",
    "coalesce(i, 0) = 0", "nvl(s, 'a') = 'a'", "if(i > 1, true, false)", "case when i > 1 then s = 'a' else false end", "i + 1 = 2", "i * 2 > 3", "i % 2 = 0",
    "-i = 1", "abs(i) = 1", "date_add(d, 1) = date '2024-01-02'", "to_date(ts) = date '2024-01-01'", "to_date(e) = date '2024-01-01'", "datediff(d, date '2024-01-01') = 0",
    "round(x) = 2", "floor(x) = 2", "greatest(i, 1) = 2", "instr(s, 'b') = 2", "hash(i) = 1", "concat_ws('-', s, e) = 'a-b'", "last_day(d) = date '2024-01-31'",
    "date_format(d, 'yyyy') = '2024'", "unix_timestamp(ts) > 0", "s = e", "i = g", "i < t", "b = (i > 1)",
    "cast(s as int) = 10", "cast(s as double) = 1", "cast(i as string) = '2'", "cast(i as string) > '1'", "cast(i as bigint) = 2", "cast(i as double) < 2.5", "cast(g as int) = 5",
    "cast(g as double) = 9007199254740992", "cast(d as string) = '2024-01-01'", "cast(d as string) < '2024-02'", "cast(e as date) = date '2024-01-01'", "cast(i as decimal(10,2)) = 2.5BD",
    "cast(n as int) = 2", "cast(x as decimal(10,2)) = 2.5BD", "cast(f as double) = 0.1", "cast(x as float) = cast(0.1 as float)", "cast(i as float) = 16777216", "cast(d as timestamp) = timestamp '2024-01-01 00:00:00'",
    "cast(ts as date) = date '2024-01-01'", "cast(s as varchar(2)) = 'ab'", "cast(v as string) = 'a'", "cast(c as string) = 'a'", "cast(i as boolean)", "cast(n as decimal(4,1)) = 0.1BD",
    "cast(t as int) = 5", "cast(m as decimal(12,2)) = 5", "cast(s as date) = date '2024-01-01'", "cast(i as smallint) = 2S",
    "b is true", "b is not true", "(i > 1) is false", "b is not false", "(i > 1) is not true", "(i > 1 and s = 'a') is true", "(i > 1) = true", "(i > 1) <> (s = 'a')",
    "struct(i, s) in (struct(1, 'abc'), struct(2, 'b'))", "struct(i, s) not in (struct(1, 'abc'), struct(2, 'b'))", "struct(i, s) in (struct(1, null), struct(2, 'b'))",
    "struct(i, s) in (struct(null, 'x/y=z'))", "struct(i, d, n) in (struct(1, date '2024-02-29', 2.5BD))", "struct(v, c) in (struct('a', 'a'))", "struct(t, g) in (struct(5, 5))", "struct(i) in (struct(1))",
    "struct(s, d) in (struct('a', date '2024-01-01'))", "(i, s) in ((1, 'b'), (2, 'abc'))", "struct(i, s) = struct(1, 'a')",
    f"s = '{_LONG_TEXT}'", f"s = '{_LONG_TEXT}ä'", f"i in ({', '.join(map(str, range(300)))})", "i = 1 and (s = 'a' or substr(s, 1, 1) = 'b')", "i = 1 or upper(s) = 'A'",
    "not (i = 1 and upper(s) = 'A')", "i > 1 and upper(s) = 'A'", "current_date > d", "rand() > 0.5 and i = 1", "unbase64(s) = 'a'", "s = 'a' and year(d) = 2024 and not (x > 2.5)",
)  # fmt: skip


def conditions() -> list[str]:
    """Return the conditions: each column compared with its constants, and all others."""
    found = []
    for column, constants in _CONSTANTS.items():
        for place, constant in enumerate(constants):
            # the first constant with each operator, the others with some
            operators = (
                _COMPARISONS if place == 0 else [_COMPARISONS[(place + turn) % 6] for turn in (0, 2, 5)]
            )
            found += [f"{column} {operator} {constant}" for operator in operators]
    return [*found, *_OTHERS]
