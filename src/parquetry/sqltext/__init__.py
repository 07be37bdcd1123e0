"""Text of SQL, taken apart and put together: tokens, a cursor over them, literals, and edits that leave the rest of a text as it is.

Knows words and quotes, and no table. Hive's clauses (`ddl`) and conditions (`predicate.reading`) are read with it.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.sqltext.cursor import TokenCursor
    from parquetry.sqltext.edit import Edit, blank, edited, string
    from parquetry.sqltext.literals import LiteralConstant, constants, read_constant
    from parquetry.sqltext.tokens import BARE, END_OF_TEXT, TIME_TYPES, Token, is_name, tokenise

lazy_exports(__name__)
