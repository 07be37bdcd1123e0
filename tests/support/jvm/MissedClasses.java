import java.net.URL;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.util.MutableURLClassLoader;

/**
 * Knows which classes are not there. Janino asks for a dozen names of each class that it compiles before it finds what is meant,
 * Py4J for each part of a package's name; each time all of Spark's 280 jars are looked into.
 *
 * Compiled by Janino, which comes with Spark: no lambdas.
 */
public class MissedClasses extends MutableURLClassLoader {
    private final Set<String> missed = ConcurrentHashMap.newKeySet();

    public MissedClasses(MutableURLClassLoader parent) {
        super(parent.getURLs(), parent);
    }

    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (missed.contains(name)) {
            throw new ClassNotFoundException(name);
        }
        try {
            return super.loadClass(name, resolve);
        } catch (ClassNotFoundException e) {
            missed.add(name);
            throw e;
        }
    }

    public void addURL(URL url) {
        super.addURL(url);
        missed.clear();
    }
}
