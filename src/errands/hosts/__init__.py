"""Many hosts: the fleet's agreement in a PostgreSQL database (the extra `hosts`).

`sql/` is the protocol: tables that only its functions touch, where each call is one transaction and names the
epoch and the attempt it is about. procrastinate carries the offers to hosts; it decides nothing.
"""
