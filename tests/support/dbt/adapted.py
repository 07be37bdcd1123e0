"""Classes of dbt's tests whose fixtures are of another database, with Spark's: each has the name of its base.

`FURTHER` has the classes that stand for one of dbt's several times. What a test claims stays dbt's.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from dbt.tests.adapter.basic import expected_catalog, test_docs_generate, test_incremental
from dbt.tests.adapter.constraints import test_constraints
from dbt.tests.adapter.dbt_show import test_dbt_show
from dbt.tests.adapter.empty import test_empty
from dbt.tests.adapter.hooks import test_model_hooks, test_run_hooks
from dbt.tests.adapter.incremental import (
    test_incremental_microbatch,
    test_incremental_on_schema_change,
    test_incremental_predicates,
    test_incremental_unique_id,
)
from dbt.tests.adapter.persist_docs import test_persist_docs
from dbt.tests.adapter.simple_seed import fixtures, test_seed_type_override
from dbt.tests.adapter.simple_snapshot import test_various_configs
from dbt.tests.adapter.simple_snapshot.fixtures import snapshot_actual_sql
from dbt.tests.adapter.unit_testing import test_types
from dbt.tests.util import AnyInteger, run_dbt, run_sql_with_adapter
from dbt_common.exceptions import DbtRuntimeError


class AnyStatistics:
    """Equals the statistics of any table: Spark's SHOW TABLE EXTENDED has them for some."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict)

    __hash__ = None  # type: ignore[assignment]


SPARK_CATALOG = {
    "id_type": "long",
    "text_type": "string",
    "time_type": "timestamp",
    "view_type": "view",
    "table_type": "table",
    "model_stats": AnyStatistics(),
}


class BaseDocsGenerate(test_docs_generate.BaseDocsGenerate):
    """The catalog of `dbt docs generate`, with Spark's types."""

    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any, profile_user: str) -> Any:
        """Return what the catalog has to be."""
        return expected_catalog.base_expected_catalog(project, role=profile_user, **SPARK_CATALOG)


class BaseDocsGenReferences(test_docs_generate.BaseDocsGenReferences):
    """The catalog of models that refer to others, with Spark's types."""

    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any, profile_user: str) -> Any:
        """Return what the catalog has to be."""
        found = expected_catalog.expected_references_catalog(
            project, role=profile_user, bigint_type="long", **SPARK_CATALOG
        )
        for node in (*found["nodes"].values(), *found["sources"].values()):
            for column in node["columns"].values():
                column["index"] = AnyInteger()  # Spark counts from 0
        return found


class BaseIncrementalBadStrategy(test_incremental.BaseIncrementalBadStrategy):
    """The message of dbt-spark about a strategy that it does not know."""

    def test_incremental_invalid_strategy(self, project: Any) -> None:
        """It is refused on the first run."""
        run_dbt(["seed"])
        (result,) = run_dbt(["run"], expect_pass=False).results
        assert "Invalid incremental strategy provided: bad_strategy" in result.message


class Contract:
    """Types as dbt-spark names them in the message about a broken contract."""

    @pytest.fixture
    def string_type(self) -> str:
        """Return the driver's name of a string."""
        return "STRING_TYPE"

    @pytest.fixture
    def int_type(self) -> str:
        """Return the driver's name of an INT."""
        return "INT_TYPE"

    @pytest.fixture
    def schema_string_type(self) -> str:
        """Return Spark's name of a string."""
        return "string"

    @pytest.fixture
    def schema_int_type(self) -> str:
        """Return Spark's name of an INT."""
        return "int"

    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        """Return a value of each type, the type, and the driver's name of it."""
        return [
            ["7", "int", "INT_TYPE"],
            ["'seven'", "string", "STRING_TYPE"],
            ["false", "boolean", "BOOLEAN_TYPE"],
            ["array(7, 8)", "array<int>", "ARRAY_TYPE"],
            ["date '2026-01-02'", "date", "DATE_TYPE"],
            ["timestamp '2026-01-02 03:04:05'", "timestamp", "TIMESTAMP_TYPE"],
            ["cast(7 as decimal(5, 2))", "decimal(5, 2)", "DECIMAL_TYPE"],
        ]


class BaseTableConstraintsColumnsEqual(Contract, test_constraints.BaseTableConstraintsColumnsEqual):
    """Contracts of tables."""


class BaseViewConstraintsColumnsEqual(Contract, test_constraints.BaseViewConstraintsColumnsEqual):
    """Contracts of views."""


class BaseIncrementalConstraintsColumnsEqual(
    Contract, test_constraints.BaseIncrementalConstraintsColumnsEqual
):
    """Contracts of incremental models."""


class Statement:
    """The statement of a model with a contract: dbt-spark has no constraints for a table of Parquet."""

    COLOR = "color"
    DEPENDS = "-- depends_on: <foreign_key_model_identifier>"

    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        """Return the statement."""
        return (
            f"create table <model_identifier> using parquet as select id, {self.COLOR}, date_day from"
            f" ( {self.DEPENDS} select 'blue' as {self.COLOR}, 1 as id, '2019-01-01' as date_day ) as model_subq"
        )


