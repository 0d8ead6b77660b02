// Writing and loading SavedModels and MetaGraphs: what is written is read back, by tags, with
// variables, assets and initialiser; damaged and dishonest ones give a status, and the graph stays
// as it was. Each test writes one small model, y = x * w, with an asset and an initialiser. It then
// loads it into a new graph as it is, as text with a part replaced, cut short, with bits flipped,
// or with an allocation that fails. Models that TensorFlow wrote are loaded where LEAT_DATA_DIR is
// set, since what we write ourselves proves only that we agree with ourselves. What a checkpoint
// does when a disk fails is tested in src/formats/checkpoint and in checkpoint_crash_test.c.
#include "leat/saved_model.h"

#include <sys/stat.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/observer.h"
#include "client/model_kit.h"
#include "leat/files.h"
#include "leat/inspect.h"
#include "scratch.h"

// ---- A model ------------------------------------------------------------------------------------

// y = x * w, with w = 3; |path| is the asset's, kept in the variable |place| by the initialiser.
typedef struct model_s {
  TF_Output x, y, w, path, place;
  TF_Operation* initializer;
  leat_saver_t* saver;
  leat_model_tensor_t inputs[1], outputs[1];
  leat_model_signature_t signature;
  leat_model_asset_t asset;
  leat_model_t description;
} model_t;

static model_t m;

static void build(void) {
  leat_scope_t* s = kit.scope;
  m.x = leat_placeholder(s, "x", TF_FLOAT, 1, (int64_t[]){-1});
  m.w = leat_variable(s, "w", TF_FLOAT, 0, NULL, leat_initializer_constant(3));
  m.y = leat_multiply(s, m.x, m.w);
  m.saver = leat_saver_create(s, "ckpt", (leat_saver_options_t){.keep = 1});
  m.path = leat_constant_string(s, "as exported");
  leat_attribute_t attributes[] = {leat_attribute_type("dtype", TF_STRING),
                                   leat_attribute_shape("shape", 0, NULL)};
  m.place.oper = leat_operation(s, "VariableV2", "place", NULL, 0, attributes, 2);
  m.initializer = leat_operation(s, "Assign", "set_place", (TF_Output[]){m.place, m.path}, 2,
                                 NULL, 0);
  m.inputs[0] = (leat_model_tensor_t){"in", m.x};
  m.outputs[0] = (leat_model_tensor_t){"out", m.y};
  m.signature = (leat_model_signature_t){"serving_default", NULL, m.inputs, 1, m.outputs, 1};
  m.asset = (leat_model_asset_t){"words.txt", m.path};
  m.description = (leat_model_t){.signatures = &m.signature, .signature_count = 1,
                                 .assets = &m.asset, .asset_count = 1,
                                 .saver = leat_saver_operations(m.saver),
                                 .initializer = m.initializer};
  scratch_write_text("words.txt", "mill\nleat\n");
  model_kit_run(leat_variables_initializer(s));
}

static int set_up(void** state) {
  if (scratch_set_up(state) || model_kit_set_up(state)) return -1;
  build();
  return 0;
}

static int tear_down(void** state) {
  leat_saver_free(m.saver);
  return model_kit_tear_down(state) || scratch_tear_down(state);
}

static void write_model(const char* directory) {
  leat_saved_model_write(directory, kit.graph, kit.session, &m.description, kit.status);
  kit_ok(kit.status);
}

// ---- Loading ------------------------------------------------------------------------------------

static const char* const kServe[] = {"serve"};

static TF_Session* load(const char* directory, const char* const* tags, int count, TF_Graph* graph,
                        TF_Buffer* meta_graph) {
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_LoadSessionFromSavedModel(options, NULL, directory, tags, count, graph,
                                                     meta_graph, kit.status);
  TF_DeleteSessionOptions(options);
  assert_int_equal(session != NULL, TF_GetCode(kit.status) == TF_OK);
  return session;
}

static void expect_failure(const char* directory, TF_Code code, const char* text) {
  TF_Graph* graph = TF_NewGraph();
  assert_null(load(directory, kServe, 1, graph, NULL));
  kit_expect_text(kit.status, code, text);
  assert_int_equal(kit_count(graph), 0);
  TF_DeleteGraph(graph);
}

static TF_Output find(TF_Graph* graph, const char* name) {
  TF_Operation* operation = TF_GraphOperationByName(graph, name);
  assert_non_null(operation);
  return kit_out(operation, 0);
}

