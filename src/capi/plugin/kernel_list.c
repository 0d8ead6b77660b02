// The registered kernels as a serialized KernelList message. The registry describes a kernel's
// constraints and host arguments as short texts ("T: float, double; Tidx: int32"); these are parsed
// here into the fields of the message. The message is built in an arena, encoded and freed. The
// texts come from registration, which has checked them, so that parsing can only run out of memory.
#include "capi/handles.h"
#include "formats/generated/op_def.h"
#include "formats/wire/encode.h"
#include "kernel/registry.h"

typedef struct lister_s {
  leat_arena_t arena;
  leat_pb_kernel_list_t list;
} lister_t;

// Takes the text before |separator| off |*inout_text| and returns it without blanks around it.
static leat_string_view_t next_part(leat_string_view_t* inout_text, char separator) {
  size_t end = leat_string_view_find(*inout_text, separator);
  leat_string_view_t part = *inout_text;
  if (end != SIZE_MAX) part.size = end;
  *inout_text = leat_string_view_from_index(*inout_text, end == SIZE_MAX ? end : end + 1);
  return leat_string_view_trim(part);
}

// Makes a list(type) value of a text such as "float, double".
static leat_status_t list_types(lister_t* lister, leat_string_view_t text,
                                leat_pb_attr_value_t** out_value) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate(&lister->arena, sizeof(leat_pb_attr_value_t), &memory));
  leat_pb_attr_value_t* value = memory;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate(&lister->arena, sizeof(leat_pb_attr_value_list_value_t), &memory));
  value->list = memory;
  value->value_case = 1;  // list
  while (text.size > 0) {
    LEAT_RETURN_IF_ERROR(leat_message_list_append(&lister->arena, &value->list->type,
                                                  sizeof(int32_t), &memory));
    *(int32_t*)memory = leat_dtype_from_name(next_part(&text, ','));
  }
  *out_value = value;
  return leat_ok_status();
}

// Parses constraints such as "T: float, double; Tidx: int32".
static leat_status_t list_constraints(lister_t* lister, const char* constraints,
                                      leat_pb_kernel_def_t* kernel) {
  leat_string_view_t text = leat_string_view_from(constraints);
  while (text.size > 0) {
    leat_string_view_t types = next_part(&text, ';');
    if (types.size == 0) continue;
    void* memory = NULL;
    LEAT_RETURN_IF_ERROR(leat_message_list_append(&lister->arena, &kernel->constraint,
                                                  sizeof(*kernel->constraint.items), &memory));
    leat_pb_kernel_def_attr_constraint_t* constraint = memory;
    constraint->name = next_part(&types, ':');
    LEAT_RETURN_IF_ERROR(list_types(lister, types, &constraint->allowed_values));
  }
  return leat_ok_status();
}

// Parses host arguments such as "shape; axis".
static leat_status_t list_host_arguments(lister_t* lister, const char* arguments,
                                         leat_pb_kernel_def_t* kernel) {
  leat_string_view_t text = leat_string_view_from(arguments);
  while (text.size > 0) {
    leat_string_view_t name = next_part(&text, ';');
    if (name.size == 0) continue;
    void* memory = NULL;
    LEAT_RETURN_IF_ERROR(leat_message_list_append(&lister->arena, &kernel->host_memory_arg,
                                                  sizeof(leat_string_view_t), &memory));
    *(leat_string_view_t*)memory = name;
  }
  return leat_ok_status();
}

// Appends a KernelDef for |row|.
static leat_status_t list_row(void* data, const leat_kernel_row_t* row) {
  lister_t* lister = data;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_message_list_append(&lister->arena, &lister->list.kernel,
                                                sizeof(leat_pb_kernel_def_t), &memory));
  leat_pb_kernel_def_t* kernel = memory;
  kernel->op = leat_string_view_from(row->op);
  kernel->device_type = leat_string_view_from(row->device_type);
  kernel->priority = row->priority;
  kernel->label = leat_string_view_from(row->label ? row->label : "");
  LEAT_RETURN_IF_ERROR(list_constraints(lister, row->constraints, kernel));
  return list_host_arguments(lister, row->host_memory, kernel);
}

static leat_status_t list_kernels(lister_t* lister, leat_string_view_t op,
                                  TF_Buffer* out_buffer) {
  const leat_runtime_t* runtime = NULL;
  leat_string_builder_t bytes;
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_each(runtime->kernels, op, list_row, lister));
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status =
      leat_message_encode(&leat_pb_kernel_list_descriptor, &lister->list, &bytes);
  if (!status) return leat_capi_buffer_take(&bytes, out_buffer);
  leat_string_builder_deinitialize(&bytes);
  return status;
}

static TF_Buffer* kernel_list(leat_string_view_t op, TF_Status* status) {
  lister_t lister = {.list = {{0}}};
  TF_Buffer* buffer = TF_NewBuffer();
  leat_arena_initialize(leat_allocator_system(), 0, &lister.arena);
  leat_status_t result =
      buffer ? list_kernels(&lister, op, buffer)
             : leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a buffer ran out");
  leat_arena_deinitialize(&lister.arena);
  if (result) {
    TF_DeleteBuffer(buffer);
    buffer = NULL;
  }
  leat_capi_status_set(status, result);
  return buffer;
}

TF_Buffer* TF_GetAllRegisteredKernels(TF_Status* status) {
  return kernel_list(LEAT_SV(""), status);
}

TF_Buffer* TF_GetRegisteredKernelsForOp(const char* name, TF_Status* status) {
  leat_string_view_t op = leat_string_view_from(name);
  // To the registry an empty name means all ops; here it is a name that no op has.
  return kernel_list(op.size ? op : LEAT_SV("?"), status);
}
