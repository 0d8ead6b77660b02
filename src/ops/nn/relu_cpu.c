// CPU kernels of the activations: one engine over loops by op and type. half and bfloat16 go
// through float in blocks that stay in cache.
#include "ops/nn/relu_cpu.h"

#include "ops/family.h"
#include "ops/nn/widen_cpu.h"

// ---- Integers -----------------------------------------------------------------------------------

#define INTEGER_TYPES(X) \
  X(i8, int8_t)          \
  X(i16, int16_t)        \
  X(i32, int32_t)        \
  X(i64, int64_t)        \
  X(u8, uint8_t)         \
  X(u16, uint16_t)       \
  X(u32, uint32_t)       \
  X(u64, uint64_t)

#define INTEGER_LOOP(name, type, expression)                                                     \
  static void name(const void* gradients, const void* features, void* result, int64_t n,         \
                   float alpha) {                                                                \
    const type* dys = gradients;                                                                 \
    const type* xs = features;                                                                   \
    type* ys = result;                                                                           \
    for (int64_t i = 0; i < n; ++i) {                                                            \
      const type x = xs[i];                                                                      \
      ys[i] = (expression);                                                                      \
    }                                                                                            \
    (void)dys;                                                                                   \
    (void)alpha;                                                                                 \
  }
#define INTEGER_LOOPS(suffix, type)                                                     \
  INTEGER_LOOP(relu_##suffix, type, x > 0 ? x : 0)                                      \
  INTEGER_LOOP(relu_grad_##suffix, type, x > 0 ? dys[i] : 0)                            \
  INTEGER_LOOP(relu6_##suffix, type, x > 0 ? (x < 6 ? x : 6) : 0)                       \
  INTEGER_LOOP(relu6_grad_##suffix, type, (x > 0) & (x < 6) ? dys[i] : 0)               \
  static const leat_activation_loops_t loops_##suffix = {.relu = relu_##suffix,         \
                                                         .relu_grad = relu_grad_##suffix, \
                                                         .relu6 = relu6_##suffix,       \
                                                         .relu6_grad = relu6_grad_##suffix};
INTEGER_TYPES(INTEGER_LOOPS)

static const leat_activation_loops_t* loops_of(int dtype) {
  switch (dtype) {
    case LEAT_DTYPE_DOUBLE: return LEAT_ISA_SELECT(leat_activation_loops_f64);
    case LEAT_DTYPE_INT8: return &loops_i8;
    case LEAT_DTYPE_INT16: return &loops_i16;
    case LEAT_DTYPE_INT32: return &loops_i32;
    case LEAT_DTYPE_INT64: return &loops_i64;
    case LEAT_DTYPE_UINT8: return &loops_u8;
    case LEAT_DTYPE_UINT16: return &loops_u16;
    case LEAT_DTYPE_UINT32: return &loops_u32;
    case LEAT_DTYPE_UINT64: return &loops_u64;
    default: return LEAT_ISA_SELECT(leat_activation_loops_f32);
  }
}

// ---- The engine ---------------------------------------------------------------------------------

typedef struct leat_activation_s {
  leat_activation_fn_t loop;
  int dtype;
  float alpha;
  float limit;    // of narrow types: above it the result is x (0: none)
  float cost_ns;  // an element
} leat_activation_t;

typedef struct shard_s {
  const leat_activation_t* activation;
  const char* dy;  // NULL where there is none
  const char* x;
  char* y;
  size_t item_bytes;
} shard_t;

#define BLOCK 512

static void run_narrow(const shard_t* shard, int64_t begin, int64_t end) {
  const leat_activation_t* activation = shard->activation;
  float dy[BLOCK], x[BLOCK], y[BLOCK];
  for (int64_t i = begin; i < end; i += BLOCK) {
    const int64_t n = end - i < BLOCK ? end - i : BLOCK;
    if (shard->dy) leat_widen_elements(activation->dtype, shard->dy + 2 * i, dy, n);
    leat_widen_elements(activation->dtype, shard->x + 2 * i, x, n);
    activation->loop(dy, x, y, n, activation->alpha);
    for (int64_t k = 0; k < n && activation->limit > 0; ++k) {
      if (x[k] > activation->limit) y[k] = x[k];
    }
    leat_narrow_elements(activation->dtype, y, shard->y + 2 * i, n);
  }
}

static void run_shard(void* data, int64_t begin, int64_t end) {
  const shard_t* shard = data;
  const leat_activation_t* activation = shard->activation;
  if (leat_is_narrow(activation->dtype)) {
    run_narrow(shard, begin, end);
    return;
  }
  const size_t offset = (size_t)begin * shard->item_bytes;
  activation->loop(shard->dy ? shard->dy + offset : NULL, shard->x + offset, shard->y + offset,
                   end - begin, activation->alpha);
}

static leat_status_t activation__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* x = leat_kernel_input(c, 0);
  const leat_activation_t* activation = leat_kernel_state(c);
  leat_tensor_t* y;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &x->shape, &y));
  shard_t shard = {.activation = activation,
                   .x = x->data,
                   .y = y->data,
                   .item_bytes = leat_dtype_size(activation->dtype)};
  leat_kernel_parallel_for(c, y->shape.element_count, (double)activation->cost_ns, run_shard,
                           &shard);
  return leat_ok_status();
}

static leat_status_t activation_grad__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* dy = leat_kernel_input(c, 0);
  const leat_tensor_t* x = leat_kernel_input(c, 1);
  const leat_activation_t* activation = leat_kernel_state(c);
  leat_tensor_t* dx;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_any_or_allocate(c, 3, 0, &x->shape, &dx));
  shard_t shard = {.activation = activation,
                   .dy = dy->data,
                   .x = x->data,
                   .y = dx->data,
                   .item_bytes = leat_dtype_size(activation->dtype)};
  if (dx->shape.element_count == 0) return leat_ok_status();
  leat_kernel_parallel_for(c, dx->shape.element_count, (double)activation->cost_ns, run_shard,
                           &shard);
  return leat_ok_status();
}

