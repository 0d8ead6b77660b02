// TF_Function: parts of graphs as functions, their messages and attributes, and the functions of a
// graph. What is expected is what TensorFlow answers, in particular the names that it makes up for
// arguments and results, because they are part of a saved model. A function is compared as one
// line, "in, in -> out, out | node(input, input) ... | out = value", that is printed from its
// message. Control edges, several outputs of one node and attributes without a value are where a
// naive copy of the graph goes wrong, and each has a case. Refusals name the input or node that
// does not fit.
#include "capi/function_kit.h"
#include "formats/generated/graph.h"
#include "formats/wire/decode.h"

static TF_Graph* graph;
static TF_Status* status;

static int set_up(void** state) {
  graph = TF_NewGraph();
  status = TF_NewStatus();
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}

// A function as a message.
typedef struct message_s {
  TF_Buffer* bytes;
  leat_arena_t arena;
  leat_pb_function_def_t def;
} message_t;

static void message_open(TF_Function* function, message_t* m) {
  m->bytes = TF_NewBuffer();
  TF_FunctionToFunctionDef(function, m->bytes, status);
  kit_ok(status);
  m->def = (leat_pb_function_def_t){0};
  leat_arena_initialize(leat_allocator_system(), 0, &m->arena);
  leat_status_t result = leat_message_decode(
      &leat_pb_function_def_descriptor, leat_string_view_make(m->bytes->data, m->bytes->length),
      &m->arena, NULL, &m->def);
  assert_null(result);
}

static void message_close(message_t* m) {
  leat_arena_deinitialize(&m->arena);
  TF_DeleteBuffer(m->bytes);
}

static void append(char* text, leat_string_view_t part, const char* end) {
  size_t used = strlen(text);
  assert_true(used + part.size + strlen(end) < 1000);
  memcpy(text + used, part.data, part.size);
  strcpy(text + used + part.size, end);
}

// "in, in -> out, out | node(input, input) ... | out = value": what the function is.
static void expect_function(TF_Function* function, const char* expected) {
  message_t m;
  char text[1000] = "";
  message_open(function, &m);
  const leat_pb_op_def_t* s = m.def.signature;
  for (size_t i = 0; i < s->input_arg.count; ++i) append(text, s->input_arg.items[i].name, " ");
  append(text, LEAT_SV("->"), "");
  for (size_t i = 0; i < s->output_arg.count; ++i) {
    append(text, LEAT_SV(" "), "");
    append(text, s->output_arg.items[i].name, "");
  }
  for (size_t i = 0; i < m.def.node_def.count; ++i) {
    const leat_pb_node_def_t* node = &m.def.node_def.items[i];
    append(text, LEAT_SV(" | "), "");
    append(text, node->name, "");
    for (size_t k = 0; k < node->input.count; ++k) {
      append(text, LEAT_SV(" "), "");
      append(text, node->input.items[k], "");
    }
  }
  for (size_t i = 0; i < m.def.ret.count; ++i) {
    append(text, LEAT_SV(" | "), "");
    append(text, m.def.ret.items[i].key, "=");
    append(text, m.def.ret.items[i].value, "");
  }
  assert_string_equal(text, expected);
  message_close(&m);
}

static TF_Function* make(int opers, TF_Operation** body, int inputs, TF_Output* input, int outputs,
                         TF_Output* output, const char* const* names) {
  return TF_GraphToFunction(graph, "MyFunc", 0, opers, (const TF_Operation* const*)body, inputs,
                            input, outputs, output, names, NULL, NULL, status);
}

static void expect_made(TF_Function* function, const char* expected) {
  kit_ok(status);
  assert_non_null(function);
  assert_string_equal(TF_FunctionName(function), "MyFunc");
  expect_function(function, expected);
  TF_DeleteFunction(function);
}

static void expect_refused(TF_Function* function, TF_Code code, const char* text) {
  assert_null(function);
  kit_expect_text(status, code, text);
}

static TF_Operation* add_n(const char* name, TF_Operation* a, TF_Operation* b) {
  TF_Output both[] = {kit_out(a, 0), kit_out(b, 0)};
  TF_OperationDescription* desc = TF_NewOperation(graph, "AddN", name);
  TF_AddInputList(desc, both, 2);
  return kit_finish(desc);
}

