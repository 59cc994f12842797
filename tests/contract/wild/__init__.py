"""Sloppy vendors: responses of every format with deviations chosen by a seed, and the truth.

`truth.py` says what a vendor really generated; `draft.py` is an answer in the making; `wires/`
speaks it as each vendor would; `deviations/` is the table of what may be wrong with it;
`deal.py` makes a case of a seed; `rig.py` plays it against a running gateway; `verdict.py` holds
what the caller got and what was recorded against the truth.
"""
