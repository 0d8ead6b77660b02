// Compares two tensors element by element for `leat diff`: tools/diff.c calls difference_between,
// and tools/diff_report.c prints the element that differs most and its place. Type and shape come
// first; where one of them differs, no element is looked at.
//
// Numbers are compared as doubles. They are equal within a tolerance that grows with the larger of
// their magnitudes; unless the caller states it, it follows from the type, because what is rounding
// in float would be a fault in double. Elements with the same bits are equal before any arithmetic,
// which covers infinities and NaN as well. Integers, booleans and strings must be the same. Two
// integers of 64 bits that differ may round to the same double, so their distance is at least 1.
// |largest| and |place| tell of the largest distance at all, even one within the tolerance (of
// strings, |place| is the first that differs), whereas |count| counts the elements beyond it; thus
// a report can say how near equal tensors come to differing.
#include "difference.h"

#include <math.h>
#include <string.h>

#include "element.h"
#include "tensorflow/c/tf_tstring.h"

static tolerance_t tolerance_of(const element_type_t* type, tolerance_t given) {
  bool is_exact = type->kind == 'i' || type->kind == 'u' || type->kind == 'b' || type->kind == 's';
  int bytes = type->kind == 'c' ? type->size / 2 : type->size;
  double usual = is_exact ? 0 : bytes <= 2 ? 1e-2 : bytes == 4 ? 1e-4 : 1e-8;
  return (tolerance_t){
      .relative = is_exact ? 0 : given.relative < 0 ? usual : given.relative,
      .absolute = is_exact ? 0 : given.absolute < 0 ? usual / 100 : given.absolute};
}

// The distance of two numbers, and the larger of their magnitudes. NaN is no distance from NaN, nor
// an infinity from itself; their magnitudes would hide another part of the element, and are 0.
static double number_distance(double x, double y, double* out_magnitude) {
  *out_magnitude = 0;
  if (x == y || (isnan(x) && isnan(y))) {
    if (isfinite(x)) *out_magnitude = fabs(x);
    return 0;
  }
  *out_magnitude = fmax(fabs(x), fabs(y));
  return isnan(x) || isnan(y) ? INFINITY : fabs(x - y);
}

// The distance of two elements, and the larger of their magnitudes.
static double distance(const element_type_t* type, const void* a, const void* b,
                       double* out_magnitude) {
  if (!memcmp(a, b, (size_t)type->size)) return *out_magnitude = 0;
  const double far =
      number_distance(element_real(type, a), element_real(type, b), out_magnitude);
  // Integers that differ may be the same double.
  if (type->kind == 'i' || type->kind == 'u') return fmax(far, 1);
  if (type->kind != 'c') return far;
  double imaginary;
  const double farther =
      number_distance(element_imaginary(type, a), element_imaginary(type, b), &imaginary);
  *out_magnitude = hypot(*out_magnitude, imaginary);
  return hypot(far, farther);
}

static bool is_same_string(const TF_TString* a, const TF_TString* b) {
  size_t size = TF_TString_GetSize(a);
  return size == TF_TString_GetSize(b) &&
         !memcmp(TF_TString_GetDataPointer(a), TF_TString_GetDataPointer(b), size);
}

static void compare_strings(const TF_Tensor* a, const TF_Tensor* b, difference_t* d) {
  const TF_TString *x = TF_TensorData(a), *y = TF_TensorData(b);
  for (int64_t i = 0; i < d->elements; ++i) {
    if (!is_same_string(&x[i], &y[i]) && !d->count++) d->place = i;
  }
}

static void compare_numbers(const element_type_t* type, const TF_Tensor* a, const TF_Tensor* b,
                            tolerance_t tolerance, difference_t* d) {
  const char *x = TF_TensorData(a), *y = TF_TensorData(b);
  tolerance = tolerance_of(type, tolerance);
  for (int64_t i = 0; i < d->elements; ++i, x += type->size, y += type->size) {
    double magnitude, far = distance(type, x, y, &magnitude);
    if (far == 0) continue;
    if (far > d->largest) {
      d->largest = far;
      d->place = i;
    }
    // Infinities are as far from anything else as their tolerance is wide, and differ nonetheless.
    d->count += isinf(far) || far > tolerance.relative * magnitude + tolerance.absolute;
  }
}

difference_t difference_between(const TF_Tensor* a, const TF_Tensor* b, tolerance_t tolerance) {
  difference_t d = {.elements = TF_TensorElementCount(a)};
  const element_type_t* type = element_type_of(TF_TensorType(a));
  if (TF_TensorType(a) != TF_TensorType(b) || !type) {
    d.kind = DIFFERENCE_TYPE;
    return d;
  }
  bool is_same_shape = TF_NumDims(a) == TF_NumDims(b);
  for (int i = 0; is_same_shape && i < TF_NumDims(a); ++i) {
    is_same_shape = TF_Dim(a, i) == TF_Dim(b, i);
  }
  if (!is_same_shape) {
    d.kind = DIFFERENCE_SHAPE;
    return d;
  }
  if (type->kind == 's') {
    compare_strings(a, b, &d);
  } else {
    compare_numbers(type, a, b, tolerance, &d);
  }
  if (d.count) d.kind = DIFFERENCE_VALUE;
  return d;
}

void difference_print_element(FILE* out, const TF_Tensor* tensor, int64_t place) {
  const element_type_t* type = element_type_of(TF_TensorType(tensor));
  const char* at = (const char*)TF_TensorData(tensor) + place * type->size;
  switch (type->kind) {
    case 's': {
      const TF_TString* string = (const TF_TString*)TF_TensorData(tensor) + place;
      size_t size = TF_TString_GetSize(string);
      fprintf(out, "\"%.*s%s\"", (int)(size < 40 ? size : 40), TF_TString_GetDataPointer(string),
              size < 40 ? "" : "...");
      break;
    }
    case 'i': fprintf(out, "%lld", (long long)element_integer(type, at)); break;
    case 'u': fprintf(out, "%llu", (unsigned long long)element_integer(type, at)); break;
    case 'b': fputs(element_integer(type, at) ? "true" : "false", out); break;
    case 'c':
      fprintf(out, "%.9g%+.9gj", element_real(type, at), element_imaginary(type, at));
      break;
    default: fprintf(out, type->size == 8 ? "%.17g" : "%.9g", element_real(type, at));
  }
}

void difference_print_place(FILE* out, const TF_Tensor* tensor, int64_t place) {
  int rank = TF_NumDims(tensor);
  int64_t rest = place, inner = TF_TensorElementCount(tensor);
  fputc('[', out);
  for (int i = 0; i < rank; ++i) {
    inner /= TF_Dim(tensor, i);
    fprintf(out, "%s%lld", i ? ", " : "", (long long)(rest / inner));
    rest %= inner;
  }
  fputc(']', out);
}
