// Kernels of plugins (kernels.h). A builder collects what a plugin says of a kernel: its op, its
// device, the types that it takes, its functions. When it is registered, it becomes a row of the
// kernel registry, like those of the library's own kernels. The row's functions are those below,
// which call the plugin's:
//
//     row.create  -> plugin's create(construction)           its result is the instance
//     row.compute -> plugin's compute(instance, context)
//     row.destroy -> plugin's delete(instance)
//
// The row, the plugin's functions and all texts that the row points to lie in one block of memory,
// which the registry keeps for ever, since nodes may refer to it at any time. A plugin's kernel
// counts as expensive, because nothing is known of it. Where the plugin's create fails, its delete
// is called nevertheless, with what create returned.
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "capi/plugin/plugin_device.h"
#include "formats/generated/op_def.h"
#include "formats/wire/decode.h"
#include "graph/signature.h"

enum { OP, DEVICE, CONSTRAINTS, LABEL, HOST_MEMORY, TEXTS };

struct TF_KernelBuilder {
  leat_string_builder_t texts[TEXTS];
  // the plugin's functions and the priority; the texts are added when it is registered
  leat_plugin_kernel_t kernel;
};

// ---- Calling the plugin -------------------------------------------------------------------------

// Sets starts[i] to the number of tensors before argument i, and starts[count] to that of all.
static leat_status_t count_arguments(const leat_op_argument_t* arguments, int count,
                                     const leat_attr_t* attrs, int32_t* starts) {
  int64_t end = 0;
  for (int i = 0; i < count; ++i) {
    starts[i] = (int32_t)end;
    end += leat_signature_argument_count(&arguments[i], attrs);
  }
  starts[count] = (int32_t)end;
  return leat_ok_status();
}

static leat_status_t create(leat_kernel_creation_t* creation, void* state_memory) {
  leat_plugin_state_t* state = state_memory;
  const leat_op_t* op = creation->kernel->op;
  state->kernel = (const leat_plugin_kernel_t*)creation->kernel->row;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(
      leat_allocator_system(), (size_t)(op->input_count + op->output_count) + 2, &state->starts));
  LEAT_RETURN_IF_ERROR(
      count_arguments(op->inputs, op->input_count, creation->attrs, state->starts));
  LEAT_RETURN_IF_ERROR(count_arguments(op->outputs, op->output_count, creation->attrs,
                                       state->starts + op->input_count + 1));
  TF_OpKernelConstruction construction = {.creation = creation};
  if (state->kernel->create) state->instance = state->kernel->create(&construction);
  state->is_made = true;
  return construction.failure;
}

static void destroy(void* state_memory) {
  leat_plugin_state_t* state = state_memory;
  if (state->is_made && state->kernel->destroy) state->kernel->destroy(state->instance);
  leat_plugin_ops_free(atomic_load(&state->ops));
  leat_allocator_free(leat_allocator_system(), state->starts);
}

static leat_status_t compute(leat_kernel_context_t* context) {
  TF_OpKernelContext run = {.context = context};
  const leat_plugin_state_t* state = leat_plugin_state(&run);
  state->kernel->compute(state->instance, &run);
  return leat_plugin_run_status(&run);
}

// Runs a kernel that enqueues its work on a plug-in's device. A step that collects statistics waits
// for the work, so that the device's timer tells how long it took; where the plug-in has none the
// host's clock does.
static leat_status_t compute_enqueues(leat_kernel_context_t* context) {
  leat_device_t* device = context->kernel->device;
  leat_step_listener_t* listener = context->services->listener;
  const int64_t start_ns = leat_clock_now_ns();
  const bool measures =
      context->services->collector && leat_plugin_device_stream(device) != NULL;
  SP_Timer timer = NULL;
  int64_t duration_ns = 0;
  if (measures) LEAT_RETURN_IF_ERROR(leat_plugin_device_start_timer(device, &timer));
  leat_status_t status = compute(context);
  if (measures) {
    status = leat_status_join(status,
                              leat_plugin_device_stop_timer(device, timer, &duration_ns));
  }
  if (!timer) duration_ns = leat_clock_now_ns() - start_ns;
  LEAT_RETURN_IF_ERROR(status);
  if (listener) {
    listener->ended(listener, context->kernel, context->outputs, duration_ns, leat_ok_status());
  }
  return leat_ok_status();
}

