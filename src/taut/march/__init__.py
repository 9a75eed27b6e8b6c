"""Time: starts, the only loop, ensembles, trajectories and their storage."""
