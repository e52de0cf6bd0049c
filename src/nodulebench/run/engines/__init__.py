"""Where tasks are done: processes of this machine, or those of a cluster; one interface."""
