"""The paired benchmark: programs, profilers, rounds, tables."""
