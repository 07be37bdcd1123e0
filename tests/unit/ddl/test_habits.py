"""Statements of other products about our tables get an answer that names the counterpart. Others are left
alone.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest

from parquetry.ddl import habits
from parquetry.ddl.rewrite import WORDS, refuse_unparsed, rewrite
from parquetry.ddl.session import Session
from parquetry.errors import UnsupportedError
from parquetry.operations import OPERATIONS

SESSION = Session(frozenset({"lake"}), frozenset({"other"}), "lake", ("db",))
ELSEWHERE = Session(frozenset({"lake"}), frozenset({"other"}), "spark_catalog", ("default",))

UNPARSED = {
    "ALTER TABLE {} ADD PARTITION FIELD bucket(16, id) AS shard": "PARTITIONED BY",
    "ALTER TABLE {} DROP PARTITION FIELD days(ts)": "one partitioning",
    "ALTER TABLE {} REPLACE PARTITION FIELD a WITH b": "one partitioning",
    "ALTER TABLE {} SET PARTITION SPEC (days(ts))": "one partitioning",
    "ALTER TABLE {} SET PARTITIONED BY (a)": "one partitioning",
    "alter table {}\n  write  ordered by a DESC NULLS LAST": r"CLUSTER BY \(…\)",
    "ALTER TABLE {} WRITE LOCALLY ORDERED BY a": "CLUSTER BY",
    "ALTER TABLE {} WRITE UNORDERED": "CLUSTER BY NONE",
    "ALTER TABLE {} WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY a": "'distribution' is 'none'.*CLUSTER BY",
    "ALTER TABLE {} SET SORTED BY (a)": "CLUSTER BY",
    "ALTER TABLE {} CLUSTER BY AUTO": "name the columns",
    "ALTER TABLE {} SET IDENTIFIER FIELDS a, b": "no counterpart: .*MERGE INTO",
    "ALTER TABLE {} DROP IDENTIFIER FIELDS a": "no counterpart",
    "ALTER TABLE {} CREATE BRANCH b AS OF VERSION 3 RETAIN 7 DAYS": r"system\.branch\(",
    "ALTER TABLE {} CREATE OR REPLACE TAG t": "CALL lake.system.tag",
    "ALTER TABLE {} REPLACE BRANCH b AS OF VERSION 4": r"system\.publish_branch\(",
    "ALTER TABLE {} DROP TAG IF EXISTS t": r"system\.drop_tag",
    "ALTER TABLE {} ALTER COLUMN id SYNC IDENTITY": r"uuid\(\)",
    "ALTER TABLE {} DROP FEATURE deletionVectors TRUNCATE HISTORY": "no features",
    "ALTER TABLE {} COMPACT 'major'": "CALL lake.system.compact",
    "ALTER TABLE {} PARTITION (day = '2026-01-01') COMPACT 'minor'": "CALL lake.system.compact",
    "ALTER TABLE {} EXCHANGE PARTITION (a = 1) WITH TABLE u": "INSERT INTO",
    "ALTER TABLE {} ARCHIVE PARTITION (a = 1)": "no counterpart",
    "ALTER TABLE {} TOUCH": "no counterpart",
    "ALTER TABLE {} SET TAGS ('a' = 'b')": "SET TBLPROPERTIES",
    "ALTER TABLE {} SET PROPERTIES a = 'b'": "SET TBLPROPERTIES",
    "ALTER TABLE {} EXECUTE optimize(file_size_threshold => '128MB')": r"CALL lake.system.compact\(table => 'db.t'\)",
    "ALTER TABLE {} EXECUTE expire_snapshots": r"CALL lake.system.vacuum",
    "ALTER TABLE {} EXECUTE frobnicate": r"CALL lake.system\.…",
    "CREATE TABLE {} SHALLOW CLONE a.b VERSION AS OF 3": "AS SELECT .*VERSION AS OF",
    "CREATE OR REPLACE TABLE {} DEEP CLONE b": "AS SELECT",
    "CREATE TABLE IF NOT EXISTS {} CLONE b": "AS SELECT",
    "REORG TABLE {} APPLY (PURGE)": "CALL lake.system.compact",
    "GENERATE symlink_format_manifest FOR TABLE {}": "CALL lake.system.publish",
    "FSCK REPAIR TABLE {} DRY RUN": "CALL lake.system.sync",
    "COPY INTO {} FROM '/x' FILEFORMAT = PARQUET": "INSERT INTO lake.db.t SELECT",
    "UNDROP TABLE {}": "no counterpart",
    "CREATE BLOOMFILTER INDEX ON TABLE {} FOR COLUMNS (a)": "'bloom-filter-columns'",
    "SHOW INDEXES FROM {}": "create_partition_index",
    "OPTIMIZE {} FULL": "OPTIMIZE lake.db.t, also with WHERE",
    "VACUUM {} LITE": "VACUUM lake.db.t RETAIN 168 HOURS",
    "VACUUM {} RETAIN 7 DAYS": "VACUUM lake.db.t RETAIN 168 HOURS",
    "RESTORE TABLE {} VERSION 3": "TO VERSION AS OF 3",
    "DESCRIBE HISTORY {} FULL": "lake.db.t.history",
    "ANALYZE TABLE {} COMPUTE DELTA STATISTICS": "no counterpart",
    "LOCK TABLE {} SHARED": "no counterpart",
    "EXPORT TABLE {} TO '/x'": "INSERT OVERWRITE DIRECTORY",
    "DELETE FROM {} TABLESAMPLE (BUCKET 1 OUT OF 4 ON a) WHERE b = 1": "a sample is read, not changed: .*hive_bucket",
    "UPDATE {} TABLESAMPLE (BUCKET 1 OUT OF 4) SET b = 1": "a sample is read, not changed",
    "MERGE INTO {} TABLESAMPLE (10 PERCENT) USING s ON a = b WHEN MATCHED THEN DELETE": "a sample is read, not changed",
    "SELECT * FROM {} AT (VERSION => 3)": "lake.db.t VERSION AS OF 3",
    "SELECT * FROM {} CHANGES (INFORMATION => DEFAULT) AT (TIMESTAMP => '2026-01-01')": r"table_changes\('lake.db.t', 3, 9\)",
    "SELECT * FROM {} CHANGES FROM VERSION 3 TO VERSION 9": r"table_changes\('lake.db.t', 3, 9\)",
}
"""Statements with a place for the table, and what the answer says."""
WITHOUT_TABLE = {
    "CONVERT TO DELTA parquet.`/tmp/x` PARTITIONED BY (day DATE)": r"LOCATION '…', then CALL lake.system.sync",
    "CONVERT TO DELTA db.t NO STATISTICS": "CALL lake.system.sync",
    "CONVERT TO ICEBERG db.t": "CALL lake.system.sync",
}
PARSED = {
    "CREATE TABLE {} (a INT, b INT GENERATED ALWAYS AS (a + 1)) USING parquet": "expression in the SELECT.*CHECK",
    "CREATE OR REPLACE TABLE {} (a BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH 1), b INT)": r"uuid\(\)",
    "ALTER TABLE {} ADD COLUMN b INT GENERATED ALWAYS AS (a + 1)": "expression in the SELECT",
    "CREATE INDEX i ON TABLE {} (a)": r"create_partition_index\(table => 'db.t'",
    "DROP INDEX i ON {}": "create_partition_index",
    "SELECT * FROM table_changes_by_path('{}', 1, 3) WHERE id = 7": r"table_changes\('lake.db.t', 3, 9\)",
    "SELECT * FROM hudi_table_changes('{}', 'latest_state', 'earliest')": "readChanges",
}
LACKING = {
    "CREATE TABLE {} LIKE a.b": "create table like",
    "create table if not exists {} like b TBLPROPERTIES ('a' = 'b')": "create table like",
    "INSERT WITH SCHEMA EVOLUTION INTO {} BY NAME SELECT 1 AS a": "evolving writes",
    "INSERT WITH SCHEMA EVOLUTION OVERWRITE TABLE {} SELECT 1 AS a": "evolving writes",
    "WITH s AS (SELECT 1 AS a) INSERT WITH SCHEMA EVOLUTION INTO {} SELECT * FROM s": "evolving writes",
    "CREATE TABLE {} (a INT PRIMARY KEY)": "constraints",
    "CREATE OR REPLACE TABLE {} (a INT, CHECK (a > 0))": "constraints",
    "CREATE TABLE {} (a INT, CONSTRAINT c FOREIGN KEY (a) REFERENCES b (a))": "constraints",
    "ALTER TABLE {} ADD CONSTRAINT c CHECK (a > 0)": "constraints",
    "ALTER TABLE {} ADD UNIQUE (a)": "constraints",
    "ALTER TABLE {} DROP CONSTRAINT IF EXISTS c CASCADE": "constraints",
}
"""Statements that Spark 4.0 does not parse, by what it lacks for them."""
PROCEDURE_NAMES = {
    "compact": (
        "rewrite_data_files", "run_compaction", "run_clustering", "sort_compact", "optimize", "ducklake_merge_adjacent_files", "zorder",
    ),
    "vacuum": (
        "expire_snapshots", "remove_orphan_files", "run_clean", "purge_files", "ducklake_cleanup_old_files", "expire_partitions_files",
        "delete_orphan_files",
    ),
    "rollback": (
        "rollback_to_snapshot", "rollback_to_timestamp", "set_current_snapshot", "rollback_to_instant", "rollback_to_savepoint", "restore",
    ),
    "sync": ("add_files", "migrate", "register_table", "migrate_table", "run_bootstrap", "repair_add_partition_meta", "convert_to_delta"),
    "history": (
        "ancestors_of", "show_commits", "snapshots", "ducklake_snapshots",
    ),
    "tag": ("create_tag", "delete_savepoint"),
    "branch": ("create_branch", "fast_forward"),
    "compact_metadata": ("rewrite_manifests", "compact_manifest"),
    "publish": ("hive_sync", "generate_symlink_manifest"),
    "create_partition_index": ("rewrite_file_index", "create_index"),
}  # fmt: skip
"""Names of others' procedures, by the procedure that the answer names."""
OTHER_ANSWERS = {
    "cherrypick_snapshot": "no counterpart", "publish_changes": "no counterpart", "rewrite_position_delete_files": "no counterpart",
    "compute_table_stats": "no counterpart", "compute_partition_stats": "no counterpart", "upgrade_table": "no counterpart",
    "snapshot": "AS SELECT", "create_changelog_view": "readChanges", "show_fsview_latest": r"\.files",
    "drop_partition": "DROP PARTITION", "rename_table": "RENAME TO", "rewrite_table_path": "parquetry relocate",
    "truncate_table": "TRUNCATE TABLE", "drop_table": "DROP TABLE", "show_table_properties": "SHOW TBLPROPERTIES",
}  # fmt: skip


