"""What emerges, seen from outside: modes of behaviour seed by seed, controls, pushes, the library."""
