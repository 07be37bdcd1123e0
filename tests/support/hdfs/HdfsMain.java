import java.io.BufferedReader;
import java.io.InputStreamReader;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;

/** A namenode and a datanode in one JVM, which ends when its standard input does. */
public class HdfsMain {
    public static void main(String[] args) throws Exception {
        DefaultMetricsSystem.setMiniClusterMode(true);
        Configuration conf = new HdfsConfiguration();
        NameNode.format(conf);
        NameNode names = NameNode.createNameNode(new String[0], conf);
        DataNode data = DataNode.createDataNode(new String[0], conf);
        while (!data.isDatanodeFullyStarted() || names.getNamesystem().getNumLiveDataNodes() == 0) {
            Thread.sleep(50);
        }
        System.out.println("READY");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        while (in.readLine() != null) {
        }
        Runtime.getRuntime().halt(0);
    }
}
