"""Imported before numpy by the server of the workers: each computes on one core, as there are many.

Linear algebra would else start as many threads in each worker as the machine has cores.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
