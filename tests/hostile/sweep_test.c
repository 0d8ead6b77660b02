// Every registered op with kernels, under inputs and attributes at the edges: shapes without
// elements, of rank 8 and 9, indices -1, 2^62, INT64_MIN, NaN... Whatever comes out, the process
// lives, a value that comes out has the type and a shape that inference admits, and an error has a
// message. Nobody writes these cases: they are drawn from a number, so that a failure can be
// repeated by that number. Cases run in child processes, which share a page that says where they
// are, so that one that ends its process is named and the sweep goes on with the next. Allocations
// are limited by an observer, since many cases ask for more memory than there is.
//
//   LEAT_SWEEP_CASES=100     cases an op          LEAT_SWEEP_OP=Conv    ops whose name contains it
//   LEAT_SWEEP_FIRST=0       number of the first case
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/observer.h"
#include "hostile/sweep_case.h"
#include "session/scene.h"

enum { kMostBytes = 1 << 26, kCaseSeconds = 60, kMostFailures = 40 };

// Where the child is; shared with the parent.
typedef struct progress_s {
  volatile int op;
  volatile int64_t number;
  volatile int64_t refused, failed, ran;
  volatile int wrong;  // results that are not what they must be
  char text[1000];
} progress_t;

static progress_t* progress;
static int64_t first_case, case_count;
static const char* wanted;

static leat_status_t limit_memory(void* data, size_t size_bytes) {
  (void)data;
  if (size_bytes <= kMostBytes) return leat_ok_status();
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "The sweep's limit is %d bytes", kMostBytes);
}

// ---- One case -----------------------------------------------------------------------------------

typedef struct built_s {
  leat_output_t feeds[kSweepInputs];
  leat_tensor_t values[kSweepInputs];  // borrowed
  int feed_count;
  int32_t inits[kSweepInputs];         // assignments to run before
  int init_count;
} built_t;

static leat_output_t add_variable(leat_builder_t* b, const sweep_input_t* input, built_t* built) {
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", input->value.dtype),
                         LEAT_SHAPE("shape", leat_partial_shape_of(&input->value.shape))};
  leat_output_t variable = leat_build(b, "VariableV2", LEAT_NO_INPUTS, (leat_attrs_t){attrs, 2});
  leat_output_t value = leat_build_constant(b, &input->value);
  built->inits[built->init_count++] = leat_build_binary(b, "Assign", variable, value).node;
  return variable;
}

// A handle of a variable that has a value, since most of what takes handles fails early without
// one.
static leat_output_t add_handle(leat_builder_t* b, built_t* built) {
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                         LEAT_SHAPE("shape", leat_partial_shape_unknown())};
  leat_output_t handle = leat_build(b, "VarHandleOp", LEAT_NO_INPUTS, (leat_attrs_t){attrs, 2});
  const float values[] = {1, 2, 3};
  leat_tensor_t three;
  leat_status_free(leat_tensor_vector(LEAT_DTYPE_FLOAT, values, 3, &three));
  leat_output_t value = leat_build_constant(b, &three);
  leat_tensor_release(&three);
  built->inits[built->init_count++] =
      leat_build_node(b, "AssignVariableOp", LEAT_INPUTS(handle, value), LEAT_NO_ATTRS);
  return handle;
}

static leat_output_t add_input(leat_builder_t* b, const sweep_input_t* input, built_t* built) {
  if (leat_dtype_is_ref(input->dtype)) return add_variable(b, input, built);
  bool objects = input->dtype == LEAT_DTYPE_RESOURCE || input->dtype == LEAT_DTYPE_VARIANT;
  if (input->dtype == LEAT_DTYPE_RESOURCE && !input->fed) return add_handle(b, built);
  if (!input->fed && !objects) return leat_build_constant(b, &input->value);
  leat_output_t fed = leat_build(b, "Placeholder", LEAT_NO_INPUTS,
                                 LEAT_ATTRS(LEAT_TYPE("dtype", input->dtype)));
  built->feeds[built->feed_count] = fed;
  built->values[built->feed_count++] = input->value;
  return fed;
}

