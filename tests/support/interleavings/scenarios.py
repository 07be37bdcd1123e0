"""The operations that are interleaved, and the worlds that they begin in."""

from __future__ import annotations

from typing import NamedTuple

from tests.support.interleavings.operations import (
    NamedOperation,
    append,
    append_slowly,
    back_up,
    branch,
    claim,
    claim_and_append,
    clear,
    clear_orphans,
    comment,
    copy_metastore,
    count_up,
    create,
    create_as_select,
    create_database,
    create_view,
    drop,
    drop_branch_of,
    drop_database,
    drop_partition,
    dump_and_restore,
    list_tables,
    mark,
    overwrite,
    publish_branch_of,
    publish_to_hive,
    read,
    read_both,
    rename,
    rename_partition,
    replace,
    roll_back,
    within,
    write_both,
)


class Scenario(NamedTuple):
    """Operations that are run at once.

    Attributes:
        before: what has been done before.
        actors: an operation each.
    """

    before: tuple[NamedOperation, ...]
    actors: tuple[NamedOperation, ...]

    def __str__(self) -> str:
        return ", ".join(actor.name for actor in self.actors)


T, U = "default.t", "default.u"
NOTHING: tuple[NamedOperation, ...] = ()
EMPTY = (create(T, "A"),)
FILLED = (create_as_select(T, "A"),)
TWO = (create(T, "A"), create("default.s", "S"))
DATABASE = (create_database("x"),)
IN_DATABASE = (create_database("x"), create_as_select("x.t", "A"))
PAST = (
    create_as_select(T, "A"),
    append(T, "f1"),
    overwrite(T, "f2"),
    append(T, "f3", 2),
    drop_partition(T, 2),
)

NAMES = [
    Scenario(NOTHING, (create(T, "B"), create(T, "C"))),
    Scenario(NOTHING, (create(T, "B"), create_view(T, "V"))),
    Scenario(NOTHING, (create(T, "B"), list_tables("default"))),
    Scenario(NOTHING, (create_as_select(T, "B"), clear_orphans())),
    Scenario(NOTHING, (create_as_select(T, "B"), back_up())),
    Scenario(NOTHING, (create(T, "B"), drop(T))),
    Scenario(EMPTY, (create(T, "B"), drop(T))),
    Scenario(FILLED, (drop(T), drop(T))),
    Scenario(FILLED, (drop(T), read(T))),
    Scenario(FILLED, (drop(T), clear_orphans())),
    Scenario(FILLED, (drop(T), back_up())),
    Scenario(FILLED, (rename(T, U), drop(T))),
    Scenario(FILLED, (rename(T, U), drop(U))),
    Scenario(EMPTY, (rename(T, U), rename(T, "default.w"))),
    Scenario(EMPTY, (rename(T, U), rename(T, U))),
    Scenario(EMPTY, (rename(T, U), rename(U, T))),
    Scenario(TWO, (rename(T, U), rename("default.s", T))),
    Scenario(EMPTY, (rename(T, U), create(T, "B"))),
    Scenario(EMPTY, (rename(T, U), create(U, "B"))),
    Scenario(EMPTY, (rename(T, U), clear_orphans())),
    Scenario(EMPTY, (rename(T, U), list_tables("default"))),
    Scenario(EMPTY, (rename(T, "default.a"), list_tables("default"))),
    Scenario(FILLED, (rename(T, U), back_up())),
    Scenario(FILLED, (rename(T, U), append(T, "f"))),
    Scenario(FILLED, (rename(T, U), read(T))),
    Scenario(FILLED, (rename(T, U), comment(T, "c"))),
]

VIEWS = [
    Scenario((create_view(T, "V"),), (drop(T, "view"), create(T, "B"))),
    Scenario((create_view(T, "V"),), (create_view(T, "W", replacing=True), drop(T, "view"))),
    Scenario(
        (create_view(T, "V"),),
        (create_view(T, "W", replacing=True), create_view(T, "X", replacing=True)),
    ),
    Scenario(NOTHING, (create_view(T, "W", replacing=True), create_view(T, "X", replacing=True))),
    Scenario((create_view(T, "V"),), (create_view(T, "W", replacing=True), list_tables("default"))),
]

