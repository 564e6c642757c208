"""Tables besides the counted one in FROM: joins as they are written, public look-ups, and CASE as a look-up."""
