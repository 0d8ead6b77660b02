// Variants that cross tasks: lists of tensors, optionals, ragged tensors and maps. A value comes
// from a client to the master, goes on to the ps, which changes it, and back, each time as bytes.
// Expected bytes were written by TensorFlow (SerializeTensor). Bytes come from anybody, and kernels
// rely on what a value promises, so each promise is broken here once: the step must be refused, and
// the session go on.
#include <string.h>

#include "cluster/cluster_scene.h"

#define RUN_STEP "/tensorflow.MasterService/RunStep"

// ---- Steps --------------------------------------------------------------------------------------

// Fetches |fetch| with "v" = |value|. With OK, the fetch is in |out_step|, which the caller frees.
static leat_status_code_t run(cluster_scene_t* cluster, const char* handle, const char* fetch,
                              const leat_pb_tensor_proto_t* value, cluster_step_t* out_step) {
  leat_string_view_t fetched = leat_string_view_from(fetch);
  leat_pb_named_tensor_proto_t fed = {.name = LEAT_SV("v"),
                                      .tensor = (leat_pb_tensor_proto_t*)value};
  const leat_pb_run_step_request_t request = {.session_handle = leat_string_view_from(handle),
                                              .feed = {&fed, 1},
                                              .fetch = {&fetched, 1},
                                              .store_errors_in_response_body = true};
  out_step->response = (leat_pb_run_step_response_t){0};
  cluster_call_start(cluster, CLUSTER_WORKER, RUN_STEP, &leat_pb_run_step_request_descriptor,
                     &request, &out_step->call);
  return cluster_step_end(out_step);
}

static void expect_floats(cluster_scene_t* cluster, const char* handle, const char* fetch,
                          const leat_pb_tensor_proto_t* value, const float* want, size_t count) {
  cluster_step_t step;
  const leat_status_code_t code = run(cluster, handle, fetch, value, &step);
  assert_true(cluster_step_says(&step, ""));
  assert_string_equal(leat_status_code_name(code), "OK");
  const leat_pb_tensor_proto_t* got = step.response.tensor.items[0].tensor;
  assert_int_equal(got->tensor_content.size, count * sizeof *want);
  assert_memory_equal(got->tensor_content.data, want, count * sizeof *want);
  cluster_step_free(&step);
}

// Expects |fetch| with "v" = |value| to be refused.
static void expect_refusal(cluster_scene_t* cluster, const char* handle, const char* fetch,
                           const leat_pb_tensor_proto_t* value, const char* text) {
  cluster_step_t step;
  const leat_status_code_t code = run(cluster, handle, fetch, value, &step);
  assert_true(cluster_step_says(&step, text));
  assert_string_equal(leat_status_code_name(code), "INVALID_ARGUMENT");
  cluster_step_free(&step);
}

// A scalar of one variant.
static leat_pb_tensor_proto_t variant_of(leat_pb_variant_tensor_data_proto_t* data) {
  return (leat_pb_tensor_proto_t){.dtype = LEAT_DTYPE_VARIANT, .variant_val = {data, 1}};
}

static leat_output_t shape_of(cluster_scene_t* cluster, int32_t size) {
  return leat_build_int32_vector(&cluster->scene.b, &size, size < 0 ? 0 : 1);
}

// ---- Lists --------------------------------------------------------------------------------------

// "v" is a list. On the ps "longer" is the list with one more element, 5 and 6, and "stacked" a
// tensor of its elements; "back", on the worker, is a tensor of those of "longer".
static void build_list(cluster_scene_t* cluster) {
  const leat_output_t v = scene_placeholder(&cluster->scene, "v", LEAT_DTYPE_VARIANT);
  const float values[] = {5, 6};
  const leat_output_t item = scene_floats(&cluster->scene, 2, values);
  const leat_output_t shape = shape_of(cluster, 2);
  const leat_output_t longer =
      cluster_op(cluster, CLUSTER_PS, "TensorListPushBack", "longer", LEAT_INPUTS(v, item),
                 LEAT_ATTRS(LEAT_TYPE("element_dtype", LEAT_DTYPE_FLOAT)));
  for (int task = 0; task < CLUSTER_TASKS; ++task) {
    const bool is_ps = task == CLUSTER_PS;
    cluster_op(cluster, task, "TensorListStack", is_ps ? "stacked" : "back",
               LEAT_INPUTS(is_ps ? v : longer, shape),
               LEAT_ATTRS(LEAT_TYPE("element_dtype", LEAT_DTYPE_FLOAT)));
  }
}

