"""Tags and branches of tables by their names.

`heads` finds them in a table's head, and `names` has the names of branches.
"""
