// Each other device is compared with the CPU: a case of the op harness runs on the simulated
// accelerator too, where that has a kernel, and must give the same bits. Inputs are copied to the
// device and outputs back, except those that the kernel wants with the host, which is decided by
// the same function that the partitioner asks. What the device's kernels take from shape functions
// is checked with it. Cases with variables or handles are left out, because their state would have
// to exist on both devices; sessions compare those.
#include "base/clock.h"
#include "master/partitioner.h"
#include "op_harness/checks.h"
#include "op_harness/value.h"

static const leat_subject_way_t kWay = {.name = "borrowed inputs"};

typedef struct comparison_s {
  const leat_subject_t* subject;
  leat_graph_t* graph;
  const leat_node_t* node;
  leat_fixture_kernel_t cpu, other;
  leat_placement_device_t place;
  leat_placer_options_t placement;  // by which values lie with the host
} comparison_t;

// ---- To the device and back ---------------------------------------------------------------------

static leat_status_t send_inputs(const comparison_t* c, leat_slot_t* slots) {
  leat_device_t* device = c->subject->fixture->accelerator;
  for (int i = 0; i < c->node->input_count; ++i) {
    if (leat_memory_input_is_host(&c->placement, c->graph, c->node, i)) continue;
    leat_tensor_t there = {0};
    LEAT_RETURN_IF_ERROR(device->vtable->copy_from_host(device, &slots[i].tensor, &there));
    leat_tensor_release(&slots[i].tensor);
    slots[i].tensor = there;
  }
  return leat_ok_status();
}

typedef struct waiter_s {
  leat_notification_t notification;
  leat_status_t status;
} waiter_t;

static void copied(void* data, leat_status_t status) {
  waiter_t* waiter = data;
  waiter->status = status;
  leat_notification_open(&waiter->notification);
}

static leat_status_t bring_back(const comparison_t* c, int output, leat_tensor_t* inout_tensor) {
  leat_device_t* device = c->subject->fixture->accelerator;
  if (leat_memory_output_is_host(&c->placement, c->node, output)) return leat_ok_status();
  waiter_t waiter = {.status = leat_ok_status()};
  leat_tensor_t here = {0};
  leat_notification_initialize(&waiter.notification);
  LEAT_RETURN_IF_ERROR(
      device->vtable->copy_to_host(device, inout_tensor, &here, copied, &waiter));
  leat_notification_wait(&waiter.notification, LEAT_DEADLINE_NEVER);
  leat_notification_deinitialize(&waiter.notification);
  leat_tensor_release(inout_tensor);
  *inout_tensor = here;
  return waiter.status;
}

// ---- Running ------------------------------------------------------------------------------------

static leat_status_t compare(const comparison_t* c, const leat_slot_t* expected,
                             leat_slot_t* actual) {
  for (int o = 0; o < c->node->output_count; ++o) {
    if (!expected[o].alive) continue;
    LEAT_RETURN_IF_ERROR(bring_back(c, o, &actual[o].tensor));
    if (leat_case_tensor_equal(&expected[o].tensor, &actual[o].tensor)) continue;
    return leat_check_failed("output %d of shape %s differs from the CPU's of shape %s", o,
                             LEAT_SHAPE_TEXT(&actual[o].tensor.shape),
                             LEAT_SHAPE_TEXT(&expected[o].tensor.shape));
  }
  return leat_ok_status();
}

static leat_status_t run_both(const comparison_t* c) {
  const leat_subject_t* subject = c->subject;
  leat_slot_t slots[LEAT_CASE_MAX_VALUES], there[LEAT_CASE_MAX_VALUES];
  leat_slot_t expected[LEAT_CASE_MAX_OUTPUTS] = {0}, actual[LEAT_CASE_MAX_OUTPUTS] = {0};
  LEAT_RETURN_IF_ERROR(leat_subject_make_slots(subject, &kWay, slots));
  LEAT_RETURN_IF_ERROR(leat_subject_make_slots(subject, &kWay, there));
  leat_status_t status = leat_subject_run(subject, c->cpu.kernel, &kWay, slots, expected);
  if (!status) status = send_inputs(c, there);
  if (!status) status = leat_kernel_invoke_slots(c->other.kernel, NULL, there, actual);
  if (!status) status = compare(c, expected, actual);
  for (int o = 0; o < c->node->output_count; ++o) {
    leat_slot_release(&expected[o]);
    leat_slot_release(&actual[o]);
  }
  leat_subject_free_slots(subject, slots);
  leat_subject_free_slots(subject, there);
  return status;
}

// Variables live in a container, random numbers go on: such ops are compared by sessions.
static bool is_comparable(const leat_subject_t* subject) {
  for (int i = 0; i < subject->input_count; ++i) {
    if (subject->op_case->inputs[i].role != LEAT_CASE_VALUE) return false;
    if (leat_dtype_in(subject->inputs[i].dtype, LEAT_DTYPES_OBJECT)) return false;
  }
  return true;
}

// Makes the node's kernel for the CPU and for the device and compares what they give. An op that
// has no kernel there, or that keeps a state, is passed over.
static leat_status_t compare_node(comparison_t* c, int32_t index) {
  leat_fixture_t* fixture = c->subject->fixture;
  leat_device_t* device = fixture->accelerator;
  const leat_kernel_row_t* row;
  c->graph->nodes[index].assigned_device = 0;
  c->node = &c->graph->nodes[index];
  c->place = (leat_placement_device_t){
      .name = device->name, .type = device->type, .has_own_memory = true};
  c->placement = (leat_placer_options_t){
      .kernels = fixture->kernels, .devices = &c->place, .device_count = 1};
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_probe(fixture->kernels, c->node->op, c->node->attrs,
                                                  c->node->attr_count, device->type, &row));
  if (!row || (c->node->op->flags & LEAT_OP_STATEFUL)) return leat_ok_status();
  leat_status_t status = leat_fixture_kernel_make(fixture, c->graph, index, &c->cpu);
  if (!status) status = leat_fixture_kernel_make_on(fixture, device, c->graph, index, &c->other);
  if (!status) status = run_both(c);
  leat_fixture_kernel_free(&c->cpu);
  leat_fixture_kernel_free(&c->other);
  return status;
}

leat_status_t leat_check_device(const leat_subject_t* subject) {
  int32_t sources[LEAT_CASE_MAX_VALUES], node = -1;
  comparison_t c = {.subject = subject};
  if (!is_comparable(subject)) return leat_ok_status();
  leat_status_t status =
      leat_subject_build(subject, LEAT_SOURCES_CONSTANT, 0, &c.graph, sources, &node);
  if (!status) status = compare_node(&c, node);
  leat_graph_free(c.graph);
  return leat_status_annotate(status, "on the simulated accelerator");
}
