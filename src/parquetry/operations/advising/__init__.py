"""The operation `advise`: advice on a table's layout, and giving the layout to the table.

`advise` is the entrance. The forecasts are made in `parquetry.adviser`.
"""
