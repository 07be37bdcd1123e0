"""The catalog in an ordered store: tables, their partitions and files, and the commits that change them.

| module      | task                                                                     |
|-------------|--------------------------------------------------------------------------|
| `metastore` | the entrance: databases and tables by name                               |
| `namespace` | names of databases and tables                                            |
| `transactions` | the changes to a table, gathered before anything is written           |
| `commits`   | a commit makes a new version of a table                                  |
| `deletion`  | which files belong to a table; `vacuuming` deletes what versions left    |
| `cleanup`   | removing rows that no version needs                                      |
| `ownership` | the mark of a warehouse, which names its metastore                       |
| `access`    | choosing between a table's keys and its indexes for reading a version    |
| `versions`  | reading a version                                                        |
| `manifest`  | coding lists of files                                                    |
| `range_manifests` | files of neighbouring partitions, together                         |
| `storage`   | the keys and values of all rows                                          |

`parquetry.prune`, above this package, decides which files a query needs.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.data_files import (
        ColumnStatistics as ColumnStatistics,
        FileRecord as FileRecord,
        TableColumn as TableColumn,
    )
    from parquetry.layout import (
        PLAIN as PLAIN,
        ArrangementSpec as ArrangementSpec,
        AutoSkew as AutoSkew,
        BucketSpec as BucketSpec,
        SkewMap as SkewMap,
        SortColumn as SortColumn,
    )
    from parquetry.metastore.access.access_paths import cheapest_plan as cheapest_plan
    from parquetry.metastore.check.fsck import fsck as fsck
    from parquetry.metastore.check.storage_check import (
        check_files as check_files,
        check_storage as check_storage,
    )
    from parquetry.metastore.cleanup.in_flight import keep_in_flight as keep_in_flight
    from parquetry.metastore.commits.committer import Successor as Successor, commit as commit
    from parquetry.metastore.commits.removed_files import (
        RemovedFile as RemovedFile,
        files_removed as files_removed,
        live_files as live_files,
    )
    from parquetry.metastore.commits.replacement import Replacement as Replacement
    from parquetry.metastore.deletion.dropped_files import purge as purge, purge_replaced as purge_replaced
    from parquetry.metastore.deletion.file_access import (
        FileAccess as FileAccess,
        require_files as require_files,
    )
    from parquetry.metastore.deletion.files_of_others import FilesOfOthers as FilesOfOthers
    from parquetry.metastore.deletion.published_links import (
        LIVE as LIVE,
        PUBLISHED_FOLDER as PUBLISHED_FOLDER,
        SERVED as SERVED,
        count_last_links as count_last_links,
        remove_links as remove_links,
        version_of as version_of,
    )
    from parquetry.metastore.deletion.table_locations import (
        TableLocations as TableLocations,
        delete_empty_folder as delete_empty_folder,
        own_locations as own_locations,
    )
    from parquetry.metastore.drafts.draft import Draft as Draft
    from parquetry.metastore.drafts.moment import load_beside as load_beside
    from parquetry.metastore.dumps.dump import dump as dump
    from parquetry.metastore.dumps.format import Manifest as Manifest
    from parquetry.metastore.dumps.restore import look_into as look_into, restore as restore
    from parquetry.metastore.followers import (
        HIVE as HIVE,
        PUBLISH as PUBLISH,
        Follower as Follower,
        follow_commits as follow_commits,
        follower_name as follower_name,
        follower_of as follower_of,
    )
    from parquetry.metastore.manifest.entries import row_sum as row_sum
    from parquetry.metastore.metastore import (
        Metastore as Metastore,
        change_file as change_file,
        change_mark as change_mark,
        metastore_file as metastore_file,
        open_metastore as open_metastore,
    )
    from parquetry.metastore.namespace.staging import StagedTable as StagedTable
    from parquetry.metastore.operations.branch_publishing import publish_branch as publish_branch
    from parquetry.metastore.operations.branches import (
        TableBranch as TableBranch,
        branches_of as branches_of,
        create_branch as create_branch,
        drop_branch as drop_branch,
        require_table as require_table,
    )
    from parquetry.metastore.operations.compact_metadata import (
        compact_metadata as compact_metadata,
        count_outdated_lists as count_outdated_lists,
    )
    from parquetry.metastore.operations.drop import (
        Dropping as Dropping,
        delete_replacement as delete_replacement,
        staged_deletion as staged_deletion,
    )
    from parquetry.metastore.operations.forget import (
        delete_logs as delete_logs,
        existing_files as existing_files,
        files_of_old_versions as files_of_old_versions,
        find_logs as find_logs,
        redact_statements as redact_statements,
        scrub_store as scrub_store,
        withdraw_removed_files as withdraw_removed_files,
    )
    from parquetry.metastore.operations.history import history as history, rollback as rollback
    from parquetry.metastore.operations.indexes import (
        create_index as create_index,
        drop_index as drop_index,
        rebuild_index as rebuild_index,
    )
    from parquetry.metastore.operations.old_versions import (
        lost_versions as lost_versions,
        old_versions as old_versions,
        oldest_version as oldest_version,
        store_time as store_time,
    )
    from parquetry.metastore.operations.query_rows import (
        delete_query_rows as delete_query_rows,
        put_query_rows as put_query_rows,
        query_key as query_key,
        query_rows as query_rows,
    )
    from parquetry.metastore.operations.relocate import relocate as relocate
    from parquetry.metastore.operations.tags import (
        TaggedVersion as TaggedVersion,
        drop_tag as drop_tag,
        set_tag as set_tag,
        tags_of as tags_of,
    )
    from parquetry.metastore.operations.undo import undo_transaction as undo_transaction
    from parquetry.metastore.ownership.handover import Claimed as Claimed
    from parquetry.metastore.partition_rows.indexes import (
        index_columns as index_columns,
        new_index as new_index,
    )
    from parquetry.metastore.partition_rows.visible_rows import Examined as Examined
    from parquetry.metastore.range_manifests.numbers import (
        PartitionNumbers as PartitionNumbers,
        partition_numbers as partition_numbers,
    )
    from parquetry.metastore.range_manifests.upkeep import refresh_ranges as refresh_ranges
    from parquetry.metastore.range_manifests.view import (
        RangedPartitions as RangedPartitions,
        open_ranges as open_ranges,
    )
    from parquetry.metastore.refs.names import (
        BRANCH_PREFIX as BRANCH_PREFIX,
        branch_name as branch_name,
        name_parts as name_parts,
    )
    from parquetry.metastore.results import (
        Check as Check,
        Compacted as Compacted,
        Finding as Finding,
        Relocated as Relocated,
        Removed as Removed,
    )
    from parquetry.metastore.storage.format import locations_epoch as locations_epoch
    from parquetry.metastore.storage.model import (
        CommitRecord as CommitRecord,
        Constraint as Constraint,
        CountedColumn as CountedColumn,
        StreamBatch as StreamBatch,
        TableMetadata as TableMetadata,
        Totals as Totals,
        ViewDefinition as ViewDefinition,
    )
    from parquetry.metastore.storage.origin import (
        Author as Author,
        ChangeCounts as ChangeCounts,
        Door as Door,
        author_of_commits as author_of_commits,
        user_name as user_name,
    )
    from parquetry.metastore.storage.valid_names import (
        DEFAULT_DATABASE as DEFAULT_DATABASE,
        normalise_name as normalise_name,
    )
    from parquetry.metastore.storage.wire import (
        decode_arrangement as decode_arrangement,
        decoder as decoder,
        encode as encode,
    )
    from parquetry.metastore.transactions.prepared import (
        require_own_folder as require_own_folder,
        require_place_beside as require_place_beside,
    )
    from parquetry.metastore.transactions.transaction import Transaction as Transaction
    from parquetry.metastore.vacuuming.clocks import (
        check_of_new_files as check_of_new_files,
        check_of_old_files as check_of_old_files,
        grace_of as grace_of,
    )
    from parquetry.metastore.vacuuming.vacuum import KEPT_HOURS as KEPT_HOURS, vacuum as vacuum
    from parquetry.metastore.versions.changes_between import (
        REWRITING_OPERATIONS as REWRITING_OPERATIONS,
        TableVersions as TableVersions,
        TouchedPartitions as TouchedPartitions,
        VersionChanges as VersionChanges,
    )
    from parquetry.metastore.versions.file_blocks import (
        Chooses as Chooses,
        FileBlock as FileBlock,
        file_blocks as file_blocks,
    )
    from parquetry.metastore.versions.partition import PartitionSnapshot as PartitionSnapshot
    from parquetry.metastore.versions.snapshot import (
        TableSnapshot as TableSnapshot,
        forget_metadata as forget_metadata,
    )

lazy_exports(__name__)
