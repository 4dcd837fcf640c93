"""Files that survive: run files, the growing files they come from, and a user's own series.

A finished file is never changed in place; a growing one is valid at every moment. May import: `errors`,
`settings`, and no other room.
"""
