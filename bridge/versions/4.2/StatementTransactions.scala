package org.apache.spark.sql.parquetry.versions

/** Before Spark 4.3, statements are no transactions to Spark. */
object StatementTransactions {
  trait TransactionalCatalog
}
