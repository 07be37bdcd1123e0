"""Files that others wrote, taken into a table: found below its location, compared with its record, and described.

`sync` is the entrance. `table_diff` compares, `discover` lists, `cells` and `buckets` say which rows the files hold.
"""
