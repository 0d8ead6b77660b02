// White paper, section 7: common programming idioms. One straight line through eight points is
// learnt by several devices, in each way that the paper names: synchronous replicas, which must
// equal the sequential computation; asynchronous ones, of which one that is stuck does not keep the
// others; a model in two parts on two devices; and concurrent steps on one device. Waiting is
// arranged by queues, so nothing depends on speed: concurrent steps each announce themselves and
// then wait for the others, and would hang if they ran one by one. examples/parallel does the same
// with a perceptron.
#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "leat/train.h"
#include "paper/partitions.h"

enum { kPoints = 8, kDevices = 4, kSteps = 40 };
#define CPUS "device_count { key: 'CPU' value: 4 }"

typedef struct model_s {
  TF_Graph* graph;
  leat_scope_t* scope;
  TF_Session* session;
  TF_Status* status;
  TF_Output w, b;
} model_t;

static model_t begin(void) {
  model_t m = {.graph = TF_NewGraph(), .status = TF_NewStatus()};
  m.scope = leat_scope_create(m.graph);
  m.w = leat_variable(m.scope, "w", TF_FLOAT, 0, NULL, leat_initializer_constant(0));
  m.b = leat_variable(m.scope, "b", TF_FLOAT, 0, NULL, leat_initializer_constant(0));
  return m;
}

static void start(model_t* m) {
  TF_Operation* init = leat_variables_initializer(m->scope);
  kit_ok(leat_scope_status(m->scope));
  m->session = paper_session(m->graph, CPUS);
  paper_run(m->session, init);
}

static void end(model_t* m) {
  kit_close(m->session);
  leat_scope_free(m->scope);
  TF_DeleteGraph(m->graph);
  TF_DeleteStatus(m->status);
}

static leat_scope_t* on_device(leat_scope_t* s, int device) {
  char name[32];
  snprintf(name, sizeof name, "/device:CPU:%d", device);
  return leat_scope_on(s, name);
}

// The squared error of w x + b over every |parts|-th point of y = 3x - 2 from |part| on.
static TF_Output error_of(leat_scope_t* s, TF_Output w, TF_Output b, int part, int parts) {
  float x[kPoints], y[kPoints];
  int64_t count = 0;
  for (int i = part; i < kPoints; i += parts, ++count) {
    x[count] = (float)i / 4 - 1;
    y[count] = 3 * x[count] - 2;
  }
  TF_Output line = leat_add(s, leat_multiply(s, leat_constant_floats(s, 1, &count, x), w), b);
  TF_Output error = leat_subtract(s, line, leat_constant_floats(s, 1, &count, y));
  return leat_mean(s, leat_multiply(s, error, error));
}

static TF_Output mean_of(leat_scope_t* s, const TF_Output* values, int count) {
  TF_Output sum = {leat_operation(s, "AddN", NULL, values, count, NULL, 0), 0};
  return leat_multiply(s, sum, leat_constant_float(s, 1.0f / (float)count));
}

// ---- Data parallel training ---------------------------------------------------------------------

// Replicas that each take a share of the points; their gradients' mean is applied.
static TF_Operation* add_synchronous(model_t* m, int replicas, TF_Output* out_loss) {
  TF_Output losses[kDevices], slopes[2][kDevices], variables[] = {m->w, m->b};
  TF_Operation* updates[2];
  for (int i = 0; i < replicas; ++i) {
    TF_Output both[2];
    leat_scope_t* s = on_device(m->scope, i);
    losses[i] = error_of(s, m->w, m->b, i, replicas);
    TF_AddGradients(m->graph, &losses[i], 1, variables, 2, NULL, m->status, both);
    kit_ok(m->status);
    for (int k = 0; k < 2; ++k) slopes[k][i] = both[k];
    leat_scope_free(s);
  }
  TF_Output means[] = {mean_of(m->scope, slopes[0], replicas),
                       mean_of(m->scope, slopes[1], replicas)};
  leat_scope_t* after =
      leat_scope_after(m->scope, (TF_Operation*[]){means[0].oper, means[1].oper}, 2);
  for (int k = 0; k < 2; ++k) {
    TF_Output inputs[] = {leat_variable_at(m->scope, k), leat_constant_float(m->scope, 0.3f),
                          means[k]};
    updates[k] = leat_operation(after, "ApplyGradientDescent", NULL, inputs, 3, NULL, 0);
  }
  leat_scope_free(after);
  *out_loss = mean_of(m->scope, losses, replicas);
  return leat_group(m->scope, "train", updates, 2);
}

