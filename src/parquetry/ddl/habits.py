"""The table of habits: statements and procedures of Delta, Iceberg, Hudi and Hive, each with its answer.

A habit is a pattern and an answer. Patterns of statements are matched against the words of a statement, with
one blank between two (`ddl.habitual_statements`); patterns of procedures against the name in CALL. The first
pattern that matches counts.

Answers have placeholders: `{table}` for the table's name in SQL, `{call}` for `CALL lake.system`, and
`{arg}` for `table => 'db.t'`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

NAME = r"(?:identifier \( ' \)|[^ ]+(?: \. [^ ]+)*)"
_T = f"(?P<table>{NAME})"
_ALTER = f"alter table (?:if exists )?{_T} (?:partition \\( .*? \\) )?"
_CREATE = f"(?:create (?:or replace )?|replace )(?:external )?table (?:if not exists )?{_T} "

_NONE = "there is no counterpart: "
_PARTITIONING = (
    "a table has one partitioning, by columns, from its beginning: CREATE OR REPLACE TABLE {table} … PARTITIONED BY (…) AS SELECT … "
    "makes it anew and keeps its versions; ALTER TABLE {table} CLUSTERED BY (…) INTO 16 BUCKETS adds buckets."
)
_SORTING = (
    "ALTER TABLE {table} CLUSTER BY (…) says by which columns files are sorted that are written from then on, and "
    "SET TBLPROPERTIES ('sort-by' = 'zorder(a, b)') sorts them along a curve."
)
_BRANCHES = (
    "{call}.branch({arg}, name => 'try') makes a branch, INSERT INTO {table}.branch_try writes into it, VERSION AS OF 'try' reads it, "
    "and {call}.publish_branch({arg}, name => 'try') makes its changes a version of the table."
)
_TAGS = (
    "{call}.tag({arg}, name => '…', version => 3) gives a version a tag, VERSION AS OF '…' reads it, {call}.tags({arg}) lists tags, "
    "and {call}.drop_tag({arg}, name => '…') drops one."
)
_CLONE = (
    "a file belongs to one table: CREATE TABLE … AS SELECT * FROM … copies rows, CREATE TABLE … LIKE … copies the definition, and "
    "VERSION AS OF 3 reads an old state without a copy."
)
_ADOPT = (
    "a folder of Parquet or ORC files is taken in as it is: CREATE TABLE {table} (…) USING parquet PARTITIONED BY (…) LOCATION '…', "
    "then {call}.sync({arg}). Write the rows of a Delta, Iceberg or Hudi table into such a folder first."
)
_COMPACT = "{call}.compact({arg}) writes small files anew."
_VACUUM = (
    "{call}.vacuum({arg}) deletes files and records that only old versions need, and files of no version."
)
_ROLLBACK = "{call}.rollback({arg}, version => 3) goes back to a version that {call}.history({arg}) lists."
_HISTORY = "{call}.history({arg}), or SELECT * FROM {table}.history, lists the versions."
_FILES = "SELECT * FROM {table}.files lists the files, and {table}.partitions the partitions."
_CHANGES = (
    "SELECT * FROM table_changes('{table}', 3, 9) gives the changes of the versions 3 to 9 as rows, and "
    "spark.readStream.option('readChanges', true).table('{table}') streams them."
)
_STATISTICS = _NONE + "each commit keeps statistics of its files, and queries use them."
_INDEX = (
    "{call}.create_partition_index({arg}, columns => array('…')) makes an index of partition columns; files are skipped by their "
    "statistics, and by the table property 'bloom-filter-columns'."
)
_GENERATED = (
    "a table computes no column: write the expression in the SELECT of the INSERT, or in a view; ADD CONSTRAINT c CHECK (b = a + 1) "
    "refuses other values."
)
_IDENTITY = "a table gives no numbers: write uuid(), or a number of your own, in the SELECT of the INSERT."
_PUBLISH = "{call}.publish({arg}) describes the table to Hive's metastore, for Hive and Trino."
_SAMPLES = (
    "a sample is read, not changed: DELETE and UPDATE take the third of 16 buckets by WHERE …system.hive_bucket(2, 16, …) = 2, and "
    "SELECT * FROM {table} TABLESAMPLE (BUCKET 3 OUT OF 16 ON …) reads it."
)
_LOCKS = (
    _NONE
    + "a statement commits whole or not at all, and of two that conflict one fails (PARQUETRY_COMMIT_CONFLICT)."
)


class Habit(NamedTuple):
    """A pattern of what users type, and the answer to it."""

    pattern: re.Pattern[str]
    answer: str


def _habits(*pairs: tuple[str, str]) -> tuple[Habit, ...]:
    return tuple(Habit(re.compile(pattern), answer) for pattern, answer in pairs)


PROCEDURES = _habits(
    (r"rollback_to_timestamp", "a rollback goes to a version: " + _ROLLBACK),
    (r"set_current_(snapshot|version)|rollback.*|restore.*", _ROLLBACK),
    (r"cherry_?pick.*|publish_changes|publish_wap.*", _NONE + "a version that was left is not taken up in part; MERGE INTO or INSERT adds its rows, from {table} VERSION AS OF 3."),
    (r"fast_forward|.*branch.*", _BRANCHES),
    (r".*(tag|savepoint).*", _TAGS),
    (r"rewrite_position_delete.*|.*delete_?vectors?.*", _NONE + "DELETE, UPDATE and MERGE write whole files anew, so there are no delete files."),
    (r".*rewrite_manifests?.*|compact_manifest.*|.*merge_manifest.*", "{call}.compact_metadata({arg}) writes the lists of files anew; seldom needed, as appends merge small ones."),
    (r"remove_orphan.*|delete_orphan.*|expire.*|.*clean.*|purge.*|delete_marker|run_ttl|.*obsolete.*", _VACUUM),
    (r"rewrite_table_path|relocate.*|.*move.*location.*", "the command `parquetry relocate FROM TO` changes locations after a folder was moved; locations below the warehouse are relative to it."),
    (r"rename.*", "ALTER TABLE {table} RENAME TO … renames a table."),
    (r"(set|unset|alter)_.*propert.*", "ALTER TABLE {table} SET TBLPROPERTIES ('…' = '…') sets properties."),
    (r"show_table_propert.*|get_propert.*", "SHOW TBLPROPERTIES {table} shows properties."),
    (r"(drop|delete|expire)_partitions?.*", "ALTER TABLE {table} DROP PARTITION (…) drops partitions."),
    (r"truncate.*", "TRUNCATE TABLE {table} removes the rows, as a version that can be undone."),
    (r"(drop|unregister)_table|drop", "DROP TABLE {table} drops a table; of an external one, its files stay."),
    (r"snapshot|copy_to_.*|clone.*|shallow_clone|deep_clone", _CLONE),
    (r"add_files|migrate.*|register.*|convert.*|import.*|.*bootstrap.*|load_table|clone_hive|copy_into", _ADOPT),
    (r"create_changelog_view|.*changelog.*|.*table_changes.*|.*_cdc.*|commits_compare", _CHANGES),
    (r"rewrite_file_index|.*index.*", _INDEX),
    (r"compute_.*stats.*|analyze.*|.*(column_)?stats?(_.*)?|drop_stats|create_metadata_table|(delete|init)_metadata_table", _STATISTICS),
    (r"(show|list)_(commits?|snapshots?|history|instants?|rollbacks?|archived.*|timeline|versions?).*|ancestors_of|snapshots?|versions?|history.*|show_commit.*|export_instants|ducklake_snapshots", _HISTORY),
    (r"show_(fsview|metadata|logfile|invalid|files?|partitions?|compaction|clustering).*|.*list_files|show.*|table_info|ducklake_table_info", _FILES),
    (r".*hive_sync.*|.*generate.*manifest.*|generate.*|validate_hoodie_sync|sync_hive.*|publish.*", _PUBLISH),
    (r"repair.*|refresh.*|sync_.*|msck.*|fsck.*|.*invalidate.*|flush.*", "{call}.sync({arg}) takes in files that others have written; {call}.fsck() checks the metastore. Nothing has to be refreshed."),
    (r"up_?grade.*|down_?grade.*|.*feature.*", _NONE + "a Parquetry that writes brings a metastore to its own format; the page 'Versions' says what others can read."),
    (r".*(compact|rewrite_data|optimi[sz]e|cluster|z_?order|merge_adjacent|bin_?pack|rescale|rewrite).*", _COMPACT),
    (r"describe_?(detail)?|detail", "DESCRIBE TABLE EXTENDED {table} shows the table's details."),
    (r"explain.*plan", "{call}.explain('SELECT …') explains a query."),
    (r"help|procedures?|show_procedures", "SHOW PROCEDURES IN a catalog lists the procedures (Spark 4.1 and later), and the page 'SQL' explains them."),
)  # fmt: skip
"""Procedures of Iceberg, Hudi, Paimon, DuckLake and Trino, by their names; also names that are like them."""

UNPARSED = _habits(
    (_ALTER + r"(?:add|drop|replace) partition field\b|" + _ALTER.replace("P<table>", "P<other>") + r"(?:re)?set partition(?:ed[_ ]by| spec)\b", _PARTITIONING),
    (_ALTER + r"(?:write (?:locally |globally )?ordered by|set sorted by|zorder by)\b", _SORTING),
    (_ALTER + r"(?:write unordered|reset sorted by)\b", "ALTER TABLE {table} CLUSTER BY NONE ends the sorting of files."),
    (_ALTER + r"write distributed by\b", "rows are shuffled by partition before they are written, unless the table property 'distribution' is 'none'. " + _SORTING),
    (_ALTER + r"cluster[_ ]by (?:auto|automatic)\b", "name the columns: " + _SORTING),
    (_ALTER + r"(?:set|drop|add) identifier fields?\b", _NONE + "rows have no identity here; MERGE INTO {table} names its keys in ON."),
    (_ALTER + r"(?:create (?:or replace )?|replace |drop |rename |fast forward |merge )branch\b", _BRANCHES),
    (_ALTER + r"(?:create (?:or replace )?|replace |drop |rename )tag\b", _TAGS),
    (_ALTER + r"alter column [^ ]+ (?:sync identity|(?:add|set|drop) (?:generated|identity))\b", _IDENTITY),
    (_ALTER + r"alter column [^ ]+ (?:drop|set) expression\b", _GENERATED),
    (_ALTER + r"(?:add|drop) feature\b|upgrade table (?P<other>" + NAME + ")", _NONE + "a table has no features to switch: the metastore has one format for all tables."),
    (_ALTER + r"(?:(?:partition \( .*? \) )?compact|rewrite|optimi[sz]e)\b", _COMPACT),
    (_ALTER + r"drop (?:if exists )?partition \( [^()]*? (?:<|>|<=|>=|<>|!=|like|in|between)(?: |$)", "DELETE FROM {table} WHERE ds < '…' drops the partitions that a condition selects whole, and rewrites no file of others."),
    (_ALTER + r"exchange partition\b", _NONE + "INSERT INTO {table} SELECT … takes the rows of another table over."),
    (_ALTER + r"(?:un)?archive\b|" + _ALTER.replace("P<table>", "P<other>") + r"touch\b", _NONE + "partitions are neither archived nor touched; an old one is packed by CALL … compact."),
    (_ALTER + r"(?:set|unset) tags?\b", "tags of catalogs are properties here: ALTER TABLE {table} SET TBLPROPERTIES ('…' = '…')."),
    (_ALTER + r"set properties\b", "ALTER TABLE {table} SET TBLPROPERTIES ('…' = '…') sets properties."),
    (_ALTER + r"(?:undo drop|restore)\b", _ROLLBACK),
    (_CREATE + r"(?:shallow |deep )?(?:clone|copy)\b", _CLONE),
    (r"convert (?:to )?(?:delta|iceberg|hudi|parquetry|[a-z]+) ", _ADOPT),
    (f"reorg table {_T}", "DELETE, UPDATE and MERGE write files anew, so none has rows to be purged: " + _COMPACT),
    (f"generate [^ ]+ for table {_T}", _PUBLISH),
    (f"fsck (?:repair )?table {_T}", "{call}.sync({arg}, dry_run => true) compares the files with the record, and {call}.fsck() checks the metastore."),
    (f"copy into {_T}", "INSERT INTO {table} SELECT * FROM parquet.`…` adds the rows of files; {call}.sync({arg}) takes in files of the table's own folder, each once."),
    (f"undrop table (?:if exists )?{_T}", _NONE + "a table that was dropped is gone. Within a table, {call}.rollback undoes a change, and `parquetry dump` keeps the metastore."),
    (f"(?:create|drop) bloomfilter index (?:on )?(?:table )?{_T}", "ALTER TABLE {table} SET TBLPROPERTIES ('bloom-filter-columns' = '…') has files written with Bloom filters."),
    (f"(?:show|refresh|drop|alter) index(?:es)? (?:.* )?(?:on|from|in) (?:table )?{_T}", _INDEX),
    (f"optimi[sz]e (?:table )?{_T}", "OPTIMIZE {table}, also with WHERE and a filter on partition columns, is all there is of it: " + _COMPACT),
    (f"vacuum (?:table )?{_T}", "VACUUM {table} RETAIN 168 HOURS DRY RUN is all there is of it, and its last words may be left out: " + _VACUUM),
    (f"restore (?:table )?{_T}", "RESTORE TABLE {table} TO VERSION AS OF 3, or TO TIMESTAMP AS OF '…', is all there is of it."),
    (f"desc(?:ribe)? (?:history|detail) {_T}", _HISTORY + " DESCRIBE DETAIL {table} shows details."),
    (f"analy[sz]e table {_T}", _STATISTICS),
    (f"(?:un)?lock table {_T}", _LOCKS),
    (f"export table {_T}", "INSERT OVERWRITE DIRECTORY '…' USING parquet SELECT * FROM {table} writes the rows elsewhere."),
    (f"import (?:external )?table {_T}", _ADOPT),
    (f"purge table {_T}", _VACUUM),
    (f"(?:merge|expire|delete) snapshots? (?:of|for|from) (?:table )?{_T}", _VACUUM),
    (f"(?:from|join) {_T} (?:at|before) \\( ?(?:version|timestamp|snapshot)", "{table} VERSION AS OF 3, or TIMESTAMP AS OF '…', reads an old state."),
    (f"(?:from|join) {_T} changes (?:\\(|from (?:version|timestamp))", _CHANGES),
    (f"(?:delete from|update|insert (?:into|overwrite) (?:table )?|merge (?:with schema evolution )?into) {_T} tablesample \\(", _SAMPLES),
)  # fmt: skip
"""Statements that Spark's parser refuses, and so does every other extension's."""

EXECUTE = re.compile(_ALTER + r"execute (?P<procedure>[a-z_]+)")
"""Trino's way to call a procedure about a table."""