class BaseConstraintsRuntimeDdlEnforcement(Statement, test_constraints.BaseConstraintsRuntimeDdlEnforcement):
    """The statement of a table."""


class BaseIncrementalConstraintsRuntimeDdlEnforcement(
    Statement, test_constraints.BaseIncrementalConstraintsRuntimeDdlEnforcement
):
    """The statement of an incremental model."""


class BaseModelConstraintsRuntimeEnforcement(
    Statement, test_constraints.BaseModelConstraintsRuntimeEnforcement
):
    """The statement of a table with constraints of more than one column."""


class BaseConstraintQuotedColumn(Statement, test_constraints.BaseConstraintQuotedColumn):
    """The statement of a table with a column that is quoted."""

    COLOR = "`from`"
    DEPENDS = ""


class BaseShowDoesNotHandleDoubleLimit(test_dbt_show.BaseShowDoesNotHandleDoubleLimit):
    """The message of Spark about two LIMITs."""

    def test_double_limit_throws_syntax_error(self, project: Any) -> None:
        """The second is refused."""
        with pytest.raises(DbtRuntimeError, match="Syntax error at or near 'limit'"):
            run_dbt(["show", "--limit", "1", "--inline", "select 1 limit 1"])


class MetadataWithEmptyFlag(test_empty.MetadataWithEmptyFlag):
    """Models that ask for columns, apart from the one that drops some, which dbt-spark never does."""

    DROPS = "alter_relation_add_remove_columns"

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        """Return the models that dbt-spark compiles."""
        names = ("control", "get_columns_in_relation", "alter_column_type", "truncate_relation")
        comments = ("alter_relation_comment", "alter_column_comment")
        found = {f"{name}.sql": getattr(test_empty._models, name.upper()) for name in (*names, *comments)}
        return {"schema.yml": test_empty._models.SCHEMA, **found}

    @pytest.mark.parametrize(
        "model",
        [
            "control",
            "get_columns_in_relation",
            "alter_column_type",
            "alter_relation_comment",
            "alter_column_comment",
            "truncate_relation",
        ],
    )
    def test_run(self, project: Any, model: str) -> None:
        """Each runs without rows."""
        super().test_run(project, model)


class Target:
    """Hooks that write down the target of the profile: Spark's has no database and no user."""

    def get_ctx_vars(self, *args: Any, **named: Any) -> Any:
        """Return what a hook wrote, with PostgreSQL's names after a check of Spark's."""
        found = super().get_ctx_vars(*args, **named)  # type: ignore[misc]
        for each in found if isinstance(found, list) else [found]:
            assert (each["target_type"], each["target_dbname"], each["target_user"]) == ("spark", "", "")
            each |= {"target_type": "postgres", "target_dbname": "dbt", "target_user": "root"}
        return found

    def assert_used_schemas(self, project: Any) -> None:
        """Check what `on-run-end` got to know: the schema, without a database."""
        rows = project.run_sql(f"select schema from {project.test_schema}.schemas", fetch="all")
        assert [tuple(row) for row in rows] == [(project.test_schema,)]
        rows = project.run_sql(f"select db, schema from {project.test_schema}.db_schemas", fetch="all")
        assert [tuple(row) for row in rows] == [("None", project.test_schema)]


class BaseAfterRunHooks(test_run_hooks.BaseAfterRunHooks):
    """A hook that fails: dbt-spark's error is no DbtDatabaseError."""

    def test_missing_column_pre_hook(self, project: Any) -> None:
        """The run fails."""
        with pytest.raises(DbtRuntimeError, match="test_column"):
            run_dbt(["run"], expect_pass=False)


for _module in (test_model_hooks, test_run_hooks):
    for _name, _base in list(vars(_module).items()):
        if _name[:4] != "Test" and hasattr(_base, "get_ctx_vars"):
            globals()[_name] = type(_name, (Target, _base), {})


class BaseMicrobatch(test_incremental_microbatch.BaseMicrobatch):
    """Batches of a day: each is a partition."""

    @pytest.fixture(scope="class")
    def microbatch_model_sql(self) -> str:
        """Return the model."""
        return """{{ config(materialized='incremental', incremental_strategy='microbatch', batch_size='day',
            event_time='event_time', begin=modules.datetime.datetime(2020, 1, 1), partition_by=['day']) }}
            select id, event_time, date(event_time) as day from {{ ref('input_model') }}"""


