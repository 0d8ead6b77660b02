// CPU kernels of the activations and their gradients. A kernel only picks its loop by op and type;
// the engine of elementwise ops (ops/math/elementwise_cpu.h) walks the tensors, shares the work
// among threads, and converts half and bfloat16.
//
// The loops over float and double are in relu_isa.c, compiled for each instruction set. Those over
// integers, which only Relu and Relu6 have, are made here from the same kind of expressions: the
// macros define name_suffix for each integer type, where x and y are elements of the operands. In a
// gradient x is dy, and y is what the slope follows from.
#include "ops/nn/relu_cpu.h"

#include "ops/kernel_rows.h"
#include "ops/math/loops_cpu.h"
#include "ops/nn/widen_cpu.h"

// ---- Integers -----------------------------------------------------------------------------------

#define UNARY(suffix, DTYPE, type, wide, name, expression) \
  LEAT_LOOP_UNARY(name##_##suffix, type, type, expression)
#define BINARY(suffix, DTYPE, type, wide, name, expression) \
  LEAT_LOOP_BINARY(name##_##suffix, type, type, expression)
LEAT_LOOP_INTEGERS(UNARY, relu, x > 0 ? x : 0)
LEAT_LOOP_INTEGERS(BINARY, relu_grad, y > 0 ? x : 0)
LEAT_LOOP_INTEGERS(UNARY, relu6, x > 0 ? (x < 6 ? x : 6) : 0)
LEAT_LOOP_INTEGERS(BINARY, relu6_grad, (y > 0) & (y < 6) ? x : 0)

static const leat_elementwise_loops_t kPlainLoops[LEAT_ACTIVATION_COUNT] = {
    [LEAT_ACTIVATION_RELU] = {LEAT_LOOP_INTEGERS(LEAT_LOOP_ENTRY, relu)},
    [LEAT_ACTIVATION_RELU_GRAD] = {LEAT_LOOP_INTEGERS(LEAT_LOOP_ENTRY, relu_grad)},
    [LEAT_ACTIVATION_RELU6] = {LEAT_LOOP_INTEGERS(LEAT_LOOP_ENTRY, relu6)},
    [LEAT_ACTIVATION_RELU6_GRAD] = {LEAT_LOOP_INTEGERS(LEAT_LOOP_ENTRY, relu6_grad)},
};

// ---- The leaky ones -----------------------------------------------------------------------------

// The state of LeakyRelu and its gradient. It begins with the engine's state, and the engine sees
// |alpha|, a scalar of type T, as one more operand after the inputs, which it broadcasts.
typedef struct leat_leaky_s {
  leat_elementwise_t elementwise;
  leat_tensor_t alpha;
} leat_leaky_t;

static leat_status_t make_alpha(leat_kernel_creation_t* c, int dtype, leat_tensor_t* out_alpha) {
  float alpha;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "alpha", &alpha));
  if (dtype == LEAT_DTYPE_DOUBLE) return leat_tensor_scalar(dtype, &(double){alpha}, out_alpha);
  if (!leat_is_narrow(dtype)) return leat_tensor_scalar(dtype, &alpha, out_alpha);
  uint16_t narrow;
  leat_narrow_elements(dtype, &alpha, &narrow, 1);
  return leat_tensor_scalar(dtype, &narrow, out_alpha);
}

// The engine is told of one operand more than the node has inputs.
static leat_status_t create_leaky(leat_kernel_creation_t* c, void* state, int index) {
  leat_leaky_t* leaky = state;
  leat_elementwise_t* e = &leaky->elementwise;
  LEAT_RETURN_IF_ERROR(
      leat_elementwise_create(c, e, LEAT_ISA_SELECT(leat_activation_loops)->items[index],
                              leat_activation_loops_base.items[index], NULL, 0, 0.3f));
  const int operand = e->input_count++;
  e->input_size[operand] = e->input_size[0];
  e->float_inputs |= (uint8_t)((e->float_inputs & 1) << operand);
  return make_alpha(c, c->kernel->input_types[0], &leaky->alpha);
}
static leat_status_t create_LeakyRelu(leat_kernel_creation_t* c, void* state) {
  return create_leaky(c, state, LEAT_ACTIVATION_LEAKY_RELU);
}
static leat_status_t create_LeakyReluGrad(leat_kernel_creation_t* c, void* state) {
  return create_leaky(c, state, LEAT_ACTIVATION_LEAKY_RELU_GRAD);
}

static void destroy_leaky(void* state) { leat_tensor_release(&((leat_leaky_t*)state)->alpha); }

static leat_status_t leaky__cpu(leat_kernel_context_t* c) {
  const leat_leaky_t* leaky = leat_kernel_state(c);
  const int count = leat_kernel_input_count(c);
  const leat_tensor_t* operands[LEAT_ELEMENTWISE_MAX_INPUTS];
  leat_tensor_t* output;
  for (int k = 0; k < count; ++k) operands[k] = leat_kernel_input(c, k);
  operands[count] = &leaky->alpha;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_any_or_allocate(
      c, (UINT64_C(1) << count) - 1, 0, &operands[0]->shape, &output));
  return leat_elementwise_run(c, &leaky->elementwise, operands, output);
}

// ---- Rows ---------------------------------------------------------------------------------------

#define CREATE(name, index, cost_ns)                                                  \
  LEAT_ELEMENTWISE_CREATE(create_##name, leat_activation_loops, kPlainLoops,          \
                          LEAT_ACTIVATION_##index, 0, cost_ns)
CREATE(Relu, RELU, 0.3f)
CREATE(ReluGrad, RELU_GRAD, 0.4f)
CREATE(Relu6, RELU6, 0.3f)
CREATE(Relu6Grad, RELU6_GRAD, 0.4f)
CREATE(Elu, ELU, 1)
CREATE(EluGrad, ELU_GRAD, 0.4f)
CREATE(Selu, SELU, 1)
CREATE(SeluGrad, SELU_GRAD, 0.4f)
CREATE(Softplus, SOFTPLUS, 2)
CREATE(SoftplusGrad, SOFTPLUS_GRAD, 1)
CREATE(Softsign, SOFTSIGN, 0.5f)
CREATE(SoftsignGrad, SOFTSIGN_GRAD, 0.5f)

#define FLOATS "half, bfloat16, float, double"
#define REAL FLOATS ", int8, int16, int32, int64, uint8, uint16, uint32, uint64"
#define PAIR(op, types)                 \
  LEAT_ELEMENTWISE_ROW_SAME(op, types), \
  LEAT_ELEMENTWISE_ROW_SAME(op##Grad, types)
// These rows do not say that they are elementwise, so that they are never fused with other nodes: a
// fusion gives an operand for each input of a node, and alpha is not an input.
#define LEAKY(name)                                                                       \
  LEAT_CPU_KERNEL(#name, "T: " FLOATS, leat_leaky_t, create_##name, leaky__cpu,           \
                  .destroy = destroy_leaky)

const leat_kernel_row_t leat_relu_kernels_cpu[] = {
    PAIR(Relu, REAL),
    PAIR(Relu6, REAL),
    PAIR(Elu, FLOATS),
    PAIR(Selu, FLOATS),
    PAIR(Softplus, FLOATS),
    PAIR(Softsign, FLOATS),
    LEAKY(LeakyRelu),
    LEAKY(LeakyReluGrad),
    LEAT_KERNEL_ROWS_END,
};
