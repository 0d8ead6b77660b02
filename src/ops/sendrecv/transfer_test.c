// The keys under which the kernels of _Send and _Recv meet: what they hand to the rendezvous, here
// one that only takes notes.
#include <stdio.h>

#include "kernel/rendezvous.h"
#include "session/scene.h"

typedef struct note_s {
  leat_rendezvous_t rendezvous;
  int calls;
  int64_t transfer;
  uint64_t iteration;
  char text[200];
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
  fn(data, leat_ok_status(), (leat_slot_t){0});
}

static const leat_rendezvous_vtable_t kNotes = {.send = send, .receive = receive};

static void note_end(leat_kernel_context_t* c, leat_status_t status) { LEAT_EXPECT_OK(status); }

// Runs a Send or a Recv whose attribute has |transfer|, in a step with |transfer_count| numbers and
// in iteration |iteration|, and returns the key that it uses.
static note_t key_of(bool sends, int64_t transfer, uint32_t transfer_count, uint64_t iteration) {
  scene_t scene;
  leat_device_t* device;
  const leat_kernel_row_t* row;
  leat_kernel_t* kernel;
  note_t note = {.rendezvous = {.vtable = &kNotes}};
  scene_open(&scene);
  leat_attr_t attrs[] = {LEAT_TYPE("T", LEAT_DTYPE_FLOAT), LEAT_STR("tensor_name", "edge"),
                         LEAT_STR("send_device", "/a"), LEAT_INT("send_device_incarnation", 31),
                         LEAT_STR("recv_device", "/b"),
                         LEAT_INT(LEAT_ATTR_NAME_TRANSFER, transfer)};
  if (!sends) attrs[0].name = LEAT_SV("tensor_type");
  leat_output_t x = scene_float(&scene, 1);
  int32_t index = scene_node(&scene, sends ? "_Send" : "_Recv", "", "",
                             (leat_outputs_t){&x, sends}, (leat_attrs_t){attrs, 6});
  const leat_node_t* node = &scene.graph->nodes[index];
  LEAT_EXPECT_OK(leat_cpu_device_create(LEAT_SV("/job:localhost/replica:0/task:0/device:CPU:0"),
                                        NULL, leat_allocator_system(), &device));
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
                                   .frame_iteration = iteration};
  if (sends) {
    LEAT_EXPECT_OK(row->compute(&context));
  } else {
    row->compute_async(&context, note_end);
  }
  assert_int_equal(note.calls, 1);
  leat_slot_release(&slots[0]);
  leat_kernel_free(kernel);
  leat_device_release(device);
  scene_close(&scene);
  return note;
}

static const uint64_t kIteration = UINT64_C(0x500000007);

static void numbered_keys_hold_no_text(void** state) {
  for (int sends = 0; sends < 2; ++sends) {
    note_t note = key_of(sends, 3, 4, kIteration);
    assert_int_equal(note.transfer, 3);
    assert_true(note.iteration == kIteration);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbered_keys_hold_no_text),
      cmocka_unit_test(other_keys_are_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
