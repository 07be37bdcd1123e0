"""The answers to the calls of Hive's metastore, by subject.

`registry` has them by name. A call that is not here is refused, with what to do instead.
"""
