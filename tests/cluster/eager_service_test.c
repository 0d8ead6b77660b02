// tensorflow.eager.EagerService as a client speaks it that knows no manners: messages by hand, good
// and bad ones, to the ps of the scene. Each bad one must have a status that names what is wrong,
// and must leave the context as it was.
#include <stdlib.h>
#include <string.h>

#include "cluster/cluster_scene.h"
#include "cluster/eager_context.h"
#include "cluster/http2_client.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/tensor_content.h"

#define SERVICE "/tensorflow.eager.EagerService/"
enum { CONTEXT = 77 };

static void create(cluster_scene_t* cluster, uint64_t id, uint64_t view, leat_status_code_t code,
                   const char* text) {
  const leat_pb_create_context_request_t request = {.context_id = id, .context_view_id = view};
  cluster_call(cluster, CLUSTER_PS, SERVICE "CreateContext",
               &leat_pb_create_context_request_descriptor, &request, code, text);
}

static void enqueue(cluster_scene_t* cluster, leat_pb_queue_item_t* items, size_t count,
                    leat_status_code_t code, const char* text) {
  const leat_pb_enqueue_request_t request = {.context_id = CONTEXT, .queue = {items, count}};
  cluster_call(cluster, CLUSTER_PS, SERVICE "Enqueue", &leat_pb_enqueue_request_descriptor,
               &request, code, text);
}

// A scalar as an input.
static leat_pb_tensor_proto_t scalar(const float* value) {
  static leat_pb_tensor_shape_proto_t shape;
  return (leat_pb_tensor_proto_t){
      .dtype = LEAT_DTYPE_FLOAT,
      .tensor_shape = &shape,
      .tensor_content = leat_string_view_make((const char*)value, sizeof *value)};
}

// Runs an op with the attribute T and one input.
static void run(cluster_scene_t* cluster, int64_t id, const char* name, const char* device,
                leat_pb_operation_input_t input, leat_status_code_t code, const char* text) {
  leat_pb_attr_value_t type = {.value_case = 6, .type = LEAT_DTYPE_FLOAT};
  leat_pb_operation_attrs_entry_t attr = {.key = LEAT_SV("T"), .value = &type};
  leat_pb_operation_t operation = {.id = id,
                                   .name = leat_string_view_from(name),
                                   .device = leat_string_view_from(device),
                                   .attrs = {&attr, 1},
                                   .op_inputs = {&input, 1}};
  leat_pb_queue_item_t item = {.item_case = LEAT_EAGER_OPERATION, .operation = &operation};
  enqueue(cluster, &item, 1, code, text);
}

static leat_pb_operation_input_t of_tensor(leat_pb_tensor_proto_t* proto) {
  return (leat_pb_operation_input_t){.item_case = LEAT_EAGER_INPUT_TENSOR, .tensor = proto};
}

static leat_pb_operation_input_t of_handle(leat_pb_remote_tensor_handle_t* handle) {
  return (leat_pb_operation_input_t){.item_case = LEAT_EAGER_INPUT_HANDLE,
                                     .remote_handle = handle};
}

