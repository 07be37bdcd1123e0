"""What a query asks for: conditions read, fitted to a table, rewritten and judged."""
