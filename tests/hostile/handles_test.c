// Every op that makes a resource with every op that takes the handle of one. The pairs are found
// in the list of registered ops, so a new op is tested without a line here, but for the family of
// resources that its name must tell (family_of). An op that gets a handle of another family must
// refuse it: INVALID_ARGUMENT for a resource handle, which carries the name of its type; for the
// two strings of old graphs, where the type is part of the key that is looked up, also NOT_FOUND,
// as in TensorFlow. Whatever a pair of one family does must be clean. Each maker runs in a process
// of its own, so that a pair that ends the process is named.
//
// The other inputs of an op are fed three times: as scalars, vectors and matrices of one element,
// so that the checks of their shapes do not stand before the one of the handle.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/signature.h"
#include "scratch.h"
#include "session/scene.h"

enum { kMostAttrs = 24, kMostInputs = 32, kMostNodes = 2 };

typedef struct progress_s {
  char pair[300];
  volatile int pairs, refused, wrong;
} progress_t;

static progress_t* progress;

// ---- Families -----------------------------------------------------------------------------------

// The first part that an op's name contains says what it works on. Names that fit no part are those
// of variables. Dense and sparse accumulators are one family for the ops that only count.
static const char* family_of(const char* op) {
  static const char* const parts[][2] = {
      {"SparseConditionalAccumulator", "sparse accumulator"},
      {"SparseAccumulator", "sparse accumulator"},
      {"AccumulatorNumAccumulated", "any accumulator"},
      {"AccumulatorSetGlobalStep", "any accumulator"},
      {"Accumulator", "accumulator"},
      // These let go of a handle or pass its name on; TensorFlow does not ask what type it has.
      {"DestroyResource", "any"},
      {"DeleteMemoryCache", "any"},
      {"DeleteSeedGenerator", "any"},
      {"DeleteRandomSeedGenerator", "any"},
      {"FakeQueue", "any"},
      // Handles that name nothing: datasets take one for leave to make their own.
      {"Dummy", "none"},
      {"SessionHandle", "session handle"},
      {"Mutex", "mutex"},
      {"Collective", "communicator"},
      {"Barrier", "barrier"},
      {"Queue", "queue"},
      {"Reader", "reader"},
      {"TensorArray", "tensor array"},
      {"Stack", "stack"},
      {"MemoryCache", "memory cache"},
      {"CacheDataset", "memory cache"},
      {"Seed", "seed generator"},
      {"ShuffleDataset", "seed generator"},
      {"ShuffleAndRepeat", "seed generator"},
      {"RandomDataset", "seed generator"},
      {"Iterator", "iterator"},
      {"Table", "table"},
  };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    if (strstr(op, parts[i][0])) return parts[i][1];
  }
  return "variable";
}

static bool agree(const char* maker, const char* taker) {
  const char *made = family_of(maker), *taken = family_of(taker);
  return !strcmp(made, taken) || !strcmp(taken, "any") || !strcmp(made, "none") ||
         (!strcmp(taken, "any accumulator") && strstr(made, "accumulator"));
}

// What TensorFlow answers to a wrong handle with OK, and so do we.
static bool answers_any(const char* taker) {
  return !strcmp(taker, "VarIsInitializedOp");  // no such variable is initialised: false
}

// ---- Building -----------------------------------------------------------------------------------

static int plain_type(const leat_op_attr_t* attr) {
  bool is_key = leat_string_view_find(attr->name, 'k') == 0 ||
                leat_string_view_equals(attr->name, "Tkey") ||
                leat_string_view_equals(attr->name, "Tin");
  int wanted = is_key ? LEAT_DTYPE_INT64 : LEAT_DTYPE_FLOAT;
  if (attr->allowed_types == 0 || leat_dtype_in(wanted, attr->allowed_types)) return wanted;
  return attr->allowed_type_list[0];
}

