"""Whether containers of rows can, or must, satisfy a condition, by what is known of them.

`match` judges, `knowledge` says what is known, and `guarantees` says what rows that satisfy the condition have in common.
"""
