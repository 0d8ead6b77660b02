// The tool leat on models: run by signatures, inspect saved_model, objects of checkpoints, convert.
// The test writes one small model as a SavedModel and as a MetaGraph with its checkpoint, then runs
// the built executable as a user would and compares its exit code and output. What is written by
// convert is run or inspected again by the tool. Models that TensorFlow wrote are tried where the
// test data are there. Options and single graphs are tested in tool_test.c, files of records and
// events in files_test.c.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capi/kit.h"
#include "leat/inspect.h"
#include "leat/train.h"
#include "tools/tool_run.h"

static TF_Status* status;

static void ok(void) {
  if (TF_GetCode(status) != TF_OK) print_error("%s\n", TF_Message(status));
  assert_int_equal(TF_GetCode(status), TF_OK);
}

// y = x * w + r, w = 2 a reference, r = [10, 20] a resource, read and gathered; z assigns to w.
// model/ is the SavedModel, model.ckpt-1 the checkpoint with its .meta.
static void write_models(void) {
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  TF_Output x = leat_placeholder(s, "x", TF_FLOAT, 1, (int64_t[]){2});
  TF_Output w = leat_variable(s, "w", TF_FLOAT, 0, NULL, leat_initializer_constant(2));
  leat_attribute_t shape = leat_attribute_shape("shape", 1, ((int64_t[]){2}));
  leat_attribute_t dtype = leat_attribute_type("dtype", TF_FLOAT);
  TF_Output r = {leat_operation(s, "VarHandleOp", "r", NULL, 0,
                                (leat_attribute_t[]){dtype, shape}, 2), 0};
  TF_Output values = leat_constant_floats(s, 1, (int64_t[]){2}, (float[]){10, 20});
  TF_Operation* set = leat_operation(s, "AssignVariableOp", "set", (TF_Output[]){r, values}, 2,
                                     NULL, 0);
  TF_Output read = {leat_operation(s, "ReadVariableOp", "read", &r, 1, &dtype, 1), 0};
  TF_Output one = leat_constant_int(s, 1);
  TF_Output row = {leat_operation(s, "ResourceGather", "row", (TF_Output[]){r, one}, 2, &dtype, 1),
                   0};
  TF_Output y = leat_add(s, leat_add(s, leat_multiply(s, x, w), read), row);
  leat_operation(s, "Assign", "z", (TF_Output[]){leat_variable_at(s, 0),
                                                leat_constant_float(s, 5)}, 2, NULL, 0);
  leat_saver_t* saver = leat_saver_create(s, ".", (leat_saver_options_t){.keep = 1});
  TF_Operation* init = leat_variables_initializer(s);
  if (TF_GetCode(leat_scope_status(s)) != TF_OK) fail_msg("%s", TF_Message(leat_scope_status(s)));
  TF_Session* session = kit_session(graph);
  leat_target_run(session, init, status);
  ok();
  leat_model_tensor_t in = {"in", x}, out = {"out", y};
  leat_model_signature_t signature = {"serving_default", NULL, &in, 1, &out, 1};
  leat_model_t model = {.signatures = &signature, .signature_count = 1,
                        .saver = leat_saver_operations(saver), .initializer = set};
  leat_saved_model_write("model", graph, session, &model, status);
  ok();
  leat_meta_graph_write("model.ckpt-1.meta", graph, &model, status);
  ok();
  leat_saver_save(saver, session, 1, status);
  ok();
  leat_saver_free(saver);
  kit_close(session);
  leat_scope_free(s);
  TF_DeleteGraph(graph);
}

static void test_run(void** state) {
  tool_expect(0, "out float (2,)\n[32. 44.]\n",
              "run model --signature serving_default --feed in=[1,2]");
  tool_expect(0, "out float (2,)\n[32. 44.]\nw float ()\n2.0\n",
              "run model/saved_model.pb --signature serving_default --feed in=[1,2] --fetch out "
              "--fetch w");
  tool_expect(0, "{\"w\": {\"dtype\": \"float\", \"shape\": [], \"value\": 2}}\n",
              "run model --tag serve --fetch w --json");
  tool_expect(0, "w float ()\n2.0\n", "run model.ckpt-1.meta --fetch w");
  tool_expect(0, "w float ()\n2.0\n",
              "run model.ckpt-1.meta --checkpoint model/variables/variables --fetch w");
  tool_expect_part(1, "matching files for nowhere", "run model.ckpt-1.meta --checkpoint nowhere "
                                                       "--fetch w");
  tool_expect_part(1, "there is no signature 'serve'; there are '__saved_model_init_op', "
                      "'serving_default'", "run model --signature serve");
  tool_expect_part(2, "give --fetch, --target or --signature (leat inspect saved_model model lists",
                   "run model --feed in=[1,2]");
  tool_expect_part(1, "no operation 'inn'", "run model --signature serving_default --feed inn=1");
  tool_expect_part(1, "matching supplied tags: { a b }", "run model --tag a --tag b --fetch w");
  tool_expect_part(1, "No such file", "run nothing/saved_model.pb --fetch w");
}

