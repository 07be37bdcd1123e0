"""Thrift's binary protocol for the calls of Hive's metastore, with limits on all that a client may send.

`connection` reads bytes, `decoding` makes calls of them, and `encoding` writes replies. `idl` has the
definitions.
"""