static TF_Operation* feed(const char* name) { return kit_placeholder(graph, name, TF_INT32); }

// ---- TF_GraphToFunction -------------------------------------------------------------------------

static void test_names(void** state) {
  TF_Operation *a = feed("feed1"), *b = feed("feed2");
  TF_Operation* add = add_n("Add", a, b);
  TF_Output in[] = {kit_out(a, 0), kit_out(b, 0)}, out[] = {kit_out(add, 0), kit_out(add, 0)};
  // Capitals become small, what is taken gets a number; outputs are named first.
  expect_made(make(-1, NULL, 2, in, 1, out, NULL),
              "feed1 feed2 -> add | Add feed1 feed2 | add=Add:sum:0");
  expect_made(make(-1, NULL, 2, in, 2, out, NULL),
              "feed1 feed2 -> add add_0 | Add feed1 feed2 | add=Add:sum:0 | add_0=Add:sum:0");
  const char* const names[] = {"feed1", "Add"};
  expect_made(make(-1, NULL, 2, in, 2, out, names),
              "feed1_0 feed2 -> feed1 Add | Add_0 feed1_0 feed2 | Add=Add_0:sum:0 | "
              "feed1=Add_0:sum:0");
  TF_Output swapped[] = {in[1], in[0]};
  expect_made(make(0, NULL, 2, in, 2, swapped, NULL),
              "feed1_0 feed2_0 -> feed2 feed1 | feed1=feed1_0 | feed2=feed2_0");
}

static void test_outputs_of_several(void** state) {
  TF_Operation* x = feed("feed");
  TF_Operation* axis = kit_const_int32(graph, "axis", 0);
  TF_OperationDescription* desc = TF_NewOperation(graph, "Split", "split");
  TF_AddInput(desc, kit_out(axis, 0));
  TF_AddInput(desc, kit_out(x, 0));
  TF_SetAttrInt(desc, "num_split", 3);
  TF_Operation* split = kit_finish(desc);
  TF_Output in[] = {kit_out(x, 0)}, out[] = {kit_out(split, 2), kit_out(split, 1)};
  expect_made(make(-1, NULL, 1, in, 2, out, NULL),
              "feed -> split split_0 | axis | split_1 axis:output:0 feed | "
              "split=split_1:output:2 | split_0=split_1:output:1");
  // Outputs of one node as inputs: only where the body is listed.
  TF_Operation* add = kit_finish((desc = TF_NewOperation(graph, "AddV2", "add"),
                                  TF_AddInput(desc, out[0]), TF_AddInput(desc, out[1]), desc));
  TF_Output sum = kit_out(add, 0);
  expect_made(make(1, &add, 2, out, 1, &sum, NULL),
              "split split_0 -> add | add_0 split split_0 | add=add_0:z:0");
  expect_refused(make(-1, NULL, 2, out, 1, &sum, NULL), TF_INVALID_ARGUMENT,
                 "nodes referenced in `inputs` must have a single output. Node split has 3 "
                 "outputs. Encountered while creating function 'MyFunc'");
}

static void test_control_edges(void** state) {
  TF_Operation *a = feed("feed1"), *b = feed("feed2");
  TF_Operation *late = kit_no_op(graph, "z"), *early = kit_no_op(graph, "b");
  TF_OperationDescription* desc = TF_NewOperation(graph, "AddV2", "add");
  TF_AddInput(desc, kit_out(a, 0));
  TF_AddInput(desc, kit_out(b, 0));
  TF_AddControlInput(desc, late);
  TF_AddControlInput(desc, early);
  TF_AddControlInput(desc, a);
  TF_Operation* add = kit_finish(desc);
  TF_Output in[] = {kit_out(a, 0), kit_out(b, 0)}, out = kit_out(add, 0);
  expect_made(make(-1, NULL, 2, in, 1, &out, NULL),
              "feed1 feed2 -> add | z | b | add_0 feed1 feed2 ^b ^feed1 ^z | add=add_0:z:0");
  expect_refused(make(1, &add, 2, in, 1, &out, NULL), TF_INVALID_ARGUMENT,
                 "The source of control edge [id=3 z:-1 -> add:-1] is not in the body. Encountered "
                 "while creating function 'MyFunc'");
}

