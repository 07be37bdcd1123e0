// The part of HBase's Thrift2 interface that the store speaks.
//
// Names and numbers are HBase's own; everything the store has no use for is left out, which the protocol
// allows: a reader skips fields that it does not know.

struct TTableName {
  1: optional binary ns
  2: required binary qualifier
}

enum TDataBlockEncoding {
  FAST_DIFF = 4
}

struct TColumnFamilyDescriptor {
  1: required binary name
  8: optional TDataBlockEncoding dataBlockEncoding
  10: optional i32 maxVersions
}

struct TTableDescriptor {
  1: required TTableName tableName
  2: optional list<TColumnFamilyDescriptor> columns
}

struct TColumn {
  1: required binary family
  2: optional binary qualifier
}

struct TColumnValue {
  1: required binary family
  2: required binary qualifier
  3: required binary value
  4: optional i64 timestamp
}

struct TResult {
  1: optional binary row
  2: required list<TColumnValue> columnValues
}

struct TGet {
  1: required binary row
  2: optional list<TColumn> columns
  15: optional binary filterBytes
}

struct TScan {
  1: optional binary startRow
  2: optional binary stopRow
  3: optional list<TColumn> columns
  4: optional i32 caching
  11: optional bool reversed
  15: optional i32 limit
  18: optional binary filterBytes
}

struct TPut {
  1: required binary row
  2: required list<TColumnValue> columnValues
}

struct TDelete {
  1: required binary row
  3: optional i64 timestamp
}

union TMutation {
  1: TPut put
  2: TDelete deleteSingle
}

struct TRowMutations {
  1: required binary row
  2: required list<TMutation> mutations
}

enum TCompareOp {
  EQUAL = 2
}

exception TIOError {
  1: optional string message
  2: optional bool canRetry
}

exception TIllegalArgument {
  1: optional string message
}

service THBaseService {
  bool tableExists(1: TTableName tableName) throws (1: TIOError io)

  TTableDescriptor getTableDescriptor(1: TTableName table) throws (1: TIOError io)

  void createTable(1: TTableDescriptor desc, 2: list<binary> splitKeys) throws (1: TIOError io)

  list<TResult> getMultiple(1: binary table, 2: list<TGet> tgets) throws (1: TIOError io)

  list<TResult> getScannerResults(1: binary table, 2: TScan tscan, 3: i32 numRows) throws (1: TIOError io)

  void putMultiple(1: binary table, 2: list<TPut> tputs) throws (1: TIOError io)

  list<TDelete> deleteMultiple(1: binary table, 2: list<TDelete> tdeletes) throws (1: TIOError io)

  bool checkAndMutate(
    1: binary table
    2: binary row
    3: binary family
    4: binary qualifier
    5: TCompareOp compareOp
    6: binary value
    7: TRowMutations rowMutations
  ) throws (1: TIOError io)
}
