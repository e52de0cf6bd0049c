"""Executors beyond this process: local processes, Dask and Slurm."""