// The context of an asynchronous run lives until the plugin calls its callback, which is the
// context itself under another type.
static void compute_async(leat_kernel_context_t* context, leat_kernel_done_fn_t done) {
  TF_OpKernelContext* run = leat_capi_allocate(sizeof *run);
  if (!run) {
    done(context, leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a run ran out"));
    return;
  }
  run->context = context;
  run->done = done;
  const leat_plugin_state_t* state = leat_plugin_state(run);
  state->kernel->compute_async(state->instance, run, (TF_AsyncOpKernelDoneCallback*)run);
}

void TF_RunAsyncOpKernelDoneCallback(TF_AsyncOpKernelDoneCallback* done) {
  TF_OpKernelContext* run = (TF_OpKernelContext*)done;
  leat_status_t status = leat_plugin_run_status(run);
  leat_kernel_context_t* context = run->context;
  leat_kernel_done_fn_t continuation = run->done;
  leat_allocator_free(leat_allocator_system(), run);
  continuation(context, status);
}

// ---- The builder --------------------------------------------------------------------------------

static void add_text(TF_KernelBuilder* builder, int kind, const char* text) {
  leat_string_builder_t* b = &builder->texts[kind];
  if (b->size > 0) leat_string_builder_append(b, LEAT_SV("; "));
  leat_string_builder_append(b, leat_string_view_from(text ? text : ""));
}

static TF_KernelBuilder* new_builder(const char* op_name, const char* device_name) {
  TF_KernelBuilder* builder = leat_capi_allocate(sizeof *builder);
  if (!builder) return NULL;
  for (int i = 0; i < TEXTS; ++i) {
    leat_string_builder_initialize(leat_allocator_system(), &builder->texts[i]);
  }
  add_text(builder, OP, op_name);
  add_text(builder, DEVICE, device_name);
  return builder;
}

TF_KernelBuilder* TF_NewKernelBuilder(const char* op_name, const char* device_name,
                                      void* (*create_func)(TF_OpKernelConstruction*),
                                      void (*compute_func)(void*, TF_OpKernelContext*),
                                      void (*delete_func)(void*)) {
  TF_KernelBuilder* builder = new_builder(op_name, device_name);
  if (builder) {
    builder->kernel = (leat_plugin_kernel_t){
        .create = create_func, .compute = compute_func, .destroy = delete_func};
  }
  return builder;
}

TF_KernelBuilder* TF_NewAsyncKernelBuilder(
    const char* op_name, const char* device_name, void* (*create_func)(TF_OpKernelConstruction*),
    void (*compute_async_func)(void*, TF_OpKernelContext*, TF_AsyncOpKernelDoneCallback* done),
    void (*delete_func)(void*)) {
  TF_KernelBuilder* builder = new_builder(op_name, device_name);
  if (builder) {
    builder->kernel = (leat_plugin_kernel_t){
        .create = create_func, .compute_async = compute_async_func, .destroy = delete_func};
  }
  return builder;
}

void TF_DeleteKernelBuilder(TF_KernelBuilder* builder) {
  for (int i = 0; builder && i < TEXTS; ++i) leat_string_builder_deinitialize(&builder->texts[i]);
  leat_allocator_free(leat_allocator_system(), builder);
}

static leat_status_t add_constraint(TF_KernelBuilder* builder, const char* attr_name, int type) {
  if (type <= 0 || !leat_dtype_is_valid(type) || leat_dtype_is_ref(type)) {
    return leat_make_status(LEAT_UNIMPLEMENTED, "Unexpected type %d", type);
  }
  if (!attr_name || !*attr_name || attr_name[strcspn(attr_name, ":;, ")]) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Attribute '%s' of a constraint is no name",
                            attr_name ? attr_name : "");
  }
  add_text(builder, CONSTRAINTS, attr_name);
  leat_string_builder_print(&builder->texts[CONSTRAINTS], ": %s", leat_dtype_name(type));
  return leat_ok_status();
}

void TF_KernelBuilder_TypeConstraint(TF_KernelBuilder* kernel_builder, const char* attr_name,
                                     const TF_DataType type, TF_Status* status) {
  leat_capi_status_set(status, add_constraint(kernel_builder, attr_name, (int)type));
}

void TF_KernelBuilder_HostMemory(TF_KernelBuilder* kernel_builder, const char* arg_name) {
  add_text(kernel_builder, HOST_MEMORY, arg_name);
}

static void set_priority(TF_KernelBuilder* builder, int32_t priority) {
  builder->kernel.row.priority = (int16_t)LEAT_MAX(INT16_MIN, LEAT_MIN(priority, INT16_MAX));
}

void TF_KernelBuilder_Priority(TF_KernelBuilder* kernel_builder, int32_t priority_number) {
  set_priority(kernel_builder, priority_number);
}

void TF_KernelBuilder_Label(TF_KernelBuilder* kernel_builder, const char* label) {
  kernel_builder->texts[LABEL].size = 0;
  add_text(kernel_builder, LABEL, label);
}

// ---- Registration -------------------------------------------------------------------------------

