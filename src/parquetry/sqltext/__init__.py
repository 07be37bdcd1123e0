"""Text of SQL, taken apart and put together: tokens, a cursor over them, literals, and edits that leave the rest of a text as it is.

Knows words and quotes, and no table. Hive's clauses (`ddl`) and conditions (`predicate.reading`) are read with it.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.sqltext.cursor import TokenCursor as TokenCursor
    from parquetry.sqltext.edit import Edit as Edit
    from parquetry.sqltext.edit import blank as blank
    from parquetry.sqltext.edit import edited as edited
    from parquetry.sqltext.edit import string as string
    from parquetry.sqltext.literals import LiteralConstant as LiteralConstant
    from parquetry.sqltext.literals import constants as constants
    from parquetry.sqltext.literals import read_constant as read_constant
    from parquetry.sqltext.tokens import BARE as BARE
    from parquetry.sqltext.tokens import END_OF_TEXT as END_OF_TEXT
    from parquetry.sqltext.tokens import TIME_TYPES as TIME_TYPES
    from parquetry.sqltext.tokens import Token as Token
    from parquetry.sqltext.tokens import is_name as is_name
    from parquetry.sqltext.tokens import tokenise as tokenise

lazy_exports(
    __name__,
    {
        ".cursor": ["TokenCursor"],
        ".edit": ["Edit", "blank", "edited", "string"],
        ".literals": ["LiteralConstant", "constants", "read_constant"],
        ".tokens": ["BARE", "END_OF_TEXT", "TIME_TYPES", "Token", "is_name", "tokenise"],
    },
)
