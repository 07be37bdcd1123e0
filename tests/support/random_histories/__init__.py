"""Random schemas, layouts, histories and queries of tables, compared with plain Spark on rows in memory.

A case is made of its seed alone. Its tables have random columns and arrangements (`layouts`) and a history of
random statements (`writing`, `changing`, `altering`, `arranging`). Each statement says by a query what the
rows are to be after it (`tables`). After each statement the table is compared with these rows; then random
`queries` read both (`case`). The rows are a checkpoint in memory: no reader of files can leave any out.

`python -m tests.support.random_histories --seconds 7200 --seed 1` runs cases until the time is over;
`--seed 17 --cases 1` runs one again.
"""
