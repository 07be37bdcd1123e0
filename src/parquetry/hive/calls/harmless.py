"""The calls whose answer is the same for every warehouse: the server's state, roles, functions, plans."""

from __future__ import annotations

import time
import uuid
from typing import Any

from parquetry import __version__
from parquetry.hive.calls.registry import Arguments, answers
from parquetry.hive.failures import no_such_object
from parquetry.hive.names import CATALOG
from parquetry.hive.warehouse import HiveWarehouse

_ALIVE = 2
_CONFIGURATION = {
    "hive.metastore.try.direct.sql": "false",  # then Spark asks for all partitions if a filter is refused
    "hive.metastore.catalog.default": CATALOG,
    "hive.metastore.integral.jdo.pushdown": "true",
    "hive.exec.default.partition.name": "__HIVE_DEFAULT_PARTITION__",
}
"""Properties of this server, in the names of Hive's settings."""
_UUID_NAMESPACE = uuid.UUID("6f0d3a5e-6f2c-5a4e-9d55-0c5b9f5e2a43")


@answers("getStatus")
def status(warehouse: HiveWarehouse, arguments: Arguments) -> int:
    """Return that the server answers."""
    return _ALIVE


@answers("getStatusDetails")
def status_details(warehouse: HiveWarehouse, arguments: Arguments) -> str:
    """Return what is served."""
    return f"Parquetry serves {warehouse.metastore.warehouse} for reading"


@answers("getName")
def name(warehouse: HiveWarehouse, arguments: Arguments) -> str:
    """Return the server's name."""
    return "Parquetry"


@answers("getVersion")
def version(warehouse: HiveWarehouse, arguments: Arguments) -> str:
    """Return the server's version."""
    return __version__


@answers("aliveSince")
def alive_since(warehouse: HiveWarehouse, arguments: Arguments) -> int:
    """Return when the server was started, in seconds."""
    return warehouse.started


@answers("getCounters")
def counters(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, int]:
    """Return for how long the server has been running."""
    return {"seconds": int(time.time()) - warehouse.started}


@answers("getCounter")
def counter(warehouse: HiveWarehouse, arguments: Arguments) -> int:
    """Return a counter, or 0 if there is none of this name."""
    return {"seconds": int(time.time()) - warehouse.started}.get(arguments["key"] or "", 0)


@answers("getOptions")
def options(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, str]:
    """Return no options."""
    return {}


@answers("getOption", "getCpuProfile", "getMetaConf")
def no_text(warehouse: HiveWarehouse, arguments: Arguments) -> str:
    """Return an empty text."""
    return _CONFIGURATION.get(arguments.get("key") or "", "")


@answers("get_config_value")
def config_value(warehouse: HiveWarehouse, arguments: Arguments) -> str:
    """Return a setting of the metastore, or the client's default."""
    return _CONFIGURATION.get(arguments["name"] or "", arguments["defaultValue"] or "")


@answers("get_metastore_db_uuid")
def metastore_uuid(warehouse: HiveWarehouse, arguments: Arguments) -> str:
    """Return an id of the warehouse."""
    return str(uuid.uuid5(_UUID_NAMESPACE, warehouse.metastore.warehouse))


@answers("set_ugi")
def set_user(warehouse: HiveWarehouse, arguments: Arguments) -> list[str]:
    """Return the user's own name: nothing depends on it."""
    return [arguments["user_name"] or "", *(arguments["group_names"] or ())]


@answers("flushCache", "shutdown", "reinitialize")
def nothing(warehouse: HiveWarehouse, arguments: Arguments) -> None:
    """Do nothing."""


@answers(
    *("get_functions", "get_role_names", "list_roles", "list_privileges", "get_dataconnectors"),
    *("get_all_stored_procedures", "get_all_packages", "get_runtime_stats", "get_indexes", "get_index_names"),
    *("get_all_materialized_view_objects_for_rewriting", "get_master_keys", "get_all_token_identifiers"),
)
def empty_list(warehouse: HiveWarehouse, arguments: Arguments) -> list[str]:
    """Return nothing: a warehouse has none of these."""
    return []


@answers("get_type_all")
def empty_map(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return nothing: a warehouse has none of these."""
    return {}


@answers("get_all_functions")
def all_functions(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return no functions."""
    return {"functions": []}


@answers("get_functions_req")
def functions_req(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return no functions."""
    return {"function_names": [], "functions": []}


@answers("get_properties")
def properties(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return no properties."""
    return {"properties": {}}


@answers("get_function")
def function(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return no function: a warehouse has none."""
    raise no_such_object(f"There is no function {arguments['funcName']}: a warehouse has none.")


@answers("get_principals_in_role", "get_role_grants_for_principal")
def grants(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return no grants of roles."""
    return {"principalGrants": []}


@answers("get_privilege_set")
def privileges(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return no privileges: the rights to read files decide."""
    return {"userPrivileges": {}, "groupPrivileges": {}, "rolePrivileges": {}}


@answers("get_all_resource_plans")
def resource_plans(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return no plans of resources."""
    return {"resourcePlans": []}


@answers("get_active_resource_plan", "scheduled_query_poll", "get_replication_metrics")
def empty_record(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return an empty record: there is nothing."""
    return {}


@answers("get_file_metadata")
def file_metadata(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return that footers of files are not served."""
    return {"metadata": {}, "isSupported": False}


@answers("show_compact")
def compactions(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return no compactions of Hive's transactional tables."""
    return {"compacts": []}


@answers("get_latest_committed_compaction_info")
def latest_compactions(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return no compactions of Hive's transactional tables."""
    return {"compactions": []}
