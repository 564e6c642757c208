"""What will be released, at which cost, known before anything is read."""