static void expect_works(TF_Session* session, TF_Graph* graph, float w) {
  TF_Tensor* y = kit_run(session, find(graph, "x"), kit_floats(1, (float[]){2}),
                         find(graph, TF_OperationName(m.y.oper)));
  assert_true(kit_float_of(y) == 2 * w);
  TF_DeleteTensor(y);
}

static void expect_loads(const char* directory, float w) {
  TF_Graph* graph = TF_NewGraph();
  TF_Session* session = load(directory, kServe, 1, graph, NULL);
  kit_ok(kit.status);
  expect_works(session, graph, w);
  kit_close(session);
  TF_DeleteGraph(graph);
}

static void expect_place(TF_Session* session, TF_Graph* graph, const char* expected) {
  TF_Tensor* place = kit_run(session, kit_out(NULL, 0), NULL, find(graph, "place"));
  const TF_TString* text = TF_TensorData(place);
  assert_int_equal(TF_TString_GetSize(text), strlen(expected));
  assert_memory_equal(TF_TString_GetDataPointer(text), expected, strlen(expected));
  TF_DeleteTensor(place);
}

static void test_there_and_back(void** state) {
  write_model("export/1");
  assert_true(scratch_has("export/1/variables/variables.index"));
  assert_true(scratch_has("export/1/assets/words.txt"));
  TF_Graph* graph = TF_NewGraph();
  TF_Buffer* bytes = TF_NewBuffer();
  TF_Session* session = load("export/1", kServe, 1, graph, bytes);
  kit_ok(kit.status);
  expect_works(session, graph, 3);
  expect_place(session, graph, "export/1/assets/words.txt");
  leat_message_t* message = leat_message_open("MetaGraphDef", bytes, kit.status);
  leat_message_view_t entry = leat_message_child(leat_message_view(message), "signature_def", 1);
  leat_message_view_t input = leat_message_child(leat_message_child(entry, "value", 0), "inputs",
                                                 0);
  leat_message_view_t info = leat_message_child(input, "value", 0);
  assert_memory_equal(leat_message_string(input, "key", 0, NULL), "in", 2);
  assert_memory_equal(leat_message_string(info, "name", 0, NULL), "x:0", 3);
  assert_int_equal(leat_message_integer(info, "dtype", 0), TF_FLOAT);
  leat_message_close(message);
  // The graph goes on as any: it grows, and is not loaded into again.
  kit_const_float(graph, "more", 1);
  assert_null(load("export/1", kServe, 1, graph, NULL));
  kit_expect_text(kit.status, TF_INVALID_ARGUMENT, "Graph is non-empty.");
  expect_works(session, graph, 3);
  kit_close(session);
  TF_DeleteBuffer(bytes);
  TF_DeleteGraph(graph);
}

static void test_tags_are_a_set(void** state) {
  const char* const tags[] = {"serve", "gpu", "serve"};
  const char* const reordered[] = {"gpu", "serve"};
  m.description.tags = tags;
  m.description.tag_count = 3;
  write_model("model");
  TF_Graph* graph = TF_NewGraph();
  TF_Session* session = load("model", reordered, 2, graph, NULL);
  kit_ok(kit.status);
  kit_close(session);
  TF_DeleteGraph(graph);
  expect_failure("model", TF_NOT_FOUND,
                 "Could not find meta graph def matching supplied tags: { serve }.");
  expect_failure("nowhere", TF_NOT_FOUND,
                 "Could not find SavedModel .pb or .pbtxt at supplied export directory path: "
                 "nowhere.");
}

// ---- Text ---------------------------------------------------------------------------------------

static TF_Buffer* read_file(const char* path) {
  static char bytes[1 << 20];
  FILE* file = fopen(path, "rb");
  assert_non_null(file);
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  return TF_NewBufferFromString(bytes, size);
}

// The model's message as text.
static char* read_text(const char* path) {
  TF_Buffer* bytes = read_file(path);
  TF_Buffer* text = leat_message_to_text("SavedModel", bytes, kit.status);
  kit_ok(kit.status);
  char* copy = strndup(text->data, text->length);
  TF_DeleteBuffer(bytes);
  TF_DeleteBuffer(text);
  return copy;
}

static void test_text(void** state) {
  write_model("model");
  char* text = read_text("model/saved_model.pb");
  assert_int_equal(remove("model/saved_model.pb"), 0);
  scratch_write_text("model/saved_model.pbtxt", text);
  free(text);
  expect_loads("model", 3);
  scratch_write_text("model/saved_model.pbtxt", "meta_graphs { graph: 1 }");
  expect_failure("model", TF_DATA_LOSS, "Can't parse model/saved_model.pbtxt as text proto");
}

