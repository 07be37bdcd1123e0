"""A store on HBase, for metastores that outgrow one machine.

- `store` implements `base.Store`.
- `client` makes the Thrift2 requests about one table.
- `connection` sends a request and returns its answer, and tries again after a failure.
- `filters` writes the filters that HBase's own filter language cannot express.

Nothing has to be deployed on the servers.
"""
