"""Questions of an engine about tables, answered: no pyspark, no JVM. The package `spark` is the engine's side."""