@pytest.mark.parametrize("statement", UNPARSED)
def test_statements_that_no_parser_knows(statement: str) -> None:
    """The answer names the table in full; in another catalog the parser's error stays, and a text or a
    comment is no statement.
    """
    says = UNPARSED[statement]
    for name in ("t", "db.t", "lake.db.t", "`db`.`t`"):
        with pytest.raises(UnsupportedError, match=f"^Parquetry has no .*: .*{says}"):
            refuse_unparsed(statement.format(name), SESSION)
    assert re.search(rf"\b({'|'.join(habits.UNPARSED_WORDS)})\b", statement.upper())
    refuse_unparsed(statement.format("other.db.t"), SESSION)
    refuse_unparsed(statement.format("spark_catalog.db.t"), SESSION)
    refuse_unparsed(statement.format("db.t"), ELSEWHERE)
    with pytest.raises(UnsupportedError, match=says):
        refuse_unparsed(f"/* now */ {statement.format('lake.db.t')}; -- done", ELSEWHERE)
    refuse_unparsed(f"SELECT '{statement.format('t').replace(chr(39), '')}' FRM t", SESSION)


@pytest.mark.parametrize("statement", LACKING)
def test_statements_that_an_older_spark_does_not_know(statement: str) -> None:
    """The answer is in the words for what the series lacks; a series that has it leaves the error to Spark's
    parser, and so does another catalog.
    """
    feature = LACKING[statement]
    for spark in ("4.0.5", "4.1.4", "4.2.0"):
        session, elsewhere = replace(SESSION, spark=spark), replace(ELSEWHERE, spark=spark)
        words = session.lacking(feature)
        if words is None:
            refuse_unparsed(statement.format("db.t"), session)
            continue
        for name in ("t", "lake.db.t"):
            with pytest.raises(UnsupportedError, match=rf": {re.escape(words)}\. .*lake\.db\.t"):
                refuse_unparsed(statement.format(name), session)
        refuse_unparsed(statement.format("other.db.t"), session)
        refuse_unparsed(statement.format("db.t"), elsewhere)
    refuse_unparsed(statement.format("db.t"), SESSION)
    assert replace(SESSION, spark="4.0.5").lacking(feature) is not None
    assert re.search(rf"\b({'|'.join(habits.UNPARSED_WORDS)})\b", statement.upper())


