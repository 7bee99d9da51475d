"""Programs that behave like the vendors' tools. They run on the nodes, with the system's Python alone."""
