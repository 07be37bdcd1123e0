"""Footers: what a data file states of itself, and how far that is believed.

`footer_reader` is the entrance. `parquet_statistics` and `orc_statistics` make the record of a file.
`parquet_footer` reads a Parquet footer's bytes, and `parquet_writers` knows the writers. `spark_readable`
finds columns that Spark cannot read.
"""