static void test_contexts(void** state) {
  cluster_scene_t* cluster = *state;
  enqueue(cluster, NULL, 0, LEAT_ABORTED, "Unable to find a context_id");
  create(cluster, CONTEXT, 0, LEAT_OK, "");
  create(cluster, CONTEXT, 0, LEAT_INVALID_ARGUMENT, "context_id is 77, must be new");
  create(cluster, CONTEXT, 1, LEAT_OK, "");  // in the place of the former one
  assert_int_equal(leat_eager_contexts_count(cluster_task(cluster, CLUSTER_PS)), 1);
  leat_pb_update_context_request_t update = {.context_id = CONTEXT, .context_view_id = 3};
  cluster_call(cluster, CLUSTER_PS, SERVICE "UpdateContext",
               &leat_pb_update_context_request_descriptor, &update, LEAT_INVALID_ARGUMENT,
               "context_view_id is 3, must be 2");
  update.context_view_id = 2;
  cluster_call(cluster, CLUSTER_PS, SERVICE "UpdateContext",
               &leat_pb_update_context_request_descriptor, &update, LEAT_OK, "");
  int64_t op_id = 1;
  leat_pb_wait_queue_done_request_t wait = {.context_id = CONTEXT, .op_id = {&op_id, 1}};
  cluster_call(cluster, CLUSTER_PS, SERVICE "WaitQueueDone",
               &leat_pb_wait_queue_done_request_descriptor, &wait, LEAT_UNIMPLEMENTED, "op_id");
  wait.op_id.count = 0;
  cluster_call(cluster, CLUSTER_PS, SERVICE "WaitQueueDone",
               &leat_pb_wait_queue_done_request_descriptor, &wait, LEAT_OK, "");
  leat_pb_close_context_request_t close = {.context_id = CONTEXT, .context_view_id = 1};
  cluster_call(cluster, CLUSTER_PS, SERVICE "CloseContext",
               &leat_pb_close_context_request_descriptor, &close, LEAT_OK, "");  // an old view
  assert_int_equal(leat_eager_contexts_count(cluster_task(cluster, CLUSTER_PS)), 1);
  close.context_view_id = 2;
  for (int i = 0; i < 2; ++i) {
    cluster_call(cluster, CLUSTER_PS, SERVICE "CloseContext",
                 &leat_pb_close_context_request_descriptor, &close, LEAT_OK, "");
    assert_int_equal(leat_eager_contexts_count(cluster_task(cluster, CLUSTER_PS)), 0);
  }
}

static void test_ops(void** state) {
  cluster_scene_t* cluster = *state;
  const float x = 3;
  leat_pb_tensor_proto_t proto = scalar(&x), empty = {0};
  leat_pb_remote_tensor_handle_t handle = {.op_id = 1}, second = {.op_id = 1, .output_num = 1},
                                 negative = {.op_id = 1, .output_num = -1}, none = {.op_id = 9};
  create(cluster, CONTEXT, 0, LEAT_OK, "");
  run(cluster, 1, "Neg", CLUSTER_PS_CPU, of_tensor(&proto), LEAT_OK, "");
  run(cluster, 1, "Neg", "", of_handle(&handle), LEAT_INVALID_ARGUMENT, "must be new");
  run(cluster, 2, "Neg", "", of_handle(&second), LEAT_INVALID_ARGUMENT, "Output num: 1");
  run(cluster, 2, "Neg", "", of_handle(&negative), LEAT_INVALID_ARGUMENT, "Output num: -1");
  run(cluster, 2, "Neg", "", of_handle(&none), LEAT_INVALID_ARGUMENT, "Op ID: 9");
  run(cluster, 2, "Neg", "", of_tensor(&empty), LEAT_INVALID_ARGUMENT, "for input 0 of 'Neg'");
  run(cluster, 2, "Neg", "", (leat_pb_operation_input_t){0}, LEAT_INVALID_ARGUMENT,
      "neither a handle nor a tensor");
  run(cluster, 2, "Neg", CLUSTER_WORKER_CPU, of_handle(&handle), LEAT_INVALID_ARGUMENT,
      "device is '" CLUSTER_WORKER_CPU "'");
  run(cluster, 2, "Neg", "nonsense", of_handle(&handle), LEAT_INVALID_ARGUMENT, "nonsense");
  run(cluster, 2, "NoSuchOp", "", of_handle(&handle), LEAT_NOT_FOUND, "'NoSuchOp'");
  run(cluster, 2, "Placeholder", "", of_handle(&handle), LEAT_UNIMPLEMENTED, "Placeholder");
  run(cluster, 2, "AddV2", "", of_handle(&handle), LEAT_INVALID_ARGUMENT, "");
  run(cluster, 2, "_Send", "", of_handle(&handle), LEAT_INVALID_ARGUMENT,
      "'_Send' failed: attribute 'send_device'");
  leat_pb_operation_t part = {.name = LEAT_SV("f"), .is_component_function = true};
  leat_pb_queue_item_t items[] = {
      {.item_case = LEAT_EAGER_OPERATION, .operation = &part},
      {0},
      {.item_case = LEAT_EAGER_DECREF, .handle_to_decref = &handle},
      {.item_case = LEAT_EAGER_DECREF, .handle_to_decref = &handle},
  };
  enqueue(cluster, &items[0], 1, LEAT_INVALID_ARGUMENT, "func_step_id is 0");
  enqueue(cluster, &items[1], 1, LEAT_UNIMPLEMENTED, "an item is of kind 0");
  run(cluster, 2, "Neg", "", of_handle(&handle), LEAT_OK, "");  // none of that did any harm
  enqueue(cluster, &items[2], 2, LEAT_INVALID_ARGUMENT, "Op ID: 1");
  run(cluster, 3, "Neg", "", of_handle(&handle), LEAT_INVALID_ARGUMENT, "Op ID: 1");
}