// A list of four elements of shape [?] that TensorFlow wrote; the first and the last have no
// tensor, the others are 1, 2 and 3, 4.
#define KIND "\n\x16tensorflow::TensorList"
#define TENSOR "\x1a\x12\x08\x01\x12\x04\x12\x02\x08\x02*\x08"
static const char kMetadata[] = "\x02\x00\x03\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                "\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
static const char kWritten[] =
    "\x5d" KIND "\x12\x1b"
    "\x02\x00\x03\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
    "\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" TENSOR "\0\0\x80\x3f\0\0\0\x40" TENSOR
    "\0\0\x40\x40\0\0\x80\x40";

static void a_list_goes_there_and_back(void** state) {
  cluster_scene_t* cluster = *state;
  static const float want[] = {0, 0, 1, 2, 3, 4, 0, 0, 5, 6};
  const leat_pb_tensor_proto_t written = {
      .dtype = LEAT_DTYPE_VARIANT,
      .tensor_content = leat_string_view_make(kWritten, sizeof kWritten - 1)};
  char handle[32];
  cluster_step_t step;
  build_list(cluster);
  cluster_session_open(cluster, handle);
  expect_floats(cluster, handle, "stacked", &written, want, 8);
  expect_floats(cluster, handle, "back", &written, want, 10);
  // The client gets the list itself, with TensorFlow's metadata, and may give it back.
  assert_int_equal(run(cluster, handle, "longer", &written, &step), LEAT_OK);
  const leat_pb_tensor_proto_t* longer = step.response.tensor.items[0].tensor;
  const leat_string_view_t content = longer->tensor_content;
  assert_int_equal(content.size, sizeof kWritten - 1 + 20);  // one more tensor
  assert_memory_equal(content.data + 1, KIND, sizeof KIND - 1);
  assert_memory_equal(content.data + 1 + sizeof KIND - 1 + 2, kMetadata, sizeof kMetadata - 1);
  expect_floats(cluster, handle, "stacked", longer, want, 10);
  cluster_step_free(&step);
  cluster_session_close(cluster, handle);
}

static void lists_that_lie_are_refused(void** state) {
  cluster_scene_t* cluster = *state;
  static const struct {
    const char* metadata;
    size_t size;
    const char* text;
  } kCases[] = {
#define CASE(bytes, text) {bytes, sizeof bytes - 1, text}
      CASE("", "ends early"),
      CASE("\x02\x00", "ends early"),
      CASE("\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "ends early"),
      CASE("\x00\x01", "ends early"),
      CASE("\x00\x00\x00", "no known type"),
      CASE("\x00\x65\x00", "no known type"),
      CASE("\x00\xff\xff\xff\xff\x0f\x00", "no known type"),
      CASE("\x00\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x18\x01", "negative limit"),
      CASE("\x00\x01\x00\x12", ""),                          // no shape
      CASE("\x00\x01\x00\x18\x01\x12\x02\x08\x02", "rank"),  // unknown, and one
      CASE("\x00\x03\x00\x18\x01", "another type"),
      CASE("\x00\x01\x00\x12\x02\x08\x03", "does not allow"),
      CASE("\x00\x01\x00", "does not allow"),
      CASE("\x02\x01\x00\x01\x00\x18\x01", "out of order"),
      CASE("\x01\x02\x01\x00\x18\x01", "out of order"),
      CASE("\x02\x01\x01\x01\x00\x18\x01", ""),
#undef CASE
  };
  float values[] = {1, 2};
  leat_pb_tensor_shape_proto_dim_t size = {.size = 2};
  leat_pb_tensor_shape_proto_t shape = {.dim = {&size, 1}};
  leat_pb_tensor_proto_t tensor = {
      .dtype = LEAT_DTYPE_FLOAT, .tensor_shape = &shape, .float_val = {values, 2}};
  leat_pb_variant_tensor_data_proto_t data = {.type_name = LEAT_SV("tensorflow::TensorList"),
                                              .tensors = {&tensor, 1}};
  const leat_pb_tensor_proto_t value = variant_of(&data);
  char handle[32];
  build_list(cluster);
  cluster_session_open(cluster, handle);
  data.metadata = leat_string_view_make("\x00\x01\x00\x18\x01", 5);
  expect_floats(cluster, handle, "stacked", &value, values, 2);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    data.metadata = leat_string_view_make(kCases[i].metadata, kCases[i].size);
    expect_refusal(cluster, handle, "stacked", &value, kCases[i].text);
  }
  // A tensor in it that is none.
  data.metadata = leat_string_view_make("\x00\x01\x00\x18\x01", 5);
  tensor.dtype = 101;
  expect_refusal(cluster, handle, "stacked", &value, "dtype is 101");
  data.type_name = LEAT_SV("tensorflow::Nothing");
  expect_refusal(cluster, handle, "stacked", &value, "tensorflow::Nothing");
  cluster_session_close(cluster, handle);
}

