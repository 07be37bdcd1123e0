"""Parquetry on Spark: the only package that imports pyspark.

`session` joins a session, the JVM calls the gateway in `serving`, `write` writes rows, and `report` says what
queries read.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.spark.advising.planned_queries import plan_queries as plan_queries
    from parquetry.spark.advising.stock_tables import table_location as table_location
    from parquetry.spark.audits import read_failed_audit as read_failed_audit, replay_audit as replay_audit
    from parquetry.spark.configuration import (
        defaults_file as defaults_file,
        settings as settings,
        version_in_use as version_in_use,
        version_of_home as version_of_home,
    )
    from parquetry.spark.publishing import call_procedure as call_procedure, publish_table as publish_table
    from parquetry.spark.python_source import register_data_source as register_data_source
    from parquetry.spark.report import explain as explain, read_trace as read_trace, trace as trace
    from parquetry.spark.session import attach as attach, configure as configure
    from parquetry.spark.transactions import transaction as transaction

lazy_exports(__name__)
