// A graph, a session over it and short forms of what tests of the runtime do all the time
// (scene.h). The session is made by the first run, so that a test may set options until then, and
// the optimizers are off unless the test turns them on, since a test of the executor must find the
// nodes that it built. Every failure that the caller does not ask for fails the test at once. Feeds
// are moved into a run and released by it, so that a test which feeds a value need not keep it.
#include "session/scene.h"

#include <stdio.h>
#include <string.h>

void scene_open(scene_t* scene) {
  memset(scene, 0, sizeof *scene);
  probe_reset();
  LEAT_EXPECT_OK(probe_runtime(&scene->runtime));
  LEAT_EXPECT_OK(leat_shared_graph_create(scene->runtime, &scene->shared));
  scene->graph = scene->shared->graph;
  scene->b.graph = scene->graph;
  scene->options = leat_session_options_default();
  scene->options.optimize = false;
  scene->options.optimizer.fusion_limit_elements = 1;  // what tests compute is small
}

void scene_close(scene_t* scene) {
  leat_session_free(scene->session);
  leat_shared_graph_release(scene->shared);
  memset(scene, 0, sizeof *scene);
}

leat_session_t* scene_session(scene_t* scene) {
  if (!scene->session) {
    LEAT_EXPECT_OK(
        leat_session_create(scene->runtime, scene->shared, &scene->options, &scene->session));
  }
  return scene->session;
}

void scene_run_all_ways(scene_test_fn_t test) {
  for (int way = 0; way < 8; ++way) {
    scene_t scene;
    scene_open(&scene);
    scene.options.executor = way & 1 ? LEAT_EXECUTOR_DATAFLOW : LEAT_EXECUTOR_AUTOMATIC;
    scene.options.intra_op_threads = way & 2 ? 4 : 1;
    scene.options.optimize = way & 4;
    test(&scene);
    scene_close(&scene);
  }
}

// ---- Nodes --------------------------------------------------------------------------------------

int32_t scene_node(scene_t* scene, const char* op, const char* name, const char* device,
                   leat_outputs_t inputs, leat_attrs_t attrs) {
  if (!*name) {
    scene->b.device = leat_string_view_from(device);
    int32_t node = leat_build_node(&scene->b, op, inputs, attrs);
    scene->b.device = LEAT_SV("");
    LEAT_EXPECT_OK(scene->b.status);
    return node;
  }
  leat_node_spec_t spec = {.name = leat_string_view_from(name),
                           .device = leat_string_view_from(device),
                           .inputs = inputs.items,
                           .input_count = inputs.count,
                           .attrs = attrs.items,
                           .attr_count = attrs.count,
                           .infer_attrs = true};
  int32_t node = -1;
  LEAT_EXPECT_OK(leat_op_registry_find(scene->graph->ops, leat_string_view_from(op), &spec.op));
  LEAT_EXPECT_OK(leat_graph_add_node(scene->graph, &spec, &node));
  return node;
}

leat_output_t scene_output(scene_t* scene, const char* op, const char* name, const char* device,
                           leat_outputs_t inputs, leat_attrs_t attrs) {
  return leat_node_output(scene_node(scene, op, name, device, inputs, attrs), 0);
}

leat_output_t scene_placeholder(scene_t* scene, const char* name, int dtype) {
  return scene_output(scene, "Placeholder", name, "", LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("dtype", dtype)));
}

leat_output_t scene_matrix(scene_t* scene, const char* name, int64_t rows, int64_t columns) {
  const int64_t dims[] = {rows, columns};
  return scene_output(scene, "Placeholder", name, "", LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                                 LEAT_SHAPE("shape", ((leat_partial_shape_t){2, dims}))));
}

leat_output_t scene_floats(scene_t* scene, int count, const float* values) {
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_FLOAT, values, count, &tensor));
  leat_output_t output = leat_build_constant(&scene->b, &tensor);
  leat_tensor_release(&tensor);
  LEAT_EXPECT_OK(scene->b.status);
  return output;
}

leat_output_t scene_float(scene_t* scene, float value) {
  leat_output_t output = leat_build_scalar(&scene->b, LEAT_DTYPE_FLOAT, value);
  LEAT_EXPECT_OK(scene->b.status);
  return output;
}

static const char* device_name(int device, char* buffer) {
  buffer[0] = 0;
  if (device >= 0) snprintf(buffer, 32, "/device:CPU:%d", device);
  return buffer;
}
#define DEVICE(number) device_name((number), (char[32]){0})