// Lists in lists are read up to a depth, since each takes room on the stack.
static void depth_is_limited(void** state) {
  cluster_scene_t* cluster = *state;
  enum { DEPTH = 40 };
  leat_pb_variant_tensor_data_proto_t data[DEPTH];
  leat_pb_tensor_proto_t tensors[DEPTH];
  char handle[32];
  build_list(cluster);
  cluster_session_open(cluster, handle);
  for (int depth = 30; depth <= DEPTH; depth += 10) {
    for (int i = 0; i < depth; ++i) {
      data[i] = (leat_pb_variant_tensor_data_proto_t){
          .type_name = LEAT_SV("tensorflow::TensorList"),
          .metadata = leat_string_view_make("\x00\x15\x00\x18\x01", 5),
          .tensors = {&tensors[i + 1], i + 1 < depth}};
      tensors[i] = variant_of(&data[i]);
    }
    expect_refusal(cluster, handle, "stacked", &tensors[0],
                   depth < 32 ? "list elements variant" : "nested deeper than 32");
  }
  cluster_session_close(cluster, handle);
}

// ---- Boxes --------------------------------------------------------------------------------------

// "v" is an optional of one float; "value" is it, and "has" whether there is one, taken on the ps.
static void build_optional(cluster_scene_t* cluster) {
  const leat_output_t v = scene_placeholder(&cluster->scene, "v", LEAT_DTYPE_VARIANT);
  static const int32_t types[] = {LEAT_DTYPE_FLOAT};
  static const leat_partial_shape_t shapes[] = {{0, NULL}};
  cluster_op(cluster, CLUSTER_PS, "OptionalGetValue", "value", LEAT_INPUTS(v),
             LEAT_ATTRS(LEAT_LIST("output_types", TYPE, 1, types, types),
                        LEAT_LIST("output_shapes", SHAPE, 1, shapes, shapes)));
  const leat_output_t has =
      cluster_op(cluster, CLUSTER_PS, "OptionalHasValue", "has", LEAT_INPUTS(v), LEAT_NO_ATTRS);
  cluster_op(cluster, CLUSTER_WORKER, "Cast", "one", LEAT_INPUTS(has),
             LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_FLOAT)));
}

static void optionals(void** state) {
  cluster_scene_t* cluster = *state;
  float seven = 7, one = 1, zero = 0;
  leat_pb_tensor_proto_t tensor = {.dtype = LEAT_DTYPE_FLOAT, .float_val = {&seven, 1}};
  leat_pb_variant_tensor_data_proto_t data = {.type_name = LEAT_SV("tensorflow::data::Optional"),
                                              .metadata = LEAT_SV("\x01"),
                                              .tensors = {&tensor, 1}};
  const leat_pb_tensor_proto_t value = variant_of(&data);
  char handle[32];
  build_optional(cluster);
  cluster_session_open(cluster, handle);
  expect_floats(cluster, handle, "value", &value, &seven, 1);
  expect_floats(cluster, handle, "one", &value, &one, 1);
  data.metadata = leat_string_view_make("", 1);
  expect_refusal(cluster, handle, "one", &value, "only without tensors");
  data.tensors.count = 0;
  expect_floats(cluster, handle, "one", &value, &zero, 1);
  expect_refusal(cluster, handle, "value", &value, "");
  data.metadata = LEAT_SV("");
  expect_refusal(cluster, handle, "one", &value, "0 bytes");
  cluster_session_close(cluster, handle);
}

// "v" is a ragged tensor of floats with one level; "flat" are its values, joined on the ps.
static void build_ragged(cluster_scene_t* cluster) {
  const leat_output_t v = scene_placeholder(&cluster->scene, "v", LEAT_DTYPE_VARIANT);
  const int32_t node = cluster_op(cluster, CLUSTER_PS, "RaggedTensorFromVariant", "joined",
                                  LEAT_INPUTS(v),
                                  LEAT_ATTRS(LEAT_INT("input_ragged_rank", 1),
                                             LEAT_INT("output_ragged_rank", 1),
                                             LEAT_TYPE("Tvalues", LEAT_DTYPE_FLOAT))).node;
  cluster_op(cluster, CLUSTER_WORKER, "Identity", "flat",
             LEAT_INPUTS(leat_node_output(node, 1)), LEAT_NO_ATTRS);
}

