"""The lab: two simulated nodes on this computer. Nothing in roles/ knows of it."""
