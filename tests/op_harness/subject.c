// A case in one element type, as the harness works on it: its inputs made, its node built, its
// kernel run. A case may be run in several ways, which must not change the result: with inputs that
// may be overwritten or may not, with inputs at odd addresses, with one thread or several
// (leat_subject_way_t). A node may be built from constants, from placeholders of known shape or of
// none, to see what inference says of each. Inputs that are variables become cells, which are made
// anew for each run, so that no run sees what another has written.
#include "op_harness/subject.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "op_harness/value.h"

leat_status_t leat_subject_initialize(leat_fixture_t* fixture, const leat_op_case_t* op_case,
                                      int dtype, leat_subject_t* out_subject) {
  *out_subject = (leat_subject_t){.fixture = fixture,
                                  .op_case = op_case,
                                  .from_type = op_case->inputs[0].dtype,
                                  .to_type = dtype};
  for (int i = 0; i < LEAT_CASE_MAX_VALUES && op_case->inputs[i].dtype; ++i) {
    const leat_case_value_t* value = &op_case->inputs[i];
    leat_status_t status =
        leat_case_value_make(value, leat_subject_type(out_subject, value->dtype), (uint64_t)i + 1,
                             &out_subject->inputs[i]);
    if (status) {
      leat_subject_deinitialize(out_subject);
      return leat_status_annotate(status, "input %d", i);
    }
    out_subject->input_count++;
  }
  return leat_ok_status();
}

void leat_subject_deinitialize(leat_subject_t* subject) {
  for (int i = 0; i < subject->input_count; ++i) leat_tensor_release(&subject->inputs[i]);
  subject->input_count = 0;
}

// ---- The graph ----------------------------------------------------------------------------------

static leat_output_t build_source(leat_builder_t* builder, const leat_subject_t* subject, int index,
                                  leat_subject_sources_t sources, bool as_constant) {
  const leat_tensor_t* value = &subject->inputs[index];
  leat_case_role_t role = subject->op_case->inputs[index].role;
  leat_partial_shape_t shape = leat_partial_shape_of(&value->shape);
  if (role != LEAT_CASE_VALUE) {
    const char* op = role == LEAT_CASE_HANDLE ? "HarnessHandle" : "HarnessReference";
    if (sources == LEAT_SOURCES_UNKNOWN) shape = leat_partial_shape_unknown();
    return leat_build(builder, op, LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_SHAPE("shape", shape), LEAT_TYPE("dtype", value->dtype)));
  }
  if (sources == LEAT_SOURCES_CONSTANT || as_constant) return leat_build_constant(builder, value);
  if (sources == LEAT_SOURCES_UNKNOWN) shape = leat_partial_shape_unknown();
  return leat_build(builder, "Placeholder", LEAT_NO_INPUTS,
                    LEAT_ATTRS(LEAT_TYPE("dtype", value->dtype), LEAT_SHAPE("shape", shape)));
}

static leat_attrs_t exchange_types(const leat_subject_t* subject, leat_attr_t* attrs) {
  const leat_attr_t* given = subject->op_case->attrs;
  int count = 0;
  for (; count < LEAT_CASE_MAX_ATTRS && given[count].name.data; ++count) {
    attrs[count] = given[count];
    leat_attr_value_t* value = &attrs[count].value;
    if (value->kind == LEAT_ATTR_TYPE && !value->is_list) {
      value->type = leat_subject_type(subject, value->type);
    }
  }
  return (leat_attrs_t){attrs, count};
}

