"""A page of a warehouse for the browser: read-only, without a build step or anything from elsewhere.

`server` runs it, and `application` answers its requests: files of `static/`, and JSON of `answers`. Each of
the other modules makes one kind of answer. Needs of tables, plans of conditions and reports have the words of
the command line, and come from the same functions.

No answer has all partitions of a table. `survey` adds them up in some hundred cells, and `listing` has pages.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.ui.reports import read_report as read_report
    from parquetry.ui.server import ServedPage as ServedPage, serve as serve, serve_beside as serve_beside

lazy_exports(__name__)
