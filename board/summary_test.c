// The summaries of leat/summary.h, written through the C API and read back as the board's answers
// to a browser. Counts of the curve are worked out by hand; that TensorBoard shows the same files
// in the same way is tested in tests/oracle/board_summaries_oracle.py, and what is refused in
// tests/client/summary_test.c.
#include <stdio.h>

#include "board/test_scene.h"
#include "leat/summary.h"
#include "tensorflow/c/c_api.h"

static TF_Status* status;

static void expect_ok(void) {
  if (TF_GetCode(status)) print_error("%s\n", TF_Message(status));
  assert_int_equal(TF_GetCode(status), TF_OK);
}

// The log directory is the only run.
static leat_events_t* open_events(void) {
  status = TF_NewStatus();
  leat_events_t* events = leat_events_open(test_directory, status);
  expect_ok();
  return events;
}

static void close_events(leat_events_t* events) {
  leat_events_close(events, status);
  expect_ok();
  TF_DeleteStatus(status);
}

// Shows the answer to a question that must succeed.
static void ask(const char* path, const char* query) {
  int code = scene_ask(path, query);
  if (code != 200) print_error("%s\n", scene.body);
  assert_int_equal(code, 200);
}

// Asks |path| for a list that contains |part|, and |blob_path| for the bytes of its first item.
static void ask_for_blob(const char* path, const char* query, const char* part,
                         const char* blob_path) {
  char key[256] = "";
  ask(path, query);
  scene_expect(part);
  const char* begin = strstr(scene.body, "\"query\":\"");
  assert_non_null(begin);
  assert_int_equal(sscanf(begin, "\"query\":\"%255[^\"]", key), 1);
  ask(blob_path, key);
}

static void values_are_shown(void** state) {
  // One frame of two channels, 8,000 frames a second.
  static const char wav[] = "RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0\x40\x1f\0\0\0\x7d\0\0"
                            "\x04\0\x10\0" "data\x04\0\0\0\x01\0\x02\0";
  leat_events_t* events = open_events();
  leat_events_add_text(events, 3, "notes", "a *b* \xc3\xa9", status);
  expect_ok();
  leat_events_add_image(events, 4, "cat", "GIF89a....", 10, 7, 5, status);
  expect_ok();
  leat_events_add_audio(events, 5, "sound", wav, sizeof wav - 1, status);
  expect_ok();
  close_events(events);
  scene_start();
  ask("/data/leat/text", "run=.&tag=notes");
  scene_expect("a *b* \xc3\xa9");
  scene_expect("\"step\":3");
  ask_for_blob("/data/plugin/images/images", "run=.&tag=cat&sample=0", "\"step\":4",
               "/data/plugin/images/individualImage");
  assert_memory_equal(scene.body, "GIF89a....", 10);
  ask_for_blob("/data/plugin/audio/audio", "run=.&tag=sound&sample=0", "\"step\":5",
               "/data/plugin/audio/individualAudio");
  assert_memory_equal(scene.body, wav, sizeof wav - 1);
  scene_stop();
}

static void the_run_metadata_of_a_step_is_shown(void** state) {
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* node = TF_FinishOperation(TF_NewOperation(graph, "NoOp", "nothing"), NULL);
  assert_non_null(node);
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Buffer* metadata = TF_NewBuffer();
  TF_Buffer* full_trace = TF_NewBufferFromString("\x08\x03", 2);
  leat_events_t* events = open_events();
  TF_Session* session = TF_NewSession(graph, options, status);
  expect_ok();
  TF_SessionRun(session, full_trace, NULL, NULL, 0, NULL, NULL, 0,
                (const TF_Operation*[]){node}, 1, metadata, status);
  expect_ok();
  leat_events_add_graph(events, graph, status);
  expect_ok();
  leat_events_add_run_metadata(events, 9, "step 9", metadata, status);
  expect_ok();
  close_events(events);
  status = TF_NewStatus();
  TF_DeleteSession(session, status);
  TF_DeleteStatus(status);
  TF_DeleteSessionOptions(options);
  TF_DeleteBuffer(full_trace);
  TF_DeleteBuffer(metadata);
  TF_DeleteGraph(graph);
  scene_start();
  ask("/data/plugin/graphs/info", "");
  scene_expect("\"step 9\"");
  ask("/data/plugin/graphs/run_metadata", "run=.&tag=step+9");
  scene_expect("node_name: \"nothing\"");
  scene_stop();
}

