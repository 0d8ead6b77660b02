// Graph optimizers of plug-ins (grappler.h): one is loaded for the CPU, and does what the running
// test wants with the graph of a step, as text: y = tanh(x * c + x) with x fed. What comes back
// runs, unless it is no graph; what an optimizer may ask of the graph is asked in it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capi/kit.h"
#include "leat/inspect.h"
#include "tensorflow/c/c_api_experimental.h"
#include "tensorflow/c/env.h"
#include "tensorflow/c/experimental/grappler/grappler.h"

// ---- The optimizer ------------------------------------------------------------------------------

typedef struct plan_s {
  const char* from;  // in the graph's text, to become |to|; NULL: the graph stays as it came
  const char* to;
  void (*look)(const TF_Buffer* graph, const TF_GrapplerItem* item);
  const char* failure;
  bool gives_junk, gives_nothing;
} plan_t;
static plan_t plan;
static int made, ended, calls;
static TF_Status* status;

static void* create(void) {
  ++made;
  return &made;
}

static void destroy(void* object) {
  assert_ptr_equal(object, &made);
  ++ended;
}

static void free_data(void* data, size_t length) { free(data); }

static void give(TF_Buffer* out, const void* data, size_t size) {
  void* copy = malloc(size + 1);
  memcpy(copy, data, size);
  *out = (TF_Buffer){copy, size, free_data};
}

// Gives the graph with the first |plan.from| in its text replaced.
static void edit(const TF_Buffer* graph, TF_Buffer* out) {
  TF_Buffer* text = leat_message_to_text("GraphDef", graph, status);
  kit_ok(status);
  char* all = calloc(1, text->length + strlen(plan.to) + 1);
  memcpy(all, text->data, text->length);
  char* place = strstr(all, plan.from);
  assert_non_null(place);
  const size_t rest = strlen(place) - strlen(plan.from) + 1;
  memmove(place + strlen(plan.to), place + strlen(plan.from), rest);
  memcpy(place, plan.to, strlen(plan.to));
  TF_Buffer* edited = TF_NewBufferFromString(all, strlen(all));
  TF_Buffer* bytes = leat_message_from_text("GraphDef", edited, status);
  kit_ok(status);
  give(out, bytes->data, bytes->length);
  TF_DeleteBuffer(bytes);
  TF_DeleteBuffer(edited);
  TF_DeleteBuffer(text);
  free(all);
}

static void optimize(void* object, const TF_Buffer* graph, const TF_GrapplerItem* item,
                     TF_Buffer* out, TF_Status* s) {
  ++calls;
  assert_ptr_equal(object, &made);
  assert_null(out->data);
  if (plan.look) plan.look(graph, item);
  if (plan.failure) TF_SetStatus(s, TF_INTERNAL, plan.failure);
  else if (plan.gives_junk) give(out, "\xff\xff\xff", 3);
  else if (plan.from) edit(graph, out);
  else if (!plan.gives_nothing) give(out, graph->data, graph->length);
}

// ---- Loading ------------------------------------------------------------------------------------

static int fault;  // which field is missing
static void initialize(TP_OptimizerRegistrationParams* params, TF_Status* s) {
  assert_int_equal(params->struct_size, TP_OPTIMIZER_REGISTRATION_PARAMS_STRUCT_SIZE);
  assert_int_equal(params->optimizer->struct_size, TP_OPTIMIZER_STRUCT_SIZE);
  assert_int_equal(params->optimizer_configs->struct_size, TP_OPTIMIZER_CONFIGS_STRUCT_SIZE);
  assert_int_equal(params->patch_version, GO_PATCH);
  params->device_type = fault == 1 ? NULL : "CPU";
  params->optimizer_configs->constant_folding = TF_TriState_Off;
  *params->optimizer = (TP_Optimizer){TP_OPTIMIZER_STRUCT_SIZE, NULL, create,
                                      fault == 2 ? NULL : optimize, destroy};
  if (fault == 3) params->optimizer->struct_size = 0;
  if (fault == 4) params->optimizer_configs->struct_size = 0;
  if (fault == 5) params->struct_size = 0;
  if (fault == 6) TF_SetStatus(s, TF_ABORTED, "not today");
}

// Loads the plug-in; NULL and |status| where that fails.
static TF_Library* load(void) {
  char path[1000];
  snprintf(path, sizeof path, "%s/lib/graph_hook_plugin.so", getenv("LEAT_BUILD_DIR"));
  void* handle = TF_LoadSharedLibrary(path, status);
  kit_ok(status);
  void (**hook)(TP_OptimizerRegistrationParams*, TF_Status*) =
      TF_GetSymbolFromLibrary(handle, "graph_hook_initialize", status);
  kit_ok(status);
  *hook = initialize;
  return TF_LoadPluggableDeviceLibrary(path, status);
}

