"""Streaming reads: where a stream begins, how far a batch goes, and which files it reads.

`streams` is the entrance, `position` what a checkpoint keeps, and `pieces` the order in which files are read.
"""
