"""Judge by statistics whether the rows of a container can, or must, satisfy a condition.

`match` judges. `knowledge` describes containers. `guarantees` lists the values that satisfying rows have in
common.
"""
