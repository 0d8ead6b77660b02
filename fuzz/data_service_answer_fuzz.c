// What dispatchers and workers of tf.data's service answer a client: an element for two specs, and
// the tasks of a heartbeat, which replace those of the first half of the bytes. The first byte says
// which.
#include "formats/wire/decode.h"
#include "ops/dataset/data_service_element_cpu.h"
#include "ops/dataset/data_service_task_cpu.h"
#include "ops/dataset/dataset_cpu.h"

static leat_status_t open_way(leat_string_view_t address, leat_remote_way_t** out_way) {
  static char way;
  (void)address;
  *out_way = (leat_remote_way_t*)&way;
  return leat_ok_status();
}

static void close_way(leat_remote_way_t* way) { (void)way; }

static const leat_remote_carrier_t kCarrier = {.open = open_way, .close = close_way};

static void read_element(leat_string_view_t bytes, int dtype) {
  leat_element_spec_t* spec;
  leat_tensor_t element[1];
  leat_service_answer_t kind;
  leat_status_t status = leat_element_spec_of_scalar(dtype, &spec);
  if (!status) {
    status = leat_service_element_read(bytes, spec, element, &kind);
    if (!status && kind == LEAT_SERVICE_ELEMENT) leat_element_release(element, 1);
    leat_element_spec_release(spec);
  }
  leat_status_free(status);
}

static void update_tasks(leat_service_tasks_t* tasks, leat_string_view_t bytes) {
  leat_pb_client_heartbeat_response_t response;
  leat_arena_t arena;
  int64_t round;
  leat_arena_initialize(leat_allocator_system(), 1024, &arena);
  leat_status_t status = leat_message_decode(&leat_pb_client_heartbeat_response_descriptor, bytes,
                                             &arena, NULL, &response);
  if (!status) {
    status = leat_service_tasks_update(tasks, &response, LEAT_SV("grpc"), true);
    leat_service_task_t* task = leat_service_tasks_choose(tasks, 0, &round);
    if (task) leat_service_tasks_end(tasks, task);
  }
  leat_status_free(status);
  leat_arena_deinitialize(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  leat_remote_carrier_set(&kCarrier);
  const leat_string_view_t rest = leat_string_view_make((const char*)data + 1, size - 1);
  if (data[0] < 2) {
    read_element(rest, data[0] ? LEAT_DTYPE_INT64 : LEAT_DTYPE_VARIANT);
    return 0;
  }
  leat_service_tasks_t tasks;
  leat_service_tasks_initialize(data[0] & 1, &tasks);
  update_tasks(&tasks, leat_string_view_make(rest.data, rest.size / 2));
  update_tasks(&tasks, leat_string_view_from_index(rest, rest.size / 2));
  leat_service_tasks_deinitialize(&tasks);
  return 0;
}
