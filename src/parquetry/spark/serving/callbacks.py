"""The way from the JVM to the planner: Py4J's callback server, open only to who has its token.

The server listens on a port of this machine, on which any process of any user could ask otherwise, and so could a web page in a
browser. So it wants a token, of a connection's first bytes, before it looks at anything else. The token is the one that the JVM
wants of this process, which was given to both when they were started.

PySpark opens the same server, without a token, for `foreachBatch` and for listeners of streams, before or after. There is one of them
in a process: it gets the token whoever has opened it, and goes on working for both. Connections that were made before it had a token are asked for
none. They reach what PySpark has put there, but not the planner, for they would have to name it: it has a secret name.
"""

from __future__ import annotations

import secrets
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.java_gateway import ensure_callback_server_started

from parquetry.planner.protocol.terms import terms
from parquetry.spark.serving.gateway import PlannerGateway

_TOKEN_BYTES = 32
"""Of a token, and of the planner's name: as many as PySpark's own token has."""


def install(gateway: Any, bridge: Any) -> None:
    """Put a planner into a JVM, and have it asked over connections with a token.

    Args:
        gateway: PySpark's, to the JVM.
        bridge: the object `Bridge` in that JVM.
    """
    parameters = gateway.callback_server_parameters
    token = (
        parameters.auth_token or gateway.gateway_parameters.auth_token or secrets.token_urlsafe(_TOKEN_BYTES)
    )
    parameters.auth_token = token
    ensure_callback_server_started(gateway)
    server = gateway._callback_server
    server.callback_server_parameters.auth_token = token  # whoever has started it may have given it others
    name = gateway.gateway_property.pool.put(PlannerGateway(), force_id=secrets.token_urlsafe(_TOKEN_BYTES))
    bridge.connect(JavaObject("GATEWAY_SERVER", gateway._gateway_client), server.get_listening_port(), token)
    bridge.agree(terms())
    bridge.install(name)