static void train_synchronously(int replicas, float losses[kSteps]) {
  TF_Output loss;
  model_t m = begin();
  TF_Operation* train = add_synchronous(&m, replicas, &loss);
  start(&m);
  paper_partitions_t parts = paper_partitions_open(m.session, loss);
  for (int i = 0; i < replicas; ++i) {
    char device[20];
    snprintf(device, sizeof device, "CPU:%d", i);
    assert_true(paper_partitions_count(&parts, device, "Sub") == 1);
  }
  paper_partitions_close(&parts);
  for (int i = 0; i < kSteps; ++i) {
    losses[i] = paper_fetch(m.session, loss);
    paper_run(m.session, train);
  }
  end(&m);
}

// "... parallelizing the computation of the gradient for a mini-batch across mini-batch elements
// ... and then combining the gradients and applying updates to the parameters synchronously, in
// order to behave exactly as if we were running the sequential SGD algorithm".
static void paper_7__synchronous_replicas_equal_one(void** state) {
  float one[kSteps], four[kSteps];
  train_synchronously(1, one);
  train_synchronously(kDevices, four);
  for (int i = 0; i < kSteps; ++i) assert_true(fabsf(one[i] - four[i]) <= 1e-5f);
  assert_true(four[kSteps - 1] < 1e-3f * four[0]);
}

typedef struct replica_s {
  TF_Session* session;
  TF_Operation* train;
} replica_t;

static void* train_replica(void* data) {
  const replica_t* replica = data;
  for (int i = 0; i < 4 * kSteps; ++i) paper_run(replica->session, replica->train);
  return NULL;
}

// "... each one of these replicas also applies the parameter updates to the model parameters
// asynchronously. In this configuration, there is one client thread for each of the graph
// replicas": a replica that is stuck does not keep the others.
static void paper_7__asynchronous_replicas_do_not_wait(void** state) {
  model_t m = begin();
  TF_Output losses[kDevices];
  replica_t replicas[kDevices];
  pthread_t threads[kDevices];
  const TF_DataType type = TF_FLOAT;
  leat_attribute_t types = leat_attribute_types("component_types", 1, &type);
  leat_attribute_t put_types = leat_attribute_types("Tcomponents", 1, &type);
  TF_Output queue = {leat_operation(m.scope, "FIFOQueueV2", "q", NULL, 0, &types, 1), 0};
  TF_Output number = leat_constant_float(m.scope, 1);
  TF_Operation* put = leat_operation(m.scope, "QueueEnqueueV2", NULL,
                                     (TF_Output[]){queue, number}, 2, &put_types, 1);
  TF_Operation* stuck =
      leat_operation(m.scope, "QueueDequeueV2", NULL, &queue, 1, &types, 1);
  for (int i = 0; i < kDevices; ++i) {
    leat_scope_t* device = on_device(m.scope, i);
    leat_scope_t* s = leat_scope_after(device, &stuck, i == 0);
    losses[i] = error_of(s, m.w, m.b, i, kDevices);
    if (i == 0) losses[i] = leat_multiply(s, losses[i], kit_out(stuck, 0));
    replicas[i].train = leat_minimize(m.scope, leat_optimizer_sgd(0.05f), losses[i]);
    leat_scope_free(s);
    leat_scope_free(device);
  }
  TF_Output all = error_of(m.scope, m.w, m.b, 0, 1);
  start(&m);
  float before = paper_fetch(m.session, all);
  for (int i = 0; i < kDevices; ++i) {
    replicas[i].session = m.session;
    pthread_create(&threads[i], NULL, train_replica, &replicas[i]);
  }
  for (int i = 1; i < kDevices; ++i) pthread_join(threads[i], NULL);
  assert_true(paper_fetch(m.session, all) < 1e-2f * before);
  for (int i = 0; i < 4 * kSteps; ++i) paper_run(m.session, put);
  pthread_join(threads[0], NULL);
  assert_true(paper_fetch(m.session, all) < 1e-2f * before);
  end(&m);
}

// ---- Model parallel training, concurrent steps --------------------------------------------------

