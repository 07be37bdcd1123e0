import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import org.apache.hadoop.hive.ql.exec.SerializationUtilities;

/**
 * Prints how Hive's Kryo writes classes: the ids of registered classes, and the fields of each class that is named in
 * the arguments, in the order in which they are written.
 *
 * Compiled by Janino, which comes with Spark: no lambdas, no generics. Kryo is in another package in each version of
 * Hive, so it is called by reflection.
 */
public final class LayoutMain {
    public static void main(String[] args) throws Exception {
        Object kryo = SerializationUtilities.class.getMethod("borrowKryo", new Class[0]).invoke(null, new Object[0]);
        Method byId = kryo.getClass().getMethod("getRegistration", new Class[] {int.class});
        byId.setAccessible(true);
        for (int id = 0; id < 60; id++) {
            Object registration = byId.invoke(kryo, new Object[] {Integer.valueOf(id)});
            if (registration != null) {
                Class type = (Class) call(registration, "getType");
                Object serializer = call(registration, "getSerializer");
                System.out.println("# " + id + " " + type.getName() + " " + serializer.getClass().getSimpleName());
            }
        }
        Method serializerOf = kryo.getClass().getMethod("getSerializer", new Class[] {Class.class});
        serializerOf.setAccessible(true);
        for (int i = 0; i < args.length; i++) {
            try {
                Object serializer = serializerOf.invoke(kryo, new Object[] {Class.forName(args[i])});
                if (!serializer.getClass().getName().endsWith("FieldSerializer")) {
                    System.err.println(args[i] + " has a serializer of its own: " + serializer);
                } else {
                    StringBuilder line = new StringBuilder(args[i]);
                    Object[] fields = (Object[]) call(serializer, "getFields");
                    for (int f = 0; f < fields.length; f++) {
                        java.lang.reflect.Field field = (java.lang.reflect.Field) call(fields[f], "getField");
                        line.append(" ").append(field.getName()).append(":").append(kind(field));
                    }
                    System.out.println(line);
                }
            } catch (ClassNotFoundException error) {
                System.err.println(args[i] + " is not in this version");
            }
        }
        System.exit(0);
    }

    /** A primitive; the class of all values, where no other is possible; or an asterisk, where values name theirs. */
    private static String kind(java.lang.reflect.Field field) {
        Class type = field.getType();
        boolean only = Modifier.isFinal(type.getModifiers()) && !type.isArray();
        if (type.isPrimitive() || only) {
            return type.isEnum() ? "enum" : type.getName();
        }
        if (type.isArray() && Modifier.isFinal(type.getComponentType().getModifiers())) {
            return type.getName();
        }
        return field.getGenericType().toString().endsWith("<java.lang.String>") ? "*<java.lang.String>" : "*";
    }

    private static Object call(Object target, String name) throws Exception {
        Method method = null;
        for (Class type = target.getClass(); method == null && type != null; type = type.getSuperclass()) {
            try {
                method = type.getDeclaredMethod(name, new Class[0]);
            } catch (NoSuchMethodException above) {
                continue;
            }
        }
        method.setAccessible(true);
        return method.invoke(target, new Object[0]);
    }
}
