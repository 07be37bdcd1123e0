"""Streaming reads: where a stream begins, how far a batch goes, and which files it reads.

`streams` is the entrance, with the content of a checkpoint, and `pieces` defines the order of files.
"""
