// Layouts of custom scalars, and scalars by a pattern: what is broken gives an answer, and what is
// whole is merged. The layouts are spelt as raw bytes, of which a test then overwrites more and
// more; each such log must lead to an answer, be it an error.
#include <stdio.h>
#include <sys/stat.h>

#include "board/test_scene.h"

// A category "A" (closed) with the chart "c" of the patterns "lo.s" and "x".
#define CHART_C "\x12\x0e\x0a\x01" "c" "\x12\x09\x0a\x04lo.s\x0a\x01x"
#define LAYOUT_1 "\x12\x15\x0a\x01" "A" CHART_C "\x18\x01"
// The version 2; the category "A" with the charts "c", as above, and "m", which has a band, and the
// category "B".
#define CHART_M "\x12\x10\x0a\x01m\x1a\x0b\x0a\x09\x0a\x01v\x12\x01l\x1a\x01u"
#define LAYOUT_2 "\x08\x02\x12\x25\x0a\x01" "A" CHART_C CHART_M "\x12\x03\x0a\x01" "B"

static void write_run(const char* run, leat_string_view_t layout) {
  leat_pb_tensor_proto_t tensor = {.dtype = 7, .string_val = {&layout, 1}};
  leat_pb_summary_metadata_plugin_data_t plugin = {.plugin_name = LEAT_SV("custom_scalars")};
  leat_pb_summary_metadata_t metadata = {.plugin_data = &plugin, .data_class = 2};
  leat_pb_summary_value_t values[3] = {
      {.tag = LEAT_SV("custom_scalars__config__"), .tensor = &tensor, .value_case = 8,
       .metadata = &metadata},
      {.tag = LEAT_SV("loss"), .simple_value = 0.5f, .value_case = 2},
      {.tag = LEAT_SV("other loss"), .simple_value = 0.25f, .value_case = 2}};
  leat_pb_summary_t summary = {.value = {values, 3}};
  leat_pb_event_t event = {.wall_time = 1, .step = 3, .summary = &summary, .what_case = 5};
  scene_write(run, &event, 1);
}

static void layouts_of_runs_are_merged(void** state) {
  write_run(".", LEAT_SV(LAYOUT_1));
  scene_start();
  assert_int_equal(scene_ask("/data/plugin/custom_scalars/layout", ""), 200);
  assert_string_equal(scene.body,
                      "{\"version\":0,\"category\":[{\"title\":\"A\",\"chart\":[{\"title\":\"c\","
                      "\"multiline\":{\"tag\":[\"lo.s\",\"x\"]}}],\"closed\":true}]}");
  scene_stop();
  // "b" comes after ".": its version does not count, nor does the chart that is there already.
  assert_int_equal(mkdir(test_path("b"), 0700), 0);
  write_run("b", LEAT_SV(LAYOUT_2));
  scene_start();
  assert_int_equal(scene_ask("/data/plugin/custom_scalars/layout", ""), 200);
  assert_string_equal(
      scene.body,
      "{\"version\":0,\"category\":[{\"title\":\"A\",\"chart\":[{\"title\":\"c\",\"multiline\":"
      "{\"tag\":[\"lo.s\",\"x\"]}},{\"title\":\"m\",\"margin\":{\"series\":[{\"value\":\"v\","
      "\"lower\":\"l\",\"upper\":\"u\"}]}}],\"closed\":true},"
      "{\"title\":\"B\",\"chart\":[],\"closed\":false}]}");
  scene_stop();
  assert_int_equal(remove(test_path("b/events.out.tfevents.1.host")), 0);
  assert_int_equal(remove(test_path("b")), 0);
}

static void scalars_are_found_by_patterns(void** state) {
  write_run(".", LEAT_SV(LAYOUT_1));
  scene_start();
  const char* path = "/data/plugin/custom_scalars/scalars";
  assert_int_equal(scene_ask(path, "run=.&tag=l[ou]s"), 200);
  assert_string_equal(scene.body,
                      "{\"regex_valid\":true,\"tag_to_events\":{\"loss\":[[1.0,3,0.5]]}}");
  assert_int_equal(scene_ask(path, "run=.&tag=oss"), 200);
  assert_string_equal(scene.body, "{\"regex_valid\":true,\"tag_to_events\":{}}");
  assert_int_equal(scene_ask(path, "run=.&tag=("), 200);
  assert_string_equal(scene.body, "{\"regex_valid\":false,\"tag_to_events\":{}}");
  char query[2000] = "run=.&tag=";
  memset(query + strlen(query), 'a', 1500);
  assert_int_equal(scene_ask(path, query), 200);
  scene_expect("\"regex_valid\":false");
  // The columns take patterns too, beside names.
  assert_int_equal(scene_ask("/data/leat/columns", "pattern=("), 400);
  assert_int_equal(scene_ask("/data/leat/columns", "pattern=oss"), 200);
  assert_int_equal(scene.body[12], 0);  // series
  assert_int_equal(scene_ask("/data/leat/columns", "pattern=lo"), 200);
  assert_int_equal(scene.body[12], 1);
  assert_int_equal(scene_ask("/data/leat/columns", "pattern=lo&tag=other+loss"), 200);
  assert_int_equal(scene.body[12], 2);
  assert_int_equal(scene_ask("/data/leat/columns", ""), 200);
  assert_int_equal(scene.body[12], 2);
  scene_stop();
}

static void broken_layouts_do_no_harm(void** state) {
  char bytes[] = LAYOUT_2;
  for (size_t at = 0; at + 1 < sizeof bytes; ++at) {
    bytes[at] = (char)0xff;
    write_run(".", leat_string_view_make(bytes, sizeof bytes - 1));
    scene_start();
    int code = scene_ask("/data/plugin/custom_scalars/layout", "");
    assert_true(code == 200 || code == 400);
    scene_stop();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layouts_of_runs_are_merged),
      cmocka_unit_test(scalars_are_found_by_patterns),
      cmocka_unit_test(broken_layouts_do_no_harm),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
