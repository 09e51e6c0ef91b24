"""Sources of samples on a timebase: arrays and files."""
