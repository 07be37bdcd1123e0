"""The values that an expression of columns, such as `id + 1` or `date(ts)`, can have in a container.

`table` names the functions whose results are known from the ranges of their arguments; the modules of its parts
compute them. `ranges` evaluates an expression over containers. `preimage` finds the values of a column for
which a monotone expression is within a range.
"""
