"""Dump a metastore into a folder of text files, and restore it into any store.

`dump` writes the folder, `restore` reads it, and `format` defines it.
"""