def test_markers_of_parameters_that_an_older_spark_keeps_for_itself() -> None:
    """A marker in a clause that is rewritten is refused by its name; elsewhere, it is Spark's. A series that
    tells values has them filled in.
    """
    older = replace(SESSION, spark="4.0.5")
    for text, marker in (
        ("ALTER TABLE t SKEWED BY (x) ON (:one)", ":one"),
        ("CREATE TABLE t (x INT) CLUSTERED BY (x) INTO ? BUCKETS", "?"),
        ("OPTIMIZE t WHERE p = :p", ":p"),
    ):
        with pytest.raises(
            UnsupportedError, match=rf"{re.escape(older.lacking('parameters') or '-')}.* of \{marker}\.$"
        ):
            rewrite(text, older)
        filled = rewrite(text, SESSION, {"one": "1", "p": "1"}, ["1"])
        assert filled == rewrite(text.replace(marker, "1"), older)
    text = "ALTER TABLE t SKEWED BY (x) ON (1); SELECT :x, '?'"
    assert rewrite(text, SESSION) is not None
    assert rewrite(text, older) == rewrite(text, SESSION)


@pytest.mark.parametrize("statement", WITHOUT_TABLE)
def test_statements_about_folders(statement: str) -> None:
    """They name no table of ours, so a session that has a catalog of ours answers, and no other."""
    for session in (SESSION, ELSEWHERE):
        with pytest.raises(UnsupportedError, match=WITHOUT_TABLE[statement]):
            refuse_unparsed(statement, session)
    refuse_unparsed(statement, Session(frozenset(), frozenset(), "spark_catalog", ("default",)))


