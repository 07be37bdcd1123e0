"""Plan the joins of a query, so that Spark shuffles as few rows as possible.

`graph` is what the bridge knows of the joins and scans of a plan. `decide` chooses a way for each join:
Spark's own, one number of buckets for both sides, scans in place, or several tasks for a hot bucket. All
costs are in the unit of `cost`. `skew_joins` decides which heavy keys are joined apart. `shuffle_reasons`
explains the joins of a plan for a report, from `join_facts`.
"""
