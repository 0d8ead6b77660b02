// Values of cases as tensors, and tensors as numbers, for all element types. The conversions
// between doubles and 16-bit floats are the harness's own, written from their definitions, so that
// a kernel's conversions are not judged by themselves. Random values follow from the case's seed
// alone and are the same in every run. The file also says how close two numbers of each type must
// be, which is what every test of an op is judged by.
#include "op_harness/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- 16-bit floats ------------------------------------------------------------------------------

static double from_half(uint16_t bits) {
  int exponent = bits >> 10 & 31;
  double fraction = bits & 1023;
  double magnitude = exponent == 31  ? (fraction ? NAN : INFINITY)
                     : exponent == 0 ? ldexp(fraction, -24)
                                     : ldexp(fraction + 1024, exponent - 25);
  return bits >> 15 ? -magnitude : magnitude;
}

// The nearest half, ties to even.
static uint16_t to_half(double number) {
  uint16_t sign = signbit(number) ? 0x8000 : 0;
  double magnitude = fabs(number);
  if (isnan(number)) return sign | 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;
  if (magnitude < ldexp(1, -14)) return sign | (uint16_t)nearbyint(ldexp(magnitude, 24));
  int exponent;
  double fraction = frexp(magnitude, &exponent);  // [0.5, 1)
  // A fraction that rounds up to 2048 carries into the exponent by itself.
  return sign | (uint16_t)(((exponent + 13) << 10) + (int)nearbyint(ldexp(fraction, 11)));
}

static double from_bfloat16(uint16_t bits) {
  uint32_t word = (uint32_t)bits << 16;
  float number;
  memcpy(&number, &word, sizeof(number));
  return (double)number;
}

static uint16_t to_bfloat16(double number) {
  float single = (float)number;
  uint32_t word;
  memcpy(&word, &single, sizeof(word));
  if (isnan(number)) return 0x7fc0;
  return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

// ---- Numbers ------------------------------------------------------------------------------------

// X(dtype, C type) of the plain types whose numbers a double holds (int64 up to 2^53).
#define PLAIN_TYPES(X)                                                                         \
  X(FLOAT, float) X(DOUBLE, double) X(INT8, int8_t) X(INT16, int16_t) X(INT32, int32_t)        \
  X(INT64, int64_t) X(UINT8, uint8_t) X(UINT16, uint16_t) X(UINT32, uint32_t)                  \
  X(UINT64, uint64_t) X(BOOL, bool) X(QINT8, int8_t) X(QUINT8, uint8_t) X(QINT16, int16_t)     \
  X(QUINT16, uint16_t) X(QINT32, int32_t) X(COMPLEX64, float) X(COMPLEX128, double)

int leat_case_parts(int dtype) {
  if (leat_dtype_in(dtype, LEAT_DTYPES_OBJECT)) return 0;
  return leat_dtype_in(dtype, LEAT_DTYPES_COMPLEX) ? 2 : 1;
}

double leat_case_number(const leat_tensor_t* tensor, int64_t index) {
  const char* at = (const char*)tensor->data;
  switch (tensor->dtype) {
#define LOAD(NAME, type)                                           \
  case LEAT_DTYPE_##NAME: {                                        \
    type item;                                                     \
    memcpy(&item, at + (size_t)index * sizeof(type), sizeof(type)); \
    return (double)item;                                           \
  }
    PLAIN_TYPES(LOAD)
#undef LOAD
    case LEAT_DTYPE_HALF:
    case LEAT_DTYPE_BFLOAT16: {
      uint16_t bits;
      memcpy(&bits, at + index * 2, 2);
      return tensor->dtype == LEAT_DTYPE_HALF ? from_half(bits) : from_bfloat16(bits);
    }
    default:
      return NAN;
  }
}

void leat_case_set_number(leat_tensor_t* tensor, int64_t index, double number) {
  char* at = (char*)tensor->data;
  switch (tensor->dtype) {
#define STORE(NAME, type)                                          \
  case LEAT_DTYPE_##NAME: {                                        \
    type item = (type)number;                                      \
    memcpy(at + (size_t)index * sizeof(type), &item, sizeof(type)); \
    break;                                                         \
  }
    PLAIN_TYPES(STORE)
#undef STORE
    case LEAT_DTYPE_HALF:
    case LEAT_DTYPE_BFLOAT16: {
      uint16_t bits = tensor->dtype == LEAT_DTYPE_HALF ? to_half(number) : to_bfloat16(number);
      memcpy(at + index * 2, &bits, 2);
      break;
    }
    default:
      break;
  }
}

double* leat_case_numbers(const leat_tensor_t* tensor) {
  int64_t count = tensor->shape.element_count * leat_case_parts(tensor->dtype);
  double* numbers = count > 0 ? malloc((size_t)count * sizeof(double)) : NULL;
  for (int64_t i = 0; numbers && i < count; ++i) numbers[i] = leat_case_number(tensor, i);
  return numbers;
}

