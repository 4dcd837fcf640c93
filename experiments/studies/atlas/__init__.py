"""Where in a space of bodies and rules does complexity grow? Sample it, search it, look at it."""
