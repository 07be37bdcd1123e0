"""Rules that keep no more files than a result needs: a LIMIT, the first rows in an order, an aggregate.

`limit`, `top_k` and `answered` are the rules. `matching` finds the files whose rows all satisfy the
conditions, on which all three rely.
"""
