"""Requests to S3 that statements need: Parquetry's, beside plain Spark's and Apache Iceberg's."""
