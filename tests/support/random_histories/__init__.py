"""Random schemas, layouts, histories and queries of tables, beside rows in memory on which plain Spark computes the same.

A case is made of its seed alone. Its tables have random columns and arrangements (`layouts`) and a history of random statements
(`writing`, `changing`, `altering`, `arranging`), each of which says by a query what the rows are to be after it (`tables`). After each
statement the table is compared with these rows; then random `queries` ask both for the same (`case`). The rows are a checkpoint
in memory: no reader of files can leave any out.

`python -m tests.support.random_histories --seconds 7200 --seed 1` runs cases until the time is over; `--seed 17 --cases 1` runs one again.
"""
