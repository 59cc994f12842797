"""The subcommands of `tollgate`, one module each."""
