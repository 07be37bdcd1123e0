"""Types of columns, the values that are likely to go wrong in each, and literals of them."""

from __future__ import annotations

from random import Random

LONG = "x" * 70
"""A text longer than what statistics keep of one."""

SCALARS: dict[str, list[str]] = {
    "BOOLEAN": ["true", "false"],
    "TINYINT": ["-128", "-1", "0", "1", "2", "3", "127"],
    "SMALLINT": ["-32768", "-1", "0", "1", "2", "3", "32767"],
    "INT": ["-2147483648", "-1", "0", "1", "2", "3", "4", "10", "2147483647"],
    "BIGINT": [
        "-9223372036854775808", "-1", "0", "1", "2", "3", "4", "10", "4294967296", "9007199254740993",
        "9223372036854775807",
    ],
    "FLOAT": [
        "NaN", "-0.0", "0.0", "1.5", "-1.5", "0.1", "16777217", "Infinity", "-Infinity", "3.4028235E38", "1.4E-45",
    ],
    "DOUBLE": [
        "NaN", "-0.0", "0.0", "1.5", "-1.5", "0.1", "1", "2", "Infinity", "-Infinity", "1.7976931348623157E308",
        "4.9E-324",
    ],
    "DECIMAL(5,2)": ["-999.99", "-0.01", "0", "0.10", "1", "1.5", "2", "999.99"],
    "DECIMAL(20,4)": ["-9999999999999999.9999", "-0.0001", "0", "1", "1.5", "2", "9999999999999999.9999"],
    "DECIMAL(38,18)": [
        "-1.000000000000000001", "0", "1", "1.5", "1.500000000000000001", "12345678901234567890.123456789012345678",
    ],
    "STRING": [
        "", "a", "A", "ab", "abc", "b", "é", "中", "😀", "\uffff", LONG + "a", LONG + "b", LONG, " a", "a ", "%", "a%b",
        "a_b", "a=b/c", "NULL", "null", "it's", "back\\slash", "a\nb", "0", "1", "01", "10", "9", "2024-01-01", "x/../y",
        ".", "..", "a:b", "e\u0301", "😀" * 40, "\x01", "\x7f", "True", "1e0",
    ],
    "VARCHAR(5)": ["", "a", "A", "ab", "abc", "abcde", "é", "中", " ", "b "],
    "BINARY": ["", "00", "FF", "61", "6162", "C328", "61" * 80],
    "DATE": [
        "0001-01-01", "1500-03-01", "1582-10-04", "1582-10-15", "1900-01-01", "1969-12-31", "1970-01-01", "2024-02-29",
        "2024-03-01", "2024-12-31", "9999-12-31",
    ],
    "TIMESTAMP": [
        "0001-01-03 00:00:00", "1500-03-01 12:00:00", "1582-10-17 00:00:00", "1883-11-18 12:03:58",
        "1899-12-31 23:59:59.999999", "1969-12-31 23:59:58.999999", "1970-01-01 00:00:00", "2024-02-29 12:34:56.123456",
        "2024-03-10 02:30:00", "2024-11-03 01:30:00", "2024-11-03 00:30:00", "9999-12-29 23:59:59.999999",
    ],
    "TIMESTAMP_NTZ": [
        "0001-01-03 00:00:00", "1582-10-10 00:00:00", "1969-12-31 23:59:58.999999", "1970-01-01 00:00:00",
        "2024-02-29 12:34:56.123456", "2024-03-10 02:30:00", "9999-12-29 23:59:59.999999",
    ],
    "INTERVAL YEAR TO MONTH": ["-178956970-8", "-0-1", "0-0", "0-1", "1-0", "178956970-7"],
    "INTERVAL DAY TO SECOND": [
        "-106751991 04:00:54.775808", "-0 00:00:00.000001", "0 00:00:00", "0 00:00:01", "1 00:00:00", "30 02:03:04.5",
    ],
}  # fmt: skip
"""Values of each type, as texts.

No timestamp is in the last second before 1970, or in the days of 1582 that other calendars lack in any time
zone of a session: ORC reads these as other timestamps in Spark's own tables, too (ORC-763).
"""

