package org.apache.spark.sql.parquetry.process

import java.io.File

import org.apache.spark.SparkConf
import org.apache.spark.api.python.PythonUtils

/**
 * The Python that runs a planner.
 *
 * @param path    the program, as the configuration names it
 * @param namedBy the setting or variable that names it, for messages
 */
case class Interpreter(path: String, namedBy: String) {
  /**
   * The command, with Spark's own Python libraries behind the user's, as `spark-submit` gives them to
   * applications.
   */
  def builder(arguments: String*): ProcessBuilder = {
    val builder = new ProcessBuilder((path +: arguments): _*)
    val environment = builder.environment()
    val paths = Seq(PythonUtils.sparkPythonPath, environment.getOrDefault("PYTHONPATH", ""))
    environment.put("PYTHONPATH", PythonUtils.mergePythonPaths(paths: _*))
    environment.put("PYTHONUNBUFFERED", "1")
    Interpreter.ofClients.foreach(environment.remove)
    builder
  }
}

object Interpreter {
  /** The setting that names the planner's interpreter. It comes before the settings for applications. */
  val setting = "spark.parquetry.python"

  private val settings = Seq(setting, "spark.pyspark.driver.python", "spark.pyspark.python")
  private val variables = Seq("PYSPARK_PYTHON")
  /** Variables that make PySpark a client of Spark Connect. */
  private val ofClients = Seq("SPARK_REMOTE", "SPARK_API_MODE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_LOCAL_REMOTE")

  /**
   * The first that is named by a setting of the application or a variable of this process, or else `python3`.
   */
  def of(conf: SparkConf): Interpreter =
    settings.flatMap(name => conf.getOption(name).map(Interpreter(_, name)))
      .concat(variables.flatMap(name => sys.env.get(name).map(Interpreter(_, name))))
      .find(_.path.nonEmpty)
      .getOrElse(Interpreter("python3", s"no setting, so it is looked up in PATH (${sys.env.getOrElse("PATH", "").split(File.pathSeparator).length} folders)"))
}