static void expect_refused(int missing, TF_Code code, const char* text) {
  fault = missing;
  assert_null(load());
  kit_expect_text(status, code, text);
}

static int load_plugin(void** state) {
  status = TF_NewStatus();
  expect_refused(1, TF_FAILED_PRECONDITION, "'device_type' field");
  expect_refused(2, TF_FAILED_PRECONDITION, "'optimize_func' field in TP_Optimizer must be set.");
  expect_refused(3, TF_FAILED_PRECONDITION, "must be set to TP_OPTIMIZER_STRUCT_SIZE.");
  expect_refused(4, TF_FAILED_PRECONDITION, "TP_OPTIMIZER_CONFIGS_STRUCT_SIZE");
  expect_refused(5, TF_FAILED_PRECONDITION, "TP_OPTIMIZER_REGISTRATION_PARAMS_STRUCT_SIZE");
  expect_refused(6, TF_ABORTED, "not today");
  fault = 0;
  TF_Library* library = load();
  kit_ok(status);
  fault = 6;  // a library is initialized once
  assert_ptr_equal(load(), library);
  kit_ok(status);
  return 0;
}

static int end(void** state) {
  TF_DeleteStatus(status);
  return 0;
}

// ---- The graph ----------------------------------------------------------------------------------

static TF_Graph* graph;
static TF_Operation *x, *sum, *y, *z;

static int set_up(void** state) {
  plan = (plan_t){NULL};
  made = ended = calls = 0;
  graph = TF_NewGraph();
  x = kit_shaped(graph, "x", TF_FLOAT, 1, (int64_t[]){3});
  TF_Operation* c = kit_const(graph, "c", kit_floats(3, (float[]){1, 2, 3}));
  sum = kit_binary(graph, "AddV2", "sum", kit_binary(graph, "Mul", "product", x, c), x);
  y = kit_unary(graph, "Neg", "y", sum);
  z = kit_unary(graph, "Exp", "z", sum);
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteGraph(graph);
  return 0;
}

// Runs a step that fetches |y| and runs |z| and |y|, with x = {1, 2, 3}; the sum of y's elements.
static float run_with(const char* config_text) {
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Buffer* text = TF_NewBufferFromString(config_text, strlen(config_text));
  TF_Buffer* config = leat_message_from_text("ConfigProto", text, status);
  kit_ok(status);
  TF_SetConfig(options, config->data, config->length, status);
  TF_Session* session = TF_NewSession(graph, options, status);
  TF_Output feed = kit_out(x, 0), fetch = kit_out(y, 0);
  const TF_Operation* targets[] = {z, y};
  TF_Tensor *in = kit_floats(3, (float[]){1, 2, 3}), *out = NULL;
  TF_SessionRun(session, NULL, &feed, &in, 1, &fetch, &out, 1, targets, 2, NULL, status);
  float total = 0;
  for (int i = 0; out && i < 3; ++i) total += ((float*)TF_TensorData(out))[i];
  TF_DeleteTensor(in);
  TF_DeleteTensor(out);
  TF_DeleteBuffer(text);
  TF_DeleteBuffer(config);
  TF_DeleteSessionOptions(options);
  kit_close(session);
  return total;
}

static void expect_total(float total) {
  assert_float_equal(run_with(""), total, 1e-5);
  kit_ok(status);
  assert_int_equal(calls, 1);
  assert_int_equal(made, 1);
  assert_int_equal(ended, 1);
}

// ---- Tests --------------------------------------------------------------------------------------

static void test_rewrites(void** state) {
  plan = (plan_t){.from = "op: \"AddV2\"", .to = "op: \"Sub\""};
  expect_total(-(0 + 2 + 6));
}

// A new node without a device is placed, and a node that nobody needs may be in the graph.
static void test_adds_nodes(void** state) {
  plan = (plan_t){.from = "op: \"Neg\"\n  input: \"sum\"",
                  .to = "op: \"Neg\" input: \"twice\" "
                  "attr { key: \"T\" value { type: DT_FLOAT } } } "
                  "node { name: \"useless\" op: \"NoOp\" } "
                   "node { name: \"twice\" op: \"AddV2\" input: \"sum\" input: \"sum\" "
                  "attr { key: \"T\" value { type: DT_FLOAT } } } node { name: \"y2\" op: \"Neg\" "
                  "input: \"x\""};
  expect_total(-2 * (2 + 6 + 12));
}

