"""Hive's statements that Spark does not know, said in those that it knows: text in, text out, without Spark or a JVM."""