static void ragged_tensors(void** state) {
  cluster_scene_t* cluster = *state;
  static const int64_t kBad[][3] = {{1, 2, 3}, {0, 4, 3}, {0, 1, 2}, {0, -1, 3}, {0, 1, 4}};
  int64_t splits[] = {0, 2, 3};
  float values[] = {1, 2, 3};
  leat_pb_tensor_shape_proto_dim_t size = {.size = 3};
  leat_pb_tensor_shape_proto_t shape = {.dim = {&size, 1}};
  leat_pb_tensor_proto_t tensors[] = {
      {.dtype = LEAT_DTYPE_INT64, .tensor_shape = &shape, .int64_val = {splits, 3}},
      {.dtype = LEAT_DTYPE_FLOAT, .tensor_shape = &shape, .float_val = {values, 3}}};
  leat_pb_variant_tensor_data_proto_t data = {.type_name = LEAT_SV("RaggedTensorVariant"),
                                              .tensors = {tensors, 2}};
  const leat_pb_tensor_proto_t value = variant_of(&data);
  char handle[32];
  build_ragged(cluster);
  cluster_session_open(cluster, handle);
  expect_floats(cluster, handle, "flat", &value, values, 3);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kBad); ++i) {
    memcpy(splits, kBad[i], sizeof splits);
    expect_refusal(cluster, handle, "flat", &value, "row splits that begin with 0");
  }
  memcpy(splits, (int64_t[]){0, 2, 3}, sizeof splits);
  data.tensors.count = 0;
  expect_refusal(cluster, handle, "flat", &value, "of 0 tensors");
  data.tensors.count = 2;
  tensors[1].tensor_shape = NULL;  // values without rows
  expect_refusal(cluster, handle, "flat", &value, "row splits");
  tensors[1].tensor_shape = &shape;
  tensors[0].dtype = LEAT_DTYPE_FLOAT;
  expect_refusal(cluster, handle, "flat", &value, "row splits");
  cluster_session_close(cluster, handle);
}

// ---- Maps ---------------------------------------------------------------------------------------

static void maps(void** state) {
  cluster_scene_t* cluster = *state;
  float keys[] = {1, 2}, values[] = {10, 20};
  leat_pb_tensor_proto_t tensors[4];
  for (int i = 0; i < 4; ++i) {
    tensors[i] = (leat_pb_tensor_proto_t){
        .dtype = LEAT_DTYPE_FLOAT, .float_val = {i % 2 ? &values[i / 2] : &keys[i / 2], 1}};
  }
  leat_pb_variant_tensor_data_proto_t data = {.type_name = LEAT_SV("tensorflow::TensorMap"),
                                              .tensors = {tensors, 4}};
  const leat_pb_tensor_proto_t value = variant_of(&data);
  char handle[32];
  const leat_output_t v = scene_placeholder(&cluster->scene, "v", LEAT_DTYPE_VARIANT);
  const leat_output_t erased =
      cluster_op(cluster, CLUSTER_PS, "TensorMapErase", "erased",
                 LEAT_INPUTS(v, scene_float(&cluster->scene, 1)),
                 LEAT_ATTRS(LEAT_TYPE("value_dtype", LEAT_DTYPE_FLOAT)));
  cluster_op(cluster, CLUSTER_WORKER, "TensorMapLookup", "second",
             LEAT_INPUTS(erased, scene_float(&cluster->scene, 2)),
             LEAT_ATTRS(LEAT_TYPE("value_dtype", LEAT_DTYPE_FLOAT)));
  cluster_op(cluster, CLUSTER_WORKER, "TensorMapLookup", "first",
             LEAT_INPUTS(erased, scene_float(&cluster->scene, 1)),
             LEAT_ATTRS(LEAT_TYPE("value_dtype", LEAT_DTYPE_FLOAT)));
  cluster_session_open(cluster, handle);
  expect_floats(cluster, handle, "second", &value, &values[1], 1);
  expect_refusal(cluster, handle, "first", &value, "");
  data.tensors.count = 3;
  expect_refusal(cluster, handle, "second", &value, "3 tensors");
  cluster_session_close(cluster, handle);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) \
  cmocka_unit_test_setup_teardown(name, cluster_scene_set_up, cluster_scene_tear_down)
      TEST(a_list_goes_there_and_back),
      TEST(lists_that_lie_are_refused),
      TEST(depth_is_limited),
      TEST(optionals),
      TEST(ragged_tensors),
      TEST(maps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