DATABASES = [
    Scenario(DATABASE, (drop_database("x"), create("x.t", "B"))),
    Scenario(DATABASE, (drop_database("x"), create_database("x"))),
    Scenario(DATABASE, (drop_database("x"), create_view("x.v", "V", replacing=True))),
    Scenario(DATABASE, (drop_database("x"), drop_database("x"))),
    Scenario((*DATABASE, *EMPTY), (drop_database("x"), rename(T, "x.t"))),
    Scenario((*DATABASE, *FILLED), (drop_database("x", cascade=True), rename(T, "x.t"))),
    Scenario(IN_DATABASE, (drop_database("x"), rename("x.t", "x.u"))),
    Scenario(IN_DATABASE, (drop_database("x"), drop("x.t"))),
    Scenario(IN_DATABASE, (drop_database("x"), rename("x.t", T))),
    Scenario(IN_DATABASE, (drop_database("x", cascade=True), rename("x.t", T))),
    Scenario(IN_DATABASE, (drop_database("x", cascade=True), rename("x.t", "x.u"))),
    Scenario(IN_DATABASE, (drop_database("x", cascade=True), create("x.u", "B"))),
    Scenario(IN_DATABASE, (drop_database("x", cascade=True), clear_orphans())),
    Scenario(IN_DATABASE, (drop_database("x", cascade=True), back_up())),
]

COMMITS = [
    Scenario(EMPTY, (append(T, "f"), append(T, "g"))),
    Scenario(FILLED, (append(T, "f"), overwrite(T, "g"))),
    Scenario(EMPTY, (count_up(T), count_up(T))),
    Scenario(FILLED, (count_up(T), append(T, "f"))),
    Scenario(FILLED, (count_up(T), drop_partition(T))),
    Scenario(FILLED, (comment(T, "c"), append(T, "f"))),
    Scenario(FILLED, (comment(T, "c"), comment(T, "d"))),
    Scenario(FILLED, (drop(T), append(T, "f"))),
    Scenario(PAST, (roll_back(T, 2), append(T, "f"))),
    Scenario(PAST, (roll_back(T, 2), roll_back(T, 3))),
    Scenario(FILLED, (append(T, "f"), back_up())),
    Scenario(PAST, (rename_partition(T, 1, 2), append(T, "f", 2))),
    Scenario(PAST, (rename_partition(T, 1, 2), append(T, "f"))),
    Scenario(PAST, (rename_partition(T, 1, 2), rename_partition(T, 1, 3))),
    Scenario(PAST, (rename_partition(T, 1, 2), clear(T))),
]

VACUUMS = [
    Scenario(PAST, (clear(T), append(T, "f"))),
    Scenario(PAST, (clear(T), overwrite(T, "g"))),
    Scenario(PAST, (clear(T), roll_back(T, 2))),
    Scenario(PAST, (clear(T), drop(T))),
    Scenario(PAST, (clear(T), rename(T, U))),
    Scenario(PAST, (clear(T), clear(T))),
    Scenario(PAST, (clear(T), back_up())),
    Scenario(FILLED, (clear(T), append(T, "old"))),
    Scenario(FILLED, (clear(T), append_slowly(T, "old"))),
    Scenario(PAST, (clear(T), overwrite(T, "old"))),
    Scenario(FILLED, (clear(T), replace(T, "old", rows=True))),
]

DUMP, RESTORE = dump_and_restore()
MARKED = (*FILLED, mark())
OWNERS = [
    Scenario((*MARKED, copy_metastore()), (claim(), append(T, "f"))),
    Scenario((*MARKED, copy_metastore()), (claim_and_append(T, "g"), clear(T))),
    Scenario((*MARKED, DUMP), (RESTORE, append(T, "f"))),
    Scenario((*MARKED, DUMP), (RESTORE, overwrite(T, "f"))),
    Scenario((*MARKED, DUMP), (RESTORE, drop(T))),
    Scenario((*MARKED, DUMP), (RESTORE, clear(T))),
]

