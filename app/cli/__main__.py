"""`python -m app.cli` is `tollgate`, where the script is not installed."""

from app.cli import main

main(prog_name="tollgate")
