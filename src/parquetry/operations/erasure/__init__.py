"""The steps of `erase`, and what no step can reach.

`steps` removes rows and all that a table keeps of them; `out_of_reach` says where copies may be that it does
not know.
"""
