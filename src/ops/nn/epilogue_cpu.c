// Applies what follows a fused product (epilogue_cpu.h) to rows of its result, piece by piece: a
// piece fits the first-level cache, so that each op may be a loop of its own and still costs no
// memory traffic. The loops are those of the unfused ops' kernels (bias_isa.c, batch_norm_isa.c,
// relu_isa.c, unary_isa.c and two of binary_isa.c), and they run in the same type;
// therefore the bits are those of the unfused ops too.
//
//   piece of the result ──BiasAdd or FusedBatchNorm──Add or Sub──activation──▶ the same memory
//
// A node of half or bfloat16 computes in float, and each op rounds to the node's type as it would
// when it writes its result to memory. Where the rows themselves are half or bfloat16, a piece is
// widened to the stack and narrowed back.
//
// Rows of few channels would give loops of a few elements, too short for vector instructions. Hence
// a vector is repeated to a period of up to PERIOD elements, and many rows are one long row.
#include "ops/nn/epilogue_cpu.h"

#include <math.h>

#include "base/checked.h"
#include "base/string_builder.h"
#include "ops/math/elementwise_loops_cpu.h"
#include "ops/nn/batch_norm_cpu.h"
#include "ops/nn/bias_cpu.h"
#include "ops/nn/relu_cpu.h"
#include "ops/nn/widen_cpu.h"

#define PIECE 1024  // the elements of a piece
#define PERIOD 512

// ---- Creation -----------------------------------------------------------------------------------

#define ALLOWED                                                                                \
  "at most one of BiasAdd and FusedBatchNorm, then at most one of Add, Sub and ReverseSub, "   \
  "then at most one of Relu, Relu6, Elu, LeakyRelu, Tanh, Sigmoid, GeluApproximate and GeluExact"

leat_status_t leat_epilogue_refuse(const leat_kernel_creation_t* c, leat_status_code_t code,
                                   const char* rule) {
  const leat_attr_value_t* ops;
  leat_string_builder_t text;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "fused_ops", &ops));
  leat_string_builder_initialize(c->allocator, &text);
  for (uint32_t i = 0; i < ops->count; ++i) {
    if (i > 0) leat_string_builder_append_char(&text, ',');
    leat_string_builder_append(&text, ops->strings[i]);
  }
  const leat_string_view_t list = leat_string_builder_view(&text);
  leat_status_t status = leat_make_status(code, "attribute fused_ops is [%.*s], must be %s",
                                          LEAT_SV_ARG(list), rule);
  leat_string_builder_deinitialize(&text);
  return status;
}

typedef struct activation_s {
  const char* name;
  bool is_unary;  // |index| is a leat_unary_t, else a leat_activation_t
  int index;
} activation_t;
static const activation_t kActivations[] = {
    {"Relu", false, LEAT_ACTIVATION_RELU},
    {"Relu6", false, LEAT_ACTIVATION_RELU6},
    {"Elu", false, LEAT_ACTIVATION_ELU},
    {"LeakyRelu", false, LEAT_ACTIVATION_LEAKY_RELU},
    {"Tanh", true, LEAT_UNARY_TANH},
    {"Sigmoid", true, LEAT_UNARY_SIGMOID},
    {"GeluApproximate", false, LEAT_ACTIVATION_GELU_APPROXIMATE},
    {"GeluExact", false, LEAT_ACTIVATION_GELU_EXACT},
};

static leat_elementwise_loop_t loop_of(const activation_t* a, int dtype) {
  const leat_loop_type_t type = leat_loop_type(dtype);
  return a->is_unary ? LEAT_ISA_SELECT(leat_unary_loops)->items[a->index][type]
                     : LEAT_ISA_SELECT(leat_activation_loops)->items[a->index][type];
}

leat_elementwise_loop_t leat_epilogue_activation(leat_string_view_t name, bool* out_takes_alpha) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kActivations); ++i) {
    const activation_t* a = &kActivations[i];
    if (!leat_string_view_equals(name, a->name)) continue;
    *out_takes_alpha = !a->is_unary && a->index == LEAT_ACTIVATION_LEAKY_RELU;
    return loop_of(a, LEAT_DTYPE_FLOAT);
  }
  return NULL;
}