// Replaces |from| in the model's text by |to|, and the model by that.
static void rewrite(const char* from, const char* to) {
  char* text = read_text("model/saved_model.pb");
  char* place = strstr(text, from);
  assert_non_null(place);
  size_t size = strlen(text) + strlen(to) + 1;
  char* changed = calloc(size, 1);
  snprintf(changed, size, "%.*s%s%s", (int)(place - text), text, to, place + strlen(from));
  scratch_write_text("model/saved_model.pbtxt", changed);
  assert_int_equal(rename("model/saved_model.pb", "model/kept.pb"), 0);
  free(changed);
  free(text);
}

static void restore_original(void) {
  assert_int_equal(rename("model/kept.pb", "model/saved_model.pb"), 0);
}

// As TensorFlow wrote them before 1.13: the initialiser and the assets in collections.
static void test_collections(void** state) {
  m.description.initializer = NULL;
  m.description.asset_count = 0;
  write_model("model");
  assert_int_equal(mkdir("model/assets", 0777), 0);
  const char* format =
      "meta_graphs {\n"
      "  collection_def { key: '%s' value { node_list { value: 'set_place' %s } } }\n"
      "  collection_def { key: 'saved_model_assets' value { any_list { value {\n"
      "    type_url: 'type.googleapis.com/tensorflow.AssetFileDef'\n"
      "    value: '\\n\\x09\\n\\x07%s:0\\x12\\x01f' } } } }\n";
  const char* keys[] = {"legacy_init_op", "saved_model_main_op"};
  char text[1000];
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(strlen(TF_OperationName(m.path.oper)), 5);
    snprintf(text, sizeof text, format, keys[i], "", TF_OperationName(m.path.oper));
    rewrite("meta_graphs {\n", text);
    TF_Graph* graph = TF_NewGraph();
    TF_Session* session = load("model", kServe, 1, graph, NULL);
    kit_ok(kit.status);
    expect_place(session, graph, "model/assets/f");
    kit_close(session);
    TF_DeleteGraph(graph);
    restore_original();
    snprintf(text, sizeof text, format, keys[i], "value: 'x'", TF_OperationName(m.path.oper));
    rewrite("meta_graphs {\n", text);
    expect_failure("model", TF_FAILED_PRECONDITION, "Expected exactly one main op");
    restore_original();
  }
}

// Of two graphs the one with the tags is taken.
static void test_several_graphs(void** state) {
  write_model("model");
  rewrite("meta_graphs {\n", "meta_graphs { meta_info_def { tags: 'train' } graph_def { node {\n"
                             "  name: 'only' op: 'NoOp' } } }\nmeta_graphs {\n");
  expect_loads("model", 3);
  TF_Graph* graph = TF_NewGraph();
  TF_Session* session = load("model", (const char* const[]){"train"}, 1, graph, NULL);
  kit_ok(kit.status);
  assert_int_equal(kit_count(graph), 1);
  kit_close(session);
  TF_DeleteGraph(graph);
}

// ---- Damage -------------------------------------------------------------------------------------

static void test_truncated(void** state) {
  write_model("model");
  TF_Buffer* bytes = read_file("model/saved_model.pb");
  for (size_t size = 0; size < bytes->length; size += size < 64 ? 1 : 61) {
    scratch_write_file("model/saved_model.pb", bytes->data, size);
    TF_Graph* graph = TF_NewGraph();
    assert_null(load("model", kServe, 1, graph, NULL));
    // Nothing at all, or a version alone, is a SavedModel without graphs.
    TF_Code code = TF_GetCode(kit.status);
    assert_int_equal(code, size == 0 || size == 2 ? TF_NOT_FOUND : TF_DATA_LOSS);
    TF_DeleteGraph(graph);
  }
  scratch_write_file("model/saved_model.pb", bytes->data, bytes->length);
  TF_DeleteBuffer(bytes);
  expect_loads("model", 3);
}

