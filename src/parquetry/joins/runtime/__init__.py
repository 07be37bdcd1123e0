"""Runtime filters: judge which values of a join to collect while the query runs, and report them.

`candidates` describes the joins. `judge` decides, by the limits in `cost_model` and the estimates in
`estimates`.
"""
