"""Split SQL text into tokens, read it with a cursor, read literals, and edit parts of a text.

It knows words and quotes, but no tables. Hive's clauses (`ddl`) and conditions (`predicate.reading`) are read
with it.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.sqltext.literals import (
        LiteralConstant as LiteralConstant,
        constants as constants,
        read_constant as read_constant,
    )
    from parquetry.sqltext.tokens import (
        BARE as BARE,
        END_OF_TEXT as END_OF_TEXT,
        Edit as Edit,
        Token as Token,
        TokenCursor as TokenCursor,
        apply_edits as apply_edits,
        blank as blank,
        is_name as is_name,
        string as string,
        tokenise as tokenise,
    )

lazy_exports(__name__)