// The simplest value that an attribute may have; false for functions and tensors.
static bool plain_value(const leat_op_attr_t* attr, leat_attr_value_t* out) {
  static const int64_t ones[] = {1};
  static const int32_t floats[] = {LEAT_DTYPE_FLOAT};
  static const leat_partial_shape_t vectors[] = {{1, ones}};
  static const leat_string_view_t texts[] = {{0}};
  *out = (leat_attr_value_t){.kind = (uint8_t)attr->kind, .is_list = attr->is_list};
  out->count = attr->is_list;
  switch (attr->kind) {
    case LEAT_ATTR_INT:
      if (attr->is_list) out->items = ones;
      else out->i = 1;
      return true;
    case LEAT_ATTR_TYPE:
      if (attr->is_list) out->items = floats;
      else out->type = plain_type(attr);
      return true;
    case LEAT_ATTR_SHAPE:
      if (attr->is_list) out->items = vectors;
      else out->shape = vectors[0];
      return true;
    case LEAT_ATTR_STRING:
      if (attr->is_list) out->items = texts;
      return true;
    case LEAT_ATTR_FLOAT:
    case LEAT_ATTR_BOOL: return !attr->is_list;
    default: return false;
  }
}

static bool is_handle(const leat_op_argument_t* argument) {
  return argument->dtype == LEAT_DTYPE_RESOURCE ||
         (argument->dtype == LEAT_DTYPE_STRING && argument->is_ref);
}

static bool has_handle(const leat_op_argument_t* arguments, int count) {
  for (int i = 0; i < count; ++i) {
    if (is_handle(&arguments[i])) return true;
  }
  return false;
}

typedef struct built_s {
  bool plain;  // the maker's shapes and lists are plain values even where they have defaults
  scene_t scene;
  int32_t maker, taker;
  leat_output_t feeds[kMostInputs * kMostNodes];
  int feed_types[kMostInputs * kMostNodes];
  int feed_count;
} built_t;

// Adds a node of |op| whose handles are |handle| (of |handle_type|) and whose other inputs are
// placeholders. -1 when its attributes, or the graph, do not allow it.
static int32_t add_node(built_t* t, const leat_op_t* op, leat_output_t handle, int handle_type) {
  bool plain = t->plain && handle_type < 0;
  leat_attr_t attrs[kMostAttrs];
  leat_output_t inputs[kMostInputs];
  int input_count = 0;
  if (op->attr_count > kMostAttrs) return -1;
  for (int i = 0; i < op->attr_count; ++i) {
    attrs[i].name = op->attrs[i].name;
    attrs[i].value = op->attrs[i].default_value;
    bool is_plain = plain && (op->attrs[i].is_list || op->attrs[i].kind == LEAT_ATTR_SHAPE);
    if (op->attrs[i].has_default && !is_plain) continue;
    if (!plain_value(&op->attrs[i], &attrs[i].value)) return -1;
  }
  for (int a = 0; a < op->input_count; ++a) {
    int64_t count = leat_signature_argument_count(&op->inputs[a], attrs);
    for (int64_t k = 0; k < count; ++k) {
      int type = leat_signature_argument_type(&op->inputs[a], attrs, k);
      if (input_count == kMostInputs) return -1;
      if (is_handle(&op->inputs[a])) {
        if (type != handle_type) return -1;
        inputs[input_count++] = handle;
        continue;
      }
      inputs[input_count] = leat_build(&t->scene.b, "Placeholder", LEAT_NO_INPUTS,
                                       LEAT_ATTRS(LEAT_TYPE("dtype", leat_dtype_base(type))));
      t->feeds[t->feed_count] = inputs[input_count];
      t->feed_types[t->feed_count++] = leat_dtype_base(type);
      ++input_count;
    }
  }
  LEAT_EXPECT_OK(t->scene.b.status);
  leat_node_spec_t spec = {.name = op->name, .op = op, .inputs = inputs,
                           .input_count = input_count, .attrs = attrs,
                           .attr_count = op->attr_count};
  int32_t node = -1;
  leat_status_free(leat_graph_add_node(t->scene.graph, &spec, &node));
  return node;
}

