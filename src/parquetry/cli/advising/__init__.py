"""The command that advises on layouts.

`advise` is the entrance.
"""
