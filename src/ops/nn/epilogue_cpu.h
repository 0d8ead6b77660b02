// The ops that _FusedMatMul, _FusedConv2D, _FusedConv3D and _FusedDepthwiseConv2dNative do after
// their product, which their attribute "fused_ops" lists, as a step over rows of the result that
// are still in the cache (device/cpu/row_step.h):
//
//   at most one of  BiasAdd (argument: bias)  FusedBatchNorm (scale, offset, mean, variance)
//   at most one of  Add  Sub  ReverseSub (a tensor t of the result's shape: x + t, x - t, t - x)
//   at most one of  Relu Relu6 Elu LeakyRelu Tanh Sigmoid GeluApproximate GeluExact
//
// The list must not be empty. TensorFlow's kernels take some of these lists, none with Sub or
// ReverseSub. The values are those
// of the ops one by one, bit for bit: each op rounds to the node's type.
//
// A kernel creates a leat_epilogue_t once, from its attributes. In each run it begins a
// leat_epilogue_run_t, hands its |step| to the product, and ends it.
#ifndef LEAT_OPS_NN_EPILOGUE_CPU_H_
#define LEAT_OPS_NN_EPILOGUE_CPU_H_

#include "device/cpu/row_step.h"
#include "ops/math/elementwise_cpu.h"

typedef enum leat_epilogue_first_e {
  LEAT_EPILOGUE_NO_FIRST,
  LEAT_EPILOGUE_BIAS,
  LEAT_EPILOGUE_BATCH_NORM,
} leat_epilogue_first_t;

// What a node's list of ops amounts to. It does not change after creation; all runs share it.
typedef struct leat_epilogue_s {
  int dtype;  // the node's type T
  leat_epilogue_first_t first;
  // Of the result and the tensor; NULL: the list has none of Add, Sub and ReverseSub. What
  // subtracts in reverse has the tensor as its first operand.
  leat_elementwise_loop_t addition;
  bool is_reverse;
  leat_elementwise_loop_t activation;  // NULL: there is none
  bool activates_narrow;               // it takes half or bfloat16, not what is computed in
  bool takes_alpha;                    // |activation| has |alpha| as its second operand
  float alpha, epsilon;
  int arg_count;  // the arguments that the list needs
} leat_epilogue_t;

// Reads "fused_ops", "num_args", "epsilon" and "leakyrelu_alpha" of a node whose type is |dtype|.
// INVALID_ARGUMENT for an empty list or another number of arguments than the list needs,
// UNIMPLEMENTED for any other list than those above.
LEAT_MUST_USE leat_status_t leat_epilogue_create(leat_kernel_creation_t* c, int dtype,
                                                 leat_epilogue_t* out_epilogue);

// An error "attribute fused_ops is [BiasAdd,Abs], must be |rule|".
LEAT_MUST_USE leat_status_t leat_epilogue_refuse(const leat_kernel_creation_t* c,
                                                 leat_status_code_t code, const char* rule);
// The loop over floats of the activation |name| of the list above, for kernels of other products;
// NULL where there is none. Where it takes alpha, that is its second operand, for each element.
leat_elementwise_loop_t leat_epilogue_activation(leat_string_view_t name, bool* out_takes_alpha);

#define LEAT_EPILOGUE_VECTORS 3  // mean, factor and offset of a normalization; or a bias

// One run. |step| points into it, so that it must not move until it is ended.
typedef struct leat_epilogue_run_s {
  const leat_epilogue_t* epilogue;
  leat_row_step_t step;  // what the product takes
  int64_t channels;
  // The vectors, repeated |period| / |channels| times so that loops over them are long, and
  // converted to the type that is computed in.
  int64_t period;
  leat_tensor_t memory;
  const void* vectors[LEAT_EPILOGUE_VECTORS];
  bool is_narrow;        // the rows and |addend| are half or bfloat16
  const void* addend;    // the tensor that is added or subtracted, as a dense matrix
} leat_epilogue_run_t;

// The input that Add, Sub or ReverseSub reads, of the node's type and of |result_shape|, which the
// caller has set. NULL where the list has none of them. INVALID_ARGUMENT when its shape differs.
LEAT_MUST_USE leat_status_t leat_epilogue_addend(const leat_kernel_context_t* c,
                                                 const leat_epilogue_t* epilogue,
                                                 const leat_shape_t* result_shape,
                                                 const leat_tensor_t** out_addend);
// Begins a run over a result of |rows| rows of |channels| elements; arguments are inputs 2 and up.
// |addend| has the elements of the tensor above in the layout of the rows. |is_narrow|: the rows
// that the step will see are of a half or bfloat16 node's own type, else they are float. Such
// floats are rounded to the node's type. INVALID_ARGUMENT for vectors of another length than
// |channels|; the run must be ended only after success.
LEAT_MUST_USE leat_status_t leat_epilogue_begin(leat_kernel_context_t* c,
                                                const leat_epilogue_t* epilogue, int64_t rows,
                                                int64_t channels, bool is_narrow,
                                                const void* addend,
                                                leat_epilogue_run_t* out_run);
// Releases the run's memory, when the product is done.
void leat_epilogue_end(leat_epilogue_run_t* run);

#endif  // LEAT_OPS_NN_EPILOGUE_CPU_H_
