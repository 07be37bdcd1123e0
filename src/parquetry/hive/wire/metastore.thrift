/*
 * Licensed to the Apache Software Foundation (ASF) under one or more contributor license agreements. See the
 * NOTICE file of Apache Hive for additional information regarding copyright ownership. The ASF licenses this
 * file to you under the Apache License, Version 2.0 (the "License"); you may not use this file except in
 * compliance with the License. You may obtain a copy of the License at
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software distributed under the License is
 * distributed on an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See
 * the License for the specific language governing permissions and limitations under the License.
 *
 * An excerpt of the interface definition of Apache Hive's metastore (hive_metastore.thrift), changed:
 * scripts/hive_idl.py makes it of Hive's classes. Enumerations are i32, and calls that Parquetry neither answers
 * nor makes have no arguments.
 */

struct AbortTxnRequest {
  1: i64 txnid
  2: string replPolicy
  3: i32 txn_type
  4: i64 errorCode
}

struct AbortTxnsRequest {
  1: list<i64> txn_ids
  2: i64 errorCode
}

struct AggrStats {
  1: list<ColumnStatisticsObj> colStats
  2: i64 partsFound
  3: bool isStatsCompliant
}

struct AllTableConstraintsRequest {
  1: string dbName
  2: string tblName
  3: string catName
  4: string validWriteIdList
  5: i64 tableId
}

struct AllTableConstraintsResponse {
  1: SQLAllTableConstraints allTableConstraints
}

exception AlreadyExistsException {
  1: string message
}

struct BinaryColumnStatsData {
  1: i64 maxColLen
  2: double avgColLen
  3: i64 numNulls
  4: binary bitVectors
}

struct BooleanColumnStatsData {
  1: i64 numTrues
  2: i64 numFalses
  3: i64 numNulls
  4: binary bitVectors
}

struct Catalog {
  1: string name
  2: string description
  3: string locationUri
  4: i32 createTime
}

struct CheckConstraintsRequest {
  1: string catName
  2: string db_name
  3: string tbl_name
  4: string validWriteIdList
  5: i64 tableId
}

struct CheckConstraintsResponse {
  1: list<SQLCheckConstraint> checkConstraints
}

struct CheckLockRequest {
  1: i64 lockid
  2: i64 txnid
  3: i64 elapsed_ms
}

struct ClientCapabilities {
  1: list<i32> values
}

struct ColumnStatistics {
  1: ColumnStatisticsDesc statsDesc
  2: list<ColumnStatisticsObj> statsObj
  3: bool isStatsCompliant
  4: string engine
}

struct ColumnStatisticsData {
  1: BooleanColumnStatsData booleanStats
  2: LongColumnStatsData longStats
  3: DoubleColumnStatsData doubleStats
  4: StringColumnStatsData stringStats
  5: BinaryColumnStatsData binaryStats
  6: DecimalColumnStatsData decimalStats
  7: DateColumnStatsData dateStats
  8: TimestampColumnStatsData timestampStats
}

struct ColumnStatisticsDesc {
  1: bool isTblLevel
  2: string dbName
  3: string tableName
  4: string partName
  5: i64 lastAnalyzed
  6: string catName
}

struct ColumnStatisticsObj {
  1: string colName
  2: string colType
  3: ColumnStatisticsData statsData
}

struct CommitTxnKeyValue {
  1: i64 tableId
  2: string key
  3: string value
}

struct CommitTxnRequest {
  1: i64 txnid
  2: string replPolicy
  3: list<WriteEventInfo> writeEventInfos
  4: ReplLastIdInfo replLastIdInfo
  5: CommitTxnKeyValue keyValue
  6: bool exclWriteEnabled
  7: i32 txn_type
}

struct CompactionInfoStruct {
  1: i64 id
  2: string dbname
  3: string tablename
  4: string partitionname
  5: i32 type
  6: string runas
  7: string properties
  8: bool toomanyaborts
  9: string state
  10: string workerId
  11: i64 start
  12: i64 highestWriteId
  13: string errorMessage
  14: bool hasoldabort
  15: i64 enqueueTime
  16: i64 retryRetention
  17: string poolname
  18: i32 numberOfBuckets
  19: string orderByClause
}

exception ConfigValSecurityException {
  1: string message
}

struct CreationMetadata {
  1: string catName
  2: string dbName
  3: string tblName
  4: set<string> tablesUsed
  5: string validTxnList
  6: i64 materializationTime
  7: list<SourceTable> sourceTables
}

struct CurrentNotificationEventId {
  1: i64 eventId
}

struct Database {
  1: string name
  2: string description
  3: string locationUri
  4: map<string, string> parameters
  5: PrincipalPrivilegeSet privileges
  6: string ownerName
  7: i32 ownerType
  8: string catalogName
  9: i32 createTime
  10: string managedLocationUri
  11: i32 type
  12: string connector_name
  13: string remote_dbname
}

struct Date {
  1: i64 daysSinceEpoch
}

struct DateColumnStatsData {
  1: Date lowValue
  2: Date highValue
  3: i64 numNulls
  4: i64 numDVs
  5: binary bitVectors
  6: binary histogram
}

struct Decimal {
  1: binary unscaled
  3: i16 scale
}

struct DecimalColumnStatsData {
  1: Decimal lowValue
  2: Decimal highValue
  3: i64 numNulls
  4: i64 numDVs
  5: binary bitVectors
  6: binary histogram
}

struct DefaultConstraintsRequest {
  1: string catName
  2: string db_name
  3: string tbl_name
  4: string validWriteIdList
  5: i64 tableId
}

struct DefaultConstraintsResponse {
  1: list<SQLDefaultConstraint> defaultConstraints
}

struct DoubleColumnStatsData {
  1: double lowValue
  2: double highValue
  3: i64 numNulls
  4: i64 numDVs
  5: binary bitVectors
  6: binary histogram
}

struct EnvironmentContext {
  1: map<string, string> properties
}

struct ExtendedTableInfo {
  1: string tblName
  2: i32 accessType
  3: list<string> requiredReadCapabilities
  4: list<string> requiredWriteCapabilities
}

struct FieldSchema {
  1: string name
  2: string type
  3: string comment
}

struct FileMetadata {
  1: byte type
  2: byte version
  3: list<binary> data
}

struct ForeignKeysRequest {
  1: string parent_db_name
  2: string parent_tbl_name
  3: string foreign_db_name
  4: string foreign_tbl_name
  5: string catName
  6: string validWriteIdList
  7: i64 tableId
}

struct ForeignKeysResponse {
  1: list<SQLForeignKey> foreignKeys
}

struct Function {
  1: string functionName
  2: string dbName
  3: string className
  4: string ownerName
  5: i32 ownerType
  6: i32 createTime
  7: i32 functionType
  8: list<ResourceUri> resourceUris
  9: string catName
}

struct GetAllFunctionsResponse {
  1: list<Function> functions
}

struct GetCatalogRequest {
  1: string name
}

struct GetCatalogResponse {
  1: Catalog catalog
}