double leat_case_tolerance(int dtype) {
  switch (dtype) {
    case LEAT_DTYPE_FLOAT:
    case LEAT_DTYPE_COMPLEX64:
      return 1e-5;
    case LEAT_DTYPE_DOUBLE:
    case LEAT_DTYPE_COMPLEX128:
      return 1e-12;
    case LEAT_DTYPE_HALF:
      return 3e-3;
    case LEAT_DTYPE_BFLOAT16:
      return 2e-2;
    default:
      return 0;
  }
}

bool leat_case_number_is_close(double a, double b, double tolerance) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if (isinf(a) || isinf(b)) return a == b;
  return fabs(a - b) <= tolerance * fmax(1, fabs(b));
}

// ---- Tensors ------------------------------------------------------------------------------------

// In [0, 1): splitmix64.
static double random_fraction(uint64_t* inout_state) {
  uint64_t z = *inout_state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static void fill_random(const leat_case_value_t* value, uint64_t seed, leat_tensor_t* tensor) {
  int64_t count = tensor->shape.element_count * leat_case_parts(tensor->dtype);
  uint64_t state = seed * 0x2545f4914f6cdd1du + 1;
  bool is_whole = leat_dtype_in(tensor->dtype, LEAT_DTYPES_INTEGER | LEAT_DTYPE_BIT(BOOL) |
                                                   LEAT_DTYPES_QUANTIZED);
  for (int64_t i = 0; i < count; ++i) {
    double number = value->low + (value->high - value->low) * random_fraction(&state);
    leat_case_set_number(tensor, i, is_whole ? floor(number) : number);
  }
}

static leat_status_t fill_strings(const leat_case_value_t* value, leat_tensor_t* tensor) {
  for (int64_t i = 0; i < value->item_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_tensor_set_string(tensor, i, leat_string_view_from(value->strings[i])));
  }
  return leat_ok_status();
}

static leat_status_t fill(const leat_case_value_t* value, uint64_t seed, leat_tensor_t* tensor) {
  int parts = value->strings ? 1 : leat_case_parts(tensor->dtype);
  bool is_literal = value->items || value->strings;
  if (is_literal && value->item_count != tensor->shape.element_count * parts) {
    return leat_make_status(LEAT_INTERNAL, "the case states %lld items for shape %s",
                            (long long)value->item_count, LEAT_SHAPE_TEXT(&tensor->shape));
  }
  if (value->strings) return fill_strings(value, tensor);
  if (!is_literal) {
    fill_random(value, seed, tensor);
    return leat_ok_status();
  }
  for (int64_t i = 0; i < value->item_count; ++i) leat_case_set_number(tensor, i, value->items[i]);
  return leat_ok_status();
}

leat_status_t leat_case_value_make(const leat_case_value_t* value, int dtype, uint64_t seed,
                                   leat_tensor_t* out_tensor) {
  leat_shape_t shape;
  *out_tensor = (leat_tensor_t){0};
  LEAT_RETURN_IF_ERROR(leat_shape_create(value->rank, value->dims, &shape));
  LEAT_RETURN_IF_ERROR(
      leat_tensor_allocate(leat_buffer_source_host(), dtype, &shape, out_tensor));
  leat_status_t status = fill(value, seed, out_tensor);
  if (status) leat_tensor_release(out_tensor);
  return status;
}

bool leat_case_tensor_equal(const leat_tensor_t* a, const leat_tensor_t* b) {
  if (a->dtype != b->dtype || !leat_shape_equal(&a->shape, &b->shape)) return false;
  if (a->dtype == LEAT_DTYPE_STRING) {
    for (int64_t i = 0; i < a->shape.element_count; ++i) {
      if (!leat_string_view_equal(leat_tensor_string_at(a, i), leat_tensor_string_at(b, i))) {
        return false;
      }
    }
    return true;
  }
  size_t size = leat_tensor_size_bytes(a);
  return size == 0 || memcmp(a->data, b->data, size) == 0;
}

leat_status_t leat_case_unaligned_copy(const leat_tensor_t* tensor, leat_tensor_t* out_tensor) {
  leat_tensor_t wide;
  leat_shape_t shape = leat_shape_vector(tensor->shape.element_count + 1);
  *out_tensor = (leat_tensor_t){0};
  LEAT_RETURN_IF_ERROR(
      leat_tensor_allocate(leat_buffer_source_host(), tensor->dtype, &shape, &wide));
  leat_tensor_t tail = {0};
  leat_status_t status = leat_tensor_slice(&wide, 1, shape.element_count, &tail);
  if (!status) {
    status = leat_tensor_copy_elements(tensor->dtype, tensor->data, tail.data,
                                       tensor->shape.element_count);
  }
  if (!status) status = leat_tensor_reshape(&tail, &tensor->shape, out_tensor);
  leat_tensor_release(&tail);
  leat_tensor_release(&wide);
  return status;
}
