// figure1: figure 1 of the TensorFlow white paper (arXiv 1603.04467) in C.
//
// The figure builds a layer of rectified linear units and a cost, and runs ten steps that fetch the
// cost. Comments here quote its lines. Section 4.1 goes on with gradients of the cost, whose
// sums this program prints at the end.
//
//   figure1            prints ten costs, then the sums of the gradients of one more
#include <stdio.h>
#include <stdlib.h>

#include "leat/gradients.h"
#include "leat/train.h"

#define IN 784
#define OUT 100
#define COLUMNS 100  // inputs that are computed at once; b adds up with rows of as many

static void check(const char* what, const TF_Status* status) {
  if (TF_GetCode(status) == TF_OK) return;
  fprintf(stderr, "figure1: %s: %s\n", what, TF_Message(status));
  exit(1);
}

typedef struct {
  TF_Output b, W, x, C;
  leat_derivative_t slopes[3];  // of C, by b, W and x
} layer_t;

static layer_t build(leat_scope_t* s) {
  layer_t l;
  // b = tf.Variable(tf.zeros([100]))
  l.b = leat_variable(s, "b", TF_FLOAT, 1, (int64_t[]){COLUMNS}, leat_initializer_constant(0));
  // W = tf.Variable(tf.random_uniform([784, 100], -1, 1))
  l.W = leat_variable(s, "W", TF_FLOAT, 2, (int64_t[]){IN, OUT},
                      leat_initializer_uniform(-1, 1, 0));
  // x = tf.placeholder(name="x")
  l.x = leat_placeholder(s, "x", TF_FLOAT, 2, (int64_t[]){OUT, COLUMNS});
  // relu = tf.nn.relu(tf.matmul(W, x) + b)
  TF_Output relu = leat_relu(s, leat_add(s, leat_matmul(s, l.W, l.x), l.b));
  // C = [...], for which the sum is taken here
  TF_Output axes = leat_constant_ints(s, 2, (int32_t[]){0, 1});
  l.C = (TF_Output){leat_operation(s, "Sum", "C", (TF_Output[]){relu, axes}, 2, NULL, 0), 0};
  check("building the graph", leat_scope_status(s));
  // [db, dW, dx] = tf.gradients(C, [b, W, x])
  leat_gradients(leat_scope_graph(s), &l.C, 1, (TF_Output[]){l.b, l.W, l.x}, 3, NULL, l.slopes,
                 leat_scope_status(s));
  check("adding the gradients", leat_scope_status(s));
  return l;
}

static TF_Tensor* random_input(void) {
  TF_Tensor* input = TF_AllocateTensor(TF_FLOAT, (int64_t[]){OUT, COLUMNS}, 2,
                                       OUT * COLUMNS * sizeof(float));
  if (!input) exit(1);
  float* values = TF_TensorData(input);
  for (int i = 0; i < OUT * COLUMNS; ++i) values[i] = (float)rand() / (float)RAND_MAX;
  return input;
}

// The sum of the elements of a tensor of floats.
static double sum(const TF_Tensor* tensor) {
  const float* values = TF_TensorData(tensor);
  double total = 0;
  for (int64_t i = 0; i < TF_TensorElementCount(tensor); ++i) total += (double)values[i];
  return total;
}

// Fetches |count| tensors with a new input in the place of x.
static void run(TF_Session* session, const layer_t* l, const TF_Output* fetches, int count,
                TF_Tensor** results, TF_Status* status) {
  TF_Tensor* input = random_input();
  TF_SessionRun(session, NULL, &l->x, &input, 1, fetches, results, count, NULL, 0, NULL, status);
  TF_DeleteTensor(input);
  check("running a step", status);
}

int main(void) {
  TF_Status* status = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  layer_t l = build(s);
  TF_Operation* initializer = leat_variables_initializer(s);

  // s = tf.Session()
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(graph, options, status);
  TF_DeleteSessionOptions(options);
  check("opening a session", status);
  leat_target_run(session, initializer, status);
  check("initializing the variables", status);

  // for step in xrange(0, 10): result = s.run(C, feed_dict={x: input}); print step, result
  for (int step = 0; step < 10; ++step) {
    TF_Tensor* result;
    run(session, &l, &l.C, 1, &result, status);
    printf("%d %.3f\n", step, (double)*(float*)TF_TensorData(result));
    TF_DeleteTensor(result);
  }

  TF_Output derivatives[] = {l.slopes[0].values, l.slopes[1].values, l.slopes[2].values};
  const char* names[] = {"db", "dW", "dx"};
  TF_Tensor* results[3];
  run(session, &l, derivatives, 3, results, status);
  for (int i = 0; i < 3; ++i) {
    printf("sum of %s: %.3f\n", names[i], sum(results[i]));
    TF_DeleteTensor(results[i]);
  }

  TF_DeleteSession(session, status);
  leat_scope_free(s);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}