struct GetCatalogsResponse {
  1: list<string> names
}

struct GetDatabaseObjectsRequest {
  1: string catalogName
  2: string pattern
}

struct GetDatabaseObjectsResponse {
  1: list<Database> databases
}

struct GetDatabaseRequest {
  1: string name
  2: string catalogName
  3: list<string> processorCapabilities
  4: string processorIdentifier
}

struct GetFieldsRequest {
  1: string catName
  2: string dbName
  3: string tblName
  4: EnvironmentContext envContext
  5: string validWriteIdList
  6: i64 id
}

struct GetFieldsResponse {
  1: list<FieldSchema> fields
}

struct GetFileMetadataRequest {
  1: list<i64> fileIds
}

struct GetFileMetadataResult {
  1: map<i64, binary> metadata
  2: bool isSupported
}

struct GetFunctionsRequest {
  1: string dbName
  2: string catalogName
  3: string pattern
  4: bool returnNames
}

struct GetFunctionsResponse {
  1: list<string> function_names
  2: list<Function> functions
}

struct GetLatestCommittedCompactionInfoRequest {
  1: string dbname
  2: string tablename
  3: list<string> partitionnames
  4: i64 lastCompactionId
}

struct GetLatestCommittedCompactionInfoResponse {
  1: list<CompactionInfoStruct> compactions
}

struct GetOpenTxnsInfoResponse {
  1: i64 txn_high_water_mark
  2: list<TxnInfo> open_txns
}

struct GetOpenTxnsRequest {
  1: list<i32> excludeTxnTypes
}

struct GetOpenTxnsResponse {
  1: i64 txn_high_water_mark
  2: list<i64> open_txns
  3: i64 min_open_txn
  4: binary abortedBits
}

struct GetPartitionNamesPsRequest {
  1: string catName
  2: string dbName
  3: string tblName
  4: list<string> partValues
  5: i16 maxParts
  6: string validWriteIdList
  7: i64 id
}

struct GetPartitionNamesPsResponse {
  1: list<string> names
}

struct GetPartitionRequest {
  1: string catName
  2: string dbName
  3: string tblName
  4: list<string> partVals
  5: string validWriteIdList
  6: i64 id
}

struct GetPartitionResponse {
  1: Partition partition
}

struct GetPartitionsByFilterRequest {
  1: string catName
  2: string dbName
  3: string tblName
  4: string filter
  5: i16 maxParts
  6: bool skipColumnSchemaForPartition
  7: string includeParamKeyPattern
  8: string excludeParamKeyPattern
}

struct GetPartitionsByNamesRequest {
  1: string db_name
  2: string tbl_name
  3: list<string> names
  4: bool get_col_stats
  5: list<string> processorCapabilities
  6: string processorIdentifier
  7: string engine
  8: string validWriteIdList
  9: bool getFileMetadata
  10: i64 id
  11: bool skipColumnSchemaForPartition
  12: string includeParamKeyPattern
  13: string excludeParamKeyPattern
}

struct GetPartitionsByNamesResult {
  1: list<Partition> partitions
  2: ObjectDictionary dictionary
}

struct GetPartitionsFilterSpec {
  7: i32 filterMode
  8: list<string> filters
}

struct GetPartitionsPsWithAuthRequest {
  1: string catName
  2: string dbName
  3: string tblName
  4: list<string> partVals
  5: i16 maxParts
  6: string userName
  7: list<string> groupNames
  8: string validWriteIdList
  9: i64 id
  10: bool skipColumnSchemaForPartition
  11: string includeParamKeyPattern
  12: string excludeParamKeyPattern
  13: list<string> partNames
}

struct GetPartitionsPsWithAuthResponse {
  1: list<Partition> partitions
}

struct GetPartitionsRequest {
  1: string catName
  2: string dbName
  3: string tblName
  4: bool withAuth
  5: string user
  6: list<string> groupNames
  7: GetProjectionsSpec projectionSpec
  8: GetPartitionsFilterSpec filterSpec
  9: list<string> processorCapabilities
  10: string processorIdentifier
  11: string validWriteIdList
}

struct GetPartitionsResponse {
  1: list<PartitionSpec> partitionSpec
}

struct GetPrincipalsInRoleRequest {
  1: string roleName
}

struct GetPrincipalsInRoleResponse {
  1: list<RolePrincipalGrant> principalGrants
}

struct GetProjectionsSpec {
  1: list<string> fieldList
  2: string includeParamKeyPattern
  3: string excludeParamKeyPattern
}

struct GetReplicationMetricsRequest {
  1: i64 scheduledExecutionId
  2: string policy
  3: i64 dumpExecutionId
}

struct GetRoleGrantsForPrincipalRequest {
  1: string principal_name
  2: i32 principal_type
}

struct GetRoleGrantsForPrincipalResponse {
  1: list<RolePrincipalGrant> principalGrants
}

struct GetRuntimeStatsRequest {
  1: i32 maxWeight
  2: i32 maxCreateTime
}

struct GetSchemaRequest {
  1: string catName
  2: string dbName
  3: string tblName
  4: EnvironmentContext envContext
  5: string validWriteIdList
  6: i64 id
}

struct GetSchemaResponse {
  1: list<FieldSchema> fields
}

struct GetTableRequest {
  1: string dbName
  2: string tblName
  3: ClientCapabilities capabilities
  4: string catName
  6: string validWriteIdList
  7: bool getColumnStats
  8: list<string> processorCapabilities
  9: string processorIdentifier
  10: string engine
  11: i64 id
}

struct GetTableResult {
  1: Table table
  2: bool isStatsCompliant
}

struct GetTablesExtRequest {
  1: string catalog
  2: string database
  3: string tableNamePattern
  4: i32 requestedFields
  5: i32 limit
  6: list<string> processorCapabilities
  7: string processorIdentifier
}

struct GetTablesRequest {
  1: string dbName
  2: list<string> tblNames
  3: ClientCapabilities capabilities
  4: string catName
  5: list<string> processorCapabilities
  6: string processorIdentifier
  7: GetProjectionsSpec projectionSpec
  8: string tablesPattern
}

struct GetTablesResult {
  1: list<Table> tables
}

struct GetValidWriteIdsRequest {
  1: list<string> fullTableNames
  2: string validTxnList
  3: i64 writeId
}

struct GetValidWriteIdsResponse {
  1: list<TableValidWriteIds> tblValidWriteIds
}

struct HeartbeatRequest {
  1: i64 lockid
  2: i64 txnid
}

struct HeartbeatTxnRangeRequest {
  1: i64 min
  2: i64 max
}

struct HeartbeatTxnRangeResponse {
  1: set<i64> aborted
  2: set<i64> nosuch
}

struct HiveObjectPrivilege {
  1: HiveObjectRef hiveObject
  2: string principalName
  3: i32 principalType
  4: PrivilegeGrantInfo grantInfo
  5: string authorizer
}

struct HiveObjectRef {
  1: i32 objectType
  2: string dbName
  3: string objectName
  4: list<string> partValues
  5: string columnName
  6: string catName
}

