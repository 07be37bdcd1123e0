"""Every interleaving of a few operations on one metastore, and what each may come to."""
