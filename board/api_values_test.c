// Two answers that TensorBoard does not have: texts exactly as the program wrote them, and a table
// of hyper-parameters with each run's last metrics. Texts are asked at TensorBoard's own address
// too, which escapes HTML and must go on doing so. The message that holds a session's
// hyper-parameters is spelt as raw bytes here, because a test then overwrites more and more of
// these bytes with 0xff; every such file must still lead to an answer with code 200. A folder
// without a session gives an empty table, not an error.
#include <stdio.h>

#include "board/test_scene.h"

static leat_pb_event_t make_event(leat_pb_summary_t* summary) {
  return (leat_pb_event_t){.wall_time = 1, .step = 3, .summary = summary, .what_case = 5};
}

static void texts_come_as_they_are(void** state) {
  leat_string_view_t texts[2] = {LEAT_SV("# <b>\n\"x\""), LEAT_SV("second")};
  leat_pb_tensor_shape_proto_dim_t dim = {.size = 2};
  leat_pb_tensor_shape_proto_t shape = {.dim = {&dim, 1}};
  leat_pb_tensor_proto_t tensor = {.dtype = 7, .tensor_shape = &shape, .string_val = {texts, 2}};
  leat_pb_summary_metadata_plugin_data_t plugin = {.plugin_name = LEAT_SV("text")};
  leat_pb_summary_metadata_t metadata = {.plugin_data = &plugin, .data_class = 2};
  leat_pb_summary_value_t value = {.tag = LEAT_SV("t"), .tensor = &tensor, .value_case = 8,
                                   .metadata = &metadata};
  leat_pb_summary_t summary = {.value = {&value, 1}};
  leat_pb_event_t event = make_event(&summary);
  scene_write(".", &event, 1);
  scene_start();
  assert_int_equal(scene_ask("/data/leat/text", "run=.&tag=t"), 200);
  scene_expect("\"step\":3,\"shape\":[2],\"texts\":[\"# <b>\\n\\\"x\\\"\",\"second\"]");
  // TensorBoard's own address escapes.
  assert_int_equal(scene_ask("/data/plugin/text/text", "run=.&tag=t"), 200);
  scene_expect("&lt;b&gt;");
  assert_int_equal(scene_ask("/data/leat/text", "run=.&tag=u"), 200);
  scene_expect("[]");
  scene_stop();
}

// Runs have mostly the same tags, of which each is told once, in whatever order a run has them.
// Those of other plugins are not.
static void tags_of_scalars_are_told_once(void** state) {
  leat_pb_summary_value_t values[] = {
      {.tag = LEAT_SV("b"), .simple_value = 1, .value_case = 2},
      {.tag = LEAT_SV("a\""), .simple_value = 1, .value_case = 2},
      {.tag = LEAT_SV("c"), .simple_value = 1, .value_case = 2},
      {.tag = LEAT_SV("b"), .simple_value = 1, .value_case = 2},
      {.tag = LEAT_SV("a\""), .simple_value = 1, .value_case = 2},
      {.tag = LEAT_SV("d"), .simple_value = 1, .value_case = 2}};
  leat_pb_summary_image_t image = {.encoded_image_string = LEAT_SV("png")};
  leat_pb_summary_value_t picture = {.tag = LEAT_SV("p"), .image = &image, .value_case = 4};
  leat_pb_summary_t first = {.value = {values, 2}}, second = {.value = {values + 1, 2}};
  leat_pb_summary_t third = {.value = {&picture, 1}}, fourth = {.value = {values + 2, 4}};
  leat_pb_event_t events[] = {make_event(&first), make_event(&third)};
  leat_pb_event_t others[] = {make_event(&second), make_event(&fourth)};
  leat_file_system_t* fs = leat_file_system_posix();
  LEAT_EXPECT_OK(leat_file_make_directories(fs, test_path("x")));
  LEAT_EXPECT_OK(leat_file_make_directories(fs, test_path("y")));
  scene_write(".", events, 2);
  scene_write("x", &others[0], 1);
  scene_write("y", &others[1], 1);
  scene_start();
  assert_int_equal(scene_ask("/data/leat/scalar_tags", ""), 200);
  assert_string_equal(scene.body, "[\"b\",\"a\\\"\",\"c\",\"d\"]");
  // The page asks for the same together with the status and the runs.
  assert_int_equal(scene_ask("/data/leat/overview", ""), 200);
  scene_expect("{\"status\":{\"version\":");
  scene_expect("\"series\":9,");
  scene_expect(",\"runs\":[\".\",\"x\",\"y\"],"
               "\"scalar_tags\":[\"b\",\"a\\\"\",\"c\",\"d\"]}");
  scene_expect(test_directory);
  scene_stop();
  for (int i = 0; i < 2; ++i) {
    const char* run = i ? "y" : "x";
    char file[64];
    snprintf(file, sizeof file, "%s/events.out.tfevents.1.host", run);
    LEAT_EXPECT_OK(fs->vtable->remove(fs, test_path(file)));
    LEAT_EXPECT_OK(fs->vtable->remove(fs, test_path(run)));
  }
}

