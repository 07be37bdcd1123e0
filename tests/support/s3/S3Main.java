import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;

import org.gaul.s3proxy.Main;

/** S3Proxy with its objects in memory, in a JVM that ends when its standard input does. */
public class S3Main {
    public static void main(final String[] args) throws Exception {
        Thread server = new Thread(new Runnable() {
            public void run() {
                try {
                    Main.main(new String[] {"--properties", args[0]});
                } catch (Exception e) {
                    e.printStackTrace();
                    Runtime.getRuntime().halt(1);
                }
            }
        });
        server.setDaemon(true);
        server.start();
        while (!answers(Integer.parseInt(args[1]))) {
            Thread.sleep(50);
        }
        System.out.println("READY");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        while (in.readLine() != null) {
        }
        Runtime.getRuntime().halt(0);
    }

    private static boolean answers(int port) throws Exception {
        Socket socket = new Socket();
        try {
            socket.connect(new InetSocketAddress("127.0.0.1", port), 1000);
            return true;
        } catch (java.io.IOException e) {
            return false;
        } finally {
            socket.close();
        }
    }
}
