// leat inspect on graphs, passes, events and records that the library writes, and on real files
// below LEAT_DATA_DIR. The built executable is run as a user would run it, and its exit code and
// the parts of its output that matter are compared. Misuse must be told with the option or file at
// fault. The real files were written by TensorFlow and others over the years, the first version of
// checkpoints included. SavedModels and the objects of checkpoints are tested in model_test.c.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leat/files.h"
#include "leat/inspect.h"
#include "leat/train.h"
#include "tools/tool_run.h"

static TF_Status* status;

static void ok(void) {
  if (TF_GetCode(status) != TF_OK) print_error("%s\n", TF_Message(status));
  assert_int_equal(TF_GetCode(status), TF_OK);
}

static void test_graph(void** state) {
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  TF_Output x = leat_placeholder(s, "x", TF_FLOAT, 2, (int64_t[]){-1, 3});
  TF_Output w = leat_variable(s, "w", TF_FLOAT, 2, (int64_t[]){3, 1},
                              leat_initializer_constant(1));
  leat_softmax(s, leat_matmul(s, x, w));
  assert_int_equal(TF_GetCode(leat_scope_status(s)), TF_OK);
  TF_Buffer* bytes = TF_NewBuffer();
  TF_GraphToGraphDef(graph, bytes, status);
  ok();
  scratch_write_file("g.pb", bytes->data, bytes->length);
  tool_expect_part(0, "inputs\n  x                                float [?, 3]\n",
                   "inspect graph g.pb");
  tool_expect_part(0, "  Softmax                          Softmax\n", "inspect graph g.pb");
  tool_expect_part(0, "variables\n  w                                float [3, 1]\n",
                   "inspect graph g.pb");
  tool_expect_part(0, "\"inputs\": [\"x\"]", "inspect graph g.pb --json");
  tool_expect_part(0, "\"not_registered\": []", "inspect graph g.pb --json");
  tool_expect_part(0, "name: \"MatMul\"\nop: \"MatMul\"\ninput: \"x\"\ninput: \"w/read\"\n",
                   "inspect graph g.pb --node MatMul");
  tool_expect_part(1, "g.pb has no node 'z'", "inspect graph g.pb --node z");
  tool_expect_part(0, ">w</text><text class=\"count\"", "inspect graph g.pb --svg");
  tool_expect_part(0, "<title>w/read\nIdentity</title>", "inspect graph g.pb --svg --open w");
  tool_expect_part(0, "<title>w/read\nIdentity</title>", "inspect graph g.pb --svg --open '*'");
  tool_expect_part(2, "--open is for --svg", "inspect graph g.pb --open w");
  // The text is read back as the same graph.
  tool_expect(0, "", "inspect graph g.pb --text > g.pbtxt");
  tool_expect(0, NULL, "inspect graph g.pbtxt --text > again.pbtxt && cmp g.pbtxt again.pbtxt");
  TF_DeleteBuffer(bytes);
  leat_scope_free(s);
  TF_DeleteGraph(graph);
}