static void test_refusals(void** state) {
  TF_Operation *a = feed("feed1"), *b = feed("feed2");
  TF_Operation* add = kit_binary(graph, "AddV2", "add", a, b);
  TF_Operation* scalar = kit_const_int32(graph, "scalar", 2);
  TF_Output twice[] = {kit_out(a, 0), kit_out(a, 0)}, in[] = {kit_out(a, 0), kit_out(b, 0)};
  TF_Output out[] = {kit_out(add, 0), kit_out(scalar, 0)};
  const char* const same[] = {"my_out", "my_out"};
  expect_refused(make(-1, NULL, 2, twice, 1, out, NULL), TF_INVALID_ARGUMENT,
                 "TF_Output feed1:0 appears more than once in the input list");
  expect_refused(make(-1, NULL, 2, in, 2, out, same), TF_INVALID_ARGUMENT,
                 "Cannot have duplicate output names. Name 'my_out' appears more than once in "
                 "'output_names' array.");
  expect_refused(make(1, &add, 1, in, 1, out, NULL), TF_INVALID_ARGUMENT,
                 "Input 1, 'feed2:0', of node 'add' in function 'MyFunc' is not available. You "
                 "might need to include it in inputs or include its source node in the body");
  expect_refused(make(1, &add, 2, in, 2, out, NULL), TF_INVALID_ARGUMENT,
                 "TF_Output scalar:0 is neither in the function body nor among function inputs. "
                 "Encountered while creating function 'MyFunc'");
  in[1].index = 2;
  expect_refused(make(-1, NULL, 2, in, 1, out, NULL), TF_OUT_OF_RANGE,
                 "Node 'feed2' (type: 'Placeholder', num of outputs: 1) does not have output 2\n\t"
                 "Encountered while processing input 1 into function 'MyFunc'");
  in[1].oper = NULL;
  expect_refused(make(-1, NULL, 2, in, 1, out, NULL), TF_INVALID_ARGUMENT,
                 "Node is null\n\tEncountered while processing input 1 into function 'MyFunc'");
  in[1] = kit_out(b, 0);
  out[0].index = 3;
  expect_refused(make(-1, NULL, 2, in, 1, out, NULL), TF_OUT_OF_RANGE,
                 "Node 'add' (type: 'AddV2', num of outputs: 1) does not have output 3\n\t"
                 "Encountered while processing output 0 from function 'MyFunc'");
  out[0].oper = NULL;
  expect_refused(make(-1, NULL, 2, in, 1, out, NULL), TF_INVALID_ARGUMENT,
                 "Node is null\n\tEncountered while processing output 0 from function 'MyFunc'");
}

static void test_references_are_refused(void** state) {
  TF_OperationDescription* desc = TF_NewOperation(graph, "VariableV2", "v");
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  TF_SetAttrShape(desc, "shape", NULL, 0);
  TF_Output v = kit_out(kit_finish(desc), 0);
  TF_Output read = kit_out(kit_unary(graph, "Identity", "read", v.oper), 0);
  expect_refused(make(-1, NULL, 1, &v, 1, &read, NULL), TF_INVALID_ARGUMENT, "refer");
  expect_refused(make(-1, NULL, 0, NULL, 1, &v, NULL), TF_INVALID_ARGUMENT, "refer");
}

static void test_hash_and_description(void** state) {
  TF_Operation* x = feed("x");
  TF_Output in = kit_out(x, 0), out = kit_out(kit_unary(graph, "Neg", "neg", x), 0);
  const char* names[2][1] = {{"a"}, {"b"}};
  char first[100];
  for (int i = 0; i < 3; ++i) {
    TF_Function* function = TF_GraphToFunction(graph, "base", 1, -1, NULL, 1, &in, 1, &out,
                                               names[i / 2], NULL, "What it does", status);
    kit_ok(status);
    const char* name = TF_FunctionName(function);
    assert_int_equal(strlen(name), strlen("base_") + 11);
    assert_memory_equal(name, "base_", 5);
    if (i == 0) strcpy(first, name);
    assert_int_equal(strcmp(name, first) == 0, i < 2);  // of equal functions equal
    message_t m;
    message_open(function, &m);
    assert_true(leat_string_view_equals(m.def.signature->description, "What it does"));
    assert_false(m.def.signature->is_stateful);
    message_close(&m);
    TF_DeleteFunction(function);
  }
}

