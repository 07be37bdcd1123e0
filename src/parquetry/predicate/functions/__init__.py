"""The values that an expression of columns, such as `id + 1` or `date(ts)`, can have in a container.

`table` lists the functions, and evaluates an expression over a container by them. Their rules are in the
modules for numbers, times, texts and comparisons. `preimage` finds the range of a column for a range of
results.
"""
