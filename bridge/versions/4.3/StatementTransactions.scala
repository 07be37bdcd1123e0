package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.connector.catalog.{CatalogPlugin, TransactionalCatalogPlugin}
import org.apache.spark.sql.connector.catalog.transactions.{Transaction, TransactionInfo}
import org.apache.spark.sql.connector.read.Scan

/** Spark 4.3 runs each statement that changes rows as a transaction (SPARK-55855). */
object StatementTransactions {
  /**
   * Spark loads all tables of such a statement anew within its transaction, also the tables of a DataFrame
   * that was made earlier. `LoadsTogether` loads them as of one moment.
   *
   * The write is one commit, which takes place in full or not at all. So there is nothing to commit or to
   * abort here. Spark would not commit a transaction around the write either. It does so in the nodes that
   * write by `BatchWrite`, and ours write by `V1Write`.
   */
  trait TransactionalCatalog extends TransactionalCatalogPlugin {
    override def beginTransaction(info: TransactionInfo): Transaction = new OneCommit(this)
  }

  private class OneCommit(of: CatalogPlugin) extends Transaction {
    override def catalog(): CatalogPlugin = of
    override def commit(): Unit = ()
    override def abort(): Unit = ()
    override def registerScans(scans: Array[Scan]): Boolean = true
    override def close(): Unit = ()
  }
}