REPLACING = [
    Scenario(NOTHING, (replace(T, "B"), replace(T, "C"))),
    Scenario(FILLED, (replace(T, "B"), replace(T, "C"))),
    Scenario(FILLED, (replace(T, "B", rows=True), replace(T, "C", rows=True))),
    Scenario(FILLED, (replace(T, "B"), create(T, "C"))),
    Scenario(FILLED, (replace(T, "B", rows=True), append(T, "f"))),
    Scenario(FILLED, (replace(T, "B"), overwrite(T, "f"))),
    Scenario(FILLED, (replace(T, "B"), comment(T, "c"))),
    Scenario(FILLED, (replace(T, "B"), drop(T))),
    Scenario(FILLED, (replace(T, "B"), rename(T, U))),
    Scenario((*FILLED, create("default.s", "S")), (replace(T, "B"), rename("default.s", T))),
    Scenario(FILLED, (replace(T, "B", rows=True), read(T))),
    Scenario(FILLED, (replace(T, "B"), list_tables("default"))),
    Scenario(FILLED, (replace(T, "B", rows=True), back_up())),
    Scenario(FILLED, (replace(T, "B"), publish_to_hive(T))),
    Scenario(FILLED, (replace(T, "B", rows=True), publish_to_hive(T))),
    Scenario(FILLED, (replace(T, "B"), clear_orphans())),
    Scenario((create_view(T, "V"),), (replace(T, "B"), create_view(T, "W", replacing=True))),
    Scenario(IN_DATABASE, (replace("x.t", "B"), drop_database("x"))),
    Scenario(IN_DATABASE, (replace("x.t", "B"), drop_database("x", cascade=True))),
    Scenario(DATABASE, (replace("x.t", "B", rows=True), drop_database("x"))),
    Scenario(PAST, (replace(T, "B", rows=True), clear(T))),
    Scenario(PAST, (replace(T, "B", rows=True), roll_back(T, 2))),
]

TRY = "default.t/try"
BRANCHED = (*FILLED, branch(T), append(TRY, "old"))
BRANCHES = [
    Scenario(PAST, (branch(T), clear(T))),
    Scenario(FILLED, (branch(T), branch(T))),
    Scenario(FILLED, (branch(T), append(T, "f"))),
    Scenario(FILLED, (branch(T), drop(T))),
    Scenario(FILLED, (branch(T), clear_orphans())),
    Scenario(BRANCHED, (append(TRY, "f"), append(TRY, "g"))),
    Scenario(BRANCHED, (append(TRY, "f"), clear(T))),
    Scenario(BRANCHED, (append(TRY, "old2"), clear(T))),
    Scenario(BRANCHED, (append_slowly(TRY, "old2"), clear(T))),
    Scenario(BRANCHED, (append(TRY, "f"), drop(T))),
    Scenario(BRANCHED, (append(TRY, "f"), rename(T, U))),
    Scenario(BRANCHED, (append(TRY, "f"), drop_branch_of(T))),
    Scenario(BRANCHED, (overwrite(TRY, "f"), clear_orphans())),
    Scenario(BRANCHED, (drop_branch_of(T), clear(T))),
    Scenario(BRANCHED, (drop_branch_of(T), read(TRY))),
    Scenario(BRANCHED, (publish_branch_of(T), append(T, "f"))),
    Scenario(BRANCHED, (publish_branch_of(T), overwrite(T, "f"))),
    Scenario(BRANCHED, (publish_branch_of(T), append(TRY, "f"))),
    Scenario(BRANCHED, (publish_branch_of(T), publish_branch_of(T))),
    Scenario(BRANCHED, (publish_branch_of(T), drop_branch_of(T))),
    Scenario(BRANCHED, (publish_branch_of(T), clear(T))),
    Scenario(BRANCHED, (publish_branch_of(T), clear_orphans())),
    Scenario(BRANCHED, (publish_branch_of(T), drop(T))),
    Scenario(BRANCHED, (publish_branch_of(T), rename(T, U))),
]
THREE_BRANCHES = [
    Scenario(BRANCHED, (publish_branch_of(T), append(TRY, "f"), clear(T))),
    Scenario(BRANCHED, (publish_branch_of(T), publish_branch_of(T), append(TRY, "f"))),
    Scenario(BRANCHED, (append_slowly(TRY, "old2"), drop_branch_of(T), clear(T))),
    Scenario(BRANCHED, (branch(T, "second"), overwrite(T, "g"), clear(T))),
]

