"""The frame of every page: sessions, templates, and long work in processes of its own."""