struct Index {
  1: string indexName
  2: string indexHandlerClass
  3: string dbName
  4: string origTableName
  5: i32 createTime
  6: i32 lastAccessTime
  7: string indexTableName
  8: StorageDescriptor sd
  9: map<string, string> parameters
  10: bool deferredRebuild
}

exception InvalidInputException {
  1: string message
}

exception InvalidObjectException {
  1: string message
}

exception InvalidOperationException {
  1: string message
}

exception InvalidPartitionException {
  1: string message
}

struct ListPackageRequest {
  1: string catName
  2: string dbName
}

struct ListStoredProcedureRequest {
  1: string catName
  2: string dbName
}

struct LockComponent {
  1: i32 type
  2: i32 level
  3: string dbname
  4: string tablename
  5: string partitionname
  6: i32 operationType
  7: bool isTransactional
  8: bool isDynamicPartitionWrite
}

struct LockRequest {
  1: list<LockComponent> component
  2: i64 txnid
  3: string user
  4: string hostname
  5: string agentInfo
  6: bool zeroWaitReadEnabled
  7: bool exclusiveCTAS
  8: bool locklessReadsEnabled
}

struct LockResponse {
  1: i64 lockid
  2: i32 state
  3: string errorMessage
}

struct LongColumnStatsData {
  1: i64 lowValue
  2: i64 highValue
  3: i64 numNulls
  4: i64 numDVs
  5: binary bitVectors
  6: binary histogram
}

struct MaxAllocatedTableWriteIdRequest {
  1: string dbName
  2: string tableName
}

struct MaxAllocatedTableWriteIdResponse {
  1: i64 maxWriteId
}

exception MetaException {
  1: string message
}

exception NoSuchLockException {
  1: string message
}

exception NoSuchObjectException {
  1: string message
}

exception NoSuchTxnException {
  1: string message
}

struct NotNullConstraintsRequest {
  1: string catName
  2: string db_name
  3: string tbl_name
  4: string validWriteIdList
  5: i64 tableId
}

struct NotNullConstraintsResponse {
  1: list<SQLNotNullConstraint> notNullConstraints
}

struct NotificationEvent {
  1: i64 eventId
  2: i32 eventTime
  3: string eventType
  4: string dbName
  5: string tableName
  6: string message
  7: string messageFormat
  8: string catName
}

struct NotificationEventRequest {
  1: i64 lastEvent
  2: i32 maxEvents
  3: list<string> eventTypeSkipList
  4: string catName
  5: string dbName
  6: list<string> tableNames
  7: list<string> eventTypeList
}

struct NotificationEventResponse {
  1: list<NotificationEvent> events
}

struct NotificationEventsCountRequest {
  1: i64 fromEventId
  2: string dbName
  3: string catName
  4: i64 toEventId
  5: i64 limit
  6: list<string> tableNames
}

struct NotificationEventsCountResponse {
  1: i64 eventsCount
}

struct ObjectDictionary {
  1: map<string, list<binary>> values
}

struct OpenTxnRequest {
  1: i32 num_txns
  2: string user
  3: string hostname
  4: string agentInfo
  5: string replPolicy
  6: list<i64> replSrcTxnIds
  7: i32 txn_type
}

struct OpenTxnsResponse {
  1: list<i64> txn_ids
}

struct Order {
  1: string col
  2: i32 order
}

struct Partition {
  1: list<string> values
  2: string dbName
  3: string tableName
  4: i32 createTime
  5: i32 lastAccessTime
  6: StorageDescriptor sd
  7: map<string, string> parameters
  8: PrincipalPrivilegeSet privileges
  9: string catName
  10: i64 writeId
  11: bool isStatsCompliant
  12: ColumnStatistics colStats
  13: FileMetadata fileMetadata
}

struct PartitionListComposingSpec {
  1: list<Partition> partitions
}

struct PartitionSpec {
  1: string dbName
  2: string tableName
  3: string rootPath
  4: PartitionSpecWithSharedSD sharedSDPartitionSpec
  5: PartitionListComposingSpec partitionList
  6: string catName
  7: i64 writeId
  8: bool isStatsCompliant
}

struct PartitionSpecWithSharedSD {
  1: list<PartitionWithoutSD> partitions
  2: StorageDescriptor sd
}

struct PartitionValuesRequest {
  1: string dbName
  2: string tblName
  3: list<FieldSchema> partitionKeys
  4: bool applyDistinct
  5: string filter
  6: list<FieldSchema> partitionOrder
  7: bool ascending
  8: i64 maxParts
  9: string catName
  10: string validWriteIdList
}

struct PartitionValuesResponse {
  1: list<PartitionValuesRow> partitionValues
}

struct PartitionValuesRow {
  1: list<string> row
}

struct PartitionWithoutSD {
  1: list<string> values
  2: i32 createTime
  3: i32 lastAccessTime
  4: string relativePath
  5: map<string, string> parameters
  6: PrincipalPrivilegeSet privileges
}

struct PartitionsByExprRequest {
  1: string dbName
  2: string tblName
  3: binary expr
  4: string defaultPartitionName
  5: i16 maxParts
  6: string catName
  7: string order
  8: string validWriteIdList
  9: i64 id
  10: bool skipColumnSchemaForPartition
  11: string includeParamKeyPattern
  12: string excludeParamKeyPattern
}

struct PartitionsByExprResult {
  1: list<Partition> partitions
  2: bool hasUnknownPartitions
}

struct PartitionsRequest {
  1: string catName
  2: string dbName
  3: string tblName
  4: i16 maxParts
  5: string validWriteIdList
  6: i64 id
  7: bool skipColumnSchemaForPartition
  8: string includeParamKeyPattern
  9: string excludeParamKeyPattern
}

struct PartitionsResponse {
  1: list<Partition> partitions
}

struct PartitionsSpecByExprResult {
  1: list<PartitionSpec> partitionsSpec
  2: bool hasUnknownPartitions
}

struct PartitionsStatsRequest {
  1: string dbName
  2: string tblName
  3: list<string> colNames
  4: list<string> partNames
  5: string catName
  6: string validWriteIdList
  7: string engine
}

struct PartitionsStatsResult {
  1: map<string, list<ColumnStatisticsObj>> partStats
  2: bool isStatsCompliant
}

struct PrimaryKeysRequest {
  1: string db_name
  2: string tbl_name
  3: string catName
  4: string validWriteIdList
  5: i64 tableId
}

struct PrimaryKeysResponse {
  1: list<SQLPrimaryKey> primaryKeys
}

struct PrincipalPrivilegeSet {
  1: map<string, list<PrivilegeGrantInfo>> userPrivileges
  2: map<string, list<PrivilegeGrantInfo>> groupPrivileges
  3: map<string, list<PrivilegeGrantInfo>> rolePrivileges
}

struct PrivilegeGrantInfo {
  1: string privilege
  2: i32 createTime
  3: string grantor
  4: i32 grantorType
  5: bool grantOption
}

