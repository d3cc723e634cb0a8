"""Reading repositories of git without running git: before a call is decided nothing may run for it."""
