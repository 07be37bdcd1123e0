"""The steps of a commit, which `committer` calls in order. An attempt writes one commit under one ticket.

- `task` is the commit, whichever ticket it gets.
- `ticket` takes, aborts and forgets tickets.
- `rows` writes the rows, which no version shows yet.
- `publish` makes the rows visible.
- `outcome` finds out whether a failed commit took place.
"""