struct PropertyGetRequest {
  1: string nameSpace
  2: string mapPrefix
  3: string mapPredicate
  4: list<string> mapSelection
}

struct PropertyGetResponse {
  1: map<string, map<string, string>> properties
}

struct ReplLastIdInfo {
  1: string database
  2: i64 lastReplId
  3: string table
  4: string catalog
  5: list<string> partitionList
}

struct ReplicationMetricList {
  1: list<ReplicationMetrics> replicationMetricList
}

struct ReplicationMetrics {
  1: i64 scheduledExecutionId
  2: string policy
  3: i64 dumpExecutionId
  4: string metadata
  5: string progress
  6: string messageFormat
}

struct ResourceUri {
  1: i32 resourceType
  2: string uri
}

struct Role {
  1: string roleName
  2: i32 createTime
  3: string ownerName
}

struct RolePrincipalGrant {
  1: string roleName
  2: string principalName
  3: i32 principalType
  4: bool grantOption
  5: i32 grantTime
  6: string grantorName
  7: i32 grantorPrincipalType
}

struct RuntimeStat {
  1: i32 createTime
  2: i32 weight
  3: binary payload
}

struct SQLAllTableConstraints {
  1: list<SQLPrimaryKey> primaryKeys
  2: list<SQLForeignKey> foreignKeys
  3: list<SQLUniqueConstraint> uniqueConstraints
  4: list<SQLNotNullConstraint> notNullConstraints
  5: list<SQLDefaultConstraint> defaultConstraints
  6: list<SQLCheckConstraint> checkConstraints
}

struct SQLCheckConstraint {
  1: string catName
  2: string table_db
  3: string table_name
  4: string column_name
  5: string check_expression
  6: string dc_name
  7: bool enable_cstr
  8: bool validate_cstr
  9: bool rely_cstr
}

struct SQLDefaultConstraint {
  1: string catName
  2: string table_db
  3: string table_name
  4: string column_name
  5: string default_value
  6: string dc_name
  7: bool enable_cstr
  8: bool validate_cstr
  9: bool rely_cstr
}

struct SQLForeignKey {
  1: string pktable_db
  2: string pktable_name
  3: string pkcolumn_name
  4: string fktable_db
  5: string fktable_name
  6: string fkcolumn_name
  7: i32 key_seq
  8: i32 update_rule
  9: i32 delete_rule
  10: string fk_name
  11: string pk_name
  12: bool enable_cstr
  13: bool validate_cstr
  14: bool rely_cstr
  15: string catName
}

struct SQLNotNullConstraint {
  1: string catName
  2: string table_db
  3: string table_name
  4: string column_name
  5: string nn_name
  6: bool enable_cstr
  7: bool validate_cstr
  8: bool rely_cstr
}

struct SQLPrimaryKey {
  1: string table_db
  2: string table_name
  3: string column_name
  4: i32 key_seq
  5: string pk_name
  6: bool enable_cstr
  7: bool validate_cstr
  8: bool rely_cstr
  9: string catName
}

struct SQLUniqueConstraint {
  1: string catName
  2: string table_db
  3: string table_name
  4: string column_name
  5: i32 key_seq
  6: string uk_name
  7: bool enable_cstr
  8: bool validate_cstr
  9: bool rely_cstr
}

struct ScheduledQueryKey {
  1: string scheduleName
  2: string clusterNamespace
}

struct ScheduledQueryPollRequest {
  1: string clusterNamespace
}

struct ScheduledQueryPollResponse {
  1: ScheduledQueryKey scheduleKey
  2: i64 executionId
  3: string query
  4: string user
}

struct SerDeInfo {
  1: string name
  2: string serializationLib
  3: map<string, string> parameters
  4: string description
  5: string serializerClass
  6: string deserializerClass
  7: i32 serdeType
}

struct ShowCompactRequest {
  1: i64 id
  2: string poolName
  3: string dbName
  4: string tbName
  5: string partName
  6: i32 type
  7: string state
  8: i64 limit
  9: string order
}

struct ShowCompactResponse {
  1: list<ShowCompactResponseElement> compacts
}

struct ShowCompactResponseElement {
  1: string dbname
  2: string tablename
  3: string partitionname
  4: i32 type
  5: string state
  6: string workerid
  7: i64 start
  8: string runAs
  9: i64 hightestTxnId
  10: string metaInfo
  11: i64 endTime
  12: string hadoopJobId
  13: i64 id
  14: string errorMessage
  15: i64 enqueueTime
  16: string workerVersion
  17: string initiatorId
  18: string initiatorVersion
  19: i64 cleanerStart
  20: string poolName
  21: i64 nextTxnId
  22: i64 txnId
  23: i64 commitTime
  24: i64 hightestWriteId
}

struct ShowLocksRequest {
  1: string dbname
  2: string tablename
  3: string partname
  4: bool isExtended
  5: i64 txnid
}

struct ShowLocksResponse {
  1: list<ShowLocksResponseElement> locks
}

struct ShowLocksResponseElement {
  1: i64 lockid
  2: string dbname
  3: string tablename
  4: string partname
  5: i32 state
  6: i32 type
  7: i64 txnid
  8: i64 lastheartbeat
  9: i64 acquiredat
  10: string user
  11: string hostname
  12: i32 heartbeatCount
  13: string agentInfo
  14: i64 blockedByExtId
  15: i64 blockedByIntId
  16: i64 lockIdInternal
}

struct SkewedInfo {
  1: list<string> skewedColNames
  2: list<list<string>> skewedColValues
  3: map<list<string>, string> skewedColValueLocationMaps
}

struct SourceTable {
  1: Table table
  2: i64 insertedCount
  3: i64 updatedCount
  4: i64 deletedCount
}

struct StorageDescriptor {
  1: list<FieldSchema> cols
  2: string location
  3: string inputFormat
  4: string outputFormat
  5: bool compressed
  6: i32 numBuckets
  7: SerDeInfo serdeInfo
  8: list<string> bucketCols
  9: list<Order> sortCols
  10: map<string, string> parameters
  11: SkewedInfo skewedInfo
  12: bool storedAsSubDirectories
}

struct StringColumnStatsData {
  1: i64 maxColLen
  2: double avgColLen
  3: i64 numNulls
  4: i64 numDVs
  5: binary bitVectors
}

struct Table {
  1: string tableName
  2: string dbName
  3: string owner
  4: i32 createTime
  5: i32 lastAccessTime
  6: i32 retention
  7: StorageDescriptor sd
  8: list<FieldSchema> partitionKeys
  9: map<string, string> parameters
  10: string viewOriginalText
  11: string viewExpandedText
  12: string tableType
  13: PrincipalPrivilegeSet privileges
  14: bool temporary
  15: bool rewriteEnabled
  16: CreationMetadata creationMetadata
  17: string catName
  18: i32 ownerType
  19: i64 writeId
  20: bool isStatsCompliant
  21: ColumnStatistics colStats
  22: byte accessType
  23: list<string> requiredReadCapabilities
  24: list<string> requiredWriteCapabilities
  25: i64 id
  26: FileMetadata fileMetadata
  27: ObjectDictionary dictionary
  28: i64 txnId
}