// The value of an op without a number is in the answer, which borrows from it.
static void test_answer(void** state) {
  cluster_scene_t* cluster = *state;
  const float x = 3;
  leat_pb_tensor_proto_t proto = scalar(&x);
  leat_pb_operation_input_t input = of_tensor(&proto);
  leat_pb_attr_value_t type = {.value_case = 6, .type = LEAT_DTYPE_FLOAT};
  leat_pb_operation_attrs_entry_t attr = {.key = LEAT_SV("T"), .value = &type};
  leat_pb_operation_t operation = {.id = LEAT_EAGER_NO_OP,
                                   .name = LEAT_SV("Neg"),
                                   .attrs = {&attr, 1},
                                   .op_inputs = {&input, 1}};
  leat_pb_queue_item_t item = {.item_case = LEAT_EAGER_OPERATION, .operation = &operation};
  const leat_pb_enqueue_request_t request = {.context_id = CONTEXT, .queue = {&item, 1}};
  leat_pb_enqueue_response_t response;
  leat_tensor_t value;
  cluster_call_t call;
  create(cluster, CONTEXT, 0, LEAT_OK, "");
  cluster_call_start(cluster, CLUSTER_PS, SERVICE "Enqueue", &leat_pb_enqueue_request_descriptor,
                     &request, &call);
  cluster_call_expect(&call, LEAT_OK, "", &leat_pb_enqueue_response_descriptor, &response);
  assert_int_equal(response.queue_response.count, 1);
  assert_int_equal(response.queue_response.items[0].tensor.count, 1);
  LEAT_EXPECT_OK(leat_tensor_from_content(response.queue_response.items[0].tensor.items,
                                          &call.arena, leat_buffer_source_host(), &value));
  assert_true(leat_tensor_data(&value, float)[0] == -3);
  leat_tensor_release(&value);
  cluster_call_free(&call);
  assert_int_equal(cluster_task(cluster, CLUSTER_PS)->eager_contexts->outputs.count, 0);
}

static leat_string_view_t encode(const leat_pb_enqueue_request_t* request,
                                 leat_string_builder_t* bytes) {
  leat_string_builder_initialize(leat_allocator_system(), bytes);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_enqueue_request_descriptor, request, bytes));
  return leat_string_builder_view(bytes);
}

// Sends a queue by the stream, and expects an answer of one item.
static void stream_item(http2_client_t* client, leat_pb_queue_item_t item) {
  const leat_pb_enqueue_request_t request = {.context_id = CONTEXT, .queue = {&item, 1}};
  leat_string_builder_t bytes;
  leat_pb_enqueue_response_t response;
  leat_arena_t arena;
  size_t size;
  const leat_string_view_t view = encode(&request, &bytes);
  http2_send(client, view.data, view.size);
  char* answer = http2_receive(client, &size);
  assert_non_null(answer);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_message_decode(&leat_pb_enqueue_response_descriptor,
                                     leat_string_view_make(answer, size), &arena, NULL, &response));
  assert_int_equal(response.queue_response.count, 1);
  leat_arena_deinitialize(&arena);
  leat_string_builder_deinitialize(&bytes);
  free(answer);
}

