"""Robot bodies as Gymnasium environments."""
