"""`CALL catalog.system.name(…)`, and the statements that run as procedures.

`calls` answers the bridge's questions about the operations in `parquetry.operations`; `signature` says how an
operation looks to CALL.
"""
