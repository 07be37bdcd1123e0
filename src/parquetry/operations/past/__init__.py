"""The past of a table: its versions and their tags, and going back to them.

`versions` lists versions and goes back, and `tags` gives them names that keep them.
"""