PARSED = _habits(
    (_CREATE + r"\(.* generated (?:always|by default) as identity\b|" + _ALTER.replace("P<table>", "P<other>") + r"add columns? .*generated (?:always|by default) as identity\b", _IDENTITY),
    (_CREATE + r"\(.* generated (?:always|by default) as \(|" + _ALTER.replace("P<table>", "P<other>") + r"add columns? .*generated (?:always|by default) as \(", _GENERATED),
    (r"(?:hudi_table_changes|table_changes_by_path) \( (?P<text>')", _CHANGES),
    (f"(?:create|drop) index (?:if (?:not )?exists )?[^ ]+ on (?:table )?{_T}", _INDEX),
)  # fmt: skip
"""Statements that Spark parses, and refuses later with words of its own."""

LACKING: dict[str, tuple[Habit, ...]] = {
    "create table like": _habits(
        (_CREATE + r"like\b", "CREATE TABLE {table} … AS SELECT * FROM … LIMIT 0 has the columns of another table, and SHOW CREATE TABLE shows all of it."),
    ),
    "evolving writes": _habits(
        (f"(?:with .* )?insert with schema evolution (?:into|overwrite) (?:table )?{_T}", "Say ALTER TABLE {table} ADD COLUMNS before, and INSERT without WITH SCHEMA EVOLUTION."),
    ),
    "constraints": _habits(
        (_ALTER + r"(?:add|drop) (?:constraint|check|primary|foreign|unique)", "A session of Spark 4.1 or later adds and drops constraints of {table}."),
        (_CREATE + r"\(.* (?:check \(|constraint |primary|foreign|unique)", "Leave them out, and have a session of Spark 4.1 or later add them: ALTER TABLE {table} ADD CONSTRAINT …."),
    ),
    "show procedures": _habits((r"show procedures\b.*", "The page 'SQL' lists them, such as {call}.history({arg}).")),
}  # fmt: skip
"""Statements that only newer versions of Spark parse, by the features that an older one lacks."""

