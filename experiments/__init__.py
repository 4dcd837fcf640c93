"""Learn, freeze, record, quantify: the experiments and their command line."""
