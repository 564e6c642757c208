"""What every page needs: who is let in, how it looks, long work beside it."""