leat_status_t leat_subject_build(const leat_subject_t* subject, leat_subject_sources_t sources,
                                 uint32_t as_constant, leat_graph_t** out_graph,
                                 int32_t* out_sources, int32_t* out_node) {
  leat_attr_t attrs[LEAT_CASE_MAX_ATTRS];
  leat_output_t inputs[LEAT_CASE_MAX_VALUES];
  *out_graph = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_graph_create(subject->fixture->ops, leat_allocator_system(), out_graph));
  // An op that was removed from newer graphs is tested in the last ones that had it, unless the
  // case is about that.
  const leat_op_t* op;
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(
      subject->fixture->ops, leat_string_view_from(subject->op_case->op), &op));
  if (op->row->deprecated_since > 0 && subject->op_case->code != LEAT_UNIMPLEMENTED) {
    (*out_graph)->producer_version = op->row->deprecated_since - 1;
  }
  leat_builder_t builder = {.graph = *out_graph};
  for (int i = 0; i < subject->input_count; ++i) {
    inputs[i] = build_source(&builder, subject, i, sources, as_constant >> i & 1);
    out_sources[i] = inputs[i].node;
  }
  if (builder.status) {
    return leat_status_annotate(builder.status, "the harness's own sources");
  }
  *out_node = leat_build_node(&builder, subject->op_case->op,
                              (leat_outputs_t){inputs, subject->input_count},
                              exchange_types(subject, attrs));
  return builder.status;
}

// ---- Slots --------------------------------------------------------------------------------------

static leat_status_t make_variable(const leat_subject_t* subject, int index,
                                   leat_cell_t** out_cell) {
  leat_tensor_t value;
  LEAT_RETURN_IF_ERROR(leat_cell_create(LEAT_SV("v"), NULL, out_cell));
  leat_status_t status =
      leat_tensor_copy(leat_buffer_source_host(), &subject->inputs[index], &value);
  if (status) {
    leat_cell_release(*out_cell);
    return status;
  }
  leat_cell_set(*out_cell, value);
  return leat_ok_status();
}

// |cell| under a name of its own, and a scalar that names it.
static leat_status_t make_handle(const leat_subject_t* subject, int index, leat_cell_t* cell,
                                 leat_tensor_t* out_tensor) {
  char name[32];
  leat_resource_handle_t* handle = NULL;
  snprintf(name, sizeof(name), "harness%d", index);
  LEAT_RETURN_IF_ERROR(leat_resource_manager_add(subject->fixture->resources, LEAT_SV(""),
                                                 leat_string_view_from(name), &cell->resource));
  LEAT_RETURN_IF_ERROR(leat_resource_handle_create(
      subject->fixture->device->name, LEAT_SV(LEAT_DEFAULT_CONTAINER), leat_string_view_from(name),
      leat_string_view_from(leat_cell_kind.name), &handle));
  leat_shape_t scalar = leat_shape_scalar();
  leat_status_t status =
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_RESOURCE, &scalar, out_tensor);
  if (status) {
    leat_resource_handle_release(handle);
    return status;
  }
  *leat_tensor_data(out_tensor, leat_resource_handle_t*) = handle;
  return leat_ok_status();
}

static leat_status_t make_slot(const leat_subject_t* subject, const leat_subject_way_t* way,
                               int index, leat_slot_t* out_slot) {
  const leat_tensor_t* value = &subject->inputs[index];
  leat_case_role_t role = subject->op_case->inputs[index].role;
  out_slot->alive = true;
  if (role == LEAT_CASE_VALUE) {
    if (way->unaligned) return leat_case_unaligned_copy(value, &out_slot->tensor);
    if (way->overwritable) {
      return leat_tensor_copy(leat_buffer_source_host(), value, &out_slot->tensor);
    }
    out_slot->tensor = leat_tensor_share(value);
    return leat_ok_status();
  }
  leat_cell_t* cell = NULL;
  LEAT_RETURN_IF_ERROR(make_variable(subject, index, &cell));
  if (role == LEAT_CASE_REFERENCE) {
    out_slot->ref = cell;
    return leat_ok_status();
  }
  leat_status_t status = make_handle(subject, index, cell, &out_slot->tensor);
  leat_cell_release(cell);
  return status;
}

leat_status_t leat_subject_make_slots(const leat_subject_t* subject, const leat_subject_way_t* way,
                                      leat_slot_t* out_slots) {
  memset(out_slots, 0, (size_t)LEAT_CASE_MAX_VALUES * sizeof(*out_slots));
  for (int i = 0; i < subject->input_count; ++i) {
    leat_status_t status = make_slot(subject, way, i, &out_slots[i]);
    if (status) {
      leat_subject_free_slots(subject, out_slots);
      return status;
    }
  }
  return leat_ok_status();
}

