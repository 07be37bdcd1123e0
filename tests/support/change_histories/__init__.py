"""Random histories of a table without Spark, and what each version's rows are: the oracle of changes."""
