"""Whether a metastore and the files agree with each other: `fsck` runs the checks, each of which has a module."""