// Sets the activation |name|; false when there is no such one. Where the type has a loop of its
// own, the op runs that one, and so must the epilogue.
static bool set_activation(leat_epilogue_t* epilogue, leat_string_view_t name) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kActivations); ++i) {
    const activation_t* a = &kActivations[i];
    if (!leat_string_view_equals(name, a->name)) continue;
    epilogue->activation = loop_of(a, epilogue->dtype);
    epilogue->activates_narrow = epilogue->activation && leat_is_narrow(epilogue->dtype);
    if (!epilogue->activation) epilogue->activation = loop_of(a, leat_wide_type(epilogue->dtype));
    epilogue->takes_alpha = !a->is_unary && a->index == LEAT_ACTIVATION_LEAKY_RELU;
    return epilogue->activation != NULL;
  }
  return false;
}

// Sets the addition or subtraction |name|; false when it is none.
static bool set_addition(leat_epilogue_t* epilogue, leat_string_view_t name) {
  const bool adds = leat_string_view_equals(name, "Add");
  epilogue->is_reverse = leat_string_view_equals(name, "ReverseSub");
  if (!adds && !epilogue->is_reverse && !leat_string_view_equals(name, "Sub")) return false;
  epilogue->addition = leat_binary_vector_loop(adds ? LEAT_BINARY_ADD : LEAT_BINARY_SUB,
                                               leat_wide_type(epilogue->dtype));
  return true;
}

leat_status_t leat_epilogue_create(leat_kernel_creation_t* c, int dtype,
                                   leat_epilogue_t* out_epilogue) {
  leat_epilogue_t* e = out_epilogue;
  const leat_attr_value_t* ops;
  int64_t num_args;
  *e = (leat_epilogue_t){.dtype = dtype};
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "fused_ops", &ops));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_args", &num_args));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "epsilon", &e->epsilon));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "leakyrelu_alpha", &e->alpha));
  if (ops->count == 0) {
    return leat_epilogue_refuse(c, LEAT_INVALID_ARGUMENT, "a list of at least one op");
  }
  uint32_t i = 0;
  if (leat_string_view_equals(ops->strings[i], "BiasAdd")) {
    e->first = LEAT_EPILOGUE_BIAS;
    ++i;
  } else if (leat_string_view_equals(ops->strings[i], "FusedBatchNorm")) {
    e->first = LEAT_EPILOGUE_BATCH_NORM;
    ++i;
  }
  if (i < ops->count && set_addition(e, ops->strings[i])) ++i;
  if (i < ops->count && set_activation(e, ops->strings[i])) ++i;
  if (i < ops->count) return leat_epilogue_refuse(c, LEAT_UNIMPLEMENTED, ALLOWED);
  e->arg_count = (e->first == LEAT_EPILOGUE_BIAS         ? 1
                  : e->first == LEAT_EPILOGUE_BATCH_NORM ? 4
                                                         : 0) + (e->addition != NULL);
  if (num_args != e->arg_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "attribute num_args is %lld, must be %d for the %d ops in fused_ops: "
                            "one for BiasAdd, four for FusedBatchNorm, one for Add, Sub or "
                            "ReverseSub",
                            (long long)num_args, e->arg_count, (int)ops->count);
  }
  if (leat_is_narrow(dtype)) {  // as LeakyRelu has it
    uint16_t narrow;
    leat_narrow_elements(dtype, &e->alpha, &narrow, 1);
    leat_widen_elements(dtype, &narrow, &e->alpha, 1);
  }
  return leat_ok_status();
}

// ---- The vectors --------------------------------------------------------------------------------

leat_status_t leat_epilogue_addend(const leat_kernel_context_t* c,
                                   const leat_epilogue_t* epilogue,
                                   const leat_shape_t* result_shape,
                                   const leat_tensor_t** out_addend) {
  *out_addend = NULL;
  if (!epilogue->addition) return leat_ok_status();
  const leat_tensor_t* addend = leat_kernel_input(c, 1 + epilogue->arg_count);
  if (!leat_shape_equal(&addend->shape, result_shape)) {
    return leat_kernel_invalid(c, "the tensor to add or subtract is %s, must have the shape "
                               "%s of the product", LEAT_SHAPE_TEXT(&addend->shape),
                               LEAT_SHAPE_TEXT(result_shape));
  }
  *out_addend = addend;
  return leat_ok_status();
}

