"""What is published: the release, its bundle and its page."""
