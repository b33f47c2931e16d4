version = "0.0.0.dev0"  # the wheel has its own