leat_output_t scene_unary(scene_t* scene, const char* op, int device, leat_output_t x) {
  return scene_output(scene, op, "", DEVICE(device), LEAT_INPUTS(x), LEAT_NO_ATTRS);
}

leat_output_t scene_binary(scene_t* scene, const char* op, int device, leat_output_t x,
                           leat_output_t y) {
  return scene_output(scene, op, "", DEVICE(device), LEAT_INPUTS(x, y), LEAT_NO_ATTRS);
}

leat_output_t scene_pass(scene_t* scene, int id, int device, leat_output_t x) {
  return scene_output(scene, "ProbePass", "", DEVICE(device), LEAT_INPUTS(x),
                      LEAT_ATTRS(LEAT_INT("id", id)));
}

leat_output_t scene_wait(scene_t* scene, int id, int device, leat_output_t x) {
  return scene_output(scene, "ProbeWait", "", DEVICE(device), LEAT_INPUTS(x),
                      LEAT_ATTRS(LEAT_INT("id", id)));
}

leat_output_t scene_fail(scene_t* scene, leat_status_code_t code, int device, leat_output_t x) {
  return scene_output(scene, "ProbeFail", "", DEVICE(device), LEAT_INPUTS(x),
                      LEAT_ATTRS(LEAT_INT("code", code)));
}

int32_t scene_mark(scene_t* scene, int id, int device) {
  return scene_node(scene, "ProbeMark", "", DEVICE(device), LEAT_NO_INPUTS,
                    LEAT_ATTRS(LEAT_INT("id", id)));
}

void scene_after(scene_t* scene, int32_t node, int32_t earlier) {
  LEAT_EXPECT_OK(leat_graph_add_control_input(scene->graph, node, earlier));
}

// ---- Runs ---------------------------------------------------------------------------------------

leat_tensor_t scene_value(float value) {
  leat_tensor_t tensor = {0};
  LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_FLOAT, &value, &tensor));
  return tensor;
}

leat_status_t scene_run(scene_t* scene, leat_outputs_t feeds, leat_tensor_t* feed_values,
                        leat_outputs_t fetches, leat_tensor_t* fetch_values,
                        const int32_t* targets, int target_count) {
  leat_run_t run = {.feeds = feeds.items,
                    .feed_values = feed_values,
                    .feed_count = feeds.count,
                    .fetches = fetches.items,
                    .fetch_values = fetch_values,
                    .fetch_count = fetches.count,
                    .targets = targets,
                    .target_count = target_count};
  leat_status_t status = leat_session_run(scene_session(scene), &run);
  for (int i = 0; i < feeds.count; ++i) leat_tensor_release(&feed_values[i]);
  return status;
}

leat_status_t scene_fetch(scene_t* scene, leat_output_t fetch, leat_tensor_t* out_value) {
  return scene_run(scene, LEAT_NO_INPUTS, NULL, LEAT_INPUTS(fetch), out_value, NULL, 0);
}

float scene_get_fed(scene_t* scene, leat_output_t feed, float value, leat_output_t fetch) {
  leat_tensor_t fed = {0}, fetched = {0};
  bool feeds = leat_output_exists(feed);
  if (feeds) fed = scene_value(value);
  LEAT_EXPECT_OK(scene_run(scene, (leat_outputs_t){&feed, feeds}, &fed, LEAT_INPUTS(fetch),
                           &fetched, NULL, 0));
  assert_int_equal(fetched.dtype, LEAT_DTYPE_FLOAT);
  assert_true(fetched.shape.element_count > 0);
  float result = leat_tensor_data(&fetched, const float)[0];
  leat_tensor_release(&fetched);
  return result;
}

float scene_get(scene_t* scene, leat_output_t fetch) {
  return scene_get_fed(scene, LEAT_OUTPUT_NONE, 0, fetch);
}

leat_status_t scene_target(scene_t* scene, int32_t target) {
  return scene_run(scene, LEAT_NO_INPUTS, NULL, LEAT_NO_INPUTS, NULL, &target, 1);
}

void scene_expect(leat_status_t status, leat_status_code_t code, const char* text) {
  leat_status_code_t got = leat_status_code(status);
  bool says = strstr(leat_status_message(status), text) != NULL;
  if (got != code || !says) print_error("%s\n", leat_status_message(status));
  leat_status_free(status);
  assert_string_equal(leat_status_code_name(got), leat_status_code_name(code));
  assert_true(says);
}
