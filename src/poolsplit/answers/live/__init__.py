"""What follows from live servers: the rooms of `live` joined with an engine's readers, the catalog, logs and plans."""
