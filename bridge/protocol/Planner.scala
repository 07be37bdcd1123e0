package org.apache.spark.sql.parquetry.protocol

/**
 * The calls that Python answers. Questions and answers are JSON texts of one protocol version, so that they
 * can be recorded and replayed. The only object that is passed is the DataFrame of a write.
 */
trait Planner {
  def ask(question: String): String
  def write(question: String, data: Object): String
}

/**
 * The remains of an exception of Py4J's. Its message and causes have the whole question, and the secret
 * name of the planner's object.
 *
 * @param kind      the exception's class
 * @param wasRaised whether Python raised an exception, over a connection that works
 */
private case class LostAnswer(kind: String, wasRaised: Boolean)

private object LostAnswer {
  /** How messages of Py4J's begin that tell of an exception in Python. */
  private val raised = "An exception was raised by the Python Proxy"

  def from(error: Throwable): LostAnswer =
    LostAnswer(error.getClass.getName, Option(error.getMessage).exists(_.startsWith(raised)) || !isOfPy4J(error))

  private def isOfPy4J(error: Throwable): Boolean = error.isInstanceOf[py4j.Py4JException] || error.isInstanceOf[java.io.IOException]
}
