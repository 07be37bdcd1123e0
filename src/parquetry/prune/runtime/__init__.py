"""Values that a join finds while a query runs: which are worth collecting, what they cost, and what they leave out.

`candidates` are the joins, `judge` decides, by the costs in `cost_model` and the estimates in `estimates`.
"""