// A node of op |op| in |graph| with up to two inputs.
static TF_OperationDescription* begin(const char* op, const char* name, TF_Operation* a,
                                      TF_Operation* b) {
  TF_OperationDescription* desc = TF_NewOperation(graph, op, name);
  if (a) TF_AddInput(desc, kit_out(a, 0));
  if (b) TF_AddInput(desc, kit_out(b, 0));
  return desc;
}

static void expect_name(TF_Function* function, const char* name) {
  kit_ok(status);
  assert_string_equal(TF_FunctionName(function), name);
  TF_DeleteFunction(function);
}

// The names that TensorFlow 2.21 gives the same functions. The second has what is hashed in a way
// of its own: tensors of numbers and of texts, a function as an attribute, control inputs, a
// device, an attribute of the runtime, a placeholder that becomes an attribute of the function, and
// a control output, which does not count.
static void test_hash_of_tensorflow(void** state) {
  TF_Operation* x = feed("feed");
  TF_Output in = kit_out(x, 0), out = kit_out(kit_unary(graph, "Neg", "neg", x), 0);
  expect_name(TF_GraphToFunction(graph, "base", 1, -1, NULL, 1, &in, 1, &out, NULL, NULL,
                                 "What it does", status),
              "base_hk0gaRggVgk");
  expect_name(TF_GraphToFunction(graph, "none", 1, 0, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL,
                                 status),
              "none_xHalssqJsR8");
  const float numbers[] = {1, 2.5f};
  const int64_t two = 2;
  x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_Operation* c = kit_const(graph, "c", kit_tensor(TF_FLOAT, 1, &two, numbers, sizeof numbers));
  TF_Tensor* words = TF_AllocateTensor(TF_STRING, &two, 1, 2 * sizeof(TF_TString));
  for (int i = 0; i < 2; ++i) TF_TString_Init((TF_TString*)TF_TensorData(words) + i);
  TF_TString_Copy(TF_TensorData(words), "hello", 5);
  TF_TString_Copy((TF_TString*)TF_TensorData(words) + 1, "w", 1);
  TF_Operation *text = kit_const(graph, "text", words), *z = kit_no_op(graph, "z");
  TF_OperationDescription* desc = begin("AddV2", "add", x, c);
  TF_AddControlInput(desc, z);
  TF_AddControlInput(desc, text);
  TF_SetDevice(desc, "/device:CPU:0");
  TF_SetAttrInt(desc, "_mark", 3);
  TF_Operation* add = kit_finish(desc);
  desc = TF_NewOperation(graph, "PartitionedCall", "call");
  const TF_Output sum = kit_out(add, 0), texts[] = {kit_out(text, 0), kit_out(text, 0)};
  const TF_DataType type = TF_FLOAT;
  TF_AddInputList(desc, &sum, 1);
  TF_SetAttrTypeList(desc, "Tout", &type, 1);
  TF_SetAttrFuncName(desc, "f", "inner", 5);
  TF_Operation* call = kit_finish(desc);
  desc = TF_NewOperation(graph, "StringJoin", "join");
  TF_AddInputList(desc, texts, 2);
  TF_SetAttrPlaceholder(desc, "separator", "SEP");
  TF_Operation* body[] = {c, text, z, add, call, kit_finish(desc)};
  const TF_Output outs[] = {sum, kit_out(call, 0), texts[0]};
  in = kit_out(x, 0);
  const TF_Operation* control = z;
  expect_name(TF_GraphToFunctionWithControlOutputs(
                  graph, "all", 1, 6, (const TF_Operation* const*)body, 1, &in, 3, outs, NULL, 1,
                  &control, NULL, NULL, "words", status),
              "all_5R04Jqm3t88");
}

