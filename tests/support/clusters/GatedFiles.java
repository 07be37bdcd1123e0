import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;
import org.apache.spark.TaskContext;

/**
 * Hadoop's local file system, with a gate: one task waits or fails there, when it opens, creates or has written a data file.
 * `gates.py` says in files which task that is, and lets it go on.
 */
public class GatedFiles extends LocalFileSystem {
    private static final java.nio.file.Path FOLDER = java.nio.file.Path.of(System.getProperty("gates", "."));
    private static final java.nio.file.Path PLAN = FOLDER.resolve("plan");
    /** How often each attempt of a task has come to the gate. */
    private static final Map<Long, Integer> ARRIVALS = new ConcurrentHashMap<>();
    /** Attempts of tasks, with the names of the files that they began. */
    private static final Set<String> CREATED = ConcurrentHashMap.newKeySet();

    @Override
    public FSDataInputStream open(Path path, int buffer) throws IOException {
        arrive("open", path);
        return super.open(path, buffer);
    }

    @Override
    public FSDataOutputStream create(Path path, FsPermission permission, boolean overwrite, int buffer, short copies,
            long block, Progressable progress) throws IOException {
        arrive("create", path);
        CREATED.add(ofTask(path));
        return super.create(path, permission, overwrite, buffer, copies, block, progress);
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        FileStatus status = super.getFileStatus(path);
        if (CREATED.contains(ofTask(path))) arrive("written", path);
        return status;
    }

    private static String ofTask(Path path) {
        TaskContext task = TaskContext.get();
        return (task == null ? "driver" : task.taskAttemptId()) + " " + path.getName();
    }

    private static void arrive(String point, Path path) throws IOException {
        TaskContext task = TaskContext.get();
        if (task == null || !path.getName().startsWith("pq-") || !Files.exists(PLAN)) return;
        String[] plan = Files.readString(PLAN).split(" ");
        if (!plan[0].equals(point)) return;
        make("attempt-%d-%d-%d-%d".formatted(task.stageId(), task.stageAttemptNumber(), task.partitionId(), task.attemptNumber()));
        int arrivals = ARRIVALS.merge(task.taskAttemptId(), 1, Integer::sum);
        if (arrivals == Integer.parseInt(plan[2]) && make("claimed")) act(plan[1]);
    }

    private static void act(String action) throws IOException {
        java.nio.file.Path unfinished = FOLDER.resolve("held.unfinished");
        Files.writeString(unfinished, Long.toString(ProcessHandle.current().pid()));
        Files.move(unfinished, FOLDER.resolve("held"));
        if (action.equals("fail")) throw new IOException("as the test asked");
        while (!Files.exists(FOLDER.resolve("go"))) {
            try {
                Thread.sleep(20);
            } catch (InterruptedException e) {
                make("interrupted");
                if (action.equals("hold")) throw new InterruptedIOException("the task was killed");
            }
        }
    }

    /** Makes an empty file, and returns whether it was not there. */
    private static boolean make(String name) throws IOException {
        try {
            Files.createFile(FOLDER.resolve(name));
            return true;
        } catch (FileAlreadyExistsException e) {
            return false;
        }
    }
}