void leat_subject_free_slots(const leat_subject_t* subject, leat_slot_t* slots) {
  for (int i = 0; i < subject->input_count; ++i) leat_slot_release(&slots[i]);
  leat_resource_manager_clear(subject->fixture->resources, LEAT_SV(""));
}

bool leat_subject_variable(const leat_subject_t* subject, int index, const leat_slot_t* slots,
                           leat_tensor_t* out_value) {
  if (subject->op_case->inputs[index].role == LEAT_CASE_REFERENCE) {
    return slots[index].ref && leat_cell_read(slots[index].ref, out_value);
  }
  leat_cell_t* cell = NULL;
  leat_status_t status =
      leat_cell_of_handle(subject->fixture->resources, &slots[index].tensor, &cell);
  bool has_value = !status && leat_cell_read(cell, out_value);
  leat_status_free(status);
  leat_cell_release(cell);
  return has_value;
}

// ---- Running ------------------------------------------------------------------------------------

typedef struct waiter_s {
  leat_notification_t notification;
  leat_status_t status;
} waiter_t;

static void on_done(leat_kernel_context_t* context, leat_status_t status) {
  waiter_t* waiter = context->owner;
  waiter->status = status;
  leat_notification_open(&waiter->notification);
}

// As leat_kernel_invoke, but for |last_readers|: the slots' values may be overwritten.
static leat_status_t run_overwriting(const leat_kernel_t* kernel,
                                     const leat_step_services_t* services, leat_slot_t* slots,
                                     leat_slot_t* outputs) {
  uint32_t numbers[LEAT_CASE_MAX_VALUES];
  waiter_t waiter = {0};
  for (uint32_t i = 0; i < LEAT_CASE_MAX_VALUES; ++i) numbers[i] = i;
  leat_kernel_context_t context = {.kernel = kernel,
                                   .slots = slots,
                                   .input_slots = numbers,
                                   .outputs = outputs,
                                   .services = services,
                                   .last_readers = ~UINT64_C(0),
                                   .owner = &waiter};
  LEAT_RETURN_IF_ERROR(leat_kernel_check_contract(&context));
  if (kernel->row->compute) return kernel->row->compute(&context);
  leat_notification_initialize(&waiter.notification);
  kernel->row->compute_async(&context, on_done);
  leat_notification_wait(&waiter.notification, LEAT_DEADLINE_NEVER);
  leat_notification_deinitialize(&waiter.notification);
  return waiter.status;
}

// A reference that feeds a plain input is read, as executors do.
static leat_status_t read_references(const leat_kernel_t* kernel, leat_slot_t* slots) {
  for (int i = 0; i < kernel->input_count; ++i) {
    if (!slots[i].ref || leat_dtype_is_ref(kernel->input_types[i])) continue;
    if (!leat_cell_read(slots[i].ref, &slots[i].tensor)) {
      return leat_make_status(LEAT_INTERNAL, "input %d has no value", i);
    }
    leat_cell_release(slots[i].ref);
    slots[i].ref = NULL;
  }
  return leat_ok_status();
}

leat_status_t leat_subject_run(const leat_subject_t* subject, const leat_kernel_t* kernel,
                               const leat_subject_way_t* way, leat_slot_t* slots,
                               leat_slot_t* out_outputs) {
  leat_fixture_step_t step;
  memset(out_outputs, 0, (size_t)kernel->output_count * sizeof(*out_outputs));
  leat_status_t status = leat_fixture_step_begin(
      subject->fixture, way->with_pool ? subject->fixture->pool : NULL, &step);
  if (!status && way->overwritable) {
    status = read_references(kernel, slots);
    if (!status) status = run_overwriting(kernel, &step.services, slots, out_outputs);
  } else if (!status) {
    status = leat_kernel_invoke_slots(kernel, &step.services, slots, out_outputs);
  }
  if (status) {
    for (int i = 0; i < kernel->output_count; ++i) leat_slot_release(&out_outputs[i]);
  }
  leat_fixture_step_end(&step);
  return status;
}