S = "default.s"
PAIR = (create_as_select(T, "A"), create_as_select(S, "B"))
TOGETHER = [
    Scenario(PAIR, (write_both(T, S, "f"), read_both(T, S))),
    Scenario(PAIR, (write_both(T, S, "f"), read_both(S, T))),
    Scenario(PAIR, (write_both(T, S, "f"), write_both(S, T, "g"))),
    Scenario(PAIR, (write_both(T, S, "f", replacing=True), write_both(S, T, "g", replacing=True))),
    Scenario(PAIR, (write_both(T, S, "f"), write_both(T, S, "g", replacing=True))),
    Scenario(PAIR, (write_both(T, S, "f"), append(T, "g"))),
    Scenario(PAIR, (write_both(T, S, "f"), append(S, "g"))),
    Scenario(PAIR, (write_both(T, S, "f"), overwrite(S, "g"))),
    Scenario(PAIR, (write_both(T, S, "f", replacing=True), count_up(T))),
    Scenario(PAIR, (write_both(T, S, "f"), comment(S, "c"))),
    Scenario(PAIR, (write_both(T, S, "f"), drop(T))),
    Scenario(PAIR, (write_both(T, S, "f"), drop(S))),
    Scenario(PAIR, (write_both(T, S, "f"), rename(S, U))),
    Scenario(PAIR, (write_both(T, S, "f"), replace(S, "C"))),
    Scenario(PAIR, (write_both(T, S, "f"), clear(S))),
    Scenario(PAIR, (write_both(T, S, "f"), clear_orphans())),
    Scenario(PAIR, (write_both(T, S, "f"), back_up())),
]

V = "default.v"
MADE = within(create_as_select(U, "M"), append(T, "f"))
DROPPED = within(drop(S), append(T, "f"))
RENAMED = within(rename(S, U), append(T, "f"))
SWAPPED = within(create_as_select(V, "M"), rename(T, U), rename(V, T))
"""A new table takes the place of an old one, which gets another name, as in a run of dbt."""
NAMES_TOGETHER = [
    Scenario(PAIR, (MADE, list_tables("default"))),
    Scenario(PAIR, (MADE, read_both(T, S))),
    Scenario(PAIR, (MADE, create(U, "B"))),
    Scenario(PAIR, (MADE, within(create_as_select(U, "N"), append(S, "g")))),
    Scenario(PAIR, (MADE, rename(S, U))),
    Scenario(PAIR, (MADE, clear_orphans())),
    Scenario(PAIR, (MADE, drop(T))),
    Scenario(PAIR, (MADE, back_up())),
    Scenario(PAIR, (DROPPED, append(S, "g"))),
    Scenario(PAIR, (DROPPED, drop(S))),
    Scenario(PAIR, (DROPPED, rename(S, U))),
    Scenario(PAIR, (DROPPED, create(S, "B"))),
    Scenario(PAIR, (DROPPED, clear(T))),
    Scenario(PAIR, (DROPPED, list_tables("default"))),
    Scenario(PAIR, (RENAMED, rename(S, V))),
    Scenario(PAIR, (RENAMED, rename(S, U))),
    Scenario(PAIR, (RENAMED, append(S, "g"))),
    Scenario(PAIR, (RENAMED, create(U, "B"))),
    Scenario(PAIR, (RENAMED, create(S, "B"))),
    Scenario(PAIR, (RENAMED, list_tables("default"))),
    Scenario(PAIR, (RENAMED, clear_orphans())),
    Scenario(PAIR, (RENAMED, within(append(S, "g"), rename(T, U)))),
    Scenario(PAIR, (SWAPPED, read(T))),
    Scenario(PAIR, (SWAPPED, append(T, "g"))),
    Scenario(PAIR, (SWAPPED, list_tables("default"))),
    Scenario(PAIR, (SWAPPED, rename(T, U))),
    Scenario(PAIR, (SWAPPED, drop(T))),
    Scenario(PAIR, (SWAPPED, rename(S, T))),
    Scenario(PAIR, (SWAPPED, clear_orphans())),
    Scenario(PAIR, (within(replace(T, "M", rows=True), append(S, "f")), append(T, "g"))),
    Scenario(PAIR, (within(replace(T, "M", rows=True), append(S, "f")), read_both(T, S))),
    Scenario(PAIR, (within(rename(T, U), rename(S, T), rename(U, S)), read(T))),
    Scenario(PAIR, (within(rename(T, U), rename(S, T), rename(U, S)), list_tables("default"))),
    Scenario((*DATABASE, *PAIR), (within(create("x.t", "M"), append(T, "f")), drop_database("x"))),
    Scenario(
        (*DATABASE, *PAIR), (within(create("x.t", "M"), append(T, "f")), drop_database("x", cascade=True))
    ),
    Scenario((*DATABASE, *PAIR), (within(rename(S, "x.t"), append(T, "f")), drop_database("x"))),
    Scenario(PAIR, (within(create_view(V, "V"), append(T, "f")), create_view(V, "W"))),
]

