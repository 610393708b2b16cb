"""What each command of the command line does; `cli` declares their arguments."""