static void test_passes(void** state) {
#define PLACEHOLDER " attr { key: 'dtype' value { type: DT_FLOAT } } } "
#define T " attr { key: 'T' value { type: DT_FLOAT } } } "
  scratch_write_text("p.pbtxt",
                     "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: "
                     "DT_FLOAT } } } node { name: 'i' op: 'Identity' input: 'x'" T
                     "node { name: 'n' op: 'Neg' input: 'i' device: '/device:CPU:1'" T
                     "node { name: 'e' op: 'Exp' input: 'n' device: '/device:CPU:0'" T);
  // Nobody reads the second output of u, which does not make it one that the step fetches.
  scratch_write_text("unread.pbtxt",
                     "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } "
                     "attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { "
                     "size: 2 } } float_val: [1, 2] } } } } "
                     "node { name: 'u' op: 'Unpack' input: 'c' attr { key: 'num' value { i: 2 } }" T
                     "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: "
                     "DT_FLOAT } } } node { name: 's' op: 'Add' input: 'u' input: 'x'" T);
  scratch_write_text("layer.pbtxt",
                     "node { name: 'x' op: 'Placeholder'" PLACEHOLDER
                     "node { name: 'w' op: 'Placeholder'" PLACEHOLDER
                     "node { name: 'b' op: 'Placeholder'" PLACEHOLDER
                     "node { name: 'i' op: 'Identity' input: 'x'" T
                     "node { name: 'p' op: 'MatMul' input: 'i' input: 'w'" T
                     "node { name: 'y' op: 'BiasAdd' input: 'p' input: 'b'" T);
#undef T
#undef PLACEHOLDER
  tool_expect_part(0, "pass fold: 4 -> 3 nodes, 2 removed, 1 added",
                   "inspect graph unread.pbtxt --pass fold");
  tool_expect_part(0, "p.pbtxt, pass arithmetic: 4 -> 3 nodes, 1 removed, 0 added, 1 rewired\n"
                      "removed\n  i                                        Identity\n"
                      "rewired\n  n                                        Neg\n"
                      "ops\n       1 ->      0 Identity\n",
                   "inspect graph p.pbtxt --pass arithmetic --devices 2");
  tool_expect(0, "{\"pass\": \"cse\", \"nodes\": [4, 4], \"removed\": [], \"added\": [], "
                 "\"rewired\": [], \"ops\": {\"Exp\": [1, 1], \"Identity\": [1, 1], \"Neg\": "
                 "[1, 1], \"Placeholder\": [1, 1]}}\n",
              "inspect graph p.pbtxt --pass cse --json --devices 2");
  tool_expect_part(0, "p.pbtxt, pass compress: 8 -> 12 nodes, 0 removed, 4 added, 4 rewired\n",
                   "inspect graph p.pbtxt --pass compress --devices 2");
  tool_expect_part(0, "pass all: 4 -> 3 nodes", "inspect graph p.pbtxt --pass all --devices 2");
  tool_expect_part(0, "passes\n  arithmetic           1 removed,      0 added\n"
                      "  rules                2 removed,      1 added\n"
                      "         1 x product_bias ",
                   "inspect graph layer.pbtxt --pass all");
  tool_expect_part(0, "{\"pass\": \"rules\", \"removed\": 2, \"added\": 1, \"rules\": [{\"rule\": "
                      "\"product_bias\", \"times\": 1, \"doc\": ",
                   "inspect graph layer.pbtxt --pass all --json");
  tool_expect_part(2, "'none' is no pass, must be all or one of fold, arithmetic,",
                   "inspect graph p.pbtxt --pass none");
  tool_expect_part(2, "--devices is '0', must be", "inspect graph p.pbtxt --devices 0");
}

static void test_unregistered_op(void** state) {
  scratch_write_text("alien.pbtxt", "node { name: 'a' op: 'Alien' } node { name: 'b' op: 'F' }\n"
                                 "library { function { signature { name: 'F' } } }");
  tool_expect_part(0, "     1 Alien  (not registered here)\n       1 F\n",
                   "inspect graph alien.pbtxt");
  tool_expect_part(0, "\"not_registered\": [\"Alien\"]", "inspect graph alien.pbtxt --json");
}

static void test_misuse(void** state) {
  scratch_write_text("alien.pbtxt", "node { name: 'a' op: 'Alien' }");
  tool_expect_part(2, "'picture' is no kind of file", "inspect picture x");
  tool_expect_part(2, "--tensor is not for a graph", "inspect graph alien.pbtxt --tensor a");
  tool_expect_part(2, "no file is named", "inspect events");
  tool_expect_part(2, "the kind of file is not named", "inspect");
  tool_expect_part(1, "No such file or directory", "inspect graph absent.pb");
  tool_expect_part(1, "No such file or directory", "inspect checkpoint absent");
  tool_expect_part(1, "No such file or directory", "inspect events absent");
  tool_expect_part(1, "leat: .; Is a directory", "inspect graph .");
  tool_expect_part(1, "leat: ", "inspect events alien.pbtxt");
}

static void test_events(void** state) {
  leat_events_t* events = leat_events_open("logs", status);
  ok();
  double values[] = {1, 2, 6};
  leat_events_add_scalar(events, 7, "loss", 0.25, status);
  ok();
  leat_events_add_histogram(events, 8, "weights", values, 3, status);
  ok();
  leat_events_close(events, status);
  ok();
  tool_expect_part(0, "file_version: brain.Event:2\n", "inspect events logs/events.*");
  tool_expect_part(0, "  loss                     0.25\n", "inspect events logs/events.*");
  tool_expect_part(0, "histogram: 3 values from 1 to 6, mean 3\n",
                   "inspect events logs/events.*");
  tool_expect_part(0, "\"tag\": \"loss\", \"kind\": \"scalar\", \"value\": 0.25}\n",
                   "inspect events logs/events.* --json");
}