// At the thresholds 0, 0.5 and 1 the predictions lie in the buckets 1, 0, 0, 0; of the last
// threshold the board shows nothing, since no prediction reaches it.
static void curves_are_shown(void** state) {
  float labels[] = {1, 0, 1, 0}, predictions[] = {0.9f, 0.2f, 0.4f, 0.4f}, weights[] = {1, 1, 2, 1};
  leat_pr_curve_t curve = {labels, predictions, NULL, 4, 3};
  leat_events_t* events = open_events();
  leat_events_add_pr_curve(events, 7, "plain", &curve, status);
  expect_ok();
  curve.weights = weights;
  leat_events_add_pr_curve(events, 7, "weighted", &curve, status);
  expect_ok();
  // A prediction of 0.5 reaches the threshold 0.5, and one of 1 the last.
  curve = (leat_pr_curve_t){labels, (float[]){0.5f, 1}, NULL, 2, 3};
  leat_events_add_pr_curve(events, 7, "edges", &curve, status);
  expect_ok();
  curve = (leat_pr_curve_t){NULL, NULL, NULL, 0, 201};
  leat_events_add_pr_curve(events, 8, "empty", &curve, status);
  expect_ok();
  close_events(events);
  scene_start();
  ask("/data/plugin/pr_curves/pr_curves", "run=.&tag=plain");
  scene_expect("\"step\":7,\"true_positives\":[2,1],\"false_positives\":[2,0],"
               "\"true_negatives\":[0,2],\"false_negatives\":[0,1],\"precision\":[0.5,1.0],"
               "\"recall\":[1.0,0.5],\"thresholds\":[0.0,0.5]}");
  ask("/data/plugin/pr_curves/pr_curves", "run=.&tag=weighted");
  scene_expect("\"true_positives\":[3,1],\"false_positives\":[2,0],\"true_negatives\":[0,2],"
               "\"false_negatives\":[0,2],\"precision\":[0.6000000238418579,1.0],"
               "\"recall\":[1.0,0.3333333432674408]");
  ask("/data/plugin/pr_curves/pr_curves", "run=.&tag=edges");
  scene_expect("\"true_positives\":[1,1,0],\"false_positives\":[1,1,1]");
  ask("/data/plugin/pr_curves/pr_curves", "run=.&tag=empty");
  scene_expect("\"step\":8,\"true_positives\":[0]");
  ask("/data/plugin/pr_curves/tags", "");
  scene_expect("\"displayName\":\"weighted\"");
  scene_stop();
}

static void layouts_are_shown(void** state) {
  leat_margin_t margin = {"v", "l", "u"};
  leat_chart_t charts[] = {{"c", (const char*[]){"lo.s", "x"}, 2, NULL, 0},
                           {"m", NULL, 0, &margin, 1}};
  leat_chart_category_t categories[] = {{"A", charts, 2, 1}, {"B", NULL, 0, 0}};
  leat_events_t* events = open_events();
  leat_events_add_layout(events, categories, 1, status);
  expect_ok();
  leat_events_add_layout(events, categories, 2, status);  // the newest counts
  expect_ok();
  close_events(events);
  scene_start();
  ask("/data/plugin/custom_scalars/layout", "");
  assert_string_equal(
      scene.body,
      "{\"version\":0,\"category\":[{\"title\":\"A\",\"chart\":[{\"title\":\"c\",\"multiline\":"
      "{\"tag\":[\"lo.s\",\"x\"]}},{\"title\":\"m\",\"margin\":{\"series\":[{\"value\":\"v\","
      "\"lower\":\"l\",\"upper\":\"u\"}]}}],\"closed\":true},"
      "{\"title\":\"B\",\"chart\":[],\"closed\":false}]}");
  scene_stop();
}

static void sessions_are_shown(void** state) {
  leat_hparam_t hparams[] = {leat_hparam_number("lr", 0.25), leat_hparam_text("opt", "adam"),
                             leat_hparam_bool("big", 5)};
  leat_events_t* events = open_events();
  leat_events_add_session_start(events, &(leat_session_start_t){hparams, 3, "G"}, status);
  expect_ok();
  leat_events_add_scalar(events, 1, "loss", 0.5, status);
  leat_events_add_session_end(events, LEAT_SESSION_FAILURE, status);
  expect_ok();
  close_events(events);
  scene_start();
  const char* all = "request=%7B%22allowedStatuses%22:%5B2%5D,%22sliceSize%22:9%7D";
  ask("/data/plugin/hparams/session_groups", all);
  scene_expect("\"lr\":0.25");
  scene_expect("\"opt\":\"adam\"");
  scene_expect("\"big\":true");
  scene_expect("\"STATUS_FAILURE\"");
  scene_expect("\"name\":\"G\"");
  ask("/data/plugin/hparams/experiment", "request=%7B%7D");
  scene_expect("\"loss\"");
  scene_stop();
}

static void experiments_are_shown(void** state) {
  leat_hparam_info_t hparams[] = {
      {.name = "lr", .title = "rate", .kind = LEAT_HPARAM_NUMBER, .low = 0.5, .high = 2},
      {.name = "opt", .kind = LEAT_HPARAM_TEXT, .texts = (const char*[]){"sgd", "adam"},
       .text_count = 2},
      {.name = "big", .kind = LEAT_HPARAM_BOOL}};
  leat_hparam_metric_t metrics[] = {{"accuracy", "eval", "Accuracy"}, {"accuracy", NULL, NULL}};
  leat_experiment_t experiment = {"What *this* is", hparams, 3, metrics, 2};
  leat_events_t* events = open_events();
  leat_events_add_experiment(events, &experiment, status);
  expect_ok();
  close_events(events);
  scene_start();
  ask("/data/plugin/hparams/experiment", "request=%7B%7D");
  scene_expect("What *this* is");
  scene_expect("\"displayName\":\"rate\"");
  // By name, as TensorBoard has them.
  const char *big = strstr(scene.body, "\"big\""), *lr = strstr(scene.body, "\"lr\"");
  assert_true(big && lr && big < lr);
  scene_expect("\"minValue\":0.5");
  scene_expect("\"maxValue\":2.0");
  scene_expect("[\"sgd\",\"adam\"]");
  scene_expect("[false,true]");
  scene_expect("\"displayName\":\"Accuracy\"");
  scene_stop();
}

int main(void) {
#define TEST(name) \
  cmocka_unit_test_setup_teardown(name, test_directory_make, test_directory_remove)
  const struct CMUnitTest tests[] = {
      TEST(values_are_shown),
      TEST(the_run_metadata_of_a_step_is_shown),
      TEST(curves_are_shown),
      TEST(layouts_are_shown),
      TEST(sessions_are_shown),
      TEST(experiments_are_shown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
