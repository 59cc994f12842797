"""The subcommands of `tollgate`, a module each."""
