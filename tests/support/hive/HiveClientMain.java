import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStoreClient;
import org.apache.hadoop.hive.metastore.api.NotificationEvent;
import org.apache.hadoop.hive.metastore.api.Partition;
import org.apache.hadoop.hive.metastore.api.Table;
import org.apache.hadoop.hive.metastore.messaging.json.JSONMessageDeserializer;

/** Asks a metastore by Hive's own client: `PORT EVENT`, with an event that an alteration of `t` follows. Each line is a name, and the answer or the error's class. */
public class HiveClientMain {
  private static void ask(String name, Callable<Object> act) {
    try {
      System.out.println(name + "=" + act.call());
    } catch (Exception error) {
      System.out.println(name + "=" + error.getClass().getSimpleName() + ": " + error.getMessage());
    }
  }

  public static void main(String[] arguments) throws Exception {
    HiveConf conf = new HiveConf();
    conf.set("hive.metastore.uris", "thrift://127.0.0.1:" + arguments[0]);
    HiveMetaStoreClient client = new HiveMetaStoreClient(conf);
    short all = -1;
    ask("databases", client::getAllDatabases);
    ask("tables", () -> client.getAllTables("default"));
    ask("pattern", () -> client.getTables("default", "T*"));
    ask("table", () -> client.getTable("default", "t").getPartitionKeys().size());
    ask("columns", () -> client.getSchema("default", "t").size());
    ask("objects", () -> client.getTableObjectsByName("default", Arrays.asList("t", "e", "none")).size());
    ask("partitions", () -> client.listPartitions("default", "t", all).size());
    ask("names", () -> client.listPartitionNames("default", "t", all));
    ask("some", () -> client.listPartitions("default", "t", Arrays.asList("1"), all).size());
    ask("some names", () -> client.listPartitionNames("default", "t", Arrays.asList("1", ""), all).size());
    ask("filter", () -> client.listPartitionsByFilter("default", "t", "p > 0 and s like \"a.*\"", all).size());
    ask("count", () -> client.getNumPartitionsByFilter("default", "t", "p = 1"));
    ask("by names", () -> client.getPartitionsByNames("default", "t", Arrays.asList("p=1/s=a b")).size());
    ask("by name", () -> client.getPartition("default", "t", "p=1/s=x%2Fy").getValues());
    ask("by expression", () -> {
      List<Partition> found = new ArrayList<>();
      boolean unknown = client.listPartitionsByExpr("default", "t", new byte[] {0, 1, 2}, null, all, found);
      return found.size() + " " + unknown;
    });
    ask("event", () -> client.getCurrentNotificationEventId().getEventId() > 0);
    ask("message", () -> {
      NotificationEvent event = client.getNextNotification(Long.parseLong(arguments[1]), 1, null).getEvents().get(0);
      Table after = new JSONMessageDeserializer().getAlterTableMessage(event.getMessage()).getTableObjAfter();
      return event.getEventType() + " " + after.getTableName() + " " + after.getPartitionKeysSize();
    });
    ask("setting", () -> client.getConfigValue("hive.metastore.try.direct.sql", "none"));
    ask("exists", () -> client.tableExists("default", "t") + " " + client.tableExists("default", "none"));
    ask("create", () -> {
      Table table = new Table(client.getTable("default", "e"));
      table.setTableName("made");
      client.createTable(table);
      return "made";
    });
    ask("drop", () -> {
      client.dropTable("default", "e");
      return "dropped";
    });
    ask("alter", () -> {
      client.alter_table("default", "e", client.getTable("default", "e"));
      return "altered";
    });
    ask("add", () -> client.add_partition(client.getPartition("default", "t", "p=1/s=a b")));
    ask("still", client::getAllDatabases);
    client.close();
  }
}
