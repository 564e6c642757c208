"""Where tables are counted: what every engine must do (``base``, ``dialect``, ``reference``), and a room for each."""
