import java.util.Arrays;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.hive.metastore.api.ThriftHiveMetastore;
import org.apache.thrift.TException;
import org.apache.thrift.TFieldIdEnum;
import org.apache.thrift.meta_data.FieldMetaData;
import org.apache.thrift.meta_data.FieldValueMetaData;
import org.apache.thrift.meta_data.ListMetaData;
import org.apache.thrift.meta_data.MapMetaData;
import org.apache.thrift.meta_data.SetMetaData;
import org.apache.thrift.meta_data.StructMetaData;
import org.apache.thrift.protocol.TType;

/**
 * Prints the calls and records of Hive's metastore, as the classes of a version of Hive have them.
 *
 * <p>A line is `call NAME`, `result NAME` or `record NAME`, or of an exception `exception NAME`. The lines below
 * it are its fields: number, type and name, with tabs between.
 */
public class HiveDefinitions {
  private static final Map<String, Class<?>> RECORDS = new TreeMap<>();

  public static void main(String[] arguments) throws Exception {
    Class<?> facebook = Class.forName("com.facebook.fb303.FacebookService");
    for (Class<?> service : new Class<?>[] {ThriftHiveMetastore.class, facebook}) {
      Class<?>[] parts = service.getDeclaredClasses();
      Arrays.sort(parts, Comparator.comparing(Class::getSimpleName));
      for (Class<?> part : parts) {
        String name = part.getSimpleName();
        if (name.endsWith("_args")) print("call " + name.substring(0, name.length() - 5), part);
        if (name.endsWith("_result")) print("result " + name.substring(0, name.length() - 7), part);
      }
    }
    java.util.Set<String> printed = new java.util.HashSet<>();
    while (printed.size() < RECORDS.size())
      for (String name : RECORDS.keySet().toArray(new String[0]))
        if (printed.add(name)) {
          Class<?> record = RECORDS.get(name);
          boolean thrown = TException.class.isAssignableFrom(record);
          print((thrown ? "exception " : "record ") + name, record);
        }
  }

  private static void print(String head, Class<?> record) throws Exception {
    System.out.println(head);
    Map<?, ?> fields = (Map<?, ?>) record.getField("metaDataMap").get(null);
    Map<Integer, String> lines = new TreeMap<>();
    for (Map.Entry<?, ?> entry : fields.entrySet()) {
      TFieldIdEnum field = (TFieldIdEnum) entry.getKey();
      FieldValueMetaData type = ((FieldMetaData) entry.getValue()).valueMetaData;
      int number = field.getThriftFieldId();
      boolean isUnnamed = type.type == TType.STRUCT && !(type instanceof StructMetaData) && type.getTypedefName() == null;
      String text = isUnnamed ? declared(record, field) : text(type);
      lines.put(number, number + "\t" + text + "\t" + field.getFieldName());
    }
    lines.values().forEach(System.out::println);
  }

  private static String declared(Class<?> record, TFieldIdEnum field) throws Exception {
    Class<?> type = record.getDeclaredField(field.getFieldName()).getType();
    RECORDS.put(type.getSimpleName(), type);
    return type.getSimpleName();
  }

  private static String text(FieldValueMetaData type) throws Exception {
    if (type instanceof StructMetaData) {
      Class<?> record = ((StructMetaData) type).structClass;
      RECORDS.put(record.getSimpleName(), record);
      return record.getSimpleName();
    }
    if (type instanceof ListMetaData) return "list<" + text(((ListMetaData) type).elemMetaData) + ">";
    if (type instanceof SetMetaData) return "set<" + text(((SetMetaData) type).elemMetaData) + ">";
    if (type instanceof MapMetaData) {
      MapMetaData map = (MapMetaData) type;
      return "map<" + text(map.keyMetaData) + ", " + text(map.valueMetaData) + ">";
    }
    switch (type.type) {
      case TType.BOOL: return "bool";
      case TType.BYTE: return "byte";
      case TType.I16: return "i16";
      case TType.I64: return "i64";
      case TType.DOUBLE: return "double";
      case TType.STRING: return type.isBinary() ? "binary" : "string";
      case TType.STRUCT: return named(type);
      case TType.LIST: return "list<" + named(type) + ">";
      default: return "i32";
    }
  }

  private static String named(FieldValueMetaData type) throws Exception {
    String name = type.getTypedefName();
    RECORDS.put(name, Class.forName("org.apache.hadoop.hive.metastore.api." + name));
    return name;
  }
}
