"""The values that an expression of columns, such as `id + 1` or `date(ts)`, can have in a container.

`table` lists the functions. Their rules are in the modules for numbers, times, texts and choices. `ranges`
evaluates an expression over a container. `preimage` finds the range of a column for a range of results.
"""