// Replaces what the builder was told by what a KernelDef says. Constraints that are no lists of
// types are left out.
static leat_status_t read_def(TF_KernelBuilder* builder, const leat_pb_kernel_def_t* def) {
  for (int i = 0; i < TEXTS; ++i) builder->texts[i].size = 0;
  leat_string_builder_append(&builder->texts[OP], def->op);
  leat_string_builder_append(&builder->texts[DEVICE], def->device_type);
  leat_string_builder_append(&builder->texts[LABEL], def->label);
  set_priority(builder, def->priority);
  leat_string_builder_t* constraints = &builder->texts[CONSTRAINTS];
  for (size_t i = 0; i < def->constraint.count; ++i) {
    const leat_pb_kernel_def_attr_constraint_t* c = &def->constraint.items[i];
    if (!c->allowed_values || c->allowed_values->value_case != 1) continue;
    leat_string_builder_print(constraints, "%.*s:", LEAT_SV_ARG(c->name));
    for (size_t j = 0; j < c->allowed_values->list->type.count; ++j) {
      leat_string_builder_print(constraints, "%s%s", j ? "," : "",
                                leat_dtype_name(c->allowed_values->list->type.items[j]));
    }
    leat_string_builder_append_char(constraints, ';');
  }
  for (size_t i = 0; i < def->host_memory_arg.count; ++i) {
    leat_string_builder_print(&builder->texts[HOST_MEMORY], "%.*s;",
                              LEAT_SV_ARG(def->host_memory_arg.items[i]));
  }
  return leat_ok_status();
}

static leat_status_t read_serialized(TF_KernelBuilder* builder, const char* bytes) {
  leat_pb_kernel_def_t def = {.priority = 0};
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = leat_message_decode(&leat_pb_kernel_def_descriptor,
                                             leat_string_view_from(bytes), &arena, NULL, &def);
  if (!status) status = read_def(builder, &def);
  leat_arena_deinitialize(&arena);
  return leat_status_annotate(status, "Error parsing serialized KernelDef.");
}

static leat_status_t check_builder(const TF_KernelBuilder* builder) {
  for (int i = 0; i < TEXTS; ++i) {
    LEAT_RETURN_IF_ERROR(leat_status_clone(builder->texts[i].status));
  }
  const char* lacking = builder->texts[OP].size == 0       ? "an op"
                        : builder->texts[DEVICE].size == 0 ? "a device"
                        : !builder->kernel.compute && !builder->kernel.compute_async
                            ? "a function to compute"
                            : NULL;
  if (!lacking) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Registering a kernel failed: it lacks %s",
                          lacking);
}

// Makes the row with its texts behind it in one block.
static leat_status_t make_kernel(const TF_KernelBuilder* builder, leat_plugin_kernel_t** out) {
  char* texts[TEXTS];
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_capi_allocate_with_texts(sizeof(leat_plugin_kernel_t), builder->texts,
                                                     TEXTS, texts, &memory));
  leat_plugin_kernel_t* kernel = memory;
  const bool is_cpu = strcmp(texts[DEVICE], "CPU") == 0;
  *kernel = builder->kernel;
  kernel->row = (leat_kernel_row_t){
      .op = texts[OP],
      .device_type = texts[DEVICE],
      .constraints = texts[CONSTRAINTS],
      .priority = builder->kernel.row.priority,
      .expensive = true,
      .label = *texts[LABEL] ? texts[LABEL] : NULL,
      .host_memory = texts[HOST_MEMORY],
      .create = create,
      .destroy = destroy,
      .state_bytes = sizeof(leat_plugin_state_t),
      .enqueues = kernel->compute && !is_cpu,
      .compute = !kernel->compute ? NULL : is_cpu ? compute : compute_enqueues,
      .compute_async = kernel->compute ? NULL : compute_async,
  };
  *out = kernel;
  return leat_ok_status();
}

static leat_status_t register_kernel(const char* serialized_def, TF_KernelBuilder* builder) {
  const leat_runtime_t* runtime = NULL;
  leat_plugin_kernel_t* kernel = NULL;
  if (!builder) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Registering a kernel failed: builder is NULL");
  }
  if (serialized_def) LEAT_RETURN_IF_ERROR(read_serialized(builder, serialized_def));
  LEAT_RETURN_IF_ERROR(check_builder(builder));
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  LEAT_RETURN_IF_ERROR(make_kernel(builder, &kernel));
  leat_status_t status = leat_kernel_registry_extend(runtime->kernels, &kernel->row);
  if (status) leat_allocator_free(leat_allocator_system(), kernel);
  return status;
}

void TF_RegisterKernelBuilderWithKernelDef(const char* serialized_kernel_def, const char* name,
                                           TF_KernelBuilder* builder, TF_Status* status) {
  leat_capi_status_set(status, register_kernel(serialized_kernel_def, builder));
  TF_DeleteKernelBuilder(builder);
}

void TF_RegisterKernelBuilder(const char* kernel_name, TF_KernelBuilder* builder,
                              TF_Status* status) {
  TF_RegisterKernelBuilderWithKernelDef(NULL, kernel_name, builder, status);
}
