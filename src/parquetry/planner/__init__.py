"""Questions of an engine about tables, answered: no pyspark, no JVM. The package `spark` is the engine's side.

`planner` takes a question and hands it on: to `tables`, `scans`, `streams`, `writes`, or a procedure. `protocol` says how questions and
answers are written.
"""
