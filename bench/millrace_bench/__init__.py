"""The benchmark runner: servers side by side over copies of one prepared data directory."""