NESTED: dict[str, list[str]] = {
    "ARRAY<INT>": ["array(1, 2)", "array(CAST(NULL AS INT))", "CAST(array() AS ARRAY<INT>)", "array(3)"],
    "MAP<STRING,INT>": [
        "map('a', 1)",
        "map('a', CAST(NULL AS INT), 'b', 2)",
        "CAST(map() AS MAP<STRING,INT>)",
    ],
    "STRUCT<a:INT,b:STRING>": [
        "named_struct('a', 1, 'b', 'x')",
        "named_struct('a', CAST(NULL AS INT), 'b', 'y')",
        "named_struct('a', 2, 'b', CAST(NULL AS STRING))",
    ],
    "ARRAY<STRUCT<a:INT,b:STRING>>": [
        "array(named_struct('a', 1, 'b', 'x'))",
        "array(named_struct('a', CAST(NULL AS INT), 'b', ''))",
    ],
}
"""Values of types that hold others, as expressions."""

WIDER = {
    "TINYINT": ["SMALLINT", "INT", "BIGINT"],
    "SMALLINT": ["INT", "BIGINT"],
    "INT": ["BIGINT"],
    "FLOAT": ["DOUBLE"],
    "DECIMAL(5,2)": ["DECIMAL(20,4)"],
    "VARCHAR(5)": ["STRING"],
}
"""Types that a column of a type can be widened to, in Parquet and in ORC."""

WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
FLOATS = ("FLOAT", "DOUBLE")
NUMBERS = (*WHOLE, "DECIMAL(5,2)", "DECIMAL(20,4)", "DECIMAL(38,18)", *FLOATS)
TEXTS = ("STRING", "VARCHAR(5)")
TIMES = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
INTERVALS = ("INTERVAL YEAR TO MONTH", "INTERVAL DAY TO SECOND")


def text(value: str) -> str:
    """Write a text as SQL's literal."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


class Draw(Random):
    """A source of chance that also draws literals: the same seed draws the same.

    Values of partitions are of a few for each type, so that statements meet partitions that exist.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._few: dict[str, list[str]] = {
            "BINARY": ["", "61", "6162"]
        }  # other bytes make no names of folders

    def _value(self, type: str, of_partition: bool) -> str:
        if of_partition and type not in self._few:
            self._few[type] = self.sample(SCALARS[type], min(4, len(SCALARS[type])))
        return self.choice(self._few[type] if of_partition else SCALARS[type])

    def often(self, share: float) -> bool:
        """Return whether something happens that does in such a share of the cases."""
        return self.random() < share

    def some(self, things: list[str] | tuple[str, ...], most: int) -> list[str]:
        """Return one to so many of some things."""
        return self.sample(things, min(len(things), self.randint(1, most)))

    def literal(self, type: str, null: float = 0.15, of_partition: bool = False) -> str:
        """Return an expression of exactly a type; in a share of the cases NULL."""
        if self.often(null):
            return f"CAST(NULL AS {type})"
        if type in NESTED:
            return self.choice(NESTED[type])
        value = self._value(type, of_partition)
        if type == "STRING":
            return text(value)
        return f"X'{value}'" if type == "BINARY" else f"CAST({text(value)} AS {type})"

    def plain(self, type: str) -> str:
        """Return a literal as users write it beside a column, also of another type, or out of its range."""
        if self.often(0.05):
            return "NULL"
        value = self.choice(SCALARS.get(type) or ["1"])
        if type in FLOATS:
            others = ["0.1", "1", "1.5D", "0.1F", "CAST('NaN' AS DOUBLE)", "-0.0D", "0"]
            return self.choice([self.literal(type, 0), *others])
        if type in NUMBERS:
            others = ["1.5", "2.0D", "3000000000", "0.1", "-0.0D", "1e0", "127", "128"]
            # the least BIGINT is the negative of a number that is none
            return self.choice(others) if self.often(0.15) else value.replace("5808", "5807")
        if type == "DATE":
            return self.choice([f"DATE{text(value)}", text(value)])
        if type in TIMES:
            return self.choice([f"{type}{text(value)}", text(value), f"DATE{text(value[:10])}"])
        return value if type == "BOOLEAN" else self.literal(type, 0)

    def constant(self, type: str, of_partition: bool = False) -> str:
        """Return a constant without a cast, as Hive's clauses and PARTITION take it; sometimes NULL."""
        value = self._value(type, of_partition)
        if self.often(0.1):
            return "NULL"
        if type == "BINARY":
            return f"X'{value}'"
        if type in INTERVALS:
            first, _, rest = type.partition(" ")
            return f"{first} {text(value)} {rest}"
        return value if type == "BOOLEAN" or (type in NUMBERS and type not in FLOATS) else text(value)
