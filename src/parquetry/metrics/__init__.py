"""Metrics for Prometheus: of a warehouse, from its metastore, and of a process, from its counters.

`collectors` makes them, `export` writes a file for node_exporter, or serves them by HTTP. Both need
prometheus-client (the extra `metrics`).
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.metrics.collectors import (
        ProcessCollector as ProcessCollector,
        WarehouseCollector as WarehouseCollector,
    )
    from parquetry.metrics.export import (
        serve_metrics as serve_metrics,
        write_in_background as write_in_background,
        write_metrics as write_metrics,
    )

lazy_exports(__name__)
