"""What can be asked for: the settings of every command, a module for each room that fulfils them.

Help reads nothing else, and is to be quick: no arrays, no physics, no compiler here.

May import: `errors`, `settings`.
"""