// A byte changed anywhere gives a status or a model, never more.
static void test_changed_bytes(void** state) {
  write_model("model");
  TF_Buffer* bytes = read_file("model/saved_model.pb");
  char* copy = malloc(bytes->length);
  for (size_t i = 0; i < bytes->length; i += 13) {
    memcpy(copy, bytes->data, bytes->length);
    copy[i] ^= (char)(1 << i % 8);
    scratch_write_file("model/saved_model.pb", copy, bytes->length);
    TF_Graph* graph = TF_NewGraph();
    TF_Session* session = load("model", kServe, 1, graph, NULL);
    if (session) kit_close(session);
    TF_DeleteGraph(graph);
  }
  free(copy);
  TF_DeleteBuffer(bytes);
}

static void test_missing_variables(void** state) {
  write_model("model");
  assert_int_equal(remove("model/variables/variables.data-00000-of-00001"), 0);
  expect_failure("model", TF_NOT_FOUND, "variables.data-00000-of-00001");
  // Without an index there is nothing to restore, as TensorFlow has it: who reads them learns.
  assert_int_equal(remove("model/variables/variables.index"), 0);
  TF_Graph* graph = TF_NewGraph();
  TF_Session* session = load("model", kServe, 1, graph, NULL);
  kit_ok(kit.status);
  TF_Output w = find(graph, "w");
  TF_Tensor* value = NULL;
  TF_SessionRun(session, NULL, NULL, NULL, 0, &w, &value, 1, NULL, 0, NULL, kit.status);
  kit_expect_text(kit.status, TF_FAILED_PRECONDITION, "w");
  kit_close(session);
  TF_DeleteGraph(graph);
}

static void test_dishonest(void** state) {
  const struct {
    const char *from, *to;
    TF_Code code;
    const char* text;
  } cases[] = {
      {"op: \"Mul\"", "op: \"Alien\"", TF_NOT_FOUND, "Op type not registered 'Alien'"},
      {"restore_op_name: \"save/restore_all\"", "restore_op_name: 'lost'", TF_NOT_FOUND,
       "no node 'lost'"},
      {"restore_op_name: \"save/restore_all\"", "", TF_INVALID_ARGUMENT, "name is ''"},
      {"filename_tensor_name: \"save/file_name:0\"", "filename_tensor_name: 'save/file_name:7'",
       TF_OUT_OF_RANGE, "output index 7"},
      {"filename_tensor_name: \"save/file_name:0\"", "filename_tensor_name: 'w:0'",
       TF_INVALID_ARGUMENT, "incompatible with expected float_ref"},
      {"filename: \"words.txt\"", "filename: 'words.txt' }\nasset_file_def {\n"
       "tensor_info { name: 'save/file_name:0' } filename: 'w'", TF_INVALID_ARGUMENT,
       "fed twice"},
      {"filename: \"words.txt\"", "filename: 'words.txt' }\nasset_file_def {\n filename: 'w'",
       TF_INVALID_ARGUMENT, "name is ''"},
      {"filename: \"words.txt\"", "filename: 'words.txt' }\nasset_file_def {\n"
       "tensor_info { name: 'place:0' } filename: 'w'", TF_INVALID_ARGUMENT,
       "Input 0 of node set_place was passed a value that is fed, incompatible with expected "
       "string_ref"},
      {"outputs {\n        key: \"__saved_model_init_op\"", "outputs { key: 'something'",
       TF_FAILED_PRECONDITION, "Could not find output __saved_model_init_op"},
      {"name: \"set_place\"\n          tensor_shape", "name: 'lost'\n tensor_shape",
       TF_NOT_FOUND, "no node 'lost'"},
      {"graph_def {\n", "graph_def { node { name: 'c' op: 'Const' attr { key: 'dtype'\n"
       "value { type: DT_FLOAT } } }\n", TF_FAILED_PRECONDITION,
       "constant tensor but no value has been provided"},
      {"graph_def {\n", "graph_def { node { name: 'c' op: 'Const' attr { key: 'dtype'\n"
       "value { type: DT_FLOAT } } attr { key: 'value' value { tensor { dtype: DT_FLOAT\n"
       "tensor_shape { dim { size: -1 } } } } } }\n", TF_FAILED_PRECONDITION,
       "initializes from a tensor with -1 elements"},
  };
  write_model("model");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    rewrite(cases[i].from, cases[i].to);
    expect_failure("model", cases[i].code, cases[i].text);
    restore_original();
  }
  expect_loads("model", 3);
}

// ---- Writing ------------------------------------------------------------------------------------

static void expect_unwritten(const char* directory, TF_Session* session, TF_Code code,
                             const char* text) {
  leat_saved_model_write(directory, kit.graph, session, &m.description, kit.status);
  kit_expect_text(kit.status, code, text);
}

