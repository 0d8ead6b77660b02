// A mesh of vertices alone: what is asked for, what is not there, and metadata of which more and
// more bytes are broken. That whole meshes get TensorBoard's answers is a test of its own.
#include <stdio.h>

#include "board/test_scene.h"

// The mesh "m": vertices (1) of the shape [2, 1, 3], and no other parts.
#define CONTENT "\x12\x01m\x18\x01*\x02{}2\x03\x02\x01\x03" "8\x02"

static void write_mesh(leat_string_view_t content, int64_t samples) {
  float numbers[6] = {1, 2, 3, 4, 5, 6};
  leat_pb_tensor_shape_proto_dim_t dims[3] = {{.size = samples}, {.size = 1}, {.size = 3}};
  leat_pb_tensor_shape_proto_t shape = {.dim = {dims, 3}};
  leat_pb_tensor_proto_t tensor = {
      .dtype = 1, .tensor_shape = &shape,
      .tensor_content = leat_string_view_make((char*)numbers, sizeof numbers)};
  leat_pb_summary_metadata_plugin_data_t plugin = {.plugin_name = LEAT_SV("mesh"),
                                                   .content = content};
  leat_pb_summary_metadata_t metadata = {.plugin_data = &plugin, .data_class = 2};
  leat_pb_summary_value_t value = {.tag = LEAT_SV("m_VERTEX"), .tensor = &tensor,
                                   .value_case = 8, .metadata = &metadata};
  leat_pb_summary_t summary = {.value = {&value, 1}};
  leat_pb_event_t event = {.wall_time = 1, .step = 3, .summary = &summary, .what_case = 5};
  scene_write(".", &event, 1);
}

static void a_mesh_is_told_and_read(void** state) {
  write_mesh(LEAT_SV(CONTENT), 2);
  scene_start();
  assert_int_equal(scene_ask("/data/plugin/mesh/tags", ""), 200);
  assert_string_equal(scene.body, "{\".\":{\"m\":{\"samples\":2}}}");
  assert_int_equal(scene_ask("/data/plugin/mesh/meshes", "run=.&tag=m&sample=0"), 200);
  scene_expect("[{\"wall_time\":1.0,\"step\":3,\"content_type\":1,\"components\":2,"
               "\"config\":\"{}\",\"data_shape\":[2,1,3]}]");
  const char* data = "/data/plugin/mesh/data";
  float numbers[3];
  assert_int_equal(scene_ask(data, "run=.&tag=m&sample=1&step=3&content_type=VERTEX"), 200);
  memcpy(numbers, scene.body, sizeof numbers);
  assert_true(numbers[0] == 4 && numbers[1] == 5 && numbers[2] == 6);
  assert_int_equal(scene_ask(data, "run=.&tag=m&step=3&content_type=FACE"), 200);
  assert_string_equal(scene.body, "");
  assert_int_equal(scene_ask(data, "run=.&tag=m&sample=2&step=3&content_type=VERTEX"), 400);
  assert_int_equal(scene_ask(data, "run=.&tag=m&sample=-3&step=3&content_type=VERTEX"), 400);
  assert_int_equal(scene_ask(data, "run=.&tag=m&step=x&content_type=VERTEX"), 400);
  assert_int_equal(scene_ask(data, "run=.&tag=m&step=3&content_type=EDGE"), 400);
  assert_int_equal(scene_ask(data, "tag=m&step=3&content_type=VERTEX"), 400);
  scene_stop();
}

static void broken_meshes_do_no_harm(void** state) {
  char bytes[] = CONTENT;
  for (size_t at = 0; at + 1 < sizeof bytes; ++at) {
    bytes[at] = (char)0xff;
    write_mesh(leat_string_view_make(bytes, sizeof bytes - 1), 2);
    scene_start();
    assert_int_equal(scene_ask("/data/plugin/mesh/tags", ""), 200);
    assert_int_equal(scene_ask("/data/plugin/mesh/meshes", "run=.&tag=m"), 200);
    scene_stop();
  }
  // Shapes that the bytes do not fill, and one without samples.
  static const int64_t samples[] = {0, 3, -1, INT64_MAX};
  for (size_t i = 0; i < sizeof samples / sizeof *samples; ++i) {
    write_mesh(LEAT_SV(CONTENT), samples[i]);
    scene_start();
    assert_int_equal(
        scene_ask("/data/plugin/mesh/data", "run=.&tag=m&step=3&content_type=VERTEX"), 400);
    scene_stop();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_mesh_is_told_and_read),
      cmocka_unit_test(broken_meshes_do_no_harm),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
