"""Expressions that call each function of `predicate.functions.table` with the columns of `edges`.

`CALLS` are the expressions whose values no time zone changes, `TIMED` the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

WHOLE = ("t", "h", "i", "b")
FLOATS = ("f", "d")
DECIMALS = ("p9", "p18", "p30", "p38", "p0")
NUMBERS = (*WHOLE, *FLOATS, *DECIMALS)
TIMES = ("dt", "ts", "nt")
SCALES = ("-2", "-1", "0", "1", "2", "4")

TYPES = (
    "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9,2)", "DECIMAL(5,1)", "DECIMAL(38,18)", "DECIMAL(38,0)",
    "DECIMAL(10,10)",
)  # fmt: skip


def _arithmetic() -> Iterator[str]:
    for x in NUMBERS:
        yield from (f"{x} + {x}_", f"{x} - {x}_", f"{x} * {x}_", f"-{x}", f"+{x}", f"abs({x})", f"{x} / {x}_")
        yield from (f"{x} * 3", f"{x} * -7", f"3 - {x}", f"{x} / 3", f"{x} / -7", f"7 / {x}", f"{x} % 7")
    for x in WHOLE:
        yield from (f"{x} + {x}", f"{x} + CAST(100 AS TINYINT)", f"CAST(-1 AS TINYINT) - {x}", f"{x} % {x}_")
        yield from (
            f"{x} * CAST(2 AS TINYINT)",
            f"{x} % CAST(10 AS TINYINT)",
            f"pmod({x}, CAST(10 AS TINYINT))",
        )
        yield from (
            f"{x} DIV 7",
            f"{x} DIV -1",
            f"{x} DIV {x}_",
            f"7 DIV {x}",
            f"{x} % -10",
            f"pmod({x}, -10)",
        )
    yield from (
        "i % 0",
        "i DIV 0",
        "i / 0",
        "b % 9223372036854775807",
        "pmod(i, i_)",
        "d % 2.5D",
        "pmod(d, 2.5D)",
    )
    yield from ("d * 0.1D", "d * 1e308D", "d + 1e308D", "d - 1e308D", "f * CAST('0.1' AS FLOAT)", "d / 3.0D")
    yield from (
        "f + CAST('16777216' AS FLOAT)",
        "f - f_",
        "f / CAST('3' AS FLOAT)",
        "d * CAST('Infinity' AS DOUBLE)",
    )
    yield from (
        "p9 DIV p9_",
        "p0 DIV p0_",
        "p18 DIV p18_",
        "p18 DIV CAST(3 AS DECIMAL(1,0))",
        "p9 % 0.3",
        "pmod(p9, 0.3)",
    )
    yield from (
        "p38 / CAST(3 AS DECIMAL(1,0))",
        "p38 / CAST(7 AS DECIMAL(1,0))",
        "p38 * p38_",
        "p38 * CAST(0.5 AS DECIMAL(1,1))",
    )
    yield from (
        "p9 * p18_",
        "p18 * p30_",
        "p18 / p30_",
        "p0 * p38_",
        "p9 * p9_ * p9",
        "p30 + p18_",
        "p0 - p38_",
    )
    yield from (
        "p38 / p0_",
        "p0 / p38_",
        "p9 / CAST('0.00001' AS DECIMAL(38,38))",
        "1 / (p9 + 3)",
        "i * 2 + 1",
        "-(-i)",
    )
    yield from (
        "dt - dt_",
        "im + im_",
        "iv + iv_",
        "-iv",
        "-im",
        "abs(iv)",
        "iv * 2",
        "iv - iv_",
        "sign(iv)",
        "abs(im)",
    )


def _roundings() -> Iterator[str]:
    for x in NUMBERS:
        yield from (f"{name}({x}, {scale})" for name in ("round", "bround") for scale in SCALES)
        yield from (f"{name}({x})" for name in ("round", "bround", "floor", "ceil", "sign", "sqrt"))
    for x in (*DECIMALS, *WHOLE):
        yield from (f"{name}({x}, {scale})" for name in ("floor", "ceil") for scale in ("-1", "0", "1"))
    yield from (
        "round(i, -9)",
        "round(i, -10)",
        "round(b, -18)",
        "round(b, -19)",
        "round(t, -3)",
        "round(d, 300)",
    )
    yield from ("round(d, 20)", "round(d, -320)", "round(f, 45)", "bround(d, 16)", "floor(d / 3)", "ceil(-d)")
    yield from (
        "round(p38, 38)",
        "round(p38, 10)",
        "round(p0, -37)",
        "floor(p30, 3)",
        "ceil(p38, 20)",
        "signum(p9)",
    )


def _casts() -> Iterator[str]:
    for x in NUMBERS:
        yield from (f"CAST({x} AS {type})" for type in (*TYPES, "BOOLEAN", "STRING"))
        yield from (f"try_cast({x} AS {type})" for type in ("TINYINT", "INT", "DECIMAL(5,1)"))
    yield from (f"CAST(bo AS {type})" for type in (*TYPES, "STRING"))
    yield from (
        f"CAST(s AS {type})" for type in ("INT", "DOUBLE", "DECIMAL(9,2)", "DATE", "BOOLEAN", "BINARY")
    )
    yield from (
        "try_cast(s AS INT)",
        "try_cast(s AS DATE)",
        "CAST(CAST(i AS STRING) AS INT)",
        "CAST(y AS STRING)",
    )
    yield from (
        "CAST(CAST(d AS FLOAT) AS DOUBLE)",
        "CAST(CAST(p30 AS DOUBLE) AS FLOAT)",
        "CAST(iv AS STRING)",
    )
    yield from (
        "CAST(im AS INT)",
        "CAST(iv AS INTERVAL DAY)",
        "CAST(i AS INTERVAL MONTH)",
        "CAST(iv AS BIGINT)",
    )
    yield from (f"concat({x}, 'x')" for x in NUMBERS)
    yield from (f"CAST({x} AS STRING) {test}" for x in WHOLE for test in ("LIKE '1%'", ">= '-5'", "< '20'"))


def _texts() -> Iterator[str]:
    for x in ("s", "v"):
        for start in ("-2", "-1", "0", "1", "2", "3", "2147483647"):
            yield from (f"substr({x}, {start}, {length})" for length in ("-1", "0", "1", "2", "2147483647"))
            yield f"substr({x}, {start})"
        yield from (f"left({x}, {length})" for length in ("-1", "0", "1", "2", "3", "2147483647"))
        yield from (f"upper({x})", f"lower({x})", f"length({x})", f"char_length({x})", f"upper(lower({x}))")
        yield from (
            f"concat({x}, {x}_)",
            f"concat({x}, 'x')",
            f"concat('x', {x})",
            f"'' || {x}",
            f"concat({x})",
        )
        yield from (
            f"concat('a', {x}, 'b')",
            f"substr(concat({x}, 'x'), 1, 2)",
            f"concat(left({x}, 1), {x}_)",
        )
        yield from (
            f"{x} LIKE '{pattern}'"
            for pattern in ("a%", "ab_", "a_%", "%", "", "ab\\%", "a%b", "é%", "_", "İ%")
        )
        yield from (
            f"{x} LIKE 'ab/%%' ESCAPE '/'",
            f"startswith({x}, 'ab')",
            f"startswith({x}, '')",
            f"startswith({x}, 'é')",
        )
        yield from (
            f"{x} LIKE concat('a', {x}_)",
            f"{x} RLIKE '^a'",
            f"{x} RLIKE '^ab?c'",
            f"{x} RLIKE '^é|x'",
            f"{x} RLIKE '^\ufffd'",
            f"startswith({x}, {x}_)",
            f"startswith({x}, '\U0010ffff')",
            f"{x} NOT LIKE 'ab%'",
        )
        yield from (f"coalesce({x}, {x}_)", f"greatest({x}, {x}_)", f"least({x}, 'ab')", f"nvl({x}, 'ab')")
    yield from (
        "s RLIKE '^(a|é)b?|^İ'",
        "s RLIKE '^[a-c]'",
        "s RLIKE '(?i)^Ab'",
        "trim(s)",
        "ltrim(s)",
        "rtrim(s)",
        "trim(BOTH 'ab' FROM s)",
        "trim(LEADING 'é' FROM s)",
        "trim(LEADING 'ab' FROM s)",
        "ltrim('xb', concat('xx', s))",
        "trim(TRAILING 'bé' FROM s)",
        "substring_index(s, 'b', 1)",
        "substring_index(s, 'é', 2)",
        "substring_index(s, 'b', -1)",
        "split(s, 'b')[0]",
        "element_at(split(s, '[é]'), 1)",
        "split_part(s, 'a', 1)",
        "split_part(s, 'a', 2)",
        "split_part(s, '', 1)",
        "instr(s, 'ab')",
        "locate('b', s)",
        "locate('b', s, 2)",
        "find_in_set(s, 'ab,,é,ab,b')",
        "array_position(array('ab', NULL, 'é'), s)",
        "arrays_overlap(array(s, s_), array('ab', 'é'))",
        "'ab' IN (s, s_)",
        "exists(array('ab', NULL), e -> s LIKE e || '%')",
        "forall(array('ab', 'é'), e -> s > e)",
        "s LIKE ANY ('a%b', 'é_')",
        "s NOT LIKE ALL ('a%b', 'é_')",
    )
    yield from (
        "length(y)",
        "char_length(y)",
        "substr(y, 1, 1)",
        "concat(y, y_)",
        "left(y, 1)",
        "startswith(y, X'61')",
    )
    yield from (
        "upper(concat(s, 'ß'))",
        "lower(concat('İ', s))",
        "lower(concat(s, 'Σ'))",
        "upper(left(s, 2))",
    )
    yield from (
        "length(upper(s))",
        "length(CAST(i AS STRING))",
        "upper(CAST(bo AS STRING))",
        "substr(upper(s), 1, 1)",
    )
    yield from (
        "concat(CAST(i AS STRING), 'x')",
        "concat('x', CAST(b AS STRING))",
        "substr(s, i, 2)",
        "left(s, i)",
    )


def _doubles_and_bits() -> Iterator[str]:
    for x in ("d", "f", "i", "p9"):
        yield from (
            f"{name}({x})"
            for name in ("exp", "expm1", "cbrt", "degrees", "radians", "ln", "log10", "log2", "log1p")
        )
        yield from (f"power({x}, {exponent})" for exponent in ("2", "3", "-1", "0.5D", "0", "-2", "1e3D", x))
    for x in WHOLE:
        yield from (f"shiftleft({x}, {n})" for n in ("0", "1", "31", "33", "-1"))
        yield from (f"shiftright({x}, {n})" for n in ("0", "1", "31", "63", "-1"))
        yield from (f"{x} {op} {n}" for op in "&|" for n in ("0", "1", "7", "6", "127", "-1"))
        yield from (f"{x} << 2", f"{x} >> 2", f"12 & {x}", f"{x} & {x}_", f"5 | {x}")


def _replaced_texts() -> Iterator[str]:
    for x in ("s", "v"):
        for search in ("'a'", "'ab'", "'b'", "'é'", "''", "'ba'"):
            yield from (f"replace({x}, {search}, {by})" for by in ("''", "'z'", "'ab'", "'\u0001'", f"{x}_"))
            yield f"replace({x}, {search})"
        yield from (
            f"translate({x}, {source}, {to})"
            for source in ("'ab'", "'éa'", "'aa'", "''")
            for to in ("'x'", "'ba'", "''")
        )
        yield from (
            f"regexp_replace({x}, '{pattern}', '{by}')"
            for pattern in (
                "a",
                "b.*",
                "ab",
                "ba?",
                "a|b",
                "[a]",
                "é.",
                "a*",
                "b$",
                "^a",
                "^ab",
                "^é",
                "^a|b",
            )
            for by in ("", "x", "$0y")
        )
        yield from (
            f"{side}pad({x}, {n}, {pad})"
            for side in "lr"
            for n in ("0", "1", "2", "3", "5", "-1")
            for pad in ("'x'", "' '", "''")
        )
    yield from (
        "regexp_replace(s, 'a', 'x', 2)",
        "rpad(s, length(v), 'x')",
        "concat_ws('-', s, v)",
        "concat_ws('', 'x', s)",
        "concat_ws('-', 'a', s, 'b')",
        "concat_ws('é', s_, v, s)",
        "concat_ws('-', coalesce(s, 'a'), coalesce(v, 'b'))",
        "concat_ws(s, 'a', 'b')",
        "concat_ws('-')",
        "concat_ws('-', CAST(i AS STRING), s)",
    )


def _texts_of_numbers() -> Iterator[str]:
    for x in WHOLE:
        yield from (
            f"lpad(CAST({x} AS STRING), {n}, '{pad}')" for n in (0, 1, 3, 5, 20) for pad in ("0", "x")
        )
    yield from (f"CAST({x} AS STRING)" for x in DECIMALS)
    yield from (
        f"regexp_extract(s, '{pattern}', {group})"
        for pattern in (
            "^a(b)",
            "^(.*)",
            "^(a|b)c?",
            "^a(b)+",
            "^(ab)*",
            "(a)",
            "^a(.)|(b)",
            "^(?:a)(b)",
            "^([^a]+)a?",
        )
        for group in (0, 1)
    )


def _choices() -> Iterator[str]:
    for x in ("i", "b", "f", "d", "p9", "s", "dt", "ts", "bo"):
        yield from (
            f"coalesce({x}, {x}_)",
            f"nullif({x}, {x}_)",
            f"if(bo, {x}, {x}_)",
            f"nvl2({x}, {x}_, {x})",
        )
        yield from (
            f"CASE WHEN {x} < {x}_ THEN {x} WHEN bo THEN {x}_ END",
            f"CASE WHEN {x} IS NULL THEN {x}_ ELSE {x} END",
        )
        yield from (f"{x} {op} {x}_" for op in ("=", "<", "<=", ">", ">=", "<=>", "<>"))
        yield from (f"{x} IS NULL", f"{x} IS NOT NULL", f"NOT ({x} = {x}_)", f"NOT ({x} <=> {x}_)")
        yield from (f"{x} IN ({x}_)", f"{x} BETWEEN {x}_ AND {x}_")
        if x != "bo":
            yield from (f"greatest({x}, {x}_)", f"least({x}, {x}_)")
    yield from (
        "i IN (1, 2, NULL)",
        "i IN (1, -1, 127)",
        "d IN (0.0D, CAST('NaN' AS DOUBLE))",
        "s IN ('ab', '', 'é')",
        "bo IN (true)",
    )
    yield from (
        "f IN (CAST('NaN' AS FLOAT), CAST('-0.0' AS FLOAT))",
        "b NOT IN (1, NULL)",
        "i + 1 IN (1, 2)",
        "dt IN (DATE'1582-10-15')",
    )
    yield from (
        f"i IN ({', '.join(map(str, range(-10, 12)))})",
        f"i + 1 IN ({', '.join(map(str, range(-10, 12)))})",
    )
    yield from (
        "bo AND bo_",
        "bo OR bo_",
        "NOT bo",
        "bo AND i = 1",
        "bo OR i IS NULL",
        "NOT (bo AND bo_ OR i > 5)",
        "isnan(d)",
        "isnan(f + f_)",
        "NOT isnan(coalesce(d, d_))",
        "nanvl(d, d_)",
        "nanvl(f, f_)",
        "nanvl(d * 2, 1.5D)",
    )
    for op in ("=", "<", "<=", ">", ">=", "<=>", "<>"):
        yield from (
            f"struct(i, s) {op} struct(i_, s_)",
            f"struct(i, bo) {op} struct(5, true)",
            f"struct(d, i) {op} struct(CAST('NaN' AS DOUBLE), 1)",
        )
    yield from (
        "coalesce(i, -1)",
        "coalesce(i, b)",
        "greatest(i, b_, 5)",
        "least(d, CAST('NaN' AS DOUBLE))",
        "greatest(d, CAST('NaN' AS DOUBLE))",
    )
    yield from (
        "if(i > 5, i, -i)",
        "CASE i WHEN 1 THEN 'a' WHEN 2 THEN 'b' ELSE s END",
        "ifnull(s, 'x')",
        "coalesce(NULL, i, 1)",
        "abs(i) > 5",
    )


def _dates_and_buckets() -> Iterator[str]:
    yield from (
        f"make_date({parts})"
        for parts in (
            "2026, 3, t",
            "2026, t, 28",
            "2024, 2, t",
            "h, 1, 1",
            "2026, abs(t) % 12 + 1, abs(i) % 28 + 1",
            "year(dt), month(dt), day(dt)",
            "2026, 3, day(dt)",
        )
    )
    yield from (
        f"width_bucket({x}, {bounds})"
        for x in ("d", "f", "i", "p9")
        for bounds in ("-10, 10, 5", "10, -10, 7", "0, 1, 3", "5, 5, 5", "0, 1, 0")
    )


def _timed() -> Iterator[str]:
    units = (
        "YEAR",
        "QUARTER",
        "MONTH",
        "WEEK",
        "DAY",
        "HOUR",
        "MINUTE",
        "SECOND",
        "MILLISECOND",
        "MICROSECOND",
    )
    for x in TIMES:
        yield from (f"date_trunc('{unit}', {x})" for unit in (*units, "yyyy", "mon", "dd", "CENTURY"))
        yield from (f"trunc({x}, '{unit}')" for unit in ("YEAR", "quarter", "MM", "week", "DAY"))
        yield from (
            f"{part}({x})"
            for part in (
                "year",
                "quarter",
                "month",
                "day",
                "dayofyear",
                "weekofyear",
                "dayofweek",
                "weekday",
                "last_day",
            )
        )
        yield from (f"CAST({x} AS {type})" for type in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "STRING"))
        yield from (
            f"date_format({x}, '{pattern}')"
            for pattern in (
                "yyyy",
                "yyyy-MM-dd",
                "yyyyMMdd",
                "yyyy-MM-dd HH:mm:ss.SSS",
                "MM-yyyy",
                "yyyy/MM/dd HH",
                "yyyy-MM-dd HH:00",
                "yyyy-MM-dd\\'T\\'HH:mm",
                "yyyyMM01",
            )
        )
        yield from (f"add_months({x}, {months})" for months in ("1", "-1", "12", "1200", "i", "2147483647"))
        yield from (
            f"date_add({x}, {days})" for days in ("1", "-365", "i", "2147483647", "CAST(-1 AS TINYINT)")
        )
        yield from (f"date_sub({x}, {days})" for days in ("1", "-365", "i", "-2147483648"))
        yield from (f"datediff({x}, {other})" for other in ("dt_", "ts_", "nt_", "DATE'1970-01-01'"))
        yield from (
            f"datediff(DATE'2026-03-08', {x})",
            f"{x} - {x}_",
            f"{x} + INTERVAL 1 MONTH",
            f"{x} - INTERVAL 3 YEAR",
            f"unix_timestamp({x})",
            f"to_unix_timestamp({x})",
        )
        yield from (
            f"timestampadd({unit}, {count}, {x})"
            for unit in (
                "YEAR",
                "QUARTER",
                "MONTH",
                "WEEK",
                "DAY",
                "HOUR",
                "MINUTE",
                "SECOND",
                "MILLISECOND",
                "MICROSECOND",
            )
            for count in ("1", "-30")
        )
        yield from (
            f"timestampdiff({unit}, {pair})"
            for unit in units
            for pair in (f"{x}, {x}_", f"{x}, DATE'2026-03-08'", f"TIMESTAMP'1969-12-31 23:30:00', {x}")
        )
        yield from (f"months_between({x}, {other})" for other in ("dt_", "ts_", "DATE'2026-02-28'"))
        yield from (f"timestampadd(HOUR, i, {x})", f"timestampadd(MONTH, i, {x})", f"{x} + iv", f"{x} + im")
    for x in ("ts", "nt"):
        yield from (f"{part}({x})" for part in ("hour", "minute", "second"))
        yield from (
            f"{x} {sign} INTERVAL {much}"
            for sign in "+-"
            for much in (
                "1 DAY",
                "90 MINUTE",
                "25 HOUR",
                "30 HOUR",
                "-36 HOUR",
                "1 MICROSECOND",
                "100000000 DAY",
            )
        )
    yield from (
        "unix_seconds(ts)",
        "unix_millis(ts)",
        "unix_micros(ts)",
        "unix_date(dt)",
        "date_from_unix_date(i)",
        "to_date(ts)",
        "ts - dt",
        "dt - ts",
        "nt - ts",
        "dt - DATE'2026-03-08'",
    )
    for x in (*WHOLE, "d", "f", "p9", "p18"):
        yield from (f"timestamp_seconds({x})", f"CAST({x} AS TIMESTAMP)")
    for x in WHOLE:
        yield from (f"timestamp_millis({x})", f"timestamp_micros({x})")
        yield from (
            f"from_unixtime({x}{more})"
            for more in ("", ", 'yyyy-MM-dd'", ", 'yyyy'", ", 'yyyyMMdd HH'", ", 'dd'")
        )
    yield from (
        "from_unixtime(unix_timestamp(ts))",
        "year(CAST(ts AS DATE))",
        "year(date_trunc('WEEK', ts))",
        "CAST(CAST(ts AS DATE) AS TIMESTAMP)",
        "month(dt + INTERVAL 1 MONTH)",
    )
    yield from (
        "unix_timestamp(s)",
        "unix_timestamp(dt) + 1",
        "CAST(CAST(nt AS TIMESTAMP) AS TIMESTAMP_NTZ)",
        "CAST(ts AS DOUBLE)",
        "CAST(ts AS INT)",
        "CAST(ts AS BIGINT)",
        "CAST(ts AS DECIMAL(38,18))",
        "dt + 1",
        "dt - 1",
    )
    yield from (
        "substr(CAST(ts AS STRING), 1, 7)",
        "left(CAST(dt AS STRING), 4)",
        "CAST(dt AS STRING) LIKE '2026-0%'",
        "CAST(s AS TIMESTAMP)",
        *(f"CAST(date_format({x}, 'yyyy-MM-dd') AS DATE)" for x in TIMES),
        "to_date(date_format(ts, 'yyyy-MM'))",
        "coalesce(CAST(ts AS DATE), dt)",
        "date_trunc('DAY', ts) = CAST(dt AS TIMESTAMP)",
    )
    yield from (
        "extract(YEAROFWEEK FROM ts)",
        "extract(SECOND FROM ts)",
        "extract(DOW FROM dt)",
        "to_timestamp(dt)",
        "make_date(i, 1, 1)",
        *(
            f"{name}_utc_timestamp(ts, '{zone}')"
            for name in ("from", "to")
            for zone in ("Asia/Tokyo", "Europe/Berlin", "America/New_York")
        ),
        "from_utc_timestamp(ts, s)",
        *(
            f"convert_timezone({zones}, {time})"
            for zones in (
                "'Europe/Berlin', 'America/New_York'",
                "'UTC', 'Asia/Tokyo'",
                "'America/New_York'",
                "s",
            )
            for time in ("nt", "nt_ + INTERVAL 1 HOUR")
        ),
        "months_between(DATE'2026-03-31', ts, false)",
    )


CALLS = list(
    dict.fromkeys(
        [
            *_arithmetic(),
            *_roundings(),
            *_doubles_and_bits(),
            *_casts(),
            *_texts(),
            *_replaced_texts(),
            *_texts_of_numbers(),
            *_choices(),
            *_dates_and_buckets(),
        ]
    )
)
TIMED = list(dict.fromkeys(_timed()))

OTHER_NAMES = {
    "POWER": "POW", "TRANSLATE": "STRINGTRANSLATE", "ADD": "+", "SUBTRACT": "-", "MULTIPLY": "*", "DIVIDE": "/", "DIV": "INTEGRALDIVIDE", "REMAINDER": "%", "NEGATIVE": "UNARYMINUS",
    "ROUNDFLOOR": "FLOOR", "ROUNDCEIL": "CEIL", "CEILING": "CEIL", "SIGN": "SIGNUM", "DAY": "DAYOFMONTH", "DAY_OF_YEAR": "DAYOFYEAR", "WEEK": "WEEKOFYEAR", "DATE_TRUNC": "TRUNCTIMESTAMP",
    "TRUNC": "TRUNCDATE", "LAST_DAY": "LASTDAY", "ADD_MONTHS": "ADDMONTHS", "DATE_ADD": "DATEADD", "DATE_SUB": "DATESUB", "TIMEADD": "TIMESTAMPADDINTERVAL", "DATE_DIFF": "DATEDIFF",
    "UNIX_TIMESTAMP": "UNIXTIMESTAMP", "DATE_FORMAT": "DATEFORMATCLASS", "FROM_UNIXTIME": "FROMUNIXTIME", "SUBSTR": "SUBSTRING", "||": "CONCAT", "CHAR_LENGTH": "LENGTH",
    "STARTS_WITH": "STARTSWITH", "CASE_WHEN": "CASEWHEN", "IS_NULL": "ISNULL", "IS_NOT_NULL": "ISNOTNULL", "INSET": "IN",
    "TRIM": "STRINGTRIM", "LTRIM": "STRINGTRIMLEFT", "RTRIM": "STRINGTRIMRIGHT",
    "PRECISETIMESTAMPCONVERSION": "UNIXMICROS",
}  # fmt: skip
"""Names of the table that no class of Spark's has, each with the name whose calls are tried under it."""


def under_other_names(tree: Any) -> Iterator[tuple[str, Any]]:
    """Yield trees of the same values by names that V2's expressions have, and Spark's classes have not."""
    plain = {key: value for key, value in tree.items() if key != "class"}
    function, of_class, arguments = tree.get("fn", ""), tree.get("class", "").upper(), tree.get("args", [])
    known = {function, of_class} if not function.isidentifier() else {of_class}
    yield from ((name, {**plain, "fn": name}) for name, other in OTHER_NAMES.items() if other in known)
    if of_class == "SUBSTRING" and arguments[1].get("lit") == "1":
        yield "LEFT", {**plain, "fn": "LEFT", "args": [arguments[0], arguments[2]]}
    if of_class == "NOT" and arguments[0].get("fn") == "=":
        yield from ((name, {**arguments[0], "fn": name}) for name in ("!=", "<>"))
        if "fn" in arguments[0]["args"][0] and "STRUCT" in arguments[0]["args"][0]["fn"]:
            yield "STRUCT !=", {**arguments[0], "fn": "!="}
    if "col" in tree:
        types = {"type": "int"}
        yield from ((name, {"fn": name, "args": [tree], **types}) for name in ("POSITIVE", "UNARYPOSITIVE"))
