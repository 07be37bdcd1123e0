"""The unit of all costs of joins is the time that one core takes to read and join a byte.

The numbers are measured ratios, of joins whose data is larger than a core's cache.
"""

SHUFFLE = 3
"""The cost of a byte that is shuffled. It is written, fetched and, for most joins, sorted: 20 million rows
joined to 10 million took 2.8 s in buckets and 18.3 s shuffled, with a sort.
"""
READ_AGAIN = 1
"""The cost of a byte that is read again, for several buckets of one file or for another branch of a plan."""
STAGE = 4 << 20
"""The least cost of a shuffle, since it is a job of its own: the time that a small one takes, about 50 ms."""