// Sends a queue by the stream, which ends with it.
static void stream_last(http2_client_t* client, const leat_pb_enqueue_request_t* request,
                        leat_status_code_t code, const char* text) {
  leat_string_builder_t bytes;
  size_t size;
  const leat_string_view_t view = encode(request, &bytes);
  http2_send(client, view.data, view.size);
  assert_null(http2_receive(client, &size));
  assert_int_equal(client->code, code);
  assert_non_null(strstr(client->message, text));
  leat_string_builder_deinitialize(&bytes);
  http2_close(client);
}

// How many ops have outputs in the context.
static uint64_t count_outputs(leat_eager_context_t* context) {
  leat_mutex_lock(&context->mutex);
  const uint64_t count = context->outputs.count;
  leat_mutex_unlock(&context->mutex);
  return count;
}

// The same by a stream. Letting go of what is not there ends none: the client may not know yet that
// the op failed. All else that fails does.
static void test_streams(void** state) {
  cluster_scene_t* cluster = *state;
  const int port = atoi(strrchr(cluster->addresses[CLUSTER_PS], ':') + 1);
  http2_client_t client;
  const float x = 3;
  leat_pb_tensor_proto_t proto = scalar(&x);
  leat_pb_operation_input_t input = of_tensor(&proto);
  leat_pb_attr_value_t type = {.value_case = 6, .type = LEAT_DTYPE_FLOAT};
  leat_pb_operation_attrs_entry_t attr = {.key = LEAT_SV("T"), .value = &type};
  leat_pb_operation_t operation = {.name = LEAT_SV("Neg"), .attrs = {&attr, 1},
                                   .op_inputs = {&input, 1}};
  leat_pb_remote_tensor_handle_t handle = {.op_id = 1};
  const leat_pb_queue_item_t op = {.item_case = LEAT_EAGER_OPERATION, .operation = &operation};
  const leat_pb_queue_item_t drop = {.item_case = LEAT_EAGER_DECREF, .handle_to_decref = &handle};
  leat_pb_queue_item_t last = {0};
  leat_pb_enqueue_request_t request = {.context_id = CONTEXT, .queue = {&last, 1}};
  http2_open(&client, port, SERVICE "StreamingEnqueue", 1 << 20);
  stream_last(&client, &request, LEAT_ABORTED, "Unable to find a context_id");
  create(cluster, CONTEXT, 0, LEAT_OK, "");
  http2_open(&client, port, SERVICE "StreamingEnqueue", 1 << 20);
  leat_eager_context_t* context = cluster_task(cluster, CLUSTER_PS)->eager_contexts;
  for (int i = 1; i <= 3; ++i) {
    operation.id = handle.op_id = i;
    stream_item(&client, op);
    assert_int_equal(count_outputs(context), 1);
    for (int j = 0; j < 2; ++j) {
      stream_item(&client, drop);
      assert_int_equal(count_outputs(context), 0);
    }
  }
  stream_last(&client, &request, LEAT_UNIMPLEMENTED, "an item is of kind 0");
  http2_open(&client, port, SERVICE "StreamingEnqueue", 1 << 20);
  operation.name = LEAT_SV("NoSuchOp");
  last = op;
  stream_last(&client, &request, LEAT_NOT_FOUND, "'NoSuchOp'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_contexts, cluster_scene_set_up,
                                      cluster_scene_tear_down),
      cmocka_unit_test_setup_teardown(test_ops, cluster_scene_set_up, cluster_scene_tear_down),
      cmocka_unit_test_setup_teardown(test_answer, cluster_scene_set_up, cluster_scene_tear_down),
      cmocka_unit_test_setup_teardown(test_streams, cluster_scene_set_up, cluster_scene_tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
