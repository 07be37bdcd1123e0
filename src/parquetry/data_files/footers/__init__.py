"""Footers: what a data file states of itself, and how far that is believed.

`footer_reader` is the entrance. `parquet_statistics` and `orc_statistics` make the record of a file.
`parquet_footer` reads a Parquet footer's bytes, and `parquet_writers` knows the writers. `spark_readable`
finds columns that Spark cannot read.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.data_files.footers.footer_reader import ArrowFooters, FooterReader
    from parquetry.data_files.footers.orc_statistics import from_bridge
    from parquetry.data_files.footers.parquet_footer import ParquetFooter
    from parquetry.data_files.footers.parquet_statistics import (
        FooterVisitor,
        from_writer,
        read_parquet_footer,
    )
    from parquetry.data_files.footers.spark_readable import (
        mixed_columns,
        unfit_columns,
        unfit_statistics,
        unknown_columns,
    )

lazy_exports(__name__)