static void test_several_graphs(void** state) {
  tool_expect(0, "", "convert graph model/saved_model.pb model/saved_model.pbtxt");
  assert_int_equal(system("mkdir two && sed 's/tags: \"serve\"/tags: \"a\" tags: \"b\"/' "
                          "model/saved_model.pbtxt > two/saved_model.pbtxt && echo 'meta_graphs { "
                          "meta_info_def { tags: \"c\" } }' >> two/saved_model.pbtxt"), 0);
  tool_expect_part(1, "two has graphs for the tags 'a b', 'c'; choose by --tag",
                   "run two --fetch x");
  tool_expect_part(0, "graph with tags 'a' 'b': ", "inspect saved_model two");
}

static void test_inspect(void** state) {
  tool_expect_part(0, "  signature serving_default tensorflow/serving/predict\n"
                      "    in  in                           float [2]  x:0\n"
                      "    out out                          float [2]  ",
                   "inspect saved_model model");
  tool_expect_part(0, "  restored by save/restore_all\n  initialised by set\n"
                      "1 tensors in model/variables/variables\n", "inspect saved_model model");
  tool_expect_part(0, "[{\"tags\": [\"serve\"], \"nodes\": ", "inspect saved_model model --json");
  tool_expect_part(0, "\"inputs\": {\"in\": {\"tensor\": \"x:0\", \"dtype\": \"float\", "
                      "\"shape\": [2]}}", "inspect saved_model model --json");
  tool_expect_part(1, "nothing/saved_model.pbtxt; No such file", "inspect saved_model nothing");
}

static void test_freeze(void** state) {
  tool_expect(0, "", "convert freeze model frozen.pb");
  tool_expect(0, "AddV2_1 float (2,)\n[32. 44.]\n",
              "run frozen.pb --feed x=[1,2] --fetch AddV2_1");
  tool_expect_part(0, "\"variables\": []", "inspect graph frozen.pb --json");
  tool_expect_part(0, "\"inputs\": [\"x\"]", "inspect graph frozen.pb --json");
  tool_expect(0, "", "convert freeze model.ckpt-1.meta frozen.pbtxt --output w/read");
  tool_expect(0, "w/read float ()\n2.0\n", "run frozen.pbtxt --fetch w/read");
  tool_expect_part(1, "freezing failed for node 'z' (Assign): it takes the variable 'w' itself",
                   "convert freeze model bad.pb --output z");
  tool_expect_part(1, "freezing failed for node 'set' (AssignVariableOp): it takes the variable "
                      "'r' itself", "convert freeze model bad.pb --output set");
  // The checkpoint holds only references.
  tool_expect_part(1, "reading the variables: ", "convert freeze model.ckpt-1.meta bad.pb "
                                                 "--output read");
  tool_expect_part(1, "has no signatures", "convert freeze frozen.pb bad.pb");
  tool_expect_part(1, "no operation 'q'", "convert freeze model bad.pb --output q");
  tool_expect_part(1, "there is no signature 'q'", "convert freeze model bad.pb --signature q");
  assert_false(scratch_has("bad.pb"));
}

// call(x) = x + x by a function; "call/sum" is taken by another node.
static void test_freeze_calls(void** state) {
  scratch_write_text(
      "calls.pbtxt",
      "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }\n"
      "node { name: 'call/sum' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }\n"
      "node { name: 'call' op: 'PartitionedCall' input: 'call/sum'\n"
      "  attr { key: 'Tin' value { list { type: DT_FLOAT } } }\n"
      "  attr { key: 'Tout' value { list { type: DT_FLOAT } } }\n"
      "  attr { key: 'f' value { func { name: 'twice' } } } }\n"
      "library { function { signature { name: 'twice' input_arg { name: 'a' type: DT_FLOAT }\n"
      "  output_arg { name: 'b' type: DT_FLOAT } } ret { key: 'b' value: 'sum:z:0' }\n"
      "  node_def { name: 'sum' op: 'AddV2' input: 'a' input: 'a'\n"
      "    attr { key: 'T' value { type: DT_FLOAT } } } } } versions { producer: 27 }\n");
  tool_expect(0, "", "convert freeze calls.pbtxt frozen.pbtxt --output call");
  tool_expect(0, "call float ()\n-6.0\n", "run frozen.pbtxt --feed x=3 --fetch call");
  tool_expect_part(0, "name: \".call/sum\"\nop: \"AddV2\"\ninput: \"call/sum\"",
                   "inspect graph frozen.pbtxt --node .call/sum");
  tool_expect_part(0, " 0 functions, ", "inspect graph frozen.pbtxt");
}

