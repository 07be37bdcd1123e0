"""Questions and answers as they cross the bridge: their types, their values, and their JSON."""
