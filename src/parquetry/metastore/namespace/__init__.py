"""Names of databases and tables, tables that are staged under none, and those that no name leads to any more."""