static void test_not_written(void** state) {
  write_model("model");
  expect_unwritten("model", kit.session, TF_ALREADY_EXISTS, "model/saved_model.pb is there");
  expect_unwritten("n", NULL, TF_INVALID_ARGUMENT, "session is NULL");
  m.asset.path = "missing.txt";
  expect_unwritten("n", kit.session, TF_NOT_FOUND, "missing.txt");
  assert_int_equal(symlink("turning.txt", "turning.txt"), 0);
  m.asset.path = "turning.txt";
  expect_unwritten("n", kit.session, TF_UNKNOWN, "turning.txt");
  leat_model_asset_t assets[] = {{"words.txt", m.path}, {"./words.txt", m.path}};
  m.description.assets = assets;
  m.description.asset_count = 2;
  expect_unwritten("n", kit.session, TF_INVALID_ARGUMENT, "two assets are called 'words.txt'");
  m.description.asset_count = 0;
  TF_Graph* other = TF_NewGraph();
  m.outputs[0].tensor = kit_out(kit_const_float(other, "c", 1), 0);
  expect_unwritten("n", kit.session, TF_INVALID_ARGUMENT, "of another graph");
  m.outputs[0].tensor = m.y;
  m.description.initializer = m.outputs[0].tensor.oper;
  m.description.saver.restore = kit_no_op(other, "r");
  expect_unwritten("n", kit.session, TF_INVALID_ARGUMENT, "not of the graph");
  TF_DeleteGraph(other);
  assert_false(scratch_has("n/saved_model.pb"));
}

// A model of constants alone needs no session.
static void test_without_variables(void** state) {
  TF_Graph* graph = TF_NewGraph();
  kit_const_float(graph, "c", 5);
  leat_model_t model = {.tags = NULL};
  leat_saved_model_write("constant", graph, NULL, &model, kit.status);
  kit_ok(kit.status);
  TF_DeleteGraph(graph);
  graph = TF_NewGraph();
  TF_Session* session = load("constant", kServe, 1, graph, NULL);
  kit_ok(kit.status);
  TF_Tensor* c = kit_run(session, kit_out(NULL, 0), NULL, find(graph, "c"));
  assert_true(kit_float_of(c) == 5);
  TF_DeleteTensor(c);
  kit_close(session);
  TF_DeleteGraph(graph);
}

// ---- MetaGraphs ---------------------------------------------------------------------------------

static void test_meta_graph(void** state) {
  leat_saver_save(m.saver, kit.session, 7, kit.status);
  kit_ok(kit.status);
  leat_meta_graph_write("ckpt/model.ckpt-7.meta", kit.graph, &m.description, kit.status);
  kit_ok(kit.status);
  TF_Graph* graph = TF_NewGraph();
  TF_Buffer* bytes = TF_NewBuffer();
  leat_saver_operations_t saver =
      leat_meta_graph_load("ckpt/model.ckpt-7.meta", graph, bytes, kit.status);
  kit_ok(kit.status);
  assert_true(bytes->length > 0);
  TF_Session* session = kit_session(graph);
  leat_saver_t* over =
      leat_saver_over(saver, "ckpt", (leat_saver_options_t){.keep = 2}, kit.status);
  int64_t step = 0;
  leat_saver_restore_latest(over, session, &step, kit.status);
  kit_ok(kit.status);
  assert_int_equal(step, 7);
  expect_works(session, graph, 3);
  leat_saver_save(over, session, 8, kit.status);
  kit_ok(kit.status);
  assert_true(scratch_has("ckpt/model.ckpt-8.index"));
  leat_variables_restore(kit.session, &saver, "ckpt/model.ckpt-8", kit.status);
  kit_expect_text(kit.status, TF_INVALID_ARGUMENT, "of another graph");
  leat_saver_free(over);
  kit_close(session);
  TF_DeleteBuffer(bytes);
  TF_DeleteGraph(graph);
}

