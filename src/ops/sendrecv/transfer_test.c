// The kernels of _Send and _Recv meet in a rendezvous under a key. The rendezvous here only takes
// notes, so that the tests see the key itself: a transfer that the partitioner has numbered is
// found by its number and the loop iteration, with no text composed in the step; every other one by
// TensorFlow's text of devices, incarnation, name and frame. Both ops run on a CPU and on the
// simulated accelerator, whose Recv has another kernel. A received value of another type than the
// node promises is refused, since the readers would take its bytes for floats; a peer may send
// anything.
#include <stdio.h>
#include <string.h>

#include "device/simulated/simulated_device.h"
#include "kernel/rendezvous.h"
#include "session/scene.h"

typedef struct note_s {
  leat_rendezvous_t rendezvous;
  int calls;
  int64_t transfer;
  uint64_t iteration;
  char text[200];
  leat_slot_t given;     // what a receive gets
  leat_status_t status;  // of a Recv, the test's to free
  int output_dtype;
  bool output_is_alive;
} note_t;

static void take_note(note_t* note, leat_rendezvous_key_t key) {
  note->calls++;
  note->transfer = key.transfer;
  note->iteration = key.iteration;
  assert_true(key.text.size < sizeof note->text);
  snprintf(note->text, sizeof note->text, "%.*s", LEAT_SV_ARG(key.text));
}

static leat_status_t send(leat_rendezvous_t* self, leat_rendezvous_key_t key, leat_slot_t value) {
  take_note((note_t*)self, key);
  leat_slot_release(&value);
  return leat_ok_status();
}

static void receive(leat_rendezvous_t* self, leat_rendezvous_key_t key,
                    leat_rendezvous_receive_fn_t fn, void* data) {
  take_note((note_t*)self, key);
  fn(data, leat_ok_status(), ((note_t*)self)->given);
}

static const leat_rendezvous_vtable_t kNotes = {.send = send, .receive = receive};

static void note_end(leat_kernel_context_t* c, leat_status_t status) {
  ((note_t*)c->services->rendezvous)->status = status;
}

static leat_device_t* make_device(const char* type) {
  leat_device_t* device;
  const leat_simulated_options_t options = leat_simulated_options_default();
  leat_status_t status =
      strcmp(type, "CPU")
          ? leat_simulated_device_create(LEAT_SV("/job:localhost/replica:0/task:0/device:SIM:0"),
                                         &options, NULL, leat_allocator_system(), &device)
          : leat_cpu_device_create(LEAT_SV("/job:localhost/replica:0/task:0/device:CPU:0"), NULL,
                                   leat_allocator_system(), &device);
  LEAT_EXPECT_OK(status);
  return device;
}

// Runs |op|, a Send or a Recv of floats whose attribute has |transfer|, on a device of
// |device_type|, in a step with |transfer_count| numbers and in iteration |iteration|. Returns the
// key that it uses and how it ended. A Recv is given |given| (moved).
static note_t run(const char* op, const char* device_type, leat_slot_t given, int64_t transfer,
                  uint32_t transfer_count, uint64_t iteration) {
  const bool sends = strstr(op, "Send") != NULL;
  scene_t scene;
  leat_device_t* device;
  const leat_kernel_row_t* row;
  leat_kernel_t* kernel;
  note_t note = {.rendezvous = {.vtable = &kNotes}, .given = given};
  scene_open(&scene);
  leat_attr_t attrs[] = {LEAT_TYPE("T", LEAT_DTYPE_FLOAT), LEAT_STR("tensor_name", "edge"),
                         LEAT_STR("send_device", "/a"), LEAT_INT("send_device_incarnation", 31),
                         LEAT_STR("recv_device", "/b"),
                         LEAT_INT(LEAT_ATTR_NAME_TRANSFER, transfer)};
  if (!sends) attrs[0].name = LEAT_SV("tensor_type");
  leat_output_t x = scene_float(&scene, 1);
  int32_t index = scene_node(&scene, op, "here", "",
                             (leat_outputs_t){&x, sends}, (leat_attrs_t){attrs, 6});
  const leat_node_t* node = &scene.graph->nodes[index];
  device = make_device(device_type);
  LEAT_EXPECT_OK(leat_kernel_registry_probe(scene.runtime->kernels, node->op, node->attrs,
                                            node->attr_count, device->type, &row));
  const uint8_t type = LEAT_DTYPE_FLOAT;
  leat_kernel_spec_t spec = {.row = row, .op = node->op, .node_name = node->name,
                             .attrs = node->attrs, .attr_count = node->attr_count,
                             .input_types = &type, .input_count = sends,
                             .output_types = &type, .output_count = !sends,
                             .device = device, .allocator = leat_allocator_system()};
  LEAT_EXPECT_OK(leat_kernel_create(&spec, &kernel));
  leat_slot_t slots[2] = {{.tensor = scene_value(1), .alive = true}};
  const uint32_t first = 0;
  leat_step_services_t services = {.rendezvous = &note.rendezvous,
                                   .transfer_count = transfer_count};
  leat_kernel_context_t context = {.kernel = kernel, .slots = slots, .input_slots = &first,
                                   .outputs = slots + 1, .services = &services,
                                   .frame_id = iteration >> 32,
                                   .iteration = iteration & UINT32_MAX};
  if (sends) {
    LEAT_EXPECT_OK(row->compute(&context));
  } else {
    row->compute_async(&context, note_end);
  }
  assert_int_equal(note.calls, 1);
  leat_slot_release(&slots[0]);
  note.output_dtype = slots[1].tensor.dtype;
  note.output_is_alive = slots[1].alive;
  leat_slot_release(&slots[1]);
  leat_kernel_free(kernel);
  leat_device_release(device);
  scene_close(&scene);
  return note;
}