THREE_TOGETHER = [
    Scenario(PAIR, (MADE, within(create_as_select(U, "N"), drop(S)), list_tables("default"))),
    Scenario(PAIR, (RENAMED, within(create(U, "N"), append(S, "g")), clear_orphans())),
    Scenario(PAIR, (SWAPPED, append(T, "g"), read(T))),
    Scenario(PAIR, (write_both(T, S, "f"), write_both(S, T, "g"), read_both(T, S))),
    Scenario(PAIR, (write_both(T, S, "f"), write_both(S, T, "g", replacing=True), append(T, "h"))),
    Scenario(PAIR, (write_both(T, S, "f"), count_up(S), read_both(S, T))),
    Scenario(PAIR, (write_both(T, S, "f"), drop(S), read(T))),
    Scenario(PAIR, (write_both(T, S, "f"), append(S, "g"), clear(S))),
]

THREE = [
    Scenario(EMPTY, (rename(T, U), drop(T), create(T, "C"))),
    Scenario(TWO, (rename(T, U), rename("default.s", U), create(U, "C"))),
    Scenario(EMPTY, (rename(T, U), rename(U, "default.w"), clear_orphans())),
    Scenario(TWO, (rename(T, U), rename("default.s", T), list_tables("default"))),
    Scenario(TWO, (rename(T, U), rename("default.s", T), back_up())),
    Scenario(NOTHING, (create(T, "B"), create(T, "C"), clear_orphans())),
    Scenario(NOTHING, (create_as_select(T, "B"), create_as_select(T, "C"), clear_orphans())),
    Scenario(EMPTY, (create(T, "C"), drop(T), clear_orphans())),
    Scenario(IN_DATABASE, (drop_database("x"), create("x.u", "B"), drop("x.t"))),
    Scenario(IN_DATABASE, (drop_database("x", cascade=True), rename("x.t", T), clear_orphans())),
    Scenario(DATABASE, (drop_database("x"), create_database("x"), create("x.t", "B"))),
    Scenario(
        (*DATABASE, *FILLED), (drop_database("x", cascade=True), rename(T, "x.t"), create_database("x"))
    ),
    Scenario(PAST, (clear(T), append(T, "old"), append_slowly(T, "old2"))),
    Scenario(DATABASE, (drop_database("x"), create("x.t", "B"), clear_orphans())),
    Scenario(EMPTY, (append(T, "f"), append(T, "g"), overwrite(T, "h"))),
    Scenario(FILLED, (count_up(T), count_up(T), clear(T))),
    Scenario(PAST, (clear(T), roll_back(T, 2), append(T, "f"))),
    Scenario(FILLED, (drop(T), append(T, "f"), back_up())),
]

THREE_REPLACING = [
    Scenario(FILLED, (replace(T, "B"), replace(T, "C"), clear_orphans())),
    Scenario(FILLED, (replace(T, "B"), drop(T), create(T, "C"))),
    Scenario(FILLED, (replace(T, "B", rows=True), rename(T, U), create(T, "C"))),
    Scenario(FILLED, (rename(T, U), replace(T, "C"), clear_orphans())),
    Scenario(NOTHING, (replace(T, "B"), replace(T, "C"), drop(T))),
    Scenario(FILLED, (replace(T, "B", rows=True), append(T, "f"), clear(T))),
]
