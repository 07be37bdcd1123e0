"""The settings: which there are, what their texts mean, and which of several values of one setting holds.

`registry` lists them, `setting` says what one is, `parse` reads texts, `precedence` decides between read or write option, session,
table and catalog. `reference` writes `docs/configuration.md`. `spark` names Spark's own settings that matter, and `foreign_options`
refuses options of other table formats.
"""
