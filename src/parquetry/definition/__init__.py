"""What CREATE TABLE and ALTER TABLE may say of a table: buckets, skew, constraints, and changes of its columns.

The clauses' texts become arrangements and properties here, or are refused with a sentence. Statements are read in `parquetry.ddl`.
"""