// INVALID_ARGUMENT unless input |index| is a vector of |channels| elements; sizes of 1 may stand
// before the last.
static leat_status_t check_vector(const leat_kernel_context_t* c, int index, const char* name,
                                  int64_t channels) {
  const leat_shape_t* shape = &leat_kernel_input(c, index)->shape;
  if (shape->rank > 0 && shape->element_count == channels &&
      leat_shape_dim(shape, shape->rank - 1) == channels) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "%s is %s, must be a vector with as many elements as the product "
                             "has channels, %lld", name, LEAT_SHAPE_TEXT(shape),
                             (long long)channels);
}

static leat_status_t check_vectors(const leat_kernel_context_t* c, const leat_epilogue_t* epilogue,
                                   int64_t channels) {
  static const char* const kNames[] = {"scale", "offset", "mean", "variance"};
  if (epilogue->first == LEAT_EPILOGUE_BIAS) return check_vector(c, 2, "bias", channels);
  if (epilogue->first != LEAT_EPILOGUE_BATCH_NORM) return leat_ok_status();
  for (int i = 0; i < 4; ++i) LEAT_RETURN_IF_ERROR(check_vector(c, 2 + i, kNames[i], channels));
  return leat_ok_status();
}

// Writes input |index| to |to| in the type that is computed in.
static void copy_vector(const leat_kernel_context_t* c, int index, void* to) {
  const leat_tensor_t* from = leat_kernel_input(c, index);
  const size_t count = (size_t)from->shape.element_count;
  if (leat_is_narrow(from->dtype)) {
    leat_widen_elements(from->dtype, from->data, to, (int64_t)count);
  } else {
    memcpy(to, from->data, count * leat_dtype_size(from->dtype));
  }
}

// Makes the scale at |factor| scale / sqrt(variance + epsilon), as FusedBatchNorm does.
static void divide_by_deviation(const leat_epilogue_t* epilogue, bool is_double, int64_t n,
                                const void* variance, void* factor) {
  if (is_double) {
    const double* v = variance;
    double* f = factor;
    for (int64_t i = 0; i < n; ++i) f[i] /= sqrt(v[i] + (double)epilogue->epsilon);
  } else {
    const float* v = variance;
    float* f = factor;
    for (int64_t i = 0; i < n; ++i) f[i] /= sqrtf(v[i] + epilogue->epsilon);
  }
}

// Fills the vectors in |memory|, each of which has |run->period| elements: the first |channels| of
// each, then their repetitions.
static void fill_vectors(const leat_kernel_context_t* c, leat_epilogue_run_t* run, char* memory) {
  const leat_epilogue_t* epilogue = run->epilogue;
  const size_t item_bytes = leat_dtype_size(leat_wide_type(epilogue->dtype));
  const size_t period_bytes = (size_t)run->period * item_bytes;
  const size_t vector_bytes = (size_t)run->channels * item_bytes;
  const int count = epilogue->first == LEAT_EPILOGUE_BIAS ? 1 : LEAT_EPILOGUE_VECTORS;
  for (int i = 0; i < count; ++i) run->vectors[i] = memory + (size_t)i * period_bytes;
  if (epilogue->first == LEAT_EPILOGUE_BIAS) {
    copy_vector(c, 2, memory);
  } else {
    char *mean = memory, *factor = memory + period_bytes, *offset = factor + period_bytes;
    copy_vector(c, 5, mean);  // the variance, until the factor is made of it
    copy_vector(c, 2, factor);
    divide_by_deviation(epilogue, epilogue->dtype == LEAT_DTYPE_DOUBLE, run->channels, mean,
                        factor);
    copy_vector(c, 4, mean);
    copy_vector(c, 3, offset);
  }
  for (int i = 0; i < count; ++i) {
    char* vector = memory + (size_t)i * period_bytes;
    for (size_t at = vector_bytes; at < period_bytes; at += vector_bytes) {
      memcpy(vector + at, vector, vector_bytes);
    }
  }
}

