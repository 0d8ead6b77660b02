// The CPU kernels of Identity and the ops like it: each output shares the bytes of the input at its
// place.
#include "ops/kernel_rows.h"

static leat_status_t identity__cpu(leat_kernel_context_t* c) {
  for (int i = 0; i < leat_kernel_input_count(c); ++i) leat_kernel_pass_input(c, i, i);
  return leat_ok_status();
}

// The two signatures of a node may say different numbers and types of tensors.
static leat_status_t repack__cpu(leat_kernel_context_t* c) {
  const leat_kernel_t* kernel = c->kernel;
  if (kernel->input_count != kernel->output_count) {
    return leat_kernel_error(c, LEAT_INTERNAL, "#inputs != #outputs : %d vs. %d",
                             kernel->input_count, kernel->output_count);
  }
  for (int i = 0; i < kernel->input_count; ++i) {
    const int actual = leat_kernel_input(c, i)->dtype, wanted = kernel->output_types[i];
    if (actual == wanted) continue;
    return leat_kernel_invalid(c, "Type mismatch: actual %s vs. expect %s of tensor %d",
                               leat_dtype_name(actual), leat_dtype_name(wanted), i);
  }
  return identity__cpu(c);
}

static leat_status_t guarantee_const__cpu(leat_kernel_context_t* c) {
  if (leat_kernel_input(c, 0)->dtype == LEAT_DTYPE_RESOURCE) {
    return leat_kernel_invalid(c, "input is a resource handle, must be a value");
  }
  return identity__cpu(c);
}

// Memory that this library allocates, or is handed, is never pinned.
static leat_status_t check_pinned__cpu(leat_kernel_context_t* c) {
  return leat_kernel_invalid(c, "not pinned: tensor is in plain memory of the host");
}

static leat_status_t ref_identity__cpu(leat_kernel_context_t* c) {
  leat_kernel_pass_ref(c, 0, 0);
  return leat_ok_status();
}

#define PLAIN_TYPES                                                                       \
  "T: bfloat16, bool, complex128, complex64, double, float, half, int16, int32, int64, "  \
  "int8, uint16, uint32, uint64, uint8"

const leat_kernel_row_t leat_identity_kernels_cpu[] = {
    {.op = "Identity", .device_type = "CPU", .compute = identity__cpu},
    {.op = "RefIdentity", .device_type = "CPU", .compute = ref_identity__cpu},
    {.op = "IdentityN", .device_type = "CPU", .compute = identity__cpu},
    {.op = "_ListToArray", .device_type = "CPU", .compute = repack__cpu},
    {.op = "_ArrayToList", .device_type = "CPU", .compute = repack__cpu},
    {.op = "_EagerConst", .device_type = "CPU", .compute = identity__cpu},
    {.op = "StopGradient", .device_type = "CPU", .compute = identity__cpu},
    {.op = "PreventGradient", .device_type = "CPU", .compute = identity__cpu},
    {.op = "Snapshot",
     .device_type = "CPU",
     .constraints = PLAIN_TYPES,
     .compute = identity__cpu},
    {.op = "DebugGradientIdentity", .device_type = "CPU", .compute = identity__cpu},
    {.op = "CheckPinned", .device_type = "CPU", .compute = check_pinned__cpu},
    {.op = "GuaranteeConst", .device_type = "CPU", .compute = guarantee_const__cpu},
    LEAT_KERNEL_ROWS_END,
};
