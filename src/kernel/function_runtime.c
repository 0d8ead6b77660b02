// The kernels' side of function calls: finds a function by the first call of a kernel, and
// remembers its handle.
#include "kernel/function_runtime.h"

leat_status_t leat_callee_initialize(const leat_kernel_creation_t* creation, const char* name,
                                     int index, leat_callee_t* out_callee) {
  const leat_attr_value_t* value;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(creation, name, &value));
  if (value->kind != LEAT_ATTR_FUNCTION || (value->is_list && index >= (int)value->count)) {
    return leat_make_status(LEAT_INTERNAL, "attribute '%s' names no function", name);
  }
  out_callee->function = value->is_list ? &value->functions[index] : value->function;
  return leat_ok_status();
}

leat_status_t leat_callee_find(leat_kernel_context_t* c, leat_callee_t* callee,
                               uint64_t* out_handle) {
  leat_function_runtime_t* functions = c->services->functions;
  uint64_t known = atomic_load_explicit(&callee->handle, memory_order_acquire);
  *out_handle = known - 1;
  if (known) return leat_ok_status();
  if (!functions) {
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                             "function '%.*s' is called outside a session, must be inside one",
                             LEAT_SV_ARG(callee->function->name));
  }
  LEAT_RETURN_IF_ERROR(functions->vtable->instantiate(functions, callee->function,
                                                      c->kernel->device->name, out_handle));
  atomic_store_explicit(&callee->handle, *out_handle + 1, memory_order_release);
  return leat_ok_status();
}

void leat_callee_run(leat_kernel_context_t* c, leat_callee_t* callee, leat_function_call_t* call,
                     leat_function_done_fn_t done, void* data) {
  uint64_t handle;
  leat_status_t status = leat_callee_find(c, callee, &handle);
  if (status) {
    done(data, status);
    return;
  }
  call->caller = c->services;
  c->services->functions->vtable->run(c->services->functions, handle, call, done, data);
}