// Trains with one factor of the model on |second_device| and gives the last loss, which must not
// depend on where it lies.
static float train_in_halves(int second_device) {
  model_t m = begin();
  leat_scope_t* second = on_device(m.scope, second_device);
  TF_Output v = leat_variable(second, "v", TF_FLOAT, 0, NULL, leat_initializer_constant(1));
  TF_Output loss = error_of(second, leat_multiply(second, m.w, v), m.b, 0, 1);
  TF_Operation* train = leat_minimize(m.scope, leat_optimizer_sgd(0.1f), loss);
  start(&m);
  for (int i = 0; i < kSteps; ++i) paper_run(m.session, train);
  paper_partitions_t parts = paper_partitions_open(m.session, loss);
  assert_int_equal(paper_partitions_count(&parts, "CPU:1", "Sub"), second_device == 1);
  assert_true(paper_partitions_count(&parts, "CPU:0", NULL) > 0);
  paper_partitions_close(&parts);
  float last = paper_fetch(m.session, loss);
  leat_scope_free(second);
  end(&m);
  return last;
}

// "... different portions of the model computation are done on different computational devices
// simultaneously for the same batch of examples."
static void paper_7__portions_of_a_model_lie_on_different_devices(void** state) {
  float together = train_in_halves(0), apart = train_in_halves(1);
  assert_true(fabsf(together - apart) <= 1e-6f);
  assert_true(apart < 0.5f);
}

// A step may end as soon as one of them is let go, and its successor must not take the next one's
// turn: the threads wait for each other after each round.
typedef struct round_s {
  replica_t step;
  pthread_barrier_t ended;
} round_t;

static void* run_rounds(void* data) {
  round_t* round = data;
  for (int i = 0; i < 4 * kSteps; ++i) {
    paper_run(round->step.session, round->step.train);
    pthread_barrier_wait(&round->ended);
  }
  return NULL;
}

// "... running a small number of concurrent steps ... on the same set of devices": steps of one
// signature, each of which says that it has begun and then waits until all have.
static void paper_7__steps_run_concurrently_on_a_device(void** state) {
  model_t m = begin();
  const TF_DataType type = TF_FLOAT;
  leat_attribute_t put_types = leat_attribute_types("Tcomponents", 1, &type);
  leat_attribute_t queue_attributes[] = {leat_attribute_types("component_types", 1, &type),
                                         leat_attribute_shapes("shapes", 1, (int[]){0}, NULL)};
  leat_scope_t* s = m.scope;
  TF_Output begun = {leat_operation(s, "FIFOQueueV2", "begun", NULL, 0, queue_attributes, 2), 0};
  TF_Output go = {leat_operation(s, "FIFOQueueV2", "go", NULL, 0, queue_attributes, 2), 0};
  TF_Output one = leat_constant_float(s, 1);
  TF_Operation* say = leat_operation(s, "QueueEnqueueV2", NULL, (TF_Output[]){begun, one}, 2,
                                     &put_types, 1);
  leat_scope_t* after = leat_scope_after(s, &say, 1);
  round_t round = {.step.train = leat_operation(after, "QueueDequeueV2", NULL, &go, 1,
                                                queue_attributes, 1)};
  TF_Output all[] = {begun, leat_constant_int(s, kDevices)};
  TF_Operation* wait =
      leat_operation(s, "QueueDequeueManyV2", NULL, all, 2, queue_attributes, 1);
  TF_Operation* release = leat_operation(s, "QueueEnqueueV2", NULL, (TF_Output[]){go, one}, 2,
                                         &put_types, 1);
  leat_scope_free(after);
  start(&m);
  round.step.session = m.session;
  pthread_barrier_init(&round.ended, NULL, kDevices);
  pthread_t threads[kDevices];
  for (int i = 0; i < kDevices; ++i) pthread_create(&threads[i], NULL, run_rounds, &round);
  for (int i = 0; i < 4 * kSteps; ++i) {
    paper_run(m.session, wait);
    for (int k = 0; k < kDevices; ++k) paper_run(m.session, release);
  }
  for (int i = 0; i < kDevices; ++i) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&round.ended);
  end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(paper_7__synchronous_replicas_equal_one),
      cmocka_unit_test(paper_7__asynchronous_replicas_do_not_wait),
      cmocka_unit_test(paper_7__portions_of_a_model_lie_on_different_devices),
      cmocka_unit_test(paper_7__steps_run_concurrently_on_a_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
