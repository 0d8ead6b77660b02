/* leat/kernel_op.h: ops that a kernel of a plug-in runs within its own run.
 *
 * TensorFlow's kernels.h shows a kernel the handle of a resource that an op of the runtime made (a
 * lookup table, a queue), but no way to use it. A kernel that has one runs the op that does:
 *
 *   TF_Tensor* const inputs[] = {table, keys, fallback};  // table: from TF_GetInput
 *   TF_Tensor* values = NULL;
 *   leat_kernel_run_op(ctx, "LookupTableFindV2", inputs, 3, &values, 1, status);
 *
 * A plug-in for other runtimes too refers to the function weakly, and asks whether it is there:
 *
 *   #pragma weak leat_kernel_run_op
 *   if (!leat_kernel_run_op) ... */
#ifndef LEAT_KERNEL_OP_H_
#define LEAT_KERNEL_OP_H_

#include "tensorflow/c/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most inputs, and outputs, of an op that is run so. */
#define LEAT_KERNEL_OP_MAX 16

/* Runs |op| on the thread of the kernel, on its device and among that device's resources, and waits
 * for its end. Attributes that the types of the inputs tell have those, all others their defaults.
 * |outputs| [output_count] become new handles, the caller's, after a success, NULL otherwise. The
 * op's kernel is made at its first use by a kernel and kept with that.
 *
 * NOT_FOUND for an op that is not there or has no kernel for the device; INVALID_ARGUMENT where
 * inputs or the number of outputs do not fit it; UNIMPLEMENTED for ops that only make sense in a
 * graph; and what the op itself answers. A failure does not fail the kernel's run by itself. */
TF_CAPI_EXPORT extern void leat_kernel_run_op(TF_OpKernelContext* ctx, const char* op,
                                              TF_Tensor* const* inputs, int input_count,
                                              TF_Tensor** outputs, int output_count,
                                              TF_Status* status);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_KERNEL_OP_H_ */
