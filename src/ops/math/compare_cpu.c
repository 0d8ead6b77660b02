// The CPU kernels of comparisons and logical ops. Most are elementwise kernels without any
// code of their own: the engine broadcasts, and the loop for the operands' type (compare_isa.c)
// writes bools.
//
// Equal and NotEqual first look whether the shapes fit when the attribute incompatible_shape_error
// is false; if not, they give one scalar, false or true. ApproximateEqual compares |x - y| with a
// tolerance, elementwise over equal shapes, in a plain loop because hardly any graph has it.
#include <math.h>

#include "ops/kernel_rows.h"
#include "ops/math/elementwise_loops_cpu.h"

#define CREATE(name, index)                                                             \
  static leat_status_t create_##name(leat_kernel_creation_t* c, void* state) {          \
    return leat_elementwise_create(c, state,                                            \
                                   LEAT_ISA_SELECT(leat_compare_loops)->items[index],   \
                                   leat_compare_loops_base.items[index], NULL, 0,       \
                                   0.3f);                                               \
  }
CREATE(Less, LEAT_COMPARE_LESS)
CREATE(LessEqual, LEAT_COMPARE_LESS_EQUAL)
CREATE(Greater, LEAT_COMPARE_GREATER)
CREATE(GreaterEqual, LEAT_COMPARE_GREATER_EQUAL)
CREATE(LogicalAnd, LEAT_COMPARE_AND)
CREATE(LogicalOr, LEAT_COMPARE_OR)

// ---- Equal, NotEqual ----------------------------------------------------------------------------

// The state of Equal and NotEqual; it begins with the engine's state, so that the engine can run
// it.
typedef struct leat_equality_s {
  leat_elementwise_t elementwise;
  bool accepts_other_shapes;  // shapes that do not broadcast are "not equal" instead of an error
  bool is_negated;
} leat_equality_t;

static leat_status_t create_equality(leat_kernel_creation_t* c, void* state, int index) {
  leat_equality_t* equality = state;
  bool is_error;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "incompatible_shape_error", &is_error));
  equality->accepts_other_shapes = !is_error;
  equality->is_negated = index == LEAT_COMPARE_NOT_EQUAL;
  return leat_elementwise_create(c, state, LEAT_ISA_SELECT(leat_compare_loops)->items[index],
                                 leat_compare_loops_base.items[index], NULL, 0, 0.3f);
}
static leat_status_t create_Equal(leat_kernel_creation_t* c, void* state) {
  return create_equality(c, state, LEAT_COMPARE_EQUAL);
}
static leat_status_t create_NotEqual(leat_kernel_creation_t* c, void* state) {
  return create_equality(c, state, LEAT_COMPARE_NOT_EQUAL);
}

static leat_status_t equality__cpu(leat_kernel_context_t* c) {
  const leat_equality_t* equality = leat_kernel_state(c);
  if (LEAT_LIKELY(!equality->accepts_other_shapes)) return leat_elementwise_broadcast__cpu(c);
  const leat_tensor_t* inputs[] = {leat_kernel_input(c, 0), leat_kernel_input(c, 1)};
  leat_shape_t shape;
  leat_status_t status = leat_elementwise_shape(c, 2, inputs, &shape);
  if (!status) {
    leat_shape_release(&shape);
    return leat_elementwise_broadcast__cpu(c);
  }
  leat_status_free(status);
  leat_tensor_t* output;
  leat_shape_t scalar = leat_shape_scalar();
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  *leat_tensor_data(output, bool) = equality->is_negated;
  return leat_ok_status();
}

// ---- ApproximateEqual ---------------------------------------------------------------------------

typedef struct leat_tolerance_s {
  float value;
} leat_tolerance_t;

static leat_status_t create_tolerance(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_float(c, "tolerance", &((leat_tolerance_t*)state)->value);
}

static leat_status_t approximate_equal__cpu(leat_kernel_context_t* c) {
  const leat_tolerance_t* tolerance = leat_kernel_state(c);
  const leat_tensor_t* x = leat_kernel_input(c, 0);
  const leat_tensor_t* y = leat_kernel_input(c, 1);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &x->shape, &output));
  bool* z = output->data;
  for (int64_t i = 0; i < x->shape.element_count; ++i) {
    if (x->dtype == LEAT_DTYPE_FLOAT) {
      z[i] = fabsf(leat_tensor_data(x, float)[i] - leat_tensor_data(y, float)[i]) <=
             tolerance->value;
    } else {
      z[i] = fabs(leat_tensor_data(x, double)[i] - leat_tensor_data(y, double)[i]) <=
             (double)tolerance->value;
    }
  }
  return leat_ok_status();
}

#define BROADCAST(name, types)                   \
  {.op = #name,                                  \
   .device_type = "CPU",                         \
   .constraints = types,                         \
   .create = create_##name,                      \
   .state_bytes = sizeof(leat_elementwise_t),    \
   .access = LEAT_ACCESS_BROADCAST,    \
   .compute = leat_elementwise_broadcast__cpu}
#define REAL                                                                                 \
  "T: half, bfloat16, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64"
#define ORDER(name) BROADCAST(name, REAL)
#define EQUALITY(name)                                                                        \
  {.op = #name,                                                                               \
   .device_type = "CPU",                                                                      \
   .constraints =                                                                             \
       REAL ", complex64, complex128, bool, string, qint8, quint8, qint16, quint16, qint32",  \
   .create = create_##name,                                                                   \
   .state_bytes = sizeof(leat_equality_t),                                                    \
   .access = LEAT_ACCESS_BROADCAST,                                                 \
   .compute = equality__cpu}

const leat_kernel_row_t leat_compare_kernels_cpu[] = {
    ORDER(Less),
    ORDER(LessEqual),
    ORDER(Greater),
    ORDER(GreaterEqual),
    EQUALITY(Equal),
    EQUALITY(NotEqual),
    BROADCAST(LogicalAnd, NULL),
    BROADCAST(LogicalOr, NULL),
    {.op = "ApproximateEqual",
     .device_type = "CPU",
     .constraints = "T: float, double",
     .create = create_tolerance,
     .state_bytes = sizeof(leat_tolerance_t),
     .compute = approximate_equal__cpu},
    LEAT_KERNEL_ROWS_END,
};