// ---- Pieces -------------------------------------------------------------------------------------

// Rounds |n| floats to the node's type, as writing them to a tensor would.
static void round_piece(const leat_epilogue_t* epilogue, float* x, int64_t n) {
  uint16_t narrow[PIECE];
  LEAT_DCHECK(n <= PIECE);
  if (!leat_is_narrow(epilogue->dtype)) return;
  leat_narrow_elements(epilogue->dtype, x, narrow, n);
  leat_widen_elements(epilogue->dtype, narrow, x, n);
}

// Adds the bias to, or normalizes, |rows| rows of |n| elements that begin |at| elements behind the
// beginning of a period.
static void apply_first(const leat_epilogue_run_t* run, void* x, int64_t rows, int64_t n,
                        int64_t at) {
  const leat_epilogue_t* epilogue = run->epilogue;
  const leat_bias_loops_t* bias = LEAT_ISA_SELECT(leat_bias_loops);
  const leat_batch_norm_loops_t* norm = LEAT_ISA_SELECT(leat_batch_norm_loops);
  if (epilogue->dtype == LEAT_DTYPE_DOUBLE) {
    double* y = x;
    const double* const* v = (const double* const*)run->vectors;
    if (epilogue->first == LEAT_EPILOGUE_BATCH_NORM) {
      norm->normalize_f64(y, v[0] + at, v[1] + at, v[2] + at, y, rows, n);
    } else {
      for (int64_t r = 0; r < rows; ++r) bias->add_f64(y + r * n, v[0] + at, y + r * n, n);
    }
  } else {
    float* y = x;
    const float* const* v = (const float* const*)run->vectors;
    if (epilogue->first == LEAT_EPILOGUE_BATCH_NORM) {
      norm->normalize_f32(y, v[0] + at, v[1] + at, v[2] + at, y, rows, n);
    } else {
      for (int64_t r = 0; r < rows; ++r) bias->add_f32(y + r * n, v[0] + at, y + r * n, n);
    }
  }
}

// The same for an activation whose loop takes the narrow type.
static void apply_narrow_activation(const leat_epilogue_t* epilogue, float* x, int64_t n) {
  uint16_t narrow[PIECE];
  const void* const inputs[] = {narrow};
  LEAT_DCHECK(n <= PIECE && !epilogue->takes_alpha);
  leat_narrow_elements(epilogue->dtype, x, narrow, n);
  (void)epilogue->activation(inputs, narrow, n);
  leat_widen_elements(epilogue->dtype, narrow, x, n);
}

static void apply_activation(const leat_epilogue_t* epilogue, void* x, int64_t n) {
  union {
    float f32[PIECE];
    double f64[PIECE];
  } alpha;
  const void* const inputs[] = {x, &alpha};
  for (int64_t i = 0; i < n && epilogue->takes_alpha; ++i) {
    if (epilogue->dtype == LEAT_DTYPE_DOUBLE) {
      alpha.f64[i] = (double)epilogue->alpha;
    } else {
      alpha.f32[i] = epilogue->alpha;
    }
  }
  (void)epilogue->activation(inputs, x, n);  // no activation has faults
}

// Applies everything to |n| elements |x|, which begin |at| elements behind the beginning of a
// period. They are a part of that period or, where |at| is 0, perhaps several periods and the first
// rows of another. |addend| has the elements that are added or subtracted.
static void apply_piece(const leat_epilogue_run_t* run, void* x, const void* addend, int64_t n,
                        int64_t at, bool has_bias) {
  const leat_epilogue_t* epilogue = run->epilogue;
  round_piece(epilogue, x, n);
  if (epilogue->first != LEAT_EPILOGUE_NO_FIRST && !has_bias) {
    const int64_t length = LEAT_MIN(n, run->period - at), rows = n / length, rest = n % length;
    const size_t item_bytes = leat_dtype_size(leat_wide_type(epilogue->dtype));
    apply_first(run, x, rows, length, at);
    if (rest > 0) apply_first(run, (char*)x + (size_t)(n - rest) * item_bytes, 1, rest, at);
    round_piece(epilogue, x, n);
  }
  if (epilogue->addition) {
    const bool is_reverse = epilogue->is_reverse;
    const void* const inputs[] = {is_reverse ? addend : x, is_reverse ? x : addend};
    (void)epilogue->addition(inputs, x, n);
    round_piece(epilogue, x, n);
  }
  if (epilogue->activates_narrow) {
    apply_narrow_activation(epilogue, x, n);
  } else if (epilogue->activation) {
    apply_activation(epilogue, x, n);
    round_piece(epilogue, x, n);
  }
}

