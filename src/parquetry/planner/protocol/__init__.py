"""What crosses the waist between the bridge and the planner: questions, answers, and their JSON.

`questions` and `answers` are structs, one for each kind; `codec` reads and writes them, and `values` does so for single values.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.planner.protocol.answers import Bucketing as Bucketing
    from parquetry.planner.protocol.answers import FileList as FileList
    from parquetry.planner.protocol.answers import LoadedTable as LoadedTable
    from parquetry.planner.protocol.answers import Parameter as Parameter
    from parquetry.planner.protocol.answers import Values as Values
    from parquetry.planner.protocol.values import from_wire as from_wire
    from parquetry.planner.protocol.values import to_wire as to_wire

lazy_exports(
    __name__,
    {
        ".answers": ["Bucketing", "FileList", "LoadedTable", "Parameter", "Values"],
        ".values": ["from_wire", "to_wire"],
    },
)