static void test_control_outputs(void** state) {
  TF_Operation *one = kit_no_op(graph, "one"), *two = kit_no_op(graph, "two");
  TF_Operation* x = feed("x");
  TF_Output in = kit_out(x, 0);
  const TF_Operation* outputs[] = {two, one};
  const char* const names[2][2] = {{"b", "a"}, {"b", "b"}};
  for (int i = 0; i < 3; ++i) {
    TF_Function* function = TF_GraphToFunctionWithControlOutputs(
        graph, "MyFunc", 0, -1, NULL, 1, &in, 0, NULL, NULL, 2, outputs, i ? names[i - 1] : NULL,
        NULL, NULL, status);
    if (i == 2) {
      expect_refused(function, TF_INVALID_ARGUMENT, "b");
      break;
    }
    kit_ok(status);
    message_t m;
    message_open(function, &m);
    assert_int_equal(m.def.control_ret.count, 2);
    assert_int_equal(m.def.signature->control_output.count, 2);
    const char* keys[] = {i ? "a" : "one", i ? "b" : "two"};
    const char* nodes[] = {"one", "two"};
    for (int k = 0; k < 2; ++k) {
      assert_true(leat_string_view_equals(m.def.signature->control_output.items[k], keys[k]));
      assert_true(leat_string_view_equals(m.def.control_ret.items[k].key, keys[k]));
      assert_true(leat_string_view_equals(m.def.control_ret.items[k].value, nodes[k]));
    }
    message_close(&m);
    TF_DeleteFunction(function);
  }
}

// What is known of an input goes with the argument.
static void test_attributes_of_arguments(void** state) {
  const int64_t dims[] = {2, -1};
  TF_OperationDescription* desc = TF_NewOperation(graph, "Placeholder", "x");
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  TF_SetAttrShape(desc, "shape", dims, 2);
  TF_SetAttrString(desc, "_test_attr", "value", 5);
  TF_Operation* x = kit_finish(desc);
  TF_Output in = kit_out(x, 0), out = kit_out(kit_unary(graph, "Neg", "neg", x), 0);
  TF_Function* function = make(-1, NULL, 1, &in, 1, &out, NULL);
  kit_ok(status);
  message_t m;
  message_open(function, &m);
  assert_int_equal(m.def.arg_attr.count, 1);
  assert_int_equal(m.def.arg_attr.items[0].key, 0);
  assert_int_equal(m.def.arg_attr.items[0].value->attr.count, 2);
  const leat_pb_function_def_arg_attrs_attr_entry_t* kept =
      m.def.arg_attr.items[0].value->attr.items;
  assert_true(leat_string_view_equals(kept[0].key, "_output_shapes"));
  assert_int_equal(kept[0].value->list->shape.count, 1);
  assert_true(leat_string_view_equals(kept[1].key, "_test_attr"));
  message_close(&m);
  TF_DeleteFunction(function);
}

// Attributes that wait for a value become the function's: the call gives it.
static void test_attributes_that_wait(void** state) {
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_OperationDescription* desc = TF_NewOperation(graph, "LeakyRelu", "leaky");
  TF_AddInput(desc, kit_out(x, 0));
  TF_SetAttrPlaceholder(desc, "alpha", "slope");
  TF_Operation* leaky = kit_finish(desc);
  desc = TF_NewOperation(graph, "LeakyRelu", "again");
  TF_AddInput(desc, kit_out(leaky, 0));
  TF_SetAttrPlaceholder(desc, "alpha", "slope");
  TF_Operation* again = kit_finish(desc);
  desc = TF_NewOperation(graph, "Neg", "of_no_type");
  TF_AddInput(desc, kit_out(x, 0));
  TF_SetAttrPlaceholder(desc, "T", "T");
  assert_null(TF_FinishOperation(desc, status));
  kit_expect(status, TF_INVALID_ARGUMENT);
  TF_Output in = kit_out(x, 0), out = kit_out(again, 0);
  TF_Function* function = make(-1, NULL, 1, &in, 1, &out, NULL);
  kit_ok(status);
  message_t m;
  message_open(function, &m);
  assert_int_equal(m.def.signature->attr.count, 1);
  assert_true(leat_string_view_equals(m.def.signature->attr.items[0].name, "slope"));
  assert_true(leat_string_view_equals(m.def.signature->attr.items[0].type, "float"));
  message_close(&m);
  TF_GraphCopyFunction(graph, function, NULL, status);
  kit_ok(status);
  TF_DeleteFunction(function);
  desc = TF_NewOperation(graph, "MyFunc", "call");
  TF_AddInput(desc, in);
  TF_SetAttrFloat(desc, "slope", 0.5f);
  TF_Operation* call = kit_finish(desc);
  TF_Session* session = kit_session(graph);
  TF_Tensor* result = kit_run(session, in, kit_float(-8), kit_out(call, 0));
  assert_true(kit_float_of(result) == -2);
  TF_DeleteTensor(result);
  // The node itself cannot run.
  TF_Tensor* fed = kit_float(-8);
  TF_SessionRun(session, NULL, &in, &fed, 1, &out, &result, 1, NULL, 0, NULL, status);
  kit_expect(status, TF_INVALID_ARGUMENT);
  TF_DeleteTensor(fed);
  kit_close(session);
}

