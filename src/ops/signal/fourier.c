// Definitions of Fourier transforms over the last one, two or three dimensions.
//
//   FFT, FFT2D, FFT3D      complex [..., n] -> complex [..., n]
//   IFFT, IFFT2D, IFFT3D   the inverse, divided by the number of elements
//   RFFT, ...   real [..., n], fft_length [k] -> complex [..., m / 2 + 1], m the last length
//   IRFFT, ...  complex [..., m / 2 + 1], fft_length [k] -> real [..., m]
//
// The transform of real numbers is its own conjugate when read backwards, so that RFFT leaves one
// half of the last dimension out and IRFFT supplies it. Inputs may be larger than what fft_length
// asks for: what is beyond is not read. The kernels are in fourier_cpu.c.
//
// Gradients. The matrix A of a transform is symmetric, so that A^H g = conj(A conj(g)). RFFT reads
// the real parts of a whole transform, of which it gives one half: its gradient is the real part of
// a transform of the half, padded with zeros. IRFFT counts each element of its input twice but the
// first, and the last where the length is even, which stand for themselves.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/math/arithmetic.h"
#include "ops/op_rows.h"

// ---- Shapes -------------------------------------------------------------------------------------

// How many dimensions a node transforms: the digit before the D of its op's name, or 1.
static int transform_rank(leat_string_view_t op) {
  return op.data[op.size - 1] == 'D' ? op.data[op.size - 2] - '0' : 1;
}

static leat_status_t complex_shape(leat_inference_t* c) {
  int rank = transform_rank(c->node->op->name);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, leat_inference_input(c, 0), rank));
  return leat_shape_unchanged(c);
}

// The shape of the input, with fft_length as its last sizes; of the very last |half| the half.
static leat_status_t lengths_shape(leat_inference_t* c, bool half) {
  leat_partial_shape_t input = leat_inference_input(c, 0), lengths, output;
  int rank = transform_rank(c->node->op->name);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, input, rank));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &lengths));
  if (lengths.dims[0] != LEAT_DIM_UNKNOWN && lengths.dims[0] != rank) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "fft_length: Dimension must be %d but is %lld",
                            rank, (long long)lengths.dims[0]);
  }
  if (input.rank < 0) {
    leat_inference_set_output(c, 0, leat_partial_shape_unknown());
    return leat_ok_status();
  }
  const leat_tensor_t* value = leat_inference_input_tensor(c, 1);
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int d = 0; d < input.rank; ++d) {
    int place = d - (input.rank - rank);
    dims[d] = place < 0 ? input.dims[d]
              : value   ? leat_tensor_index_at(value, place)
                        : LEAT_DIM_UNKNOWN;
  }
  int64_t* last = &dims[input.rank - 1];
  if (half && *last != LEAT_DIM_UNKNOWN) *last = *last > 0 ? *last / 2 + 1 : 0;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, input.rank, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t real_shape(leat_inference_t* c) { return lengths_shape(c, true); }
static leat_status_t inverse_real_shape(leat_inference_t* c) { return lengths_shape(c, false); }

// ---- Gradients ----------------------------------------------------------------------------------

static const char* const kComplex[][3] = {{"FFT", "FFT2D", "FFT3D"}, {"IFFT", "IFFT2D", "IFFT3D"}};
static const char* const kReal[] = {"RFFT", "RFFT2D", "RFFT3D"};

static leat_status_t complex_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_string_view_t name = leat_gradient_node(g)->op->name;
  const char* op = kComplex[name.data[0] == 'I'][transform_rank(name) - 1];
  leat_output_t dy = leat_arithmetic_conj(b, leat_gradient_of_output(g, 0));
  leat_gradient_set_input(g, 0, leat_arithmetic_conj(b, leat_build_unary(b, op, dy)));
  return leat_ok_status();
}