static void write_session(leat_string_view_t content) {
  leat_pb_tensor_proto_t tensor = {.dtype = 1};
  leat_pb_summary_metadata_plugin_data_t plugin = {.plugin_name = LEAT_SV("hparams"),
                                                   .content = content};
  leat_pb_summary_metadata_t metadata = {.plugin_data = &plugin, .data_class = 2};
  leat_pb_summary_value_t values[2] = {
      {.tag = LEAT_SV("_hparams_/session_start_info"), .tensor = &tensor, .value_case = 8,
       .metadata = &metadata},
      {.tag = LEAT_SV("loss"), .simple_value = 0.5f, .value_case = 2}};
  leat_pb_summary_t summary = {.value = {values, 2}};
  leat_pb_event_t event = make_event(&summary);
  scene_write(".", &event, 1);
}

// A session with the parameters "rate": 0.5, "adam": true and "name": "<x>", of the group "g".
#define ENTRY(size, key, value) "\x0a" size "\x0a\x04" key "\x12" value
#define SESSION                                         \
  "\x1a\x31" ENTRY("\x11", "rate", "\x09\x11\0\0\0\0\0\0\xe0?") \
  ENTRY("\x0a", "adam", "\x02 \x01") ENTRY("\x0d", "name", "\x05\x1a\x03<x>") "\x22\x01g"

static void hyper_parameters_are_told(void** state) {
  write_session(LEAT_SV(SESSION));
  scene_start();
  assert_int_equal(scene_ask("/data/leat/hparams", ""), 200);
  scene_expect("{\"sessions\":[{\"run\":\".\",\"group\":\"g\",\"hparams\":"
               "{\"rate\":0.5,\"adam\":true,\"name\":\"<x>\"},\"start\":0.0,\"status\":0,"
               "\"metrics\":{\"loss\":0.5}}]}");
  scene_stop();
}