static void test_meta_graph_refused(void** state) {
  TF_Graph* graph = TF_NewGraph();
  leat_meta_graph_load("none.meta", graph, NULL, kit.status);
  kit_expect_text(kit.status, TF_NOT_FOUND, "none.meta");
  scratch_write_text("bad.meta", "\x12");
  leat_meta_graph_load("bad.meta", graph, NULL, kit.status);
  kit_expect_text(kit.status, TF_DATA_LOSS, "Can't parse bad.meta as binary proto");
  scratch_write_text("alien.pbtxt", "graph_def { node { name: 'a' op: 'Alien' } }");
  leat_meta_graph_load("alien.pbtxt", graph, NULL, kit.status);
  kit_expect_text(kit.status, TF_NOT_FOUND, "Op type not registered 'Alien'");
  // Two graphs in one message are one, by protobuf's rule.
  scratch_write_text("two.meta", "\x12\x0b\x0a\x09\x0a\x01" "a\x12\x04NoOp"
                                 "\x12\x0b\x0a\x09\x0a\x01" "b\x12\x04NoOp");
  leat_saver_operations_t saver = leat_meta_graph_load("two.meta", graph, NULL, kit.status);
  kit_ok(kit.status);
  assert_null(saver.restore);
  assert_int_equal(kit_count(graph), 2);
  TF_DeleteGraph(graph);
}

// ---- Memory -------------------------------------------------------------------------------------

static _Atomic int64_t left;  // allocations that still succeed

static leat_status_t on_allocation(void* data, size_t size_bytes) {
  if (atomic_fetch_sub(&left, 1) > 0) return leat_ok_status();
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory ran out (as the test wants it)");
}

static void test_every_allocation_may_fail(void** state) {
  static const leat_observer_t observer = {.on_allocation = on_allocation};
  write_model("model");
  bool done = false;
  for (int64_t n = 0; !done; n += n < 100 ? 1 : 7) {
    assert_true(n < 20000);
    TF_Graph* graph = TF_NewGraph();
    TF_SessionOptions* options = TF_NewSessionOptions();
    atomic_store(&left, n);
    leat_observer_install(&observer);
    TF_Session* session = TF_LoadSessionFromSavedModel(options, NULL, "model", kServe, 1, graph,
                                                       NULL, kit.status);
    leat_observer_install(NULL);
    done = session != NULL;
    if (!done && TF_GetCode(kit.status) != TF_RESOURCE_EXHAUSTED) {
      fail_msg("code %d: %s", TF_GetCode(kit.status), TF_Message(kit.status));
    }
    if (done) kit_close(session);
    TF_DeleteSessionOptions(options);
    TF_DeleteGraph(graph);
  }
}

// ---- Models made by TensorFlow ------------------------------------------------------------------

// Of |graph| restored from a model of somebody else: what |y| is for x = 0.5.
static void expect_answer(const char* directory, const char* const* tags, int count,
                          const char* x, const char* y, float expected) {
  char path[4096];
  snprintf(path, sizeof path, "%s/models/savedmodel/%s", getenv("LEAT_DATA_DIR"), directory);
  TF_Graph* graph = TF_NewGraph();
  TF_Session* session = load(path, tags, count, graph, NULL);
  kit_ok(kit.status);
  TF_Tensor* value = kit_run(session, find(graph, x), kit_floats(1, (float[]){0.5f}),
                             find(graph, y));
  float got = kit_float_of(value);
  assert_true(got > expected - 1e-6f && got < expected + 1e-6f);
  TF_DeleteTensor(value);
  kit_close(session);
  TF_DeleteGraph(graph);
}

static void test_real_models(void** state) {
  if (!getenv("LEAT_DATA_DIR")) skip();
  expect_answer("tensorflow_rust/test_resources/regression-model",
                (const char* const[]){"serve", "train"}, 2, "x", "y_hat", -0.42893112f);
  const char* const halves[] = {"half_plus_two", "half_plus_two_main_op", "half_plus_two_pbtxt"};
  for (int i = 0; i < 3; ++i) {
    char path[256];
    snprintf(path, sizeof path,
             "tf_testdata_2019/tensorflow/cc/saved_model/testdata/%s/00000123", halves[i]);
    expect_answer(path, kServe, 1, "x", "y", 2.25f);
  }
  expect_answer("onnx_tensorflow-onnx/tests/models/regression/saved_model", kServe, 1, "X",
                "pred", 1.1565063f);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_there_and_back),    TEST(test_tags_are_a_set),
      TEST(test_text),              TEST(test_collections),
      TEST(test_several_graphs),    TEST(test_truncated),
      TEST(test_changed_bytes),     TEST(test_missing_variables),
      TEST(test_dishonest),         TEST(test_not_written),
      TEST(test_without_variables), TEST(test_meta_graph),
      TEST(test_meta_graph_refused), TEST(test_every_allocation_may_fail),
      TEST(test_real_models),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
