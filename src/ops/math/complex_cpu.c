// The CPU kernels of complex numbers and their parts: elementwise kernels whose loops are in
// unary_isa.c and unary_loops_cpu.c, but for Complex, whose loop is here because its operands are
// real.
#include "ops/kernel_rows.h"
#include "ops/math/elementwise_loops_cpu.h"
#include "ops/math/loops_cpu.h"

#define CREATE(name, index, cost_ns)                                                \
  LEAT_ELEMENTWISE_CREATE(create_##name, leat_unary_loops, leat_unary_plain_loops,  \
                          LEAT_UNARY_##index, 0, cost_ns)
CREATE(ComplexAbs, COMPLEX_ABS, 5)
CREATE(Real, REAL, 0.4f)
CREATE(Imag, IMAG, 0.4f)
CREATE(Conj, CONJ, 0.5f)
CREATE(Angle, ANGLE, 20)

#define NAME complex_f32
#define TYPE float
#include "ops/math/complex_pairs.inc"
#define NAME complex_f64
#define TYPE double
#include "ops/math/complex_pairs.inc"
static const leat_elementwise_loops_t kComplex = {LEAT_LOOP_FLOATS(LEAT_LOOP_ENTRY, complex)};

static leat_status_t create_Complex(leat_kernel_creation_t* c, void* state) {
  return leat_elementwise_create(c, state, NULL, NULL, kComplex, 0, 0.5f);
}

// A variant holds no complex numbers that Conj could know of: it is passed through.
static leat_status_t conj_variant__cpu(leat_kernel_context_t* c) {
  leat_kernel_pass_input(c, 0, 0);
  return leat_ok_status();
}

#define PART(name)                                                                          \
  LEAT_ELEMENTWISE_ROW_SAME(name, "complex64; Tout: float"), \
  LEAT_ELEMENTWISE_ROW_SAME(name, "complex128; Tout: double")

const leat_kernel_row_t leat_complex_kernels_cpu[] = {
    PART(ComplexAbs),
    PART(Real),
    PART(Imag),
    PART(Angle),
    LEAT_ELEMENTWISE_ROW_SAME(Conj, "complex64, complex128"),
    {.op = "Conj",
     .device_type = "CPU",
     .constraints = "T: variant",
     .compute = conj_variant__cpu},
    LEAT_ELEMENTWISE_ROW_BROADCAST(Complex, "float; Tout: complex64"),
    LEAT_ELEMENTWISE_ROW_BROADCAST(Complex, "double; Tout: complex128"),
    LEAT_KERNEL_ROWS_END,
};
