"""Split SQL text into tokens, read it with a cursor, read literals, and edit parts of a text.

It knows words and quotes, but no tables. Hive's clauses (`ddl`) and conditions (`predicate.reading`) are read
with it.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.sqltext.cursor import TokenCursor
    from parquetry.sqltext.edit import Edit, blank, edited, string
    from parquetry.sqltext.literals import LiteralConstant, constants, read_constant
    from parquetry.sqltext.tokens import BARE, END_OF_TEXT, TIME_TYPES, Token, is_name, tokenise

lazy_exports(__name__)
