import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hive.common.type.Date;
import org.apache.hadoop.hive.common.type.HiveChar;
import org.apache.hadoop.hive.common.type.HiveDecimal;
import org.apache.hadoop.hive.common.type.HiveVarchar;
import org.apache.hadoop.hive.common.type.Timestamp;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspectorUtils;
import org.apache.hadoop.hive.serde2.typeinfo.CharTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.ListTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.MapTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.StructTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoUtils;
import org.apache.hadoop.hive.serde2.typeinfo.VarcharTypeInfo;

/**
 * Hashes rows by Hive's own classes. Each line of standard input is a JSON object with the types of some columns and
 * their rows; for each, one line is printed: the rows' hashes in version 1, and in version 2.
 *
 * Compiled by Janino, which comes with Spark, so that no JDK is needed: no lambdas, no generics.
 */
public final class HiveHashMain {
    public static void main(String[] args) throws Exception {
        ObjectMapper json = new ObjectMapper();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode given = json.readTree(line);
            System.out.println(hashes((JsonNode) given.get("types"), (JsonNode) given.get("rows")));
        }
    }

    private static String hashes(JsonNode types, JsonNode rows) throws Exception {
        int width = types.size();
        TypeInfo[] infos = new TypeInfo[width];
        ObjectInspector[] plain = new ObjectInspector[width];
        ObjectInspector[] writable = new ObjectInspector[width];
        for (int i = 0; i < width; i++) {
            infos[i] = TypeInfoUtils.getTypeInfoFromTypeString(at(types, i).asText());
            plain[i] = TypeInfoUtils.getStandardJavaObjectInspectorFromTypeInfo(infos[i]);
            writable[i] = TypeInfoUtils.getStandardWritableObjectInspectorFromTypeInfo(infos[i]);
        }
        StringBuilder first = new StringBuilder();
        StringBuilder second = new StringBuilder();
        for (int r = 0; r < rows.size(); r++) {
            Object[] values = new Object[width];
            for (int i = 0; i < width; i++) {
                Object value = value(infos[i], at(at(rows, r), i));
                values[i] = ObjectInspectorUtils.copyToStandardObject(
                    value, plain[i], ObjectInspectorUtils.ObjectInspectorCopyOption.WRITABLE);
            }
            String comma = r == 0 ? "" : ",";
            first.append(comma).append(ObjectInspectorUtils.getBucketHashCodeOld(values, writable));
            second.append(comma).append(ObjectInspectorUtils.getBucketHashCode(values, writable));
        }
        return "[[" + first + "],[" + second + "]]";
    }

    private static Object value(TypeInfo info, JsonNode json) throws Exception {
        if (json == null || json.isNull()) {
            return null;
        }
        String category = info.getCategory().name();
        if (category.equals("LIST")) {
            return values(((ListTypeInfo) info).getListElementTypeInfo(), json);
        }
        if (category.equals("STRUCT")) {
            List fields = new ArrayList();
            for (int i = 0; i < json.size(); i++) {
                fields.add(value((TypeInfo) ((StructTypeInfo) info).getAllStructFieldTypeInfos().get(i), at(json, i)));
            }
            return fields;
        }
        if (category.equals("MAP")) {
            Map pairs = new LinkedHashMap();
            for (int i = 0; i < json.size(); i++) {
                JsonNode pair = at(json, i);
                pairs.put(value(((MapTypeInfo) info).getMapKeyTypeInfo(), at(pair, 0)),
                    value(((MapTypeInfo) info).getMapValueTypeInfo(), at(pair, 1)));
            }
            return pairs;
        }
        return primitive(info, json);
    }

    /** Janino takes what `get` returns for less than it is. */
    private static JsonNode at(JsonNode json, int i) {
        return (JsonNode) json.get(i);
    }

    private static List values(TypeInfo info, JsonNode json) throws Exception {
        List found = new ArrayList();
        for (int i = 0; i < json.size(); i++) {
            found.add(value(info, at(json, i)));
        }
        return found;
    }

    /** Floats come as their bits, times as numbers, bytes as hexadecimal digits. */
    private static Object primitive(TypeInfo info, JsonNode json) throws Exception {
        String name = info.getTypeName();
        if (name.equals("boolean")) {
            return Boolean.valueOf(json.asBoolean());
        } else if (name.equals("tinyint")) {
            return Byte.valueOf((byte) json.asInt());
        } else if (name.equals("smallint")) {
            return Short.valueOf((short) json.asInt());
        } else if (name.equals("int")) {
            return Integer.valueOf(json.asInt());
        } else if (name.equals("bigint")) {
            return Long.valueOf(json.asLong());
        } else if (name.equals("float")) {
            return Float.valueOf(Float.intBitsToFloat(json.asInt()));
        } else if (name.equals("double")) {
            return Double.valueOf(Double.longBitsToDouble(json.asLong()));
        } else if (name.equals("string")) {
            return json.asText();
        } else if (name.startsWith("varchar")) {
            return new HiveVarchar(json.asText(), ((VarcharTypeInfo) info).getLength());
        } else if (name.startsWith("char")) {
            return new HiveChar(json.asText(), ((CharTypeInfo) info).getLength());
        } else if (name.startsWith("decimal")) {
            return HiveDecimal.create(json.asText());
        } else if (name.equals("binary")) {
            String digits = json.asText();
            byte[] bytes = new byte[digits.length() / 2];
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = (byte) Integer.parseInt(digits.substring(2 * i, 2 * i + 2), 16);
            }
            return bytes;
        } else if (name.equals("date")) {
            return Date.ofEpochDay(json.asInt());
        } else if (name.equals("timestamp")) {
            return Timestamp.ofEpochSecond(at(json, 0).asLong(), at(json, 1).asInt());
        }
        throw new IllegalArgumentException(name);
    }
}
