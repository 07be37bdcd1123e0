"""The interface between the bridge and the planner: questions, answers, and their JSON.

Each kind of question and answer is a struct in `questions` or `answers`. `codec` reads and writes them, and
`values` does so for single values.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.planner.protocol.answers import Bucketing, FileList, LoadedTable, Parameter, Values
    from parquetry.planner.protocol.values import from_wire, to_wire

lazy_exports(__name__)
