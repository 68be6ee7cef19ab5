# A misspelt device.
machine
look GANGWAY_DEVICE=gpu --
