"""What each command of the command line does; `cli` declares their arguments (those of `decode` stand with it)."""