static void test_leaves_the_graph(void** state) { expect_total(-(2 + 6 + 12)); }

// What is no graph is passed over.
static void test_failures(void** state) {
  const plan_t kPlans[] = {{.failure = "no luck"},
                           {.gives_junk = true},
                           {.from = "op: \"AddV2\"", .to = "op: \"NoSuchOp\""},
                           {.from = "input: \"product\"", .to = "input: \"nothing\""},
                           {.from = "device: \"/job:localhost", .to = "device: \"/job:elsewhere"},
                           {.from = "input: \"product\"", .to = "input: \"y\""}};
  for (size_t i = 0; i < sizeof kPlans / sizeof *kPlans; ++i) {
    plan = kPlans[i];
    made = ended = calls = 0;
    expect_total(-(2 + 6 + 12));
  }
}

static void test_drops_what_must_stay(void** state) {
  plan = (plan_t){.gives_nothing = true};
  run_with("");
  kit_expect_text(status, TF_INVALID_ARGUMENT, "device type 'CPU' dropped node 'x'");
  plan = (plan_t){.from = "name: \"z\"", .to = "name: \"zz\""};
  run_with("");
  kit_expect_text(status, TF_INVALID_ARGUMENT, "dropped node 'z'");
  plan = (plan_t){.from = "op: \"Neg\"\n  input: \"sum\"",
                  .to = "op: \"Shape\"\n  input: \"sum\""};
  run_with("");
  kit_expect_text(status, TF_INVALID_ARGUMENT, "type of output 0 of node 'y'");
}

static void test_switches(void** state) {
  plan = (plan_t){.from = "op: \"AddV2\"", .to = "op: \"Sub\""};
  assert_float_equal(
      run_with("graph_options { rewrite_options { use_plugin_optimizers: OFF } }"), -20, 1e-5);
  assert_int_equal(calls, 0);
  // A list of optimizers does not name it, and does not turn it off.
  assert_float_equal(run_with("graph_options { rewrite_options { optimizers: 'remap' } }"), -8,
                     1e-5);
  run_with("graph_options { rewrite_options { disable_meta_optimizer: true } }");
  assert_int_equal(calls, 1);
}

static void expect_names(void (*size)(const TF_GrapplerItem*, int*, size_t*, TF_Status*),
                         void (*list)(const TF_GrapplerItem*, char**, size_t*, int, void*, size_t,
                                      TF_Status*),
                         const TF_GrapplerItem* item, int count, const char* const* names) {
  int found = 0;
  size_t bytes = 0;
  size(item, &found, &bytes, status);
  kit_ok(status);
  assert_int_equal(found, count);
  char *values[8], storage[64];
  size_t lengths[8];
  list(item, values, lengths, count, storage, bytes, status);
  kit_ok(status);
  for (int i = 0; i < count; ++i) {
    assert_int_equal(lengths[i], strlen(names[i]));
    assert_memory_equal(values[i], names[i], lengths[i]);
  }
  list(item, values, lengths, count, storage, bytes - 1, status);
  kit_expect_text(status, TF_INVALID_ARGUMENT, "Not enough storage");
}

// The client's names, and the shape and the device of the placeholder.
static void look_at_names(const TF_Buffer* bytes, const TF_GrapplerItem* item) {
  expect_names(TF_GetNodesToPreserveListSize, TF_GetNodesToPreserveList, item, 3,
               (const char*[]){"x", "y", "z"});
  expect_names(TF_GetFetchNodesListSize, TF_GetFetchNodesList, item, 3,
               (const char*[]){"y:0", "z", "y"});
  TF_Buffer* text = leat_message_to_text("GraphDef", bytes, status);
  char* all = calloc(1, text->length + 1);
  memcpy(all, text->data, text->length);
  const char* placeholder = strstr(all, "name: \"x\"\n  op: \"Placeholder\"");
  assert_non_null(placeholder);
  assert_non_null(strstr(placeholder, "/job:localhost/replica:0/task:0/device:CPU:0"));
  assert_non_null(strstr(placeholder, "size: 3"));
  free(all);
  TF_DeleteBuffer(text);
}

static void test_names(void** state) {
  plan.look = look_at_names;
  expect_total(-20);
}