class BaseIncrementalPredicates(test_incremental_predicates.BaseIncrementalPredicates):
    """Predicates of a merge."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        """Return the predicates."""
        config = {
            "+incremental_strategy": "merge",
            "+incremental_predicates": ["dbt_internal_dest.id != 2"],
        }
        return {"models": config}


class BaseIncrementalUniqueKey(test_incremental_unique_id.BaseIncrementalUniqueKey):
    """Keys of a merge."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        """Return the strategy."""
        return {"models": {"+incremental_strategy": "merge"}}


class ChangeOfSchema(test_incremental_on_schema_change.BaseIncrementalOnSchemaChange):
    """Columns that come and go between two runs: dbt-spark adds columns, and drops none."""

    def test_run_incremental_append_new_columns(self, project: Any) -> None:
        """New columns are added."""
        self.run_incremental_append_new_columns(project)

    def test_run_incremental_sync_all_columns(self, project: Any) -> None:
        """A column to be dropped is an error."""
        for name in ("incremental_sync_all_columns", "incremental_sync_remove_only"):
            models = ["run", "--select", f"model_a {name} {name}_target"]
            run_dbt([*models, "--full-refresh"])
            assert "does not support dropping columns" in run_dbt(models, expect_pass=False)[1].message


class ChangeOfSchemaByAppend(ChangeOfSchema):
    """The strategy `append`."""


class ChangeOfSchemaByInsertOverwrite(ChangeOfSchema):
    """The strategy `insert_overwrite`: it takes columns by place, so that a new one must be the last."""

    test_run_incremental_append_new_columns = None  # type: ignore[assignment]

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        """Return the strategy."""
        return {"models": {"+incremental_strategy": "insert_overwrite", "+partition_by": "id"}}


class ChangeOfSchemaByMerge(ChangeOfSchema):
    """The strategy `merge`."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        """Return the strategy."""
        return {"models": {"+incremental_strategy": "merge", "+unique_key": "id"}}


FURTHER = (ChangeOfSchemaByAppend, ChangeOfSchemaByInsertOverwrite, ChangeOfSchemaByMerge)


class BasePersistDocs(test_persist_docs.BasePersistDocs):
    """Descriptions of models as comments: Spark shows them, and dbt-spark's catalog does not."""

    def test_has_comments_pglike(self, project: Any) -> None:
        """A table and a view have theirs."""
        begins = {"table_model": "Table model description", "view_model": "View model description"}
        for name in (*begins, "no_docs_model"):
            sql = f"describe table extended {project.test_schema}.{name}"
            rows = {row[0]: row[1] for row in run_sql_with_adapter(project.adapter, sql, fetch="all")}
            comment = rows.get("Comment") or ""
            assert comment.startswith(begins.get(name, "")), rows
            if name in begins:
                self._assert_common_comments(comment)
            else:
                assert not comment


class BaseSimpleSeedColumnOverride(test_seed_type_override.BaseSimpleSeedColumnOverride):
    """Types of a seed's columns, where a whole number is a BIGINT."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        """Return the tests of types."""
        return {"schema.yml": fixtures.properties__schema_yml.replace("type: integer", "type: bigint")}

    @staticmethod
    def seed_enabled_types() -> dict[str, str]:
        """Return the types of one seed."""
        return {"seed_id": "string", "birthday": "date"}

    @staticmethod
    def seed_tricky_types() -> dict[str, str]:
        """Return the types of another."""
        return dict.fromkeys(("seed_id_str", "looks_like_a_bool", "looks_like_a_date"), "string")


class BaseSnapshotInvalidColumnNames(test_various_configs.BaseSnapshotInvalidColumnNames):
    """Names of columns that change: the test replaces the project's settings of snapshots."""

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        """Return the snapshot, with its format beside it."""
        config = "{{ config(file_format='delta') }} {% endsnapshot %}"
        return {"snapshot.sql": re.sub(r"\{% *endsnapshot *%\}", config, snapshot_actual_sql)}


class BaseSnapshotDbtValidToCurrent(test_various_configs.BaseSnapshotDbtValidToCurrent):
    """An end of the current rows: the test finds rows by their place in an answer without ORDER BY."""

    def test_valid_to_current(self, project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rows that end have the time, and the others the date that was configured."""

        def first_versions_first(adapter: Any, sql: str, fetch: str) -> list[Any]:
            versions: Counter[int] = Counter()
            rows = []
            for row in sorted(run_sql_with_adapter(adapter, sql, fetch), key=lambda row: row[2]):
                versions[row[0]] += 1
                rows.append((versions[row[0]], row[0], row))
            return [row for _, _, row in sorted(rows, key=lambda each: each[:2])]

        monkeypatch.setattr(test_various_configs, "run_sql_with_adapter", first_versions_first)
        super().test_valid_to_current(project)


class BaseUnitTestingTypes(test_types.BaseUnitTestingTypes):
    """Values of Spark's types in unit tests of models."""

    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        """Return values in SQL and in YAML."""
        return [
            ["7", "7"],
            ["7.5", "7.5"],
            ["'seven'", "seven"],
            ["'7'", "7"],
            ["false", "false"],
            ["date '2026-01-02'", "2026-01-02"],
            ["timestamp '2026-01-02 03:04:05'", "2026-01-02 03:04:05"],
            ["array(7, 8)", "'array(7, 8)'"],
            ["map('a', 7)", """'map("a", 7)'"""],
            ["named_struct('a', 7)", """'named_struct("a", 7)'"""],
        ]
