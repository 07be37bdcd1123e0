"""What keeps a table's past in order: going back to it, clearing it away, checking it, carrying it elsewhere.

Works on the metastore and on files, without Spark. `CALL lake.system.…` and the command line are mirrors. Long work has rooms of its
own: `compaction`, `check`, `deletion`, `dump`.
"""
