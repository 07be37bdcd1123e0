"""Planning among a million files, beside Apache Iceberg's planner and PyIceberg; `run` is the entrance."""
