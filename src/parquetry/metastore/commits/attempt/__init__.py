"""One commit as it runs: `task` says what is to be made, and an attempt writes it under one ticket.

`ticket` takes, gives up and forgets tickets, `rows` writes what no version shows yet, `publish` is the one step that counts, and
`outcome` finds out what became of a commit that failed. In which order these are called, `committer` says.
"""