// x -> a node with a name of 600 letters -> y.
static void test_freeze_keeps_long_names(void** state) {
  char name[601], graph[2048];
  memset(name, 'n', 600);
  name[600] = 0;
  snprintf(graph, sizeof graph,
           "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }\n"
           "node { name: '%s' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }\n"
           "node { name: 'y' op: 'Neg' input: '%s' attr { key: 'T' value { type: DT_FLOAT } } }\n"
           "versions { producer: 27 }\n", name, name);
  scratch_write_text("long.pbtxt", graph);
  tool_expect(0, "", "convert freeze long.pbtxt frozen.pbtxt --output y");
  tool_expect(0, "y float ()\n3.0\n", "run frozen.pbtxt --feed x=3 --fetch y");
}

static void test_convert_graph(void** state) {
  tool_expect(0, "", "convert graph model.ckpt-1.meta m.meta.pbtxt");
  tool_expect(0, "", "convert graph m.meta.pbtxt m.meta");
  tool_expect(0, "", "convert graph m.meta again.meta.pbtxt");
  assert_int_equal(system("cmp m.meta.pbtxt again.meta.pbtxt"), 0);
  tool_expect(0, "w float ()\n2.0\n", "run m.meta.pbtxt --checkpoint model.ckpt-1 --fetch w");
  tool_expect_part(2, "are both text", "convert graph a.pbtxt b.pbtxt");
  tool_expect_part(1, "No such file", "convert graph a.pb b.pbtxt");
  tool_expect_part(1, "nowhere/b.pbtxt", "convert graph m.meta nowhere/b.pbtxt");
  tool_expect_part(2, "must be graph, freeze or checkpoint", "convert picture a b");
  tool_expect_part(2, "FROM and TO must be named", "convert graph a.pb");
  tool_expect_part(2, "options are for freeze", "convert graph a b --output c");
  tool_expect_part(2, "one file too many", "convert graph a b c");
}

// ---- Checkpoints --------------------------------------------------------------------------------

// Saves a number and a string by |op|, Save (of the first version) or SaveV2.
static void save_by(const char* op, const char* file, const char* name, const char* text,
                    size_t size) {
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  int64_t two = 2;
  TF_Tensor* names = TF_AllocateTensor(TF_STRING, &two, 1, 2 * sizeof(TF_TString));
  TF_TString* items = TF_TensorData(names);
  TF_TString_Copy(&items[0], "number", 6);
  TF_TString_Copy(&items[1], name, strlen(name));
  leat_attribute_t constant[] = {leat_attribute_tensor("value", names),
                                 leat_attribute_type("dtype", TF_STRING)};
  TF_Tensor* bytes = TF_AllocateTensor(TF_STRING, NULL, 0, sizeof(TF_TString));
  TF_TString_Copy(TF_TensorData(bytes), text, size);
  TF_Output text_out = kit_out(kit_const(graph, "text", bytes), 0);
  TF_Tensor* slices = TF_AllocateTensor(TF_STRING, &two, 1, 2 * sizeof(TF_TString));
  TF_Output inputs[5] = {leat_constant_string(s, file),
                         {leat_operation(s, "Const", NULL, NULL, 0, constant, 2), 0}};
  int count = 2;
  if (!strcmp(op, "SaveV2")) inputs[count++] = kit_out(kit_const(graph, "slices", slices), 0);
  inputs[count++] = leat_constant_floats(s, 1, &two, (float[]){1, 2.5f});
  inputs[count++] = text_out;
  TF_Operation* save = leat_operation(s, op, NULL, inputs, count, NULL, 0);
  if (!save) fail_msg("%s", TF_Message(leat_scope_status(s)));
  TF_Session* session = kit_session(graph);
  leat_target_run(session, save, status);
  ok();
  kit_close(session);
  if (strcmp(op, "SaveV2")) TF_DeleteTensor(slices);
  TF_DeleteTensor(names);
  leat_scope_free(s);
  TF_DeleteGraph(graph);
}

static void test_convert_checkpoint(void** state) {
  save_by("Save", "old.ckpt", "text", "mill", 4);
  assert_false(scratch_has("old.ckpt.index"));
  tool_expect(0, "", "convert checkpoint old.ckpt new/model.ckpt");
  assert_true(scratch_has("new/model.ckpt.index"));
  tool_expect(0, "number float (2,)\n[1.  2.5]\n",
              "inspect checkpoint new/model.ckpt --tensor number");
  tool_expect(0, "text string ()\nb'mill'\n", "inspect checkpoint new/model.ckpt --tensor text");
  tool_expect_part(1, "leat: missing: ", "convert checkpoint missing new.ckpt");
}

