"""All that forecasts are made from: a table's files, a sample of its rows, and its queries.

`sources` is the entrance.
"""