// The addresses of TensorBoard: the comparison with its own server is a test of its own, and this
// one says what they do with requests that are none.
static void sessions_are_grouped(void** state) {
  const char *groups = "/data/plugin/hparams/session_groups", *table =
      "/data/plugin/hparams/download_data";
  write_session(LEAT_SV(SESSION));
  scene_start();
  assert_int_equal(scene_ask("/data/plugin/hparams/experiment", "request={}"), 200);
  scene_expect("{\"name\":\"adam\",\"displayName\":\"\",\"description\":\"\",\"type\":"
               "\"DATA_TYPE_BOOL\",\"differs\":false,\"domainDiscrete\":[true]}");
  scene_expect("\"metricInfos\":[{\"name\":{\"tag\":\"loss\",\"group\":\"\"},");
  assert_int_equal(scene_ask(groups, "request={\"allowedStatuses\":[0],\"sliceSize\":9}"), 200);
  scene_expect("{\"sessionGroups\":[{\"name\":\"g\",\"hparams\":{\"rate\":0.5,");
  scene_expect("\"totalSize\":1}");
  assert_int_equal(scene_ask(groups, "request={\"allowedStatuses\":[1]}"), 200);
  assert_string_equal(scene.body, "{\"sessionGroups\":[],\"totalSize\":0}");
  assert_int_equal(scene_ask("/data/plugin/hparams/metric_evals",
                             "request={\"sessionName\":\".\",\"metricName\":"
                             "{\"tag\":\"loss\"}}"), 200);
  assert_string_equal(scene.body, "[[1.0,3,0.5]]");
  assert_int_equal(scene_ask(table, "format=csv&columnsVisibility=[true,true,true,true]&request="
                                    "{\"allowedStatuses\":[0],\"sliceSize\":9}"), 200);
  assert_string_equal(scene.body, "adam,name,rate,loss\r\nTrue,<x>,0.5,0.5\r\n");
  static const struct {
    const char* column;
    int count;
  } filters[] = {{"\"adam\",\"filterDiscrete\":[true]", 1},
                 {"\"adam\",\"filter_discrete\":[1]", 1},
                 {"\"adam\",\"filterDiscrete\":[\"True\",false,null]", 0},
                 {"\"name\",\"filterDiscrete\":[]", 0},
                 {"\"name\",\"filterDiscrete\":null", 1},
                 {"\"rate\",\"filterInterval\":{\"maxValue\":\"Infinity\"}", 1}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(filters); ++i) {
    char query[256], total[32];
    snprintf(query, sizeof query, "request={\"allowedStatuses\":[0],\"sliceSize\":9,\"colParams\":"
             "[{\"hparam\":%s}]}", filters[i].column);
    snprintf(total, sizeof total, "\"totalSize\":%d}", filters[i].count);
    assert_int_equal(scene_ask(groups, query), 200);
    scene_expect(total);
  }
  static const char* const wrong[] = {
      "", "{", "[]", "{\"x\":1}", "{\"colParams\":{}}", "{\"colParams\":[1]}",
      "{\"allowedStatuses\":1}", "{\"allowedStatuses\":[\"x\"]}", "{\"startIndex\":1e300}",
      "{\"startIndex\":0.5}", "{\"colParams\":[{\"order\":1}]}", "{\"aggregationType\":9}",
      "{\"allowedStatuses\":[0],\"colParams\":[{\"hparam\":\"name\",\"filterRegexp\":\"(\"}]}"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    char query[256];
    snprintf(query, sizeof query, "request=%s", wrong[i]);
    assert_int_equal(scene_ask(groups, query), 400);
  }
  assert_int_equal(scene_ask(groups, ""), 400);
  scene_stop();
}

// Whatever the bytes, there is an answer.
static void broken_sessions_do_no_harm(void** state) {
  char bytes[] = SESSION;
  for (size_t size = 0; size < sizeof bytes; size += 3) {
    bytes[size] = (char)0xff;
    write_session(leat_string_view_make(bytes, sizeof bytes - 1));
    scene_start();
    assert_int_equal(scene_ask("/data/leat/hparams", ""), 200);
    assert_int_equal(scene_ask("/data/plugin/hparams/experiment", "request={}"), 200);
    assert_int_equal(scene_ask("/data/plugin/hparams/session_groups",
                               "request={\"allowedStatuses\":[0],\"sliceSize\":9}"), 200);
    scene_stop();
  }
}

static void without_sessions_the_table_is_empty(void** state) {
  scene_start();
  scene_stop();
  test_write_file("events.out.tfevents.1.host", "", 0);
  scene_start();
  assert_int_equal(scene_ask("/data/leat/hparams", ""), 200);
  assert_string_equal(scene.body, "{\"sessions\":[]}");
  scene_stop();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_come_as_they_are),
      cmocka_unit_test(tags_of_scalars_are_told_once),
      cmocka_unit_test(hyper_parameters_are_told),
      cmocka_unit_test(sessions_are_grouped),
      cmocka_unit_test(broken_sessions_do_no_harm),
      cmocka_unit_test(without_sessions_the_table_is_empty),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
