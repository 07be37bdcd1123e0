package org.apache.spark.sql.parquetry.hash

import org.json4s._
import org.json4s.jackson.JsonMethods.parse

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.Alias
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.parquetry.protocol.Json

/** Adds the buckets of rows as columns. */
object BucketColumns {
  /**
   * Adds a column of bucket numbers for each entry of `asked`. An entry is JSON: the name of the new column,
   * the version of the hash, the number of buckets, the hashed columns, and a struct of their types in the
   * table.
   */
  def add(data: DataFrame, asked: String): DataFrame = {
    val rows = data.asInstanceOf[Dataset[_]]
    val plan = rows.queryExecution.analyzed
    implicit val formats: Formats = DefaultFormats
    val added = parse(asked).children.map { each =>
      val columns = (each \ "columns").extract[Seq[String]].map(c => plan.output.find(_.name == c).get)
      val types = Json.struct(each \ "types").map(_.dataType)
      val version = (each \ "version").extract[String]
      Alias(BucketHash.settled(version, (each \ "count").extract[Int], columns, types), (each \ "name").extract[String])()
    }
    Dataset.ofRows(rows.sparkSession, Project(plan.output ++ added, plan))
  }
}