struct TableMeta {
  1: string dbName
  2: string tableName
  3: string tableType
  4: string comments
  5: string catName
  6: string ownerName
  7: i32 ownerType
}

struct TableStatsRequest {
  1: string dbName
  2: string tblName
  3: list<string> colNames
  4: string catName
  5: string validWriteIdList
  6: string engine
  7: i64 id
}

struct TableStatsResult {
  1: list<ColumnStatisticsObj> tableStats
  2: bool isStatsCompliant
}

struct TableValidWriteIds {
  1: string fullTableName
  2: i64 writeIdHighWaterMark
  3: list<i64> invalidWriteIds
  4: i64 minOpenWriteId
  5: binary abortedBits
}

struct Timestamp {
  1: i64 secondsSinceEpoch
}

struct TimestampColumnStatsData {
  1: Timestamp lowValue
  2: Timestamp highValue
  3: i64 numNulls
  4: i64 numDVs
  5: binary bitVectors
  6: binary histogram
}

exception TxnAbortedException {
  1: string message
}

struct TxnInfo {
  1: i64 id
  2: i32 state
  3: string user
  4: string hostname
  5: string agentInfo
  6: i32 heartbeatCount
  7: string metaInfo
  8: i64 startedTime
  9: i64 lastHeartbeatTime
}

exception TxnOpenException {
  1: string message
}

struct Type {
  1: string name
  2: string type1
  3: string type2
  4: list<FieldSchema> fields
}

struct UniqueConstraintsRequest {
  1: string catName
  2: string db_name
  3: string tbl_name
  4: string validWriteIdList
  5: i64 tableId
}

struct UniqueConstraintsResponse {
  1: list<SQLUniqueConstraint> uniqueConstraints
}

exception UnknownDBException {
  1: string message
}

exception UnknownPartitionException {
  1: string message
}

exception UnknownTableException {
  1: string message
}

struct UnlockRequest {
  1: i64 lockid
}

struct WMFullResourcePlan {
  1: WMResourcePlan plan
  2: list<WMPool> pools
  3: list<WMMapping> mappings
  4: list<WMTrigger> triggers
  5: list<WMPoolTrigger> poolTriggers
}

struct WMGetActiveResourcePlanRequest {
  1: string ns
}

struct WMGetActiveResourcePlanResponse {
  1: WMFullResourcePlan resourcePlan
}

struct WMGetAllResourcePlanRequest {
  1: string ns
}

struct WMGetAllResourcePlanResponse {
  1: list<WMResourcePlan> resourcePlans
}

struct WMMapping {
  1: string resourcePlanName
  2: string entityType
  3: string entityName
  4: string poolPath
  5: i32 ordering
  6: string ns
}

struct WMPool {
  1: string resourcePlanName
  2: string poolPath
  3: double allocFraction
  4: i32 queryParallelism
  5: string schedulingPolicy
  6: string ns
}

struct WMPoolTrigger {
  1: string pool
  2: string trigger
  3: string ns
}

struct WMResourcePlan {
  1: string name
  2: i32 status
  3: i32 queryParallelism
  4: string defaultPoolPath
  5: string ns
}

struct WMTrigger {
  1: string resourcePlanName
  2: string triggerName
  3: string triggerExpression
  4: string actionExpression
  5: bool isInUnmanaged
  6: string ns
}

struct WriteEventInfo {
  1: i64 writeId
  2: string database
  3: string table
  4: string files
  5: string partition
  6: string tableObj
  7: string partitionObj
}

