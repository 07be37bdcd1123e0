import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hive.common.FileUtils;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hadoop.hive.ql.exec.ColumnInfo;
import org.apache.hadoop.hive.ql.exec.SerializationUtilities;
import org.apache.hadoop.hive.ql.optimizer.ConstantPropagateProcFactory;
import org.apache.hadoop.hive.ql.optimizer.ppr.PartitionExpressionForMetastore;
import org.apache.hadoop.hive.ql.optimizer.ppr.PartitionPruner;
import org.apache.hadoop.hive.ql.parse.ASTNode;
import org.apache.hadoop.hive.ql.parse.ParseDriver;
import org.apache.hadoop.hive.ql.parse.RowResolver;
import org.apache.hadoop.hive.ql.plan.ExprNodeConstantDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoUtils;

/**
 * Has Hive read conditions on partition columns, serialize them as its clients do, and apply them to partitions as its
 * metastore does.
 *
 * The first line of standard input is a JSON object with the columns ([name, type]) and the partitions (texts, or null
 * for NULL). Each other line is a condition, as a JSON text. It gives a line as the parser made it, and another as the
 * planner folds constants, if that differs. A condition that is constant is never sent, and gives none.
 *
 * Compiled by Janino, which comes with Spark: no lambdas, no generics. Classes that differ between versions of Hive
 * are called by reflection.
 */
public final class ExpressionMain {
    private static final String DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__";
    private static final ObjectMapper JSON = new ObjectMapper();