// Applies the steps to elements in memory of the node's type, half or bfloat16.
static void apply_narrow_piece(const leat_epilogue_run_t* run, uint16_t* x,
                               const uint16_t* addend, int64_t n, int64_t at) {
  float wide[PIECE], wide_addend[PIECE];
  const int dtype = run->epilogue->dtype;
  leat_widen_elements(dtype, x, wide, n);
  if (addend) leat_widen_elements(dtype, addend, wide_addend, n);
  apply_piece(run, wide, wide_addend, n, at, false);
  leat_narrow_elements(dtype, wide, x, n);
}

// The step's function. Rows begin with a period, so that elements of any row find their channel at
// their place in the period.
static void apply_to_rows(void* data, void* rows, int64_t first, int64_t count, bool has_bias) {
  const leat_epilogue_run_t* run = data;
  const int64_t total = count * run->channels, period = run->period;
  const int64_t most = period <= PIECE ? PIECE / period * period : PIECE;
  const int wide = leat_wide_type(run->epilogue->dtype);
  const size_t item_bytes = run->is_narrow ? sizeof(uint16_t) : leat_dtype_size(wide);
  const char* addends = run->addend;
  if (addends) addends += (size_t)(first * run->channels) * item_bytes;
  int64_t n;
  for (int64_t begin = 0; begin < total; begin += n) {
    const int64_t at = begin % period;
    n = LEAT_MIN(most, total - begin);
    if (period > PIECE) n = LEAT_MIN(n, period - at);
    char* x = (char*)rows + (size_t)begin * item_bytes;
    const char* addend = addends ? addends + (size_t)begin * item_bytes : NULL;
    if (run->is_narrow) {
      apply_narrow_piece(run, (uint16_t*)x, (const uint16_t*)addend, n, at);
    } else {
      apply_piece(run, x, addend, n, at, has_bias);
    }
  }
}

// ---- Runs ---------------------------------------------------------------------------------------

leat_status_t leat_epilogue_begin(leat_kernel_context_t* c, const leat_epilogue_t* epilogue,
                                  int64_t rows, int64_t channels, bool is_narrow,
                                  const void* addend, leat_epilogue_run_t* out_run) {
  leat_epilogue_run_t* run = out_run;
  *run = (leat_epilogue_run_t){.epilogue = epilogue,
                               .channels = channels,
                               .period = channels,
                               .is_narrow = is_narrow,
                               .addend = addend};
  LEAT_DCHECK(!is_narrow || leat_is_narrow(epilogue->dtype));
  LEAT_RETURN_IF_ERROR(check_vectors(c, epilogue, channels));
  run->step = (leat_row_step_t){.apply = apply_to_rows, .data = run};
  if (channels == 0) return leat_ok_status();
  run->period = LEAT_MAX(LEAT_MIN(PERIOD / channels, rows), 1) * channels;
  if (epilogue->first == LEAT_EPILOGUE_NO_FIRST) return leat_ok_status();
  const int64_t count = epilogue->first == LEAT_EPILOGUE_BIAS ? 1 : LEAT_EPILOGUE_VECTORS;
  const leat_shape_t shape = leat_shape_vector(count * run->period);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, leat_wide_type(epilogue->dtype), &shape,
                                                      &run->memory));
  fill_vectors(c, run, run->memory.data);
  // Rounding to half or bfloat16 comes before the bias, so that oneDNN must not add it there.
  if (epilogue->first == LEAT_EPILOGUE_BIAS && epilogue->dtype == LEAT_DTYPE_FLOAT) {
    run->step.bias = run->vectors[0];
    run->step.only_bias = !epilogue->addition && !epilogue->activation;
  }
  return leat_ok_status();
}

void leat_epilogue_end(leat_epilogue_run_t* run) { leat_tensor_release(&run->memory); }
