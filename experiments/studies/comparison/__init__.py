"""Controllers compared by the core complexity of what they make robots do."""