// |x| with zeros behind it, up to |shape|.
static leat_output_t pad_to(leat_builder_t* b, leat_output_t x, leat_output_t shape) {
  leat_output_t behind = leat_arithmetic_sub(b, shape, leat_build_shape_of(b, x));
  leat_output_t before = leat_arithmetic_zeros_like(b, behind);
  leat_output_t paddings = leat_build(b, "Pack", LEAT_INPUTS(before, behind),
                                      LEAT_ATTRS(LEAT_INT("N", 2), LEAT_INT("axis", 1)));
  return leat_build_binary(b, "Pad", x, paddings);
}

// The shape of |x| with |lengths| as its last sizes.
static leat_output_t with_lengths(leat_builder_t* b, leat_output_t x, leat_output_t lengths,
                                  int rank) {
  leat_output_t shape = leat_build_shape_of(b, x), zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t outer = leat_arithmetic_sub(b, leat_build_unary(b, "Rank", x),
                                            leat_build_scalar(b, LEAT_DTYPE_INT32, rank));
  leat_output_t first = leat_build(
      b, "Slice",
      LEAT_INPUTS(shape, leat_build_int32_vector(b, (const int32_t[]){0}, 1),
                  leat_build_binary(b, "ExpandDims", outer, zero)),
      LEAT_NO_ATTRS);
  return leat_build(b, "ConcatV2", LEAT_INPUTS(first, lengths, zero),
                    LEAT_ATTRS(LEAT_INT("N", 2)));
}

static leat_status_t real_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  int rank = transform_rank(leat_gradient_node(g)->op->name);
  leat_output_t x = leat_gradient_input(g, 0), lengths = leat_gradient_input(g, 1);
  leat_output_t dy = leat_arithmetic_conj(b, leat_gradient_of_output(g, 0));
  leat_output_t whole = pad_to(b, dy, with_lengths(b, x, lengths, rank));
  leat_output_t dx = leat_build(
      b, "Real", LEAT_INPUTS(leat_build_unary(b, kComplex[false][rank - 1], whole)),
      LEAT_ATTRS(LEAT_TYPE("Tout", leat_build_type_of(b, x))));
  leat_gradient_set_input(g, 0, pad_to(b, dx, leat_build_shape_of(b, x)));
  return leat_ok_status();
}

// [m / 2 + 1] how often IRFFT counts each element of its input: 1, 2, 2, ..., and 1 at the end
// where |m| [1] is even.
static leat_output_t counts_of(leat_builder_t* b, leat_output_t m, int dtype) {
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t one = leat_build_int32_vector(b, (const int32_t[]){1}, 1);
  leat_output_t two = leat_build_int32_vector(b, (const int32_t[]){2}, 1);
  leat_output_t odd = leat_build_binary(b, "FloorMod", m, two);
  leat_output_t inner = leat_arithmetic_sub(
      b, leat_arithmetic_add(b, leat_build_binary(b, "FloorDiv", m, two), odd), one);
  leat_output_t single = leat_build_scalar(b, dtype, 1);
  leat_output_t parts[] = {
      leat_build_binary(b, "Fill", one, single),
      leat_build_binary(b, "Fill", inner, leat_build_scalar(b, dtype, 2)),
      leat_build_binary(b, "Fill", leat_arithmetic_sub(b, one, odd), single)};
  return leat_build(b, "ConcatV2", LEAT_INPUTS(parts[0], parts[1], parts[2], zero),
                    LEAT_ATTRS(LEAT_INT("N", 3)));
}

