// The CPU kernel of SobolSample. Coordinate d of point n is the sum, without carries, of the
// direction numbers v_1, v_2, ... of dimension d for which bit 0, 1, ... of n's Gray code is set
// (Antonov and Saleev, "An economic method of computing LP-tau sequences", 1979). The Gray codes of
// n - 1 and n differ in one bit, so that a point follows from the one before it by one exclusive or
// a coordinate.
//
// The direction numbers are those of Joe and Kuo ("Constructing Sobol sequences with better
// two-dimensional projections", 2008), as in TensorFlow. A dimension has a primitive polynomial of
// degree s and its first s numbers; the polynomial is a recurrence for the others. The tables here
// end with degree 13, at 1111 dimensions; TensorFlow's 21201 would take 350 KiB.
#include "ops/kernel_rows.h"

static const uint16_t kPolynomials[] = {
#include "ops/random/sobol_polynomial.inc"
};
static const uint64_t kDirections[] = {
#include "ops/random/sobol_direction.inc"
};
#define MAX_DIMENSIONS (1 + (int32_t)(sizeof kPolynomials / sizeof *kPolynomials))
#define TENSORFLOW_MAX_DIMENSIONS 21201
#define BITS 32

typedef struct sobol_s {
  int64_t dimensions, skip;
  int bits;  // of the number of the last point
  uint32_t* directions;  // [bits][dimensions] as fractions of 2^32
  leat_tensor_t* output;
} sobol_t;

// Takes |count| bits of the stream of direction numbers.
static uint32_t take_bits(uint64_t* inout_place, int count) {
  uint32_t bits = 0;
  for (int i = 0; i < count; ++i, ++*inout_place) {
    bits |= (uint32_t)(kDirections[*inout_place / 64] >> (*inout_place % 64) & 1) << i;
  }
  return bits;
}

// Fills the direction numbers of all dimensions. Those of the first are 1/2, 1/4, ...
static void fill_directions(const sobol_t* s) {
  const int64_t stride = s->dimensions;
  uint64_t place = 0;
  for (int64_t d = 0; d < s->dimensions; ++d) {
    uint32_t v[BITS];  // v_1 is v[0]
    const uint32_t polynomial = d > 0 ? kPolynomials[d - 1] : 1;
    const int degree = 31 - __builtin_clz(polynomial);
    for (int i = 0; i < degree; ++i) {
      v[i] = (take_bits(&place, i) << 1 | 1) << (BITS - 1 - i);
    }
    for (int i = degree; i < s->bits; ++i) {
      v[i] = degree ? v[i - degree] ^ v[i - degree] >> degree : UINT32_C(1) << (BITS - 1 - i);
      for (int k = 1; k < degree; ++k) {
        if (polynomial >> (degree - k) & 1) v[i] ^= v[i - k];
      }
    }
    for (int i = 0; i < s->bits; ++i) s->directions[i * stride + d] = v[i];
  }
}

// Coordinate |d| of point |n|.
static uint32_t coordinate_of(const sobol_t* s, int64_t n, int64_t d) {
  const int64_t gray = n ^ n >> 1;
  uint32_t x = 0;
  for (int i = 0; i < s->bits; ++i) {
    if (gray >> i & 1) x ^= s->directions[i * s->dimensions + d];
  }
  return x;
}

static void fill_points(void* data, int64_t begin, int64_t end) {
  const sobol_t* s = data;
  const bool is_float = s->output->dtype == LEAT_DTYPE_FLOAT;
  for (int64_t d = 0; d < s->dimensions; ++d) {
    int64_t n = s->skip + begin + 1;  // point 0 is the origin, which is left out
    uint32_t x = coordinate_of(s, n, d);
    for (int64_t i = begin;;) {
      const int64_t place = i * s->dimensions + d;
      if (is_float) {
        leat_tensor_data(s->output, float)[place] = (float)x * 0x1p-32f;
      } else {
        leat_tensor_data(s->output, double)[place] = x * 0x1p-32;
      }
      if (++i == end) break;
      x ^= s->directions[__builtin_ctzll((uint64_t)++n) * s->dimensions + d];
    }
  }
}

static leat_status_t check_sizes(const leat_kernel_context_t* c, int32_t dimensions, int32_t count,
                                 int32_t skip) {
  if (count < 1) {
    return leat_kernel_invalid(c, "num_results is %d, must be at least one", count);
  }
  if (dimensions < 1 || dimensions > TENSORFLOW_MAX_DIMENSIONS) {
    return leat_kernel_invalid(c, "dim is %d, must be at least one and at most %d", dimensions,
                               TENSORFLOW_MAX_DIMENSIONS);
  }
  if (skip < 0) return leat_kernel_invalid(c, "skip is %d, must be non-negative", skip);
  if (count >= INT32_MAX - skip) {
    return leat_kernel_invalid(c, "num_results+skip must be less than %d", INT32_MAX);
  }
  if (dimensions <= MAX_DIMENSIONS) return leat_ok_status();
  return leat_kernel_error(c, LEAT_UNIMPLEMENTED, "dim is %d, must be at most %d in this library",
                           dimensions, MAX_DIMENSIONS);
}

static leat_status_t sobol__cpu(leat_kernel_context_t* c) {
  const int32_t dimensions = *leat_tensor_data(leat_kernel_input(c, 0), const int32_t);
  const int32_t count = *leat_tensor_data(leat_kernel_input(c, 1), const int32_t);
  const int32_t skip = *leat_tensor_data(leat_kernel_input(c, 2), const int32_t);
  LEAT_RETURN_IF_ERROR(check_sizes(c, dimensions, count, skip));
  sobol_t s = {.dimensions = dimensions,
               .skip = skip,
               .bits = BITS - __builtin_clz((uint32_t)count + (uint32_t)skip)};
  const leat_shape_t shape = leat_shape_vector((int64_t)s.bits * dimensions);
  leat_tensor_t directions;
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_sized(c, 0, 2, (const int64_t[]){count, dimensions}, &s.output));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_UINT32, &shape, &directions));
  s.directions = directions.data;
  fill_directions(&s);
  leat_kernel_parallel_for(c, count, 1.5 * dimensions, fill_points, &s);
  leat_tensor_release(&directions);
  return leat_ok_status();
}

const leat_kernel_row_t leat_sobol_kernels_cpu[] = {
    {.op = "SobolSample",
     .device_type = "CPU",
     .constraints = "dtype: float, double",
     .compute = sobol__cpu},
    LEAT_KERNEL_ROWS_END,
};
