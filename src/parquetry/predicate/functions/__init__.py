"""The values that an expression of columns, such as `id + 1` or `date(ts)`, can have in a container.

`table` lists the functions with a rule; the rules are in the modules for numbers, times, texts and choices.
`ranges` evaluates an expression over a container. `preimage` goes the other way, from a range of results to a
range of the column.
"""