    private final List names = new ArrayList();
    private final List types = new ArrayList();
    private final List partitions = new ArrayList();

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        System.setOut(System.err);
        HiveConf conf = new HiveConf();
        conf.set("hive.strict.checks.type.safety", "false");
        try {
            SessionState.setCurrentSessionState(new SessionState(conf));
        } catch (ClassCastException onlyJava8) {
            // Hive 3 wants a loader that Java has no longer; conditions are read without a session, too.
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        ExpressionMain main = new ExpressionMain(JSON.readTree(in.readLine()));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            main.answer(JSON.readTree(line).asText(), out);
        }
        out.flush();
        System.exit(0);
    }

    private ExpressionMain(JsonNode table) throws Exception {
        JsonNode columns = table.get("columns");
        for (int i = 0; i < columns.size(); i++) {
            JsonNode column = at(columns, i);
            names.add(at(column, 0).asText());
            types.add(at(column, 1).asText());
        }
        JsonNode rows = table.get("partitions");
        for (int r = 0; r < rows.size(); r++) {
            List values = new ArrayList();
            for (int i = 0; i < names.size(); i++) {
                JsonNode value = at(at(rows, r), i);
                values.add(value.isNull() ? DEFAULT_PARTITION : value.asText());
            }
            partitions.add(FileUtils.makePartName(names, values));
        }
    }

    private static JsonNode at(JsonNode json, int i) {
        return (JsonNode) json.get(i);
    }

    private void answer(String text, PrintStream out) throws Exception {
        String first = null;
        for (int folded = 0; folded < 2; folded++) {
            ObjectNode found = JSON.createObjectNode();
            found.put("text", text);
            found.put("folded", folded == 1);
            try {
                ExprNodeDesc expression = expression(text);
                if (folded == 1 && expression instanceof ExprNodeGenericFuncDesc) {
                    ExprNodeDesc other = ConstantPropagateProcFactory.foldExpr((ExprNodeGenericFuncDesc) expression);
                    expression = other == null ? expression : other;
                }
                expression = compact(expression);
                if (expression == null || expression instanceof ExprNodeConstantDesc) {
                    return;
                }
                if (expression.getExprString().equals(first)) {
                    return;
                }
                first = expression.getExprString();
                describe(expression, found);
            } catch (Throwable error) {
                Throwable cause = error instanceof InvocationTargetException ? error.getCause() : error;
                found.put("error", String.valueOf(cause));
                if (System.getenv("TRACE") != null) {
                    cause.printStackTrace();
                }
            }
            out.println(JSON.writeValueAsString(found));
        }
    }

    private void describe(ExprNodeDesc expression, ObjectNode found) throws Exception {
        found.put("hive", expression.getExprString());
        byte[] blob = serialized(expression);
        found.put("bytes", hexadecimal(blob));
        StringBuilder truths = new StringBuilder();
        for (int i = 0; i < partitions.size(); i++) {
            truths.append(truth(blob, partitions.get(i)));
        }
        found.put("truths", truths.toString());
    }

    /**
     * What Hive's metastore says of a partition: T if it is selected, F if it is not, ? if it is selected for want of
     * a truth, and ! if the condition fails on it. Where NULL is among the values, F stands for NULL, too.
     */
    private char truth(byte[] blob, Object partition) {
        List kept = new ArrayList();
        kept.add(partition);
        try {
            boolean unknown = filter(blob, kept);
            return kept.isEmpty() ? 'F' : unknown ? '?' : 'T';
        } catch (Throwable error) {
            if (System.getenv("TRACE") != null) {
                error.printStackTrace();
            }
            return '!';
        }
    }

    private ExprNodeDesc expression(String text) throws Exception {
        RowResolver resolver = new RowResolver();
        for (int i = 0; i < names.size(); i++) {
            String name = (String) names.get(i);
            resolver.put("tab", name,
                new ColumnInfo(name, TypeInfoUtils.getTypeInfoFromTypeString((String) types.get(i)), "tab", true));
        }
        ASTNode tree = new ParseDriver().parseExpression(text);
        while (tree.getToken() == null && tree.getChildCount() > 0) {
            tree = (ASTNode) tree.getChild(0);
        }
        Class check;
        Class context;
        try {
            check = Class.forName("org.apache.hadoop.hive.ql.parse.type.ExprNodeTypeCheck");
            context = Class.forName("org.apache.hadoop.hive.ql.parse.type.TypeCheckCtx");
        } catch (ClassNotFoundException older) {
            check = Class.forName("org.apache.hadoop.hive.ql.parse.TypeCheckProcFactory");
            context = Class.forName("org.apache.hadoop.hive.ql.parse.TypeCheckCtx");
        }
        Constructor make = context.getConstructor(new Class[] {RowResolver.class});
        Object checked = make.newInstance(new Object[] {resolver});
        Method generate = check.getMethod("genExprNode", new Class[] {ASTNode.class, context});
        Map nodes = (Map) generate.invoke(null, new Object[] {tree, checked});
        ExprNodeDesc expression = (ExprNodeDesc) nodes.get(tree);
        if (expression == null) {
            throw new IllegalArgumentException(String.valueOf(context.getMethod("getError", new Class[0])
                .invoke(checked, new Object[0])));
        }
        return expression;
    }

    private static ExprNodeDesc compact(ExprNodeDesc expression) throws Exception {
        Method compact = PartitionPruner.class.getDeclaredMethod("compactExpr", new Class[] {ExprNodeDesc.class});
        compact.setAccessible(true);
        return (ExprNodeDesc) compact.invoke(null, new Object[] {expression});
    }

    /** The bytes that `Hive.getPartitionsByExpr` of this version sends. */
    private static byte[] serialized(ExprNodeDesc expression) throws Exception {
        Class utilities = SerializationUtilities.class;
        Method write;
        try {
            write = utilities.getMethod(
                "serializeObjectWithTypeInformation", new Class[] {java.io.Serializable.class});
        } catch (NoSuchMethodException older) {
            write = utilities.getMethod("serializeExpressionToKryo", new Class[] {ExprNodeGenericFuncDesc.class});
        }
        return (byte[]) write.invoke(null, new Object[] {expression});
    }

    private static String hexadecimal(byte[] blob) {
        StringBuilder digits = new StringBuilder();
        for (int i = 0; i < blob.length; i++) {
            digits.append(Character.forDigit((blob[i] >> 4) & 15, 16)).append(Character.forDigit(blob[i] & 15, 16));
        }
        return digits.toString();
    }

    private boolean filter(byte[] blob, List kept) throws Exception {
        List schemas = new ArrayList();
        List infos = new ArrayList();
        for (int i = 0; i < names.size(); i++) {
            schemas.add(new FieldSchema((String) names.get(i), (String) types.get(i), null));
            infos.add(TypeInfoFactory.getPrimitiveTypeInfo((String) types.get(i)));
        }
        Method[] methods = PartitionExpressionForMetastore.class.getMethods();
        for (int i = 0; i < methods.length; i++) {
            if (methods[i].getName().equals("filterPartitionsByExpr")) {
                Object[] values = methods[i].getParameterTypes().length == 4
                    ? new Object[] {schemas, blob, DEFAULT_PARTITION, kept}
                    : new Object[] {names, infos, blob, DEFAULT_PARTITION, kept};
                Object unknown = methods[i].invoke(new PartitionExpressionForMetastore(), values);
                return ((Boolean) unknown).booleanValue();
            }
        }
        throw new IllegalStateException("no filterPartitionsByExpr");
    }
}