@pytest.mark.parametrize("statement", PARSED)
def test_statements_that_spark_parses(statement: str) -> None:
    """They are answered before Spark refuses them; those about tables of others are Spark's."""
    for name in ("t", "lake.db.t"):
        with pytest.raises(UnsupportedError, match=PARSED[statement]):
            rewrite(statement.format(name), SESSION)
    assert any(word in statement.upper() for word in WORDS)
    assert rewrite(statement.format("other.db.t"), SESSION) is None
    assert rewrite(statement.format("db.t"), ELSEWHERE) is None


def test_statements_that_are_no_habits() -> None:
    """Columns, texts and comments may have the words."""
    for text in (
        "CREATE TABLE t (generated INT, always STRING COMMENT 'GENERATED ALWAYS AS (1)')",
        "SELECT table_changes, index FROM t WHERE x = 'table_changes(''t'')'",
        "ALTER TABLE t ADD COLUMN identity INT COMMENT 'generated by default as identity'",
        "INSERT INTO t SELECT generated FROM index",
        "SELECT * FROM table_changes('lake.db.t', 1)",
        "SELECT * FROM table_changes_by_path(t)",
        "SELECT * FROM table_changes_by_path('a..b', 1)",
    ):
        assert rewrite(text, SESSION) is None, text
        refuse_unparsed(text, SESSION)
    for text in (
        "",
        ";",
        "ALTER TABLE",
        "ALTER TABLE t",
        "ALTER TABLE t ADD PARTITION (a = 1)",
        "FROM t SELECT at",
        "CONVERT",
        "x 'y",
    ):
        refuse_unparsed(text, SESSION)


@pytest.mark.parametrize("procedure", PROCEDURE_NAMES)
def test_procedures_of_others(procedure: str) -> None:
    """Each name leads to a procedure that exists, in any letter case."""
    assert procedure in OPERATIONS
    for name in PROCEDURE_NAMES[procedure]:
        answer = habits.procedure_answer(name.upper(), "lake")
        assert answer is not None, name
        assert f"CALL lake.system.{procedure}(table => 'db.t'" in answer, (name, answer)


@pytest.mark.parametrize("name", OTHER_ANSWERS)
def test_procedures_that_a_statement_does_or_none(name: str) -> None:
    """The answer names the statement, or says that there is no counterpart."""
    assert re.search(OTHER_ANSWERS[name], habits.procedure_answer(name, "lake") or ""), name


def test_answers_name_only_what_there_is() -> None:
    """Each procedure in an answer exists, and no name of ours is taken for a habit."""
    every = [*habits.PROCEDURES, *habits.UNPARSED, *habits.PARSED, *itertools.chain(*habits.LACKING.values())]
    for habit in every:
        answer = habits.fill_answer(habit.answer, "lake", "`a'b`.t")
        assert answer.endswith("."), answer
        assert set(re.findall(r"CALL lake\.system\.(\w+)", answer)) <= OPERATIONS.keys()
    assert "table => '`a\\'b`.t'" in habits.fill_answer("{arg}.", "lake", "`a'b`.t")
    assert habits.procedure_answer("frobnicate", "lake") is None
