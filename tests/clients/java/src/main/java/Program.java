import java.nio.file.Files;
import java.nio.file.Paths;
import org.tensorflow.EagerSession;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.Session;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.ndarray.StdArrays;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.op.core.Variable;
import org.tensorflow.proto.DataType;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TString;

/**
 * What programs of Java do with TensorFlow through its own binding: a graph with a placeholder, a
 * variable that is trained by a gradient, eager ops, strings, and errors as exceptions. The first
 * check is that the library in the process is Leat's and not the one in the binding's archive.
 */
public class Program {
  private static void check(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }

  private static void libraryIsLeats() throws Exception {
    org.tensorflow.TensorFlow.version();
    String maps = new String(Files.readAllBytes(Paths.get("/proc/self/maps")));
    check(maps.contains("libleat.so"), "Leat's library is not loaded");
    check(!maps.contains("linux-x86_64/libtensorflow_cc"), "TensorFlow's library is loaded too");
  }

  private static void sumsAreRun() {
    try (Graph graph = new Graph()) {
      Ops tf = Ops.create(graph);
      Placeholder<TFloat32> x = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(2, 2)));
      Operand<TFloat32> product = tf.linalg.matMul(x, x);
      try (Session session = new Session(graph);
           TFloat32 value = TFloat32.tensorOf(StdArrays.ndCopyOf(new float[][] {{1, 2}, {3, 4}}));
           TFloat32 result = (TFloat32) session.runner().feed(x, value).fetch(product).run().get(0)) {
        check(result.getFloat(0, 0) == 7 && result.getFloat(1, 1) == 22, "a wrong product");
      }
    }
  }

  private static void variableIsTrained() {
    try (Graph graph = new Graph()) {
      Ops tf = Ops.create(graph);
      Variable<TFloat32> w = tf.variable(Shape.scalar(), TFloat32.class);
      Operand<TFloat32> loss = tf.math.square(tf.math.sub(w, tf.constant(3f)));
      Output<?>[] gradient = graph.addGradients(loss.asOutput(), new Output<?>[] {w.asOutput()});
      Operand<TFloat32> slope = tf.identity(Ops.create(graph).reshape(
          (Operand<TFloat32>) gradient[0], tf.constant(new int[0])));
      Operand<TFloat32> start = tf.assign(w, tf.constant(0f));
      Operand<TFloat32> step = tf.assignSub(w, tf.math.mul(tf.constant(0.25f), slope));
      try (Session session = new Session(graph)) {
        session.runner().addTarget(start).run();
        for (int i = 0; i < 30; ++i) session.runner().addTarget(step).run();
        try (TFloat32 value = (TFloat32) session.runner().fetch(w).run().get(0)) {
          check(Math.abs(value.getFloat() - 3) < 1e-4, "the minimum was not found");
        }
      }
    }
  }

  private static void eagerOpsAreRun() {
    try (EagerSession session = EagerSession.create()) {
      Ops tf = Ops.create(session);
      Operand<TFloat32> sum = tf.math.add(tf.constant(2f), tf.constant(40f));
      check(sum.asTensor().getFloat() == 42, "a wrong sum");
      Operand<TString> joined = tf.strings.join(
          java.util.Arrays.asList(tf.constant("a"), tf.constant("b")));
      check(joined.asTensor().getObject().equals("ab"), "a wrong string");
      Output<?> queue = session.opBuilder("FIFOQueue", "queue", tf.scope())
          .setAttr("component_types", new DataType[] {DataType.DT_INT32})
          .build().output(0);
      check(queue.dataType() == DataType.DT_STRING, "a queue has no name");
    }
  }

  private static void errorsAreThrown() {
    try (EagerSession session = EagerSession.create()) {
      Ops tf = Ops.create(session);
      try {
        tf.linalg.matMul(tf.constant(new float[2][3]), tf.constant(new float[2][3]));
        check(false, "shapes that do not fit were taken");
      } catch (org.tensorflow.exceptions.TFInvalidArgumentException expected) {
        check(expected.getMessage() != null, "an error without a message");
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    libraryIsLeats();
    sumsAreRun();
    variableIsTrained();
    eagerOpsAreRun();
    errorsAreThrown();
  }
}