// ---- Messages -----------------------------------------------------------------------------------

static TF_Function* negate(const char* name) {
  TF_Graph* own = TF_NewGraph();
  TF_Operation* x = kit_placeholder(own, "feed", TF_INT32);
  TF_Output in = kit_out(x, 0), out = kit_out(kit_unary(own, "Neg", "neg", x), 0);
  TF_Function* function = TF_GraphToFunction(own, name, 0, -1, NULL, 1, &in, 1, &out, NULL, NULL,
                                             NULL, status);
  kit_ok(status);
  TF_DeleteGraph(own);
  return function;
}

static void test_round_trip(void** state) {
  TF_Function* function = negate("MyFunc");
  TF_Buffer* bytes[] = {TF_NewBuffer(), TF_NewBuffer()};
  TF_FunctionToFunctionDef(function, bytes[0], status);
  kit_ok(status);
  TF_DeleteFunction(function);
  function = TF_FunctionImportFunctionDef(bytes[0]->data, bytes[0]->length, status);
  kit_ok(status);
  TF_FunctionToFunctionDef(function, bytes[1], status);
  kit_ok(status);
  assert_int_equal(bytes[0]->length, bytes[1]->length);
  assert_memory_equal(bytes[0]->data, bytes[1]->data, bytes[0]->length);
  expect_function(function, "feed -> neg | neg_0 feed | neg=neg_0:y:0");
  TF_DeleteFunction(function);
  assert_null(TF_FunctionImportFunctionDef("\x0a", 1, status));
  kit_expect_text(status, TF_INVALID_ARGUMENT, "Invalid FunctionDef given to "
                                               "TF_FunctionImportFunctionDef");
  function = TF_FunctionImportFunctionDef("", 0, status);
  kit_ok(status);
  assert_string_equal(TF_FunctionName(function), "");
  TF_DeleteFunction(function);
  TF_DeleteFunction(NULL);
  TF_DeleteBuffer(bytes[0]);
  TF_DeleteBuffer(bytes[1]);
}

static void test_attributes(void** state) {
  static const char values[2][2] = {{0x18, 7}, {0x28, 1}};  // i: 7, b: true
  TF_Function* function = negate("MyFunc");
  TF_Buffer* found = TF_NewBuffer();
  TF_FunctionGetAttrValueProto(function, "foo_attr", found, status);
  kit_expect_text(status, TF_INVALID_ARGUMENT, "Function 'MyFunc' has no attr named 'foo_attr'.");
  for (int i = 0; i < 2; ++i) {
    TF_FunctionSetAttrValueProto(function, "foo_attr", values[i], 2, status);
    kit_ok(status);
    TF_FunctionSetAttrValueProto(function, "other", values[1 - i], 2, status);
    kit_ok(status);
    TF_DeleteBuffer(found);
    found = TF_NewBuffer();
    TF_FunctionGetAttrValueProto(function, "foo_attr", found, status);
    kit_ok(status);
    assert_int_equal(found->length, 2);
    assert_memory_equal(found->data, values[i], 2);
  }
  TF_FunctionSetAttrValueProto(function, "foo_attr", "\x0a", 1, status);
  kit_expect_text(status, TF_INVALID_ARGUMENT, "Unparseable AttrValue proto passed to "
                                               "TF_FunctionSetAttrValueProto");
  TF_DeleteBuffer(found);
  TF_DeleteFunction(function);
}

