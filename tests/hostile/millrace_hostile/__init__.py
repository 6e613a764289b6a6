"""A server in hostile surroundings, with the series and without: it must survive what vanilla
survives."""
