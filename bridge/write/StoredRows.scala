package org.apache.spark.sql.parquetry.write

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.{Alias, Cast}
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.parquetry.hash.{FileTimes, ReadBack}
import org.apache.spark.sql.types.{DataType, StructType}

object StoredRows {
  /**
   * Casts and renames a query's columns, in their order, to the fields of `schema` (JSON), with the values
   * that readers of the files will see. Python calls this once, however many columns the query has.
   *
   * @param format of the files
   * @param inPaths the columns that files do not have, because their values are names of directories
   */
  def of(data: DataFrame, schema: String, format: String, inPaths: java.util.List[String]): DataFrame = {
    val rows = data.asInstanceOf[Dataset[_]]
    val plan = rows.queryExecution.analyzed
    val fields = DataType.fromJson(schema).asInstanceOf[StructType]
    require(fields.length == plan.output.length, s"${plan.output.length} columns were given for ${fields.length}")
    rows.sparkSession.withActive { // this session's settings say what a cast does
      val times = FileTimes.of(format, rows.sparkSession.sessionState.conf)
      val columns = plan.output.zip(fields).map { case (column, field) =>
        val value = Cast(column, CharVarcharUtils.replaceCharVarcharWithStringForCast(field.dataType))
        Alias(if (inPaths.contains(field.name)) value else ReadBack.of(value, times), field.name)()
      }
      Dataset.ofRows(rows.sparkSession, Project(columns, plan))
    }
  }
}