// ---- Running ------------------------------------------------------------------------------------

// Runs |node| with feeds of |rank| that count up from 1 (objects: empty). A step that |may_wait|
// for others is given up soon; no other step needs its deadline.
static leat_status_t run(built_t* t, int32_t node, int rank, bool may_wait) {
  leat_tensor_t values[kMostInputs * kMostNodes];
  static const int64_t ones[] = {1, 1};
  leat_shape_t shape;
  LEAT_EXPECT_OK(leat_shape_create(rank, ones, &shape));
  for (int i = 0; i < t->feed_count; ++i) {
    LEAT_EXPECT_OK(
        leat_tensor_allocate(leat_buffer_source_host(), t->feed_types[i], &shape, &values[i]));
    leat_tensor_fill_zero(&values[i]);
    bool is_number = !leat_dtype_in(t->feed_types[i], LEAT_DTYPES_OBJECT);
    if (is_number) *(uint8_t*)values[i].data = t->feed_types[i] == LEAT_DTYPE_BOOL ? 1 : i + 1;
  }
  leat_run_t spec = {.feeds = t->feeds,
                     .feed_values = values,
                     .feed_count = t->feed_count,
                     .targets = &node,
                     .target_count = 1,
                     .timeout_ms = may_wait ? 20 : 5000};
  leat_status_t status = leat_session_run(scene_session(&t->scene), &spec);
  for (int i = 0; i < t->feed_count; ++i) leat_tensor_release(&values[i]);
  return status;
}

static void judge(const char* maker, const char* taker, bool by_value, leat_status_t status) {
  leat_status_code_t code = leat_status_code(status);
  bool right = agree(maker, taker) || answers_any(taker)
                   ? code != LEAT_INTERNAL
                   : code == LEAT_INVALID_ARGUMENT || (!by_value && code == LEAT_NOT_FOUND);
  if (code && !*leat_status_message(status)) right = false;
  if (!right) {
    ++progress->wrong;
    print_error("%s: %s %s\n", progress->pair, leat_status_code_name(code),
                status ? leat_status_message(status) : "");
  }
  progress->refused += code != 0;
  leat_status_free(status);
}

// How |maker| is made to run: whether with plain attributes, and the rank of its feeds (-1: not).
static int find_rank(const leat_op_t* maker, bool* out_plain) {
  int found = -1;
  for (int way = 0; way < 4 && found < 0; ++way) {
    built_t t = {.plain = way & 1};
    *out_plain = t.plain;
    scene_open(&t.scene);
    t.maker = add_node(&t, maker, (leat_output_t){0}, -1);
    leat_status_t status = t.maker < 0 ? leat_make_status(LEAT_UNKNOWN, "not built")
                                       : run(&t, t.maker, way / 2, false);
    if (!status) found = way / 2;
    leat_status_free(status);
    scene_close(&t.scene);
  }
  return found;
}

static void try_pair(const leat_op_t* maker, bool plain, int maker_rank,
                     const leat_op_t* taker) {
  built_t t = {.plain = plain};
  snprintf(progress->pair, sizeof progress->pair, "%s -> %s", maker->row->name, taker->row->name);
  scene_open(&t.scene);
  t.maker = add_node(&t, maker, (leat_output_t){0}, -1);
  bool may_wait = agree(maker->row->name, taker->row->name);
  int maker_feeds = t.feed_count, output = 0;
  while (!is_handle(&maker->outputs[output])) ++output;
  leat_output_t handle = {t.maker, output};
  int type = leat_graph_output_type(t.scene.graph, handle);
  t.taker = add_node(&t, taker, handle, type);
  // A maker with inputs wants them of its own rank, so the taker's are of that rank too.
  int least = maker_feeds ? maker_rank : 0, most = maker_feeds ? maker_rank : 2;
  for (int rank = least; t.taker >= 0 && rank <= most; ++rank) {
    leat_status_t status = run(&t, t.taker, rank, may_wait);
    judge(maker->row->name, taker->row->name, type == LEAT_DTYPE_RESOURCE, status);
  }
  progress->pairs += t.taker >= 0;
  scene_close(&t.scene);
}