// The node of the case; -1 when the graph refuses it.
static int32_t build(scene_t* s, const sweep_case_t* c, built_t* built) {
  leat_output_t inputs[kSweepInputs];
  leat_builder_t b = {.graph = s->graph};
  for (int i = 0; i < c->input_count; ++i) inputs[i] = add_input(&b, &c->inputs[i], built);
  if (b.status) {  // no variable of such a type
    leat_status_free(b.status);
    return -1;
  }
  leat_node_spec_t spec = {.name = LEAT_SV("case"), .op = c->op, .inputs = inputs,
                           .input_count = c->input_count, .attrs = c->attrs,
                           .attr_count = c->attr_count};
  int32_t node = -1;
  leat_status_t status = leat_graph_add_node(s->graph, &spec, &node);
  if (status) {
    if (!*leat_status_message(status)) ++progress->wrong;
    leat_status_free(status);
    return -1;
  }
  return node;
}

static bool admits(leat_partial_shape_t shape, const leat_shape_t* got) {
  if (shape.rank < 0) return true;
  bool same = shape.rank == got->rank;
  for (int d = 0; same && d < shape.rank; ++d) {
    same = shape.dims[d] < 0 || shape.dims[d] == leat_shape_dim(got, d);
  }
  return same;
}

// TensorFlow declares other shapes for these than its kernels give, and so do we.
static bool declares_otherwise(const char* op) {
  static const char* const ops[] = {
      "AccumulateNV2",           // what its attribute says
      "Eig", "SelfAdjointEigV2", "Svd",  // vectors that are not computed are scalars
      "FusedBatchNormV3",        // five dimensions under a format of four
      "LoopCond", "PlaceholderWithDefault",  // not checked when fed
      "ResourceConditionalAccumulator", "StackV2", "TensorArrayV3",  // a handle, not two strings
      "SoftmaxCrossEntropyWithLogits",  // labels of one row are broadcast
  };
  for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
    if (!strcmp(op, ops[i])) return true;
  }
  return false;
}

static void check_result(scene_t* s, leat_output_t fetch, const leat_tensor_t* got) {
  int type = leat_dtype_base(leat_graph_output_type(s->graph, fetch));
  const char* op = s->graph->nodes[fetch.node].op->row->name;
  bool fits = admits(leat_graph_output_shape(s->graph, fetch), &got->shape);
  if (got->dtype == type && (fits || declares_otherwise(op))) return;
  ++progress->wrong;
  fprintf(stderr, "WRONG: %s: output %d is %s%s\n", progress->text, fetch.index,
          leat_dtype_name(got->dtype), LEAT_SHAPE_TEXT(&got->shape));
}

static void run_case(scene_t* s, int32_t node, built_t* built) {
  for (int i = 0; i < built->init_count; ++i) {
    leat_status_free(scene_target(s, built->inits[i]));
  }
  leat_output_t fetches[16];
  leat_tensor_t got[16];
  int count = s->graph->nodes[node].output_count;
  if (count > 16) count = 16;
  for (int i = 0; i < count; ++i) fetches[i] = (leat_output_t){node, i};
  leat_run_t run = {.feeds = built->feeds,
                    .feed_values = built->values,
                    .feed_count = built->feed_count,
                    .fetches = fetches,
                    .fetch_values = got,
                    .fetch_count = count,
                    .targets = &node,
                    .target_count = 1,
                    .timeout_ms = 20};
  leat_status_t status = leat_session_run(scene_session(s), &run);
  if (status) {
    ++progress->failed;
    if (!*leat_status_message(status)) ++progress->wrong;
    leat_status_free(status);
    return;
  }
  ++progress->ran;
  for (int i = 0; i < count; ++i) {
    check_result(s, fetches[i], &got[i]);
    leat_tensor_release(&got[i]);
  }
}

