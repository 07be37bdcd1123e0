"""Questions about databases, tables, partitions and views: to load, create, change and drop them."""