// The properties of |output| of "sum" or "c", as text without line ends.
static void expect_property(TF_GraphProperties* properties, const char* node, bool is_input,
                            int count, const char* text) {
  int found = -1;
  TF_Buffer* buffers[3] = {TF_NewBuffer(), TF_NewBuffer(), TF_NewBuffer()};
  (is_input ? TF_GetInputPropertiesListSize : TF_GetOutputPropertiesListSize)(properties, node,
                                                                              &found, status);
  kit_ok(status);
  assert_int_equal(found, count);
  void (*list)(TF_GraphProperties*, const char*, TF_Buffer**, int, TF_Status*) =
      is_input ? TF_GetInputPropertiesList : TF_GetOutputPropertiesList;
  list(properties, node, buffers, count, status);
  kit_ok(status);
  if (text) {
    TF_Buffer* shown =
        leat_message_to_text("TensorProperties", buffers[count - 1], status);
    kit_ok(status);
    char all[512] = "";
    for (size_t i = 0; i < shown->length && i < sizeof all - 1; ++i) {
      const char c = ((const char*)shown->data)[i];
      all[i] = c == '\n' ? ' ' : c;
    }
    assert_string_equal(all, text);
    TF_DeleteBuffer(shown);
    list(properties, node, buffers, count, status);
    kit_expect_text(status, TF_INVALID_ARGUMENT, "Passing non-empty TF_Buffer is invalid.");
  }
  list(properties, node, buffers, count + 1, status);
  kit_expect(status, TF_INVALID_ARGUMENT);
  for (int i = 0; i < 3; ++i) TF_DeleteBuffer(buffers[i]);
}

#define KNOWN "dtype: DT_FLOAT shape {   dim {     size: 3   } } "
#define UNKNOWN "dtype: DT_FLOAT shape {   unknown_rank: true } "
static void look_at_properties(const TF_Buffer* bytes, const TF_GrapplerItem* item) {
  TF_GraphProperties* properties = TF_NewGraphProperties(item);
  expect_property(properties, "sum", false, 0, NULL);  // nothing was inferred yet
  TF_InferStatically(properties, 0, 0, 0, 0, status);
  kit_ok(status);
  expect_property(properties, "x", false, 1, UNKNOWN);
  expect_property(properties, "sum", false, 1, UNKNOWN);
  expect_property(properties, "c", false, 1, KNOWN);
  TF_InferStatically(properties, 1, 0, 1, 0, status);
  kit_ok(status);
  expect_property(properties, "sum", false, 1, KNOWN);
  expect_property(properties, "sum", true, 2, KNOWN);
  expect_property(properties, "x", true, 0, NULL);
  expect_property(properties, "nothing", true, 0, NULL);
  expect_property(properties, "c", false, 1, KNOWN);
  expect_property(properties, "product", true, 2,
                  KNOWN "value {   dtype: DT_FLOAT   tensor_shape {     dim {       size: 3     } "
                        "  }   tensor_content: "
                        "\"\\000\\000\\200?\\000\\000\\000@\\000\\000@@\" } ");
  TF_DeleteGraphProperties(properties);
  TF_DeleteGraphProperties(NULL);
}

static void test_properties(void** state) {
  plan.look = look_at_properties;
  expect_total(-20);
}

static void look_at_refused(const TF_Buffer* bytes, const TF_GrapplerItem* item) {
  TF_GraphProperties* properties = TF_NewGraphProperties(item);
  TF_InferStatically(properties, 1, 0, 0, 0, status);
  kit_ok(status);
  expect_property(properties, "x", false, 1, KNOWN);
  expect_property(properties, "z", false, 1, UNKNOWN);
  TF_DeleteGraphProperties(properties);
}

// What is fed may have a shape that a node refuses, here in a branch that is not taken. That is no
// error for an optimizer that infers shapes, which are unknown then, as TensorFlow has it.
static void test_refused_shapes(void** state) {
  const uint8_t no = 0;
  TF_DeleteGraph(graph);
  graph = TF_NewGraph();
  x = kit_placeholder(graph, "x", TF_FLOAT);
  sum = kit_binary(graph, "AddV2", "sum", x, x);
  y = kit_unary(graph, "Neg", "y", sum);
  TF_OperationDescription* branch = TF_NewOperation(graph, "Switch", "branch");
  TF_AddInput(branch, kit_out(x, 0));
  TF_AddInput(branch, kit_out(kit_const(graph, "no", kit_tensor(TF_BOOL, 0, NULL, &no, 1)), 0));
  const TF_Output untaken = kit_out(kit_finish(branch), 1);
  TF_OperationDescription* product = TF_NewOperation(graph, "MatMul", "z");
  TF_AddInput(product, untaken);
  TF_AddInput(product, untaken);
  z = kit_finish(product);
  plan = (plan_t){.from = "op: \"AddV2\"", .to = "op: \"Mul\"", .look = look_at_refused};
  expect_total(-(1 + 4 + 9));
}

