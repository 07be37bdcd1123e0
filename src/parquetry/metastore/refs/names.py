"""The names of branches: of a table `orders`, the branch `try` is `orders/try` here, and users say
`orders.branch_try`.
"""

from __future__ import annotations

_BRANCH = "/"
"""Between a table's name and a branch's. No table can have it in its name (`storage.valid_names`)."""
BRANCH_PREFIX = "branch_"
"""Before a branch's name, as the last part of a name: `lake.db.t.branch_try`."""


def branch_name(table: str, branch: str) -> str:
    """Return the metastore's name of a branch. No table can have it.

    >>> branch_name("orders", "try"), split_branch("orders/try"), name_parts("orders/try")
    ('orders/try', ('orders', 'try'), ('orders', 'branch_try'))
    """
    return f"{table}{_BRANCH}{branch}"


def split_branch(name: str) -> tuple[str, str | None]:
    """Return the name of a table, and the branch's name, or None if it is a table's name."""
    table, mark, branch = name.partition(_BRANCH)
    return (table, branch) if mark else (name, None)


def name_parts(name: str) -> tuple[str, ...]:
    """Return the parts of the users' name of a table or a branch."""
    table, branch = split_branch(name)
    return (table,) if branch is None else (table, f"{BRANCH_PREFIX}{branch}")