static leat_status_t inverse_real_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  int rank = transform_rank(leat_gradient_node(g)->op->name);
  leat_output_t x = leat_gradient_input(g, 0), lengths = leat_gradient_input(g, 1);
  leat_output_t dy = leat_gradient_of_output(g, 0);
  int real = leat_build_type_of(b, dy), complex = leat_build_type_of(b, x);
  leat_output_t whole = leat_build(b, kReal[rank - 1], LEAT_INPUTS(dy, lengths),
                                   LEAT_ATTRS(LEAT_TYPE("Tcomplex", complex)));
  leat_output_t m = leat_build(
      b, "Slice",
      LEAT_INPUTS(lengths, leat_build_int32_vector(b, (const int32_t[]){rank - 1}, 1),
                  leat_build_int32_vector(b, (const int32_t[]){1}, 1)),
      LEAT_NO_ATTRS);
  leat_output_t count = leat_build_binary(b, "Prod", lengths, leat_build_scalar(
                                                                  b, LEAT_DTYPE_INT32, 0));
  leat_output_t scale = leat_arithmetic_div(b, counts_of(b, m, real),
                                            leat_arithmetic_cast(b, count, real));
  leat_output_t dx = leat_arithmetic_mul(b, whole, leat_arithmetic_cast(b, scale, complex));
  leat_gradient_set_input(g, 0, pad_to(b, dx, leat_build_shape_of(b, x)));
  return leat_ok_status();
}

// ---- Rows ---------------------------------------------------------------------------------------

#define COMPLEX(op, text)                                   \
  {.name = op,                                              \
   .inputs = "input: Tcomplex",                             \
   .outputs = "output: Tcomplex",                           \
   .attrs = "Tcomplex: {complex64, complex128} = complex64", \
   .shape = complex_shape,                                  \
   .gradient = complex_gradient,                            \
   .doc = text}

#define TYPES "Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64"
#define REAL(op, text)                         \
  {.name = op,                                 \
   .inputs = "input: Treal; fft_length: int32", \
   .outputs = "output: Tcomplex",              \
   .attrs = TYPES,                             \
   .shape = real_shape,                        \
   .gradient = real_gradient,                  \
   .doc = text}
#define INVERSE_REAL(op, text)                    \
  {.name = op,                                    \
   .inputs = "input: Tcomplex; fft_length: int32", \
   .outputs = "output: Treal",                    \
   .attrs = TYPES,                                \
   .shape = inverse_real_shape,                   \
   .gradient = inverse_real_gradient,             \
   .doc = text}

// The names that the transforms had in the first releases. No kernel has them; graphs that hold
// them can be read and drawn.
#define FORMER(op)                                             \
  {.name = "Batch" op,                                         \
   .inputs = "input: complex64",                               \
   .outputs = "output: complex64",                             \
   .shape = leat_shape_unknown,                                \
   .deprecated_since = 15,                                     \
   .deprecation = "Use " op,                                   \
   .doc = "The former name of " op "."}

const leat_op_row_t leat_fourier_ops[] = {
    COMPLEX("FFT", "The Fourier transform of the last dimension."),
    COMPLEX("FFT2D", "The Fourier transform of the last two dimensions."),
    COMPLEX("FFT3D", "The Fourier transform of the last three dimensions."),
    COMPLEX("IFFT", "The inverse Fourier transform of the last dimension."),
    COMPLEX("IFFT2D", "The inverse Fourier transform of the last two dimensions."),
    COMPLEX("IFFT3D", "The inverse Fourier transform of the last three dimensions."),
    REAL("RFFT", "Half of the Fourier transform of real numbers, over the last dimension."),
    REAL("RFFT2D", "Half of the Fourier transform of real numbers, over two dimensions."),
    REAL("RFFT3D", "Half of the Fourier transform of real numbers, over three dimensions."),
    INVERSE_REAL("IRFFT", "The real numbers of which the input is half of the transform."),
    INVERSE_REAL("IRFFT2D", "The real numbers, in two dimensions, of half of a transform."),
    INVERSE_REAL("IRFFT3D", "The real numbers, in three dimensions, of half of a transform."),
    FORMER("FFT"),
    FORMER("FFT2D"),
    FORMER("FFT3D"),
    FORMER("IFFT"),
    FORMER("IFFT2D"),
    FORMER("IFFT3D"),
    LEAT_OP_ROWS_END,
};
