"""Plan the joins of a query: where rows lie, and how Spark shuffles as few of them as possible.

`graph` is what the bridge knows of the joins and scans of a plan. `decide` chooses among leaving a join to
Spark, one number of buckets for both sides, reading scans in place, and several tasks for hot buckets; all
costs are in the unit of `cost`. `skew_joins` decides which heavy keys are joined apart. `shuffle_reasons`
explains the joins of a plan for a report, from `join_facts`.
"""