service ThriftHiveMetastore {
  void abort_Compactions()
  void abort_txn(1: AbortTxnRequest rqst) throws (1: NoSuchTxnException o1)
  void abort_txns(1: AbortTxnsRequest rqst) throws (1: NoSuchTxnException o1)
  void add_check_constraint() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void add_default_constraint() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void add_dynamic_partitions() throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2)
  void add_foreign_key() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void add_index() throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  void add_master_key() throws (1: MetaException o1)
  void add_not_null_constraint() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void add_package() throws (1: MetaException o1)
  void add_partition() throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  void add_partition_with_environment_context() throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  i32 add_partitions(1: list<Partition> new_parts) throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  void add_partitions_pspec() throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  void add_partitions_req() throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  void add_primary_key() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void add_replication_metrics() throws (1: MetaException o1)
  void add_runtime_stats() throws (1: MetaException o1)
  void add_schema_version() throws (1: AlreadyExistsException o1, 2: NoSuchObjectException o2, 3: MetaException o3)
  void add_serde() throws (1: AlreadyExistsException o1, 2: MetaException o2)
  void add_token()
  void add_unique_constraint() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void add_write_ids_to_min_history() throws (1: MetaException o2)
  void add_write_notification_log()
  void add_write_notification_log_in_batch()
  i64 aliveSince()
  void allocate_table_write_ids() throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2, 3: MetaException o3)
  void alter_catalog() throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)
  void alter_database() throws (1: MetaException o1, 2: NoSuchObjectException o2)
  void alter_database_req() throws (1: MetaException o1, 2: NoSuchObjectException o2)
  void alter_dataconnector_req() throws (1: MetaException o1, 2: NoSuchObjectException o2)
  void alter_function() throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_index() throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_ischema() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void alter_partition() throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_partition_with_environment_context() throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_partitions() throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_partitions_req() throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_partitions_with_environment_context(1: string db_name, 2: string tbl_name, 3: list<Partition> new_parts, 4: EnvironmentContext environment_context) throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_resource_plan() throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)
  void alter_table() throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_table_req() throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_table_with_cascade() throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_table_with_environment_context(1: string dbname, 2: string tbl_name, 3: Table new_tbl, 4: EnvironmentContext environment_context) throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_wm_pool() throws (1: AlreadyExistsException o1, 2: NoSuchObjectException o2, 3: InvalidObjectException o3, 4: MetaException o4)
  void alter_wm_trigger() throws (1: NoSuchObjectException o1, 2: InvalidObjectException o2, 3: MetaException o3)
  void append_partition() throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  void append_partition_by_name() throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  void append_partition_by_name_with_environment_context() throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  void append_partition_req() throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  void append_partition_with_environment_context() throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  void cache_file_metadata()
  void cancel_delegation_token() throws (1: MetaException o1)
  LockResponse check_lock(1: CheckLockRequest rqst) throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2, 3: NoSuchLockException o3)
  void clear_file_metadata()
  void cm_recycle() throws (1: MetaException o1)
  void commit_txn(1: CommitTxnRequest rqst) throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2)
  void compact()
  void compact2()
  void create_catalog() throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3)
  void create_database(1: Database database) throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3)
  void create_database_req() throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3)
  void create_dataconnector_req() throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3)
  void create_function() throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: NoSuchObjectException o4)
  void create_ischema() throws (1: AlreadyExistsException o1, 2: NoSuchObjectException o2, 3: MetaException o3)
  void create_or_drop_wm_trigger_to_pool_mapping() throws (1: AlreadyExistsException o1, 2: NoSuchObjectException o2, 3: InvalidObjectException o3, 4: MetaException o4)
  void create_or_update_wm_mapping() throws (1: AlreadyExistsException o1, 2: NoSuchObjectException o2, 3: InvalidObjectException o3, 4: MetaException o4)
  void create_resource_plan() throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3)
  void create_role() throws (1: MetaException o1)
  void create_stored_procedure() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void create_table(1: Table tbl) throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: NoSuchObjectException o4)
  void create_table_req() throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: NoSuchObjectException o4)
  void create_table_with_constraints() throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: NoSuchObjectException o4)
  void create_table_with_environment_context() throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: NoSuchObjectException o4)
  void create_type() throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3)
  void create_wm_pool() throws (1: AlreadyExistsException o1, 2: NoSuchObjectException o2, 3: InvalidObjectException o3, 4: MetaException o4)
  void create_wm_trigger() throws (1: AlreadyExistsException o1, 2: NoSuchObjectException o2, 3: InvalidObjectException o3, 4: MetaException o4)
  void delete_column_statistics_req() throws (1: NoSuchObjectException o1, 2: MetaException o2, 3: InvalidObjectException o3, 4: InvalidInputException o4)
  void delete_partition_column_statistics() throws (1: NoSuchObjectException o1, 2: MetaException o2, 3: InvalidObjectException o3, 4: InvalidInputException o4)
  void delete_table_column_statistics() throws (1: NoSuchObjectException o1, 2: MetaException o2, 3: InvalidObjectException o3, 4: InvalidInputException o4)
  void drop_catalog() throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)
  void drop_constraint() throws (1: NoSuchObjectException o1, 2: MetaException o3)
  void drop_database() throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)
  void drop_database_req() throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)
  void drop_dataconnector_req() throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)
  void drop_function() throws (1: NoSuchObjectException o1, 2: MetaException o3)
  void drop_index_by_name() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void drop_ischema() throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)
  void drop_package() throws (1: MetaException o1)
  void drop_partition() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  bool drop_partition_by_name(1: string db_name, 2: string tbl_name, 3: string part_name, 4: bool deleteData) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void drop_partition_by_name_with_environment_context() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void drop_partition_req() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void drop_partition_with_environment_context() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void drop_partitions_req() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void drop_resource_plan() throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)
  void drop_role() throws (1: MetaException o1)
  void drop_schema_version() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void drop_stored_procedure() throws (1: MetaException o1)
  void drop_table(1: string dbname, 2: string name, 3: bool deleteData) throws (1: NoSuchObjectException o1, 2: MetaException o3)
  void drop_table_req() throws (1: NoSuchObjectException o1, 2: MetaException o3)
  void drop_table_with_environment_context() throws (1: NoSuchObjectException o1, 2: MetaException o3)
  void drop_type() throws (1: MetaException o1, 2: NoSuchObjectException o2)
  void drop_wm_mapping() throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)
  void drop_wm_pool() throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)
  void drop_wm_trigger() throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)
  void exchange_partition() throws (1: MetaException o1, 2: NoSuchObjectException o2, 3: InvalidObjectException o3, 4: InvalidInputException o4)
  void exchange_partitions() throws (1: MetaException o1, 2: NoSuchObjectException o2, 3: InvalidObjectException o3, 4: InvalidInputException o4)
  list<string> fetch_partition_names_req(1: PartitionsRequest partitionReq) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void find_columns_with_stats()
  void find_next_compact() throws (1: MetaException o1)
  void find_next_compact2() throws (1: MetaException o1)
  void find_package() throws (1: MetaException o1, 2: NoSuchObjectException o2)
  void fire_listener_event()
  void flushCache()
  i64 getCounter(1: string key)
  map<string, i64> getCounters()
  string getCpuProfile(1: i32 profileDurationInSec)
  string getMetaConf(1: string key) throws (1: MetaException o1)
  string getName()
  string getOption(1: string key)
  map<string, string> getOptions()
  i32 getStatus()
  string getStatusDetails()
  string getVersion()
  WMGetActiveResourcePlanResponse get_active_resource_plan(1: WMGetActiveResourcePlanRequest request) throws (1: MetaException o2)
  AggrStats get_aggr_stats_for(1: PartitionsStatsRequest request) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<string> get_all_databases() throws (1: MetaException o1)
  GetAllFunctionsResponse get_all_functions() throws (1: MetaException o1)
  list<Table> get_all_materialized_view_objects_for_rewriting() throws (1: MetaException o1)
  list<string> get_all_packages(1: ListPackageRequest request) throws (1: MetaException o1)
  WMGetAllResourcePlanResponse get_all_resource_plans(1: WMGetAllResourcePlanRequest request) throws (1: MetaException o1)
  list<string> get_all_stored_procedures(1: ListStoredProcedureRequest request) throws (1: MetaException o1)
  AllTableConstraintsResponse get_all_table_constraints(1: AllTableConstraintsRequest request) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<string> get_all_tables(1: string db_name) throws (1: MetaException o1)
  list<string> get_all_token_identifiers()
  void get_all_write_event_info() throws (1: MetaException o1)
  GetCatalogResponse get_catalog(1: GetCatalogRequest catName) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  GetCatalogsResponse get_catalogs() throws (1: MetaException o1)
  CheckConstraintsResponse get_check_constraints(1: CheckConstraintsRequest request) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  string get_config_value(1: string name, 2: string defaultValue) throws (1: ConfigValSecurityException o1)
  CurrentNotificationEventId get_current_notificationEventId()
  Database get_database(1: string name) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  Database get_database_req(1: GetDatabaseRequest request) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<string> get_databases(1: string pattern) throws (1: MetaException o1)
  GetDatabaseObjectsResponse get_databases_req(1: GetDatabaseObjectsRequest request) throws (1: MetaException o1)
  void get_dataconnector_req() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<string> get_dataconnectors() throws (1: MetaException o1)
  DefaultConstraintsResponse get_default_constraints(1: DefaultConstraintsRequest request) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  void get_delegation_token() throws (1: MetaException o1)
  list<FieldSchema> get_fields(1: string db_name, 2: string table_name) throws (1: MetaException o1, 2: UnknownTableException o2, 3: UnknownDBException o3)
  GetFieldsResponse get_fields_req(1: GetFieldsRequest req) throws (1: MetaException o1, 2: UnknownTableException o2, 3: UnknownDBException o3)
  list<FieldSchema> get_fields_with_environment_context(1: string db_name, 2: string table_name, 3: EnvironmentContext environment_context) throws (1: MetaException o1, 2: UnknownTableException o2, 3: UnknownDBException o3)
  GetFileMetadataResult get_file_metadata(1: GetFileMetadataRequest req)
  void get_file_metadata_by_expr()
  ForeignKeysResponse get_foreign_keys(1: ForeignKeysRequest request) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  Function get_function(1: string dbName, 2: string funcName) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<string> get_functions(1: string dbName, 2: string pattern) throws (1: MetaException o1)
  GetFunctionsResponse get_functions_req(1: GetFunctionsRequest request) throws (1: MetaException o1)
  void get_index_by_name() throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<string> get_index_names(1: string db_name, 2: string tbl_name, 3: i16 max_indexes) throws (1: MetaException o2)
  list<Index> get_indexes(1: string db_name, 2: string tbl_name, 3: i16 max_indexes) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void get_ischema() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  GetLatestCommittedCompactionInfoResponse get_latest_committed_compaction_info(1: GetLatestCommittedCompactionInfoRequest rqst)
  i64 get_latest_txnid_in_conflict(1: i64 txnId) throws (1: MetaException o1)
  void get_lock_materialization_rebuild()
  list<string> get_master_keys()
  void get_materialization_invalidation_info() throws (1: MetaException o1, 2: InvalidOperationException o2, 3: UnknownDBException o3)
  list<string> get_materialized_views_for_rewriting(1: string db_name) throws (1: MetaException o1)
  MaxAllocatedTableWriteIdResponse get_max_allocated_table_write_id(1: MaxAllocatedTableWriteIdRequest rqst) throws (1: MetaException o1)
  string get_metastore_db_uuid() throws (1: MetaException o1)
  NotificationEventResponse get_next_notification(1: NotificationEventRequest rqst)
  NotNullConstraintsResponse get_not_null_constraints(1: NotNullConstraintsRequest request) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  NotificationEventsCountResponse get_notification_events_count(1: NotificationEventsCountRequest rqst)
  i32 get_num_partitions_by_filter(1: string db_name, 2: string tbl_name, 3: string filter) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  GetOpenTxnsResponse get_open_txns()
  GetOpenTxnsInfoResponse get_open_txns_info()
  GetOpenTxnsResponse get_open_txns_req(1: GetOpenTxnsRequest getOpenTxnsRequest)
  list<PartitionSpec> get_part_specs_by_filter(1: string db_name, 2: string tbl_name, 3: string filter, 4: i32 max_parts) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  Partition get_partition(1: string db_name, 2: string tbl_name, 3: list<string> part_vals) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  Partition get_partition_by_name(1: string db_name, 2: string tbl_name, 3: string part_name) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  ColumnStatistics get_partition_column_statistics(1: string db_name, 2: string tbl_name, 3: string part_name, 4: string col_name) throws (1: NoSuchObjectException o1, 2: MetaException o2, 3: InvalidInputException o3, 4: InvalidObjectException o4)
  list<string> get_partition_names(1: string db_name, 2: string tbl_name, 3: i16 max_parts) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<string> get_partition_names_ps(1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: i16 max_parts) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  GetPartitionNamesPsResponse get_partition_names_ps_req(1: GetPartitionNamesPsRequest req) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<string> get_partition_names_req(1: PartitionsByExprRequest req) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  GetPartitionResponse get_partition_req(1: GetPartitionRequest req) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  PartitionValuesResponse get_partition_values(1: PartitionValuesRequest request) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  Partition get_partition_with_auth(1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: string user_name, 5: list<string> group_names) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<Partition> get_partitions(1: string db_name, 2: string tbl_name, 3: i16 max_parts) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  PartitionsByExprResult get_partitions_by_expr(1: PartitionsByExprRequest req) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<Partition> get_partitions_by_filter(1: string db_name, 2: string tbl_name, 3: string filter, 4: i16 max_parts) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<Partition> get_partitions_by_filter_req(1: GetPartitionsByFilterRequest req) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<Partition> get_partitions_by_names(1: string db_name, 2: string tbl_name, 3: list<string> names) throws (1: MetaException o1, 2: NoSuchObjectException o2, 3: InvalidObjectException o3)
  GetPartitionsByNamesResult get_partitions_by_names_req(1: GetPartitionsByNamesRequest req) throws (1: MetaException o1, 2: NoSuchObjectException o2, 3: InvalidObjectException o3)
  list<Partition> get_partitions_ps(1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: i16 max_parts) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<Partition> get_partitions_ps_with_auth(1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: i16 max_parts, 5: string user_name, 6: list<string> group_names) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  GetPartitionsPsWithAuthResponse get_partitions_ps_with_auth_req(1: GetPartitionsPsWithAuthRequest req) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<PartitionSpec> get_partitions_pspec(1: string db_name, 2: string tbl_name, 3: i32 max_parts) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  PartitionsResponse get_partitions_req(1: PartitionsRequest req) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  PartitionsSpecByExprResult get_partitions_spec_by_expr(1: PartitionsByExprRequest req) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  PartitionsStatsResult get_partitions_statistics_req(1: PartitionsStatsRequest request) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<Partition> get_partitions_with_auth(1: string db_name, 2: string tbl_name, 3: i16 max_parts, 4: string user_name, 5: list<string> group_names) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  GetPartitionsResponse get_partitions_with_specs(1: GetPartitionsRequest request) throws (1: MetaException o1)
  PrimaryKeysResponse get_primary_keys(1: PrimaryKeysRequest request) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  GetPrincipalsInRoleResponse get_principals_in_role(1: GetPrincipalsInRoleRequest request) throws (1: MetaException o1)
  PrincipalPrivilegeSet get_privilege_set(1: HiveObjectRef hiveObject, 2: string user_name, 3: list<string> group_names) throws (1: MetaException o1)
  PropertyGetResponse get_properties(1: PropertyGetRequest req) throws (1: MetaException e1, 2: NoSuchObjectException e2)
  ReplicationMetricList get_replication_metrics(1: GetReplicationMetricsRequest rqst) throws (1: MetaException o1)
  void get_resource_plan() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  GetRoleGrantsForPrincipalResponse get_role_grants_for_principal(1: GetRoleGrantsForPrincipalRequest request) throws (1: MetaException o1)
  list<string> get_role_names() throws (1: MetaException o1)
  list<RuntimeStat> get_runtime_stats(1: GetRuntimeStatsRequest rqst) throws (1: MetaException o1)
  void get_scheduled_query() throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<FieldSchema> get_schema(1: string db_name, 2: string table_name) throws (1: MetaException o1, 2: UnknownTableException o2, 3: UnknownDBException o3)
  void get_schema_all_versions() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void get_schema_latest_version() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  GetSchemaResponse get_schema_req(1: GetSchemaRequest req) throws (1: MetaException o1, 2: UnknownTableException o2, 3: UnknownDBException o3)
  void get_schema_version() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<FieldSchema> get_schema_with_environment_context(1: string db_name, 2: string table_name, 3: EnvironmentContext environment_context) throws (1: MetaException o1, 2: UnknownTableException o2, 3: UnknownDBException o3)
  void get_schemas_by_cols() throws (1: MetaException o1)
  void get_serde() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void get_stored_procedure() throws (1: MetaException o1, 2: NoSuchObjectException o2)
  Table get_table(1: string dbname, 2: string tbl_name) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  ColumnStatistics get_table_column_statistics(1: string db_name, 2: string tbl_name, 3: string col_name) throws (1: NoSuchObjectException o1, 2: MetaException o2, 3: InvalidInputException o3, 4: InvalidObjectException o4)
  list<TableMeta> get_table_meta(1: string db_patterns, 2: string tbl_patterns, 3: list<string> tbl_types) throws (1: MetaException o1)
  list<string> get_table_names_by_filter(1: string dbname, 2: string filter, 3: i16 max_tables) throws (1: MetaException o1, 2: InvalidOperationException o2, 3: UnknownDBException o3)
  list<Table> get_table_objects_by_name(1: string dbname, 2: list<string> tbl_names)
  GetTablesResult get_table_objects_by_name_req(1: GetTablesRequest req) throws (1: MetaException o1, 2: InvalidOperationException o2, 3: UnknownDBException o3)
  GetTableResult get_table_req(1: GetTableRequest req) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  TableStatsResult get_table_statistics_req(1: TableStatsRequest request) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<string> get_tables(1: string db_name, 2: string pattern) throws (1: MetaException o1)
  list<string> get_tables_by_type(1: string db_name, 2: string pattern, 3: string tableType) throws (1: MetaException o1)
  list<ExtendedTableInfo> get_tables_ext(1: GetTablesExtRequest req) throws (1: MetaException o1)
  void get_token()
  void get_triggers_for_resourceplan() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  Type get_type(1: string name) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  map<string, Type> get_type_all(1: string name) throws (1: MetaException o2)
  UniqueConstraintsResponse get_unique_constraints(1: UniqueConstraintsRequest request) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  GetValidWriteIdsResponse get_valid_write_ids(1: GetValidWriteIdsRequest rqst) throws (1: NoSuchTxnException o1, 2: MetaException o2)
  void grant_privileges() throws (1: MetaException o1)
  void grant_revoke_privileges() throws (1: MetaException o1)
  void grant_revoke_role() throws (1: MetaException o1)
  void grant_role() throws (1: MetaException o1)
  void heartbeat(1: HeartbeatRequest ids) throws (1: NoSuchLockException o1, 2: NoSuchTxnException o2, 3: TxnAbortedException o3)
  void heartbeat_lock_materialization_rebuild()
  HeartbeatTxnRangeResponse heartbeat_txn_range(1: HeartbeatTxnRangeRequest txns)
  bool isPartitionMarkedForEvent(1: string db_name, 2: string tbl_name, 3: map<string, string> part_vals, 4: i32 eventType) throws (1: MetaException o1, 2: NoSuchObjectException o2, 3: UnknownDBException o3, 4: UnknownTableException o4, 5: UnknownPartitionException o5, 6: InvalidPartitionException o6)
  list<HiveObjectPrivilege> list_privileges(1: string principal_name, 2: i32 principal_type, 3: HiveObjectRef hiveObject) throws (1: MetaException o1)
  list<Role> list_roles(1: string principal_name, 2: i32 principal_type) throws (1: MetaException o1)
  LockResponse lock(1: LockRequest rqst) throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2)
  void map_schema_version_to_serde() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void markPartitionForEvent() throws (1: MetaException o1, 2: NoSuchObjectException o2, 3: UnknownDBException o3, 4: UnknownTableException o4, 5: UnknownPartitionException o5, 6: InvalidPartitionException o6)
  void mark_cleaned() throws (1: MetaException o1)
  void mark_compacted() throws (1: MetaException o1)
  void mark_failed() throws (1: MetaException o1)
  void mark_refused() throws (1: MetaException o1)
  OpenTxnsResponse open_txns(1: OpenTxnRequest rqst)
  bool partition_name_has_valid_characters(1: list<string> part_vals, 2: bool throw_exception) throws (1: MetaException o1)
  map<string, string> partition_name_to_spec(1: string part_name) throws (1: MetaException o1)
  list<string> partition_name_to_vals(1: string part_name) throws (1: MetaException o1)
  void put_file_metadata()
  void refresh_privileges() throws (1: MetaException o1)
  oneway void reinitialize()
  void remove_compaction_metrics_data() throws (1: MetaException o1)
  void remove_master_key()
  void remove_token()
  void rename_partition() throws (1: InvalidOperationException o1, 2: MetaException o2)
  void rename_partition_req() throws (1: InvalidOperationException o1, 2: MetaException o2)
  void renew_delegation_token() throws (1: MetaException o1)
  void repl_tbl_writeid_state()
  void revoke_privileges() throws (1: MetaException o1)
  void revoke_role() throws (1: MetaException o1)
  void scheduled_query_maintenance() throws (1: MetaException o1, 2: NoSuchObjectException o2, 3: AlreadyExistsException o3, 4: InvalidInputException o4)
  ScheduledQueryPollResponse scheduled_query_poll(1: ScheduledQueryPollRequest request) throws (1: MetaException o1)
  void scheduled_query_progress() throws (1: MetaException o1, 2: InvalidOperationException o2)
  void seed_txn_id() throws (1: MetaException o1)
  void seed_write_id() throws (1: MetaException o1)
  void setMetaConf() throws (1: MetaException o1)
  void setOption()
  void set_aggr_stats_for() throws (1: NoSuchObjectException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: InvalidInputException o4)
  void set_hadoop_jobid()
  void set_properties() throws (1: MetaException e1, 2: NoSuchObjectException e2)
  void set_schema_version_state() throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)
  list<string> set_ugi(1: string user_name, 2: list<string> group_names) throws (1: MetaException o1)
  ShowCompactResponse show_compact(1: ShowCompactRequest rqst)
  ShowLocksResponse show_locks(1: ShowLocksRequest rqst)
  oneway void shutdown()
  void submit_for_cleanup() throws (1: MetaException o1)
  void translate_table_dryrun() throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: NoSuchObjectException o4)
  void truncate_table() throws (1: MetaException o1)
  void truncate_table_req() throws (1: MetaException o1)
  void unlock(1: UnlockRequest rqst) throws (1: NoSuchLockException o1, 2: TxnOpenException o2)
  void update_compaction_metrics_data() throws (1: MetaException o1)
  void update_compactor_state()
  void update_creation_metadata() throws (1: MetaException o1, 2: InvalidOperationException o2, 3: UnknownDBException o3)
  void update_master_key() throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void update_partition_column_statistics() throws (1: NoSuchObjectException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: InvalidInputException o4)
  void update_partition_column_statistics_req() throws (1: NoSuchObjectException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: InvalidInputException o4)
  void update_table_column_statistics() throws (1: NoSuchObjectException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: InvalidInputException o4)
  void update_table_column_statistics_req() throws (1: NoSuchObjectException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: InvalidInputException o4)
  void update_transaction_statistics() throws (1: MetaException o1)
  void validate_resource_plan() throws (1: NoSuchObjectException o1, 2: MetaException o2)
}