// Private ops are those of the runtime, and probes those of other tests.
static const leat_op_t* find_op(const leat_runtime_t* runtime, int index) {
  const leat_op_t* op;
  const char* name = leat_op_registry_row(runtime->ops, index)->name;
  if (!strncmp(name, "Probe", 5)) return NULL;
  LEAT_EXPECT_OK(leat_op_registry_find(runtime->ops, leat_string_view_from(name), &op));
  return op;
}

// Exits with 1 when |maker| makes nothing here.
static void child(const leat_runtime_t* runtime, const leat_op_t* maker) {
  bool plain;
  int rank = find_rank(maker, &plain);
  if (rank < 0) _exit(1);
  int count = leat_op_registry_count(runtime->ops);
  for (int i = 0; i < count; ++i) {
    const leat_op_t* taker = find_op(runtime, i);
    if (taker && has_handle(taker->inputs, taker->input_count)) {
      try_pair(maker, plain, rank, taker);
    }
  }
  fflush(stderr);
  _exit(0);
}

// Ops that make no resource from plain attributes and zeros.
static bool needs_more(const char* op) {
  static const char* const ops[] = {
      "FakeQueue",                   // the handle of a queue
      "GetSessionHandleV2",          // a tensor to keep, of any type
      "IteratorFromStringHandle",    // the text of a handle
      "IteratorFromStringHandleV2",
      "LMDBReader",                  // a kernel: support for LMDB was removed
      "FixedLengthRecordReader",     // a graph of an old version, as the next four
      "IdentityReader",
      "TFRecordReader",
      "TensorArray",
      "TextLineReader",
      "OneShotIterator",             // a function
      "CollectiveInitializeCommunicator",  // a rank below the size of the group
      "MultiDeviceIterator",         // names of devices
      "AnonymousMultiDeviceIterator",
      "AnonymousMultiDeviceIteratorV3",
      "MultiDeviceIteratorFromStringHandle",  // what one of them wrote
      "TensorArrayGrad",             // the handle of a TensorArray
      "TensorArrayGradV3",
      "TensorArrayGradWithShape",
  };
  for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
    if (!strcmp(op, ops[i])) return true;
  }
  return false;
}

static void every_pair(void** state) {
  const leat_runtime_t* runtime;
  LEAT_EXPECT_OK(probe_runtime(&runtime));
  progress =
      mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(progress != MAP_FAILED);
  int bad = 0, makers = 0;
  for (int i = 0; i < leat_op_registry_count(runtime->ops); ++i) {
    const leat_op_t* maker = find_op(runtime, i);
    if (!maker || !has_handle(maker->outputs, maker->output_count)) continue;
    int pid = fork(), how = 0;
    if (pid == 0) child(runtime, maker);
    assert_true(pid > 0);
    waitpid(pid, &how, 0);
    bool made = WIFEXITED(how) && WEXITSTATUS(how) == 0;
    bool absent = WIFEXITED(how) && WEXITSTATUS(how) == 1;
    makers += made;
    if (made || (absent && needs_more(maker->row->name))) continue;
    ++bad;
    print_error("%s: %s\n", absent ? maker->row->name : progress->pair,
                absent ? "makes nothing" : "CRASH");
  }
  print_message("%d makers, %d pairs, %d runs refused\n", makers, progress->pairs,
                progress->refused);
  assert_int_equal(bad, 0);
  assert_int_equal(progress->wrong, 0);
  assert_true(progress->pairs > 3500);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_pair)};
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
