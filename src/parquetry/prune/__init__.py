"""Which partitions and files can hold an answer, what the metastore answers alone, and the report of it.

`select` runs the rules in the order of `steps.STEPS`. `rules` has one of them each, `runtime` decides about values of joins, and
`report` says what was left out, and why.
"""