static leat_status_t create(leat_kernel_creation_t* c, leat_activation_t* activation,
                            float cost_ns) {
  activation->cost_ns = cost_ns;
  return leat_kernel_attr_type(c, "T", &activation->dtype);
}

// alpha in the type of x.
static leat_status_t read_alpha(leat_kernel_creation_t* c, leat_activation_t* activation) {
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "alpha", &activation->alpha));
  if (!leat_is_narrow(activation->dtype)) return leat_ok_status();
  uint16_t bits;
  leat_narrow_elements(activation->dtype, &activation->alpha, &bits, 1);
  leat_widen_elements(activation->dtype, &bits, &activation->alpha, 1);
  return leat_ok_status();
}

#define CREATE(name, cost)                                                                   \
  static leat_status_t create_##name(leat_kernel_creation_t* c, void* state) {               \
    leat_activation_t* activation = state;                                                   \
    LEAT_RETURN_IF_ERROR(create(c, activation, cost));                                       \
    activation->loop = loops_of(activation->dtype)->name;                                    \
    return leat_ok_status();                                                                 \
  }
#define CREATE_LEAKY(name)                                                                   \
  static leat_status_t create_##name(leat_kernel_creation_t* c, void* state) {               \
    leat_activation_t* activation = state;                                                   \
    LEAT_RETURN_IF_ERROR(create(c, activation, 0.3f));                                       \
    activation->loop = loops_of(activation->dtype)->name;                                    \
    return read_alpha(c, activation);                                                        \
  }
CREATE(relu, 0.3f)
CREATE(relu_grad, 0.4f)
CREATE(relu6, 0.3f)
CREATE(relu6_grad, 0.4f)
CREATE_LEAKY(leaky_relu)
CREATE_LEAKY(leaky_relu_grad)
CREATE(elu, 1.0f)
CREATE(elu_grad, 0.4f)
CREATE(selu, 1.0f)
CREATE(selu_grad, 0.4f)
CREATE(softplus_grad, 1.0f)
CREATE(softsign, 0.5f)
CREATE(softsign_grad, 0.5f)

// In half and bfloat16 TensorFlow has x itself from -(log(epsilon) + 2) on.
static leat_status_t create_softplus(leat_kernel_creation_t* c, void* state) {
  leat_activation_t* activation = state;
  LEAT_RETURN_IF_ERROR(create(c, activation, 2));
  activation->loop = loops_of(activation->dtype)->softplus;
  if (activation->dtype == LEAT_DTYPE_HALF) activation->limit = 4.93f;
  if (activation->dtype == LEAT_DTYPE_BFLOAT16) activation->limit = 2.85f;
  return leat_ok_status();
}

#define FLOATING "T: half, bfloat16, float, double"
#define REAL FLOATING ", int8, int16, int32, int64, uint8, uint16, uint32, uint64"
#define ROW(name, types, noun, compute_fn)                                   \
  LEAT_CPU_KERNEL(name, types, leat_activation_t, create_##noun, compute_fn)
#define PAIR(op, types, noun)                                       \
  ROW(op, types, noun, activation__cpu),                            \
  ROW(op "Grad", types, noun##_grad, activation_grad__cpu)

const leat_kernel_row_t leat_relu_kernels_cpu[] = {
    PAIR("Relu", REAL, relu),
    PAIR("Relu6", REAL, relu6),
    PAIR("LeakyRelu", FLOATING, leaky_relu),
    PAIR("Elu", FLOATING, elu),
    PAIR("Selu", FLOATING, selu),
    PAIR("Softplus", FLOATING, softplus),
    PAIR("Softsign", FLOATING, softsign),
    LEAT_KERNEL_ROWS_END,
};
