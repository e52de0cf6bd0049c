"""Where networks run: a GPU if there is one."""

import torch


def best_device() -> torch.device:
    """A GPU that is there, or the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
