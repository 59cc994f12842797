"""What a process checks before it starts; `tollgate config check` reports it for all processes.

Read `finding` first. `common` is what every process needs; `web` is what only web processes need.
"""
