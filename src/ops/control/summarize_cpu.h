// The attribute "summarize" of Assert, Print and StringFormat: how many elements of a tensor they
// write. TensorFlow's kernels hold it in 32 bits and refuse larger values, and so does this
// function. The functions of tensor/tensor_print.h write the text.
#ifndef LEAT_OPS_CONTROL_SUMMARIZE_CPU_H_
#define LEAT_OPS_CONTROL_SUMMARIZE_CPU_H_

#include "kernel/kernel.h"

// Reads the attribute while a kernel is made. A negative value stands for all elements.
// INVALID_ARGUMENT, with the node's name, beyond int32.
LEAT_MUST_USE static inline leat_status_t leat_summarize_attr(leat_kernel_creation_t* c,
                                                              int64_t* out_value) {
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "summarize", out_value));
  if (*out_value == (int32_t)*out_value) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Create failed for node '%.*s' (%.*s): summarize is %lld, must fit into "
                          "an int32",
                          LEAT_SV_ARG(c->kernel->node_name), LEAT_SV_ARG(c->kernel->op->name),
                          (long long)*out_value);
}

#endif  // LEAT_OPS_CONTROL_SUMMARIZE_CPU_H_
