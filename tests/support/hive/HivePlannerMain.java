import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hadoop.hive.ql.exec.ColumnInfo;
import org.apache.hadoop.hive.ql.metadata.Hive;
import org.apache.hadoop.hive.ql.metadata.Partition;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.optimizer.ppr.PartitionPruner;
import org.apache.hadoop.hive.ql.parse.ASTNode;
import org.apache.hadoop.hive.ql.parse.ParseDriver;
import org.apache.hadoop.hive.ql.parse.PrunedPartitionList;
import org.apache.hadoop.hive.ql.parse.RowResolver;
import org.apache.hadoop.hive.ql.parse.type.ExprNodeTypeCheck;
import org.apache.hadoop.hive.ql.parse.type.TypeCheckCtx;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoUtils;

/**
 * Has Hive 4's planner prune a table's partitions, by its client of a metastore: `PORT CONDITIONS`, a list as JSON.
 *
 * Prints a line of JSON for each condition: the names of partitions that `PartitionPruner.prune` keeps, whether it
 * has to test rows, and what `Hive.getPartitionsByExpr` got, or the error.
 */
public class HivePlannerMain {
  public static void main(String[] arguments) throws Exception {
    PrintStream out = new PrintStream(System.out, true, "UTF-8");
    System.setOut(System.err);
    HiveConf conf = new HiveConf();
    conf.set("hive.metastore.uris", "thrift://127.0.0.1:" + arguments[0]);
    conf.set("hive.strict.checks.type.safety", "false");
    conf.set("hive.txn.manager", "org.apache.hadoop.hive.ql.lockmgr.DummyTxnManager");
    conf.set("hive.support.concurrency", "false");
    conf.set("hive.security.authorization.enabled", "false");
    SessionState.setCurrentSessionState(new SessionState(conf));
    ObjectMapper json = new ObjectMapper();
    Hive hive = Hive.get(conf);
    Table table = hive.getTable("default", "t");
    for (JsonNode text : json.readTree(arguments[1])) {
      ObjectNode answer = json.createObjectNode();
      answer.put("condition", text.asText());
      try {
        ExprNodeGenericFuncDesc condition = (ExprNodeGenericFuncDesc) expression(table, text.asText());
        List<Partition> found = new ArrayList<>();
        answer.put("unknown", hive.getPartitionsByExpr(table, condition, conf, found));
        answer.set("got", names(json, found));
        PrunedPartitionList pruned = PartitionPruner.prune(table, condition, conf, "t", new HashMap<>());
        answer.set("kept", names(json, pruned.getPartitions()));
        answer.put("tests", pruned.hasUnknownPartitions());
      } catch (Throwable error) {
        answer.put("error", String.valueOf(error));
        error.printStackTrace();
      }
      out.println(json.writeValueAsString(answer));
    }
    System.exit(0);
  }

  private static ArrayNode names(ObjectMapper json, Iterable<Partition> partitions) {
    TreeSet<String> names = new TreeSet<>();
    for (Partition each : partitions) {
      names.add(each.getName());
    }
    ArrayNode listed = json.createArrayNode();
    names.forEach(listed::add);
    return listed;
  }

  private static ExprNodeDesc expression(Table table, String text) throws Exception {
    RowResolver resolver = new RowResolver();
    for (FieldSchema key : table.getPartCols()) {
      resolver.put("t", key.getName(),
          new ColumnInfo(key.getName(), TypeInfoUtils.getTypeInfoFromTypeString(key.getType()), "t", true));
    }
    ASTNode tree = new ParseDriver().parseExpression(text);
    while (tree.getToken() == null && tree.getChildCount() > 0) {
      tree = (ASTNode) tree.getChild(0);
    }
    TypeCheckCtx context = new TypeCheckCtx(resolver);
    Map<ASTNode, ExprNodeDesc> nodes = ExprNodeTypeCheck.genExprNode(tree, context);
    if (nodes.get(tree) == null) {
      throw new IllegalArgumentException(String.valueOf(context.getError()));
    }
    return nodes.get(tree);
  }
}
