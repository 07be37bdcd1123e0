"""Let Spark's JVM call the planner, as an object of Py4J.

`callbacks` gives a JVM the gateway, which only a caller with the token can reach.
"""
