"""CT volumes of a synthetic chest whose nodules are known exactly."""
