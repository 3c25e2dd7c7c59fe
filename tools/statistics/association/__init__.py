"""Which columns go with slow runs, by more than luck."""