static note_t key_of(bool sends, int64_t transfer, uint32_t transfer_count, uint64_t iteration) {
  note_t note = run(sends ? "_Send" : "_Recv", "CPU", (leat_slot_t){0}, transfer,
                    transfer_count, iteration);
  LEAT_EXPECT_OK(note.status);
  return note;
}

static const uint64_t kIteration = UINT64_C(0x500000007);

static void numbered_keys_hold_no_text(void** state) {
  for (int sends = 0; sends < 2; ++sends) {
    note_t note = key_of(sends, 3, 4, kIteration);
    assert_int_equal(note.transfer, 3);
    assert_true(note.iteration == leat_hash_mix(5, 7));
    assert_string_equal(note.text, "");
    // A number that no transfer of the step has is the rendezvous' to refuse.
    assert_int_equal(key_of(sends, 4, 4, 0).transfer, 4);
  }
}

// TensorFlow's text, where the transfer has no number or the step has none.
static void other_keys_are_text(void** state) {
  for (int sends = 0; sends < 2; ++sends) {
    for (int way = 0; way < 2; ++way) {
      note_t note = key_of(sends, way ? 3 : -1, way ? 0 : 4, kIteration);
      assert_int_equal(note.transfer, LEAT_RENDEZVOUS_NO_TRANSFER);
      assert_string_equal(note.text, "/a;000000000000001f;/b;edge;5:7");
    }
  }
}

// The kinds of Recv: an op and where it runs.
static const char* const kRecvs[][2] = {{"_Recv", "CPU"}, {"_HostRecv", "CPU"},
                                        {"_Recv", "SIM"}, {"_HostRecv", "SIM"}};

// A value of another type must not become the output of a node that promises floats: its readers
// would take its bytes for those of floats.
static void values_of_another_type_are_refused(void** state) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kRecvs); ++i) {
    const int64_t number = 7;
    leat_slot_t given = {.alive = true};
    LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_INT64, &number, &given.tensor));
    leat_tensor_t kept = leat_tensor_share(&given.tensor);
    note_t note = run(kRecvs[i][0], kRecvs[i][1], given, 3, 4, 0);
    const char* message = leat_status_message(note.status);
    for (int k = 0; k < 4; ++k) {
      static const char* const kTold[] = {"'here'", "'/a;000000000000001f;/b;edge;'", "type int64",
                                          "tensor_type float"};
      if (!strstr(message, kTold[k])) fail_msg("'%s' does not tell %s", message, kTold[k]);
    }
    LEAT_EXPECT_CODE(LEAT_INTERNAL, note.status);
    assert_int_equal(note.output_dtype, 0);
    assert_true(leat_buffer_is_exclusive(kept.buffer));
    leat_tensor_release(&kept);
  }
}

static void values_of_the_type_and_dead_ones_are_taken(void** state) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kRecvs); ++i) {
    const char *op = kRecvs[i][0], *type = kRecvs[i][1];
    leat_slot_t given = {.tensor = scene_value(2), .alive = true};
    note_t note = run(op, type, given, 3, 4, 0);
    LEAT_EXPECT_OK(note.status);
    assert_int_equal(note.output_dtype, LEAT_DTYPE_FLOAT);
    assert_true(note.output_is_alive);
    note = run(op, type, (leat_slot_t){.alive = false}, 3, 4, 0);
    LEAT_EXPECT_OK(note.status);
    assert_false(note.output_is_alive);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbered_keys_hold_no_text),
      cmocka_unit_test(other_keys_are_text),
      cmocka_unit_test(values_of_another_type_are_refused),
      cmocka_unit_test(values_of_the_type_and_dead_ones_are_taken),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