PARSED_WORDS = ("GENERATED", "TABLE_CHANGES_BY_PATH", "HUDI_TABLE_CHANGES", "INDEX")
"""Each statement of `PARSED` has one of these words."""

UNPARSED_WORDS = (
    *("FIELD", "FIELDS", "SPEC", "PARTITIONED", "ORDERED", "UNORDERED", "DISTRIBUTED", "SORTED", "ZORDER", "AUTO", "AUTOMATIC"),
    *("BRANCH", "TAG", "TAGS", "IDENTITY", "GENERATED", "EXPRESSION", "FEATURE", "UPGRADE", "COMPACT", "REWRITE", "OPTIMIZE", "OPTIMISE"),
    *("EXCHANGE", "ARCHIVE", "UNARCHIVE", "TOUCH", "PROPERTIES", "DROP", "RESTORE", "CLONE", "COPY", "CONVERT", "REORG", "GENERATE"),
    *("FSCK", "UNDROP", "INDEX", "INDEXES", "LOCK", "UNLOCK", "EXPORT", "IMPORT", "PURGE", "SNAPSHOT", "SNAPSHOTS", "AT", "BEFORE"),
    *("CHANGES", "EXECUTE", "VACUUM", "HISTORY", "DETAIL", "ANALYZE", "ANALYSE", "TABLESAMPLE"),
    *("LIKE", "EVOLUTION", "CONSTRAINT", "CHECK", "PRIMARY", "FOREIGN", "UNIQUE", "PROCEDURES"),
)  # fmt: skip
"""Each statement of `UNPARSED` and `LACKING` has one of these words."""


def procedure_answer(name: str, catalog: str, table: str | None = None) -> str | None:
    """Return what to call instead of a procedure that does not exist, or None for a name that says nothing.

    Args:
        name: of the procedure.
        catalog: its name in SQL.
        table: of the procedure, as `db.t`, if it is known.

    >>> procedure_answer("rewrite_data_files", "lake")
    "CALL lake.system.compact(table => 'db.t') writes small files anew."
    >>> procedure_answer("frobnicate", "lake") is None
    True
    """
    answer = next((habit.answer for habit in PROCEDURES if habit.pattern.fullmatch(name.lower())), None)
    return None if answer is None else fill_answer(answer, catalog, table or "db.t")


def fill_answer(answer: str, catalog: str, table: str) -> str:
    """Return an answer with its placeholders filled.

    Args:
        answer: of a habit.
        catalog: its name in SQL.
        table: within the catalog, in SQL.
    """
    text = "'" + table.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return answer.format(table=f"{catalog}.{table}", call=f"CALL {catalog}.system", arg=f"table => {text}")