// TrackableObjectGraph: the root has a model, which has the root for a parent and two values; an
// optimizer has a slot for the first. Numbers beyond the list are passed over.
static void test_objects(void** state) {
  static const char kGraph[] =
      "nodes { children { node_id: 1 local_name: 'model' }\n"
      "  children { node_id: 3 local_name: 'o' } children { node_id: 77 local_name: 'gone' } }\n"
      "nodes { children { node_id: 0 local_name: 'parent' }\n"
      "  children { node_id: 2 local_name: 'w' } }\n"
      "nodes { attributes { name: 'VARIABLE_VALUE' full_name: 'dense/w'\n"
      "  checkpoint_key: 'number' } }\n"
      "nodes { slot_variables { original_variable_node_id: 2 slot_name: 'm'\n"
      "  slot_variable_node_id: 4 } slot_variables { original_variable_node_id: -5 } }\n"
      "nodes { attributes { checkpoint_key: 'slot' } }\n"
      "nodes { attributes { checkpoint_key: 'unreached' } }\n";
  TF_Buffer text = {kGraph, sizeof kGraph - 1, NULL};
  TF_Buffer* bytes = leat_message_from_text("TrackableObjectGraph", &text, status);
  ok();
  save_by("SaveV2", "objects", "_CHECKPOINTABLE_OBJECT_GRAPH", bytes->data, bytes->length);
  TF_DeleteBuffer(bytes);
  tool_expect_part(0, "with a graph of objects: --objects shows it\n",
                   "inspect checkpoint objects");
  tool_expect(0, "model/w                                  number  as dense/w\n"
                 "model/w/.OPTIMIZER_SLOT/o/m              slot\n"
                 "6 objects, 2 of them with values\n", "inspect checkpoint objects --objects");
  tool_expect(0, "[{\"path\": \"model/w\", \"keys\": [\"number\"]},\n"
                 " {\"path\": \"model/w/.OPTIMIZER_SLOT/o/m\", \"keys\": [\"slot\"]}]\n",
              "inspect checkpoint objects --objects --json");
  tool_expect_part(1, "not found", "inspect checkpoint model.ckpt-1 --objects");
  save_by("SaveV2", "broken", "_CHECKPOINTABLE_OBJECT_GRAPH", "\x0a\x7f", 2);
  tool_expect_part(1, "leat: objects: ", "inspect checkpoint broken --objects");
}

// ---- Real models --------------------------------------------------------------------------------

static void test_real_models(void** state) {
  char folder[1024];
  snprintf(folder, sizeof folder, "%s", tool_data_path("models/savedmodel"));
  tool_expect(0, "outputs float ()\n12.0\n",
              "run %s/tf_testdata_2019/tensorflow/contrib/predictor/test_export_dir "
              "--signature product --feed x=3 --feed y=4", folder);
  tool_expect(0, "", "convert freeze %s/onnx_tensorflow-onnx/tests/models/regression/saved_model "
                     "real.pb", folder);
  tool_expect(0, "pred float ()\n1.1565063\n", "run real.pb --feed X=0.5 --fetch pred");
  tool_expect(0, "", "convert freeze %s/Cambridge-ICCS_fortran-tf-lib/fortran-tf-lib/my_model "
                     "real.pb", folder);
  tool_expect_part(0, "\"variables\": []", "inspect graph real.pb --json");
  tool_expect_part(0, "layer_with_weights-0/bias                layer_with_weights-0/bias/"
                      ".ATTRIBUTES/VARIABLE_VALUE  as dense/bias\n",
                   "inspect checkpoint %s/Cambridge-ICCS_fortran-tf-lib/fortran-tf-lib/my_model/"
                   "variables/variables --objects", folder);
}

static int set_up(void** state) {
  status = TF_NewStatus();
  if (scratch_set_up(state)) return -1;
  write_models();
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteStatus(status);
  return scratch_tear_down(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_run),           cmocka_unit_test(test_inspect),
      cmocka_unit_test(test_freeze),        cmocka_unit_test(test_freeze_calls),
      cmocka_unit_test(test_freeze_keeps_long_names), cmocka_unit_test(test_convert_graph),
      cmocka_unit_test(test_convert_checkpoint), cmocka_unit_test(test_objects),
      cmocka_unit_test(test_several_graphs), cmocka_unit_test(test_real_models),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