static void test_records(void** state) {
  const char example[] = "\x0a\x0b\x0a\x09\x0a\x01\x61\x12\x04\x1a\x02\x0a\x00";
  leat_records_writer_t* writer = leat_records_create("r.tfrecord", status);
  ok();
  leat_records_write(writer, example, sizeof example - 1, status);
  ok();
  leat_records_write(writer, "", 0, status);
  ok();
  leat_records_finish(writer, status);
  ok();
  tool_expect(0, "       0  13 bytes\n       1  0 bytes\n2 records, 13 bytes\n",
              "inspect records r.tfrecord");
  tool_expect_part(0, "    key: \"a\"\n", "inspect records r.tfrecord --as Example");
  tool_expect_part(1, "type is 'Alien'", "inspect records r.tfrecord --as Alien");
  writer = leat_records_create_compressed("z.tfrecord", "ZLIB", status);
  ok();
  leat_records_write(writer, "five!", 5, status);
  leat_records_finish(writer, status);
  ok();
  tool_expect_part(0, "1 records, 5 bytes", "inspect records z.tfrecord --compression ZLIB");
  FILE* file = fopen("r.tfrecord", "r+b");
  assert_non_null(file);
  fseek(file, 15, SEEK_SET);
  fputc('!', file);
  fclose(file);
  tool_expect_part(1, "leat: ", "inspect records r.tfrecord");
}

// ---- Real files ---------------------------------------------------------------------------------

static void test_real_graph(void** state) {
  const char* path = tool_data_path("models/graphdef/fazibear_tensorflow.cr_examples/graph.pb");
  tool_expect_part(0, "GraphDef, 10 nodes, 6 kinds of op", "inspect graph %s", path);
  tool_expect(0, "c float ()\n4.5\n", "run %s --fetch c --feed a=3 --feed b=1.5", path);
}

static void test_real_saved_model(void** state) {
  tool_expect_part(0, "serving_default_input_1          float [?, 32]\n", "inspect graph %s",
                   tool_data_path("models/savedmodel/Cambridge-ICCS_fortran-tf-lib/fortran-tf-lib/"
                                  "my_model/saved_model.pb"));
}

static void test_real_checkpoint(void** state) {
  const char* path = tool_data_path(
      "models/checkpoint/tensorflow_lingvo/lingvo/core/testdata/lenet_test_model.index");
  tool_expect_part(0, "lenet5/softmax/weight_0/var/Adam         float    [300, 10]\n",
                   "inspect checkpoint %s", path);
  tool_expect_part(0, "23 tensors, 2291435 elements\n", "inspect checkpoint %s", path);
  tool_expect_part(1, "lenet_test_model.index: Key b not found in checkpoint",
                   "inspect checkpoint %s --tensor b", path);
  path = tool_data_path("models/checkpoint/Saafke_FSRCNN_Tensorflow/CKPT_dir/x2/fsrcnn_ckpt.index");
  tool_expect_part(0, "b1 float (56,)\n[-0.11590762 -0.11626618 ",
                   "inspect checkpoint %s --tensor b1", path);
}

static void test_real_old_checkpoint(void** state) {
  const char* folder = tool_data_path("models/checkpoint/tf_testdata_2019/tensorflow/contrib/"
                                      "session_bundle/testdata/half_plus_two/00000123");
  tool_expect(0, "a                                        float    []\n"
                 "b                                        float    []\n"
                 "2 tensors, 2 elements\n", "inspect checkpoint %s/export", folder);
  tool_expect(0, "b float ()\n2.0\n", "inspect checkpoint %s/export --tensor b", folder);
}

static void test_real_events(void** state) {
  const char* path = tool_data_path(
      "models/tfevents/tensorflow_lingvo/lingvo/core/ops/testdata/events.out.tfevents.test");
  tool_expect_part(0, "    1500  2018-08-18 07:24:46.020  bleu/dev                 0.1120102\n",
                   "inspect events %s", path);
}

static int set_up(void** state) {
  status = TF_NewStatus();
  return scratch_set_up(state);
}

static int tear_down(void** state) {
  TF_DeleteStatus(status);
  return scratch_tear_down(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_graph),        cmocka_unit_test(test_unregistered_op),
      cmocka_unit_test(test_passes),
      cmocka_unit_test(test_misuse),       cmocka_unit_test(test_events),
      cmocka_unit_test(test_records),      cmocka_unit_test(test_real_graph),
      cmocka_unit_test(test_real_saved_model), cmocka_unit_test(test_real_checkpoint),
      cmocka_unit_test(test_real_old_checkpoint),
      cmocka_unit_test(test_real_events),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
