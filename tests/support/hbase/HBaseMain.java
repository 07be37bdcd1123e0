import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.LocalHBaseCluster;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.master.HMaster;
import org.apache.hadoop.hbase.regionserver.HRegion;
import org.apache.hadoop.hbase.regionserver.HRegionServer;
import org.apache.hadoop.hbase.regionserver.HStore;
import org.apache.hadoop.hbase.regionserver.compactions.CompactionContext;
import org.apache.hadoop.hbase.regionserver.compactions.CompactionLifeCycleTracker;
import org.apache.hadoop.hbase.regionserver.throttle.NoLimitThroughputController;
import org.apache.hadoop.hbase.thrift2.ThriftServer;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.EnvironmentEdge;
import org.apache.hadoop.hbase.util.EnvironmentEdgeManager;
import org.apache.hadoop.hbase.zookeeper.MiniZooKeeperCluster;

/**
 * A small HBase in one JVM: ZooKeeper, a master and a region server ("cluster"), a Thrift2 server ("thrift"),
 * or all of them. It takes commands from standard input and ends with it, so that nothing outlives the tests.
 *
 * Compiled by Janino, which comes with Spark, so that no JDK is needed: no lambdas.
 */
public final class HBaseMain {
    private static LocalHBaseCluster cluster;
    private static Admin admin;

    /** args: "cluster", "thrift" or "all"; the Thrift port. The rest is in hbase-site.xml on the class path. */
    public static void main(String[] args) throws Exception {
        Configuration conf = HBaseConfiguration.create();
        MiniZooKeeperCluster zookeeper = null;
        if (!args[0].equals("thrift")) {
            int port = conf.getInt("hbase.zookeeper.property.clientPort", 0);
            zookeeper = new MiniZooKeeperCluster(conf);
            zookeeper.setDefaultClientPort(port);
            if (zookeeper.startup(new File(conf.get("hbase.zookeeper.property.dataDir"))) != port) {
                throw new IllegalStateException("port " + port + " is taken");
            }
            cluster = new LocalHBaseCluster(conf, 1, 1, HMaster.class, HRegionServer.class);
            cluster.startup();
            while (cluster.getActiveMaster() == null || !cluster.getActiveMaster().isInitialized()) {
                Thread.sleep(20);
            }
            Connection connection = ConnectionFactory.createConnection(conf);
            admin = connection.getAdmin();
        }
        if (!args[0].equals("cluster")) {
            serve(conf, args[1]);
        }
        System.out.println("READY");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null && !line.equals("stop"); line = in.readLine()) {
            String answer;
            try {
                answer = answer(line.split(" "));
            } catch (Exception e) {
                answer = "error " + e;
            }
            System.out.println(answer);
        }
        if (cluster != null) {
            cluster.shutdown();
            cluster.join();
            zookeeper.shutdown();
        }
        Runtime.getRuntime().halt(0);
    }

    private static void serve(final Configuration conf, final String port) {
        Thread thread = new Thread(new Runnable() {
            public void run() {
                try {
                    new ThriftServer(conf).run(new String[] {"start", "-p", port, "--bind", "127.0.0.1"});
                } catch (Exception e) {
                    e.printStackTrace();
                    Runtime.getRuntime().halt(1);
                }
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private static String answer(String[] words) throws Exception {
        if (words[0].equals("clock")) {
            final long offset = Long.parseLong(words[1]);
            EnvironmentEdgeManager.injectEdge(new EnvironmentEdge() {
                public long currentTime() {
                    return System.currentTimeMillis() + offset;
                }
            });
            return "done";
        }
        TableName table = TableName.valueOf(words[1]);
        if (words[0].equals("reads")) {
            long read = 0;
            long filtered = 0;
            for (Object each : cluster.getRegionServer(0).getOnlineRegionsLocalContext()) {
                HRegion region = (HRegion) each;
                if (region.getRegionInfo().getTable().equals(table)) {
                    read += region.getReadRequestsCount();
                    filtered += region.getFilteredReadRequestsCount();
                }
            }
            return read + " " + filtered;
        }
        if (words[0].equals("regions")) {
            return String.valueOf(admin.getRegions(table).size());
        }
        if (words[0].equals("flush")) {
            admin.flush(table);
            return "done";
        }
        if (words[0].equals("compact")) { // as flush and major_compact in HBase's shell, and waits for it
            for (Object each : cluster.getRegionServer(0).getOnlineRegionsLocalContext()) {
                HRegion region = (HRegion) each;
                if (region.getRegionInfo().getTable().equals(table)) {
                    region.flush(true);
                    for (Object part : region.getStores()) {
                        compact(region, (HStore) part);
                    }
                }
            }
            return "done";
        }
        if (words[0].equals("split")) {
            int before = admin.getRegions(table).size();
            admin.split(table, Bytes.fromHex(words[2]));
            for (int i = 0; i < 1500 && admin.getRegions(table).size() == before; i++) {
                Thread.sleep(20);
            }
            return "done";
        }
        return "error: unknown command";
    }

    private static void compact(HRegion region, HStore store) throws Exception {
        store.triggerMajorCompaction();
        Object chosen = store.requestCompaction(HStore.PRIORITY_USER, CompactionLifeCycleTracker.DUMMY, null).orElse(null);
        if (chosen != null) {
            region.compact((CompactionContext) chosen, store, NoLimitThroughputController.INSTANCE);
        }
        store.closeAndArchiveCompactedFiles(); // which HBase does some minutes later
    }
}
