"""What an estimate says, in words, tables and pictures."""