// ---- Functions of a graph -----------------------------------------------------------------------

static void test_functions_of_a_graph(void** state) {
  TF_Function* functions[] = {negate("A"), negate("B"), negate("C")};
  TF_Function* found[3];
  assert_int_equal(TF_GraphNumFunctions(graph), 0);
  assert_int_equal(TF_GraphGetFunctions(graph, NULL, 0, status), 0);
  kit_ok(status);
  TF_GraphCopyFunction(graph, functions[0], NULL, status);
  kit_ok(status);
  TF_GraphCopyFunction(graph, functions[0], NULL, status);  // the same again
  kit_ok(status);
  TF_GraphCopyFunction(graph, functions[1], functions[0], status);
  kit_ok(status);
  assert_int_equal(TF_GraphNumFunctions(graph), 2);
  assert_int_equal(TF_GraphGetFunctions(graph, found, 1, status), 1);
  TF_DeleteFunction(found[0]);
  assert_int_equal(TF_GraphGetFunctions(graph, found, 3, status), 2);
  for (int i = 0; i < 2; ++i) {
    assert_string_equal(TF_FunctionName(found[i]), TF_FunctionName(functions[i]));
    expect_function(found[i], "feed -> neg | neg_0 feed | neg=neg_0:y:0");
    TF_DeleteFunction(found[i]);
  }
  TF_GraphCopyFunction(graph, NULL, functions[0], status);
  kit_expect_text(status, TF_INVALID_ARGUMENT, "'func' argument to TF_GraphCopyFunction cannot be "
                                               "null");
  TF_GraphCopyFunction(graph, functions[1], functions[2], status);
  kit_expect_text(status, TF_INVALID_ARGUMENT,
                  "Cannot assign gradient function 'C' to 'B' because it already has gradient "
                  "function 'A'");
  for (int i = 0; i < 3; ++i) TF_DeleteFunction(functions[i]);
}

static void test_another_of_the_name_is_refused(void** state) {
  TF_Function* function = negate("A");
  TF_GraphCopyFunction(graph, function, NULL, status);
  kit_ok(status);
  functions_import(
      graph, LIBRARY FUNCTION("A", ARG("x", "INT32") OUT("y", "INT32"), RET("y", "x")) END, status);
  kit_expect(status, TF_INVALID_ARGUMENT);
  functions_import(graph, LIBRARY FUNCTION("MatMul", "", "") END, status);
  kit_expect(status, TF_INVALID_ARGUMENT);
  TF_DeleteFunction(function);
}

static void test_the_op_of_a_function(void** state) {
  TF_Function* function = negate("A");
  TF_GraphCopyFunction(graph, function, NULL, status);
  kit_ok(status);
  TF_DeleteFunction(function);
  TF_Buffer* bytes = TF_NewBuffer();
  TF_GraphGetOpDef(graph, "A", bytes, status);
  kit_ok(status);
  assert_true(bytes->length > 10);
  TF_DeleteBuffer(bytes);
  TF_Operation* call = kit_unary(graph, "A", "call", kit_const_int32(graph, "seven", 7));
  assert_string_equal(TF_OperationOpType(call), "A");
  assert_int_equal(TF_OperationOutputType(kit_out(call, 0)), TF_INT32);
  assert_int_equal(TF_GraphGetTensorNumDims(graph, kit_out(call, 0), status), 0);
  TF_Session* session = kit_session(graph);
  TF_Tensor* result = kit_run(session, kit_out(NULL, 0), NULL, kit_out(call, 0));
  assert_int_equal(kit_int32_of(result), -7);
  TF_DeleteTensor(result);
  kit_close(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
      TEST(names),
      TEST(outputs_of_several),
      TEST(control_edges),
      TEST(refusals),
      TEST(references_are_refused),
      TEST(hash_and_description),
      TEST(hash_of_tensorflow),
      TEST(control_outputs),
      TEST(attributes_of_arguments),
      TEST(attributes_that_wait),
      TEST(round_trip),
      TEST(attributes),
      TEST(functions_of_a_graph),
      TEST(another_of_the_name_is_refused),
      TEST(the_op_of_a_function),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