static void test_op_definitions(void** state) {
  const char kFunction[] =
      "library { function { signature { name: 'mine' input_arg { name: 'a' type: DT_FLOAT } } } }";
  TF_Buffer* text = TF_NewBufferFromString(kFunction, strlen(kFunction));
  TF_Buffer* bytes = leat_message_from_text("GraphDef", text, status);
  TF_FunctionLibraryDefinition* library = TF_NewFunctionLibraryDefinition(bytes, status);
  kit_ok(status);
  const char* names[] = {"mine", "MatMul"};
  for (int i = 0; i < 2; ++i) {
    TF_Buffer* op = TF_NewBuffer();
    TF_LookUpOpDef(library, names[i], op, status);
    kit_ok(status);
    TF_Buffer* shown = leat_message_to_text("OpDef", op, status);
    char expected[32];
    const int size = snprintf(expected, sizeof expected, "name: \"%s\"\ninput_arg", names[i]);
    assert_memory_equal(shown->data, expected, (size_t)size);
    TF_LookUpOpDef(library, names[i], op, status);  // is full
    kit_expect(status, TF_INVALID_ARGUMENT);
    TF_DeleteBuffer(shown);
    TF_DeleteBuffer(op);
  }
  TF_Buffer* none = TF_NewBuffer();
  TF_LookUpOpDef(library, "Nothing", none, status);
  kit_expect_text(status, TF_NOT_FOUND, "Op type not registered 'Nothing'");
  TF_DeleteFunctionLibraryDefinition(library);
  assert_null(TF_NewFunctionLibraryDefinition(
      &(TF_Buffer){.data = "\xff\xff", .length = 2}, status));
  kit_expect(status, TF_INVALID_ARGUMENT);
  TF_DeleteFunctionLibraryDefinition(NULL);
  TF_DeleteBuffer(none);
  TF_DeleteBuffer(bytes);
  TF_DeleteBuffer(text);
}

// The plug-in turned folding off, which it sees.
static void look_for_constants(const TF_Buffer* bytes, const TF_GrapplerItem* item) {
  TF_GraphProperties* properties = TF_NewGraphProperties(item);
  TF_InferStatically(properties, 0, 0, 0, 0, status);
  int inputs = 0;
  TF_GetInputPropertiesListSize(properties, "folds", &inputs, status);
  assert_int_equal(inputs, 2);
  TF_DeleteGraphProperties(properties);
}

static void test_turns_passes_off(void** state) {
  TF_Operation* folds = kit_binary(graph, "AddV2", "folds", kit_const_float(graph, "a", 1),
                                   kit_const_float(graph, "b", 2));
  y = kit_binary(graph, "AddV2", "total", y, folds);
  plan.look = look_for_constants;
  expect_total(-(2 + 6 + 12) + 9);
}

// A loop's edge back survives: i = 0; while (i < 10) i += 3.
static void test_loop(void** state) {
  TF_Output start = kit_out(kit_const_float(graph, "start", 0), 0);
  TF_WhileParams loop = TF_NewWhile(graph, &start, 1, status);
  kit_ok(status);
  TF_Operation* limit = kit_const_float(loop.cond_graph, "limit", 10);
  TF_Operation* less =
      kit_binary(loop.cond_graph, "Less", "less", loop.cond_inputs[0].oper, limit);
  loop.cond_output = kit_out(less, 0);
  TF_Operation* three = kit_const_float(loop.body_graph, "three", 3);
  loop.body_outputs[0] = kit_out(
      kit_binary(loop.body_graph, "AddV2", "next", loop.body_inputs[0].oper, three), 0);
  loop.name = "loop";
  TF_Output result;
  TF_FinishWhile(&loop, status, &result);
  kit_ok(status);
  TF_OperationDescription* add = TF_NewOperation(graph, "AddV2", "total");
  TF_AddInput(add, kit_out(y, 0));
  TF_AddInput(add, result);
  y = kit_finish(add);
  expect_total(-(2 + 6 + 12) + 3 * 12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_rewrites, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_adds_nodes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_leaves_the_graph, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_failures, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_drops_what_must_stay, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_switches, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_properties, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_refused_shapes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_op_definitions, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_turns_passes_off, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_loop, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, load_plugin, end);
}