// Draws one case, writes its text where the parent finds it after a crash, and runs it. An alarm
// ends a case that hangs.
static void sweep_case(const leat_op_t* op, int64_t number) {
  sweep_case_t c;
  built_t built = {.feed_count = 0};
  scene_t scene;
  alarm(kCaseSeconds);
  if (sweep_case_draw(op, (uint64_t)number, &c)) {
    sweep_case_print(&c, progress->text, sizeof progress->text);
    scene_open(&scene);
    scene.options.optimize = number & 1;
    scene.options.intra_op_threads = 2;
    int32_t node = build(&scene, &c, &built);
    if (node < 0) {
      ++progress->refused;
    } else {
      run_case(&scene, node, &built);
    }
    scene_close(&scene);
  }
  sweep_case_free(&c);
  alarm(0);
}

// ---- Processes ----------------------------------------------------------------------------------

static bool is_waiting(const leat_runtime_t* runtime, const leat_op_t* op) {
  leat_attr_t none;
  const leat_kernel_row_t* row;
  LEAT_EXPECT_OK(
      leat_kernel_registry_probe(runtime->kernels, op, &none, 0, LEAT_SV("CPU"), &row));
  return row && row->compute_async;
}

// Runs all cases from where |progress| stands: the parent moves it past a case that ended a child.
static void sweep_ops(const leat_runtime_t* runtime) {
  static const leat_observer_t observer = {.on_allocation = limit_memory};
  int count = leat_op_registry_count(runtime->ops);
  leat_observer_install(&observer);
  for (; progress->op < count; ++progress->op, progress->number = first_case) {
    const leat_op_t* op;
    const char* name = leat_op_registry_row(runtime->ops, progress->op)->name;
    if (wanted && !strstr(name, wanted)) continue;
    if (!strncmp(name, "Probe", 5)) continue;
    leat_status_t status =
        leat_op_registry_find(runtime->ops, leat_string_view_from(name), &op);
    if (status) ++progress->wrong;
    leat_status_free(status);
    if (status) continue;
    // One that waits for others runs out of time, mostly.
    int64_t end = first_case + (is_waiting(runtime, op) ? 1 + case_count / 20 : case_count);
    for (; progress->number < end; ++progress->number) sweep_case(op, progress->number);
  }
}

static void child(const char* folder) {
  const leat_runtime_t* runtime;
  if (chdir(folder)) _exit(3);  // ops that write files do it there
  leat_status_t status = probe_runtime(&runtime);
  if (status) _exit(3);
  sweep_ops(runtime);
  fflush(stderr);
  _exit(0);
}

static int64_t setting(const char* name, int64_t otherwise) {
  const char* text = getenv(name);
  return text ? strtoll(text, NULL, 10) : otherwise;
}

static void remove_folder(const char* folder) {
  char command[200];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command)) print_error("%s failed\n", command);
}

static void every_op(void** state) {
  char folder[] = "/tmp/leat_sweep_XXXXXX";
  assert_non_null(mkdtemp(folder));
  progress =
      mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(progress != MAP_FAILED);
  first_case = setting("LEAT_SWEEP_FIRST", 0);
  case_count = setting("LEAT_SWEEP_CASES", 100);
  wanted = getenv("LEAT_SWEEP_OP");
  progress->number = first_case;
  int crashes = 0, ended;
  do {
    int pid = fork(), how = 0;
    if (pid == 0) child(folder);
    assert_true(pid > 0);
    waitpid(pid, &how, 0);
    ended = WIFEXITED(how) && WEXITSTATUS(how) == 0;
    if (!ended) {
      ++crashes;
      print_error("%s: case %lld: %s\n",
                  WIFSIGNALED(how) && WTERMSIG(how) == SIGALRM ? "HANGS" : "CRASH",
                  (long long)progress->number, progress->text);
      ++progress->number;
    }
  } while (!ended && crashes < kMostFailures);
  print_message("%lld refused, %lld failed, %lld ran\n", (long long)progress->refused,
                (long long)progress->failed, (long long)progress->ran);
  remove_folder(folder);
  assert_int_equal(crashes, 0);
  assert_int_equal(progress->wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_op)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
