// The types of tensors' elements, and how single elements are read and written. The tools print and
// parse every type of number through double, which holds each of them but 64-bit integers exactly;
// these have functions of their own. C has no half and no bfloat16: they are converted here bit by
// bit, since the tools link only the library's public interface. Rounding is to nearest, ties to
// even, as in the library.
#include "element.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const element_type_t kTypes[] = {
    {TF_FLOAT, "float", 'f', 4, "<f4"},         {TF_DOUBLE, "double", 'f', 8, "<f8"},
    {TF_INT32, "int32", 'i', 4, "<i4"},         {TF_UINT8, "uint8", 'u', 1, "|u1"},
    {TF_INT16, "int16", 'i', 2, "<i2"},         {TF_INT8, "int8", 'i', 1, "|i1"},
    {TF_STRING, "string", 's', 24, NULL},       {TF_COMPLEX64, "complex64", 'c', 8, "<c8"},
    {TF_INT64, "int64", 'i', 8, "<i8"},         {TF_BOOL, "bool", 'b', 1, "|b1"},
    {TF_QINT8, "qint8", 'i', 1, NULL},          {TF_QUINT8, "quint8", 'u', 1, NULL},
    {TF_QINT32, "qint32", 'i', 4, NULL},        {TF_BFLOAT16, "bfloat16", 'f', 2, NULL},
    {TF_QINT16, "qint16", 'i', 2, NULL},        {TF_QUINT16, "quint16", 'u', 2, NULL},
    {TF_UINT16, "uint16", 'u', 2, "<u2"},       {TF_COMPLEX128, "complex128", 'c', 16, "<c16"},
    {TF_HALF, "half", 'f', 2, "<f2"},           {TF_UINT32, "uint32", 'u', 4, "<u4"},
    {TF_UINT64, "uint64", 'u', 8, "<u8"},
};
#define TYPE_COUNT (sizeof kTypes / sizeof *kTypes)

const element_type_t* element_type_of(TF_DataType dtype) {
  for (size_t i = 0; i < TYPE_COUNT; ++i) {
    if (kTypes[i].dtype == dtype) return &kTypes[i];
  }
  return NULL;
}

// numpy writes the byte order first: "<" little-endian, "=" native, "|" not applicable.
const element_type_t* element_type_of_numpy(const char* description, size_t size) {
  for (size_t i = 0; i < TYPE_COUNT; ++i) {
    const char* name = kTypes[i].numpy;
    if (!name || strlen(name) != size || strncmp(name + 1, description + 1, size - 1)) continue;
    if (description[0] == name[0] || description[0] == '=' || kTypes[i].size == 1) {
      return &kTypes[i];
    }
  }
  return NULL;
}

const char* element_type_name(TF_DataType dtype) {
  static _Thread_local char number[24];
  const element_type_t* type = element_type_of(dtype);
  if (type) return type->name;
  if (dtype == TF_RESOURCE) return "resource";
  if (dtype == TF_VARIANT) return "variant";
  if (dtype > 100 && dtype < 200 && element_type_of((TF_DataType)(dtype - 100))) {
    snprintf(number, sizeof number, "%s_ref", element_type_name((TF_DataType)(dtype - 100)));
  } else {
    snprintf(number, sizeof number, "type %d", (int)dtype);
  }
  return number;
}

// ---- Values -------------------------------------------------------------------------------------

static double half_to_real(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                : exponent     ? ldexp(1024 + fraction, exponent - 25)
                               : ldexp(fraction, -24);
  return bits & 0x8000 ? -size : size;
}

// Rounds to nearest, ties to even: rint does so in the default mode. |units| is the value in units
// of the half's last place.
static uint16_t real_to_half(double value) {
  uint16_t sign = signbit(value) ? 0x8000 : 0;
  value = fabs(value);
  if (isnan(value)) return sign | 0x7e00;
  int exponent = 0;
  if (value > 0) frexp(value, &exponent);
  if (exponent < -13) exponent = -13;  // subnormal
  double units = rint(ldexp(value, 11 - exponent));
  if (isinf(value) || ldexp(units, exponent - 11) >= 65520) return sign | 0x7c00;
  // Units of 1024 and more carry into the exponent field by themselves.
  return (uint16_t)(sign | (uint16_t)((exponent + 13) * 1024 + (int)units));
}

static double bfloat16_to_real(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return (double)value;
}

// Adding half of the last place, less one unless the kept part is odd, rounds to nearest even.
static uint16_t real_to_bfloat16(double value) {
  float narrow = (float)value;
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  if (isnan(value)) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

int64_t element_integer(const element_type_t* type, const void* element) {
  int64_t value = 0;
  memcpy(&value, element, (size_t)type->size);
  if (type->kind != 'i' || type->size == 8) return value;
  int unused = 64 - 8 * type->size;
  // Shifts the sign bit to the top and back, which extends it.
  return (int64_t)((uint64_t)value << unused) >> unused;
}

static double small_real(const element_type_t* type, const void* element) {
  uint16_t bits;
  memcpy(&bits, element, sizeof bits);
  return type->dtype == TF_HALF ? half_to_real(bits) : bfloat16_to_real(bits);
}

static double wide_real(const void* element, bool is_double) {
  float narrow;
  double wide;
  if (is_double) {
    memcpy(&wide, element, sizeof wide);
    return wide;
  }
  memcpy(&narrow, element, sizeof narrow);
  return (double)narrow;
}

double element_real(const element_type_t* type, const void* element) {
  switch (type->kind) {
    case 'f': return type->size == 2 ? small_real(type, element)
                                     : wide_real(element, type->size == 8);
    case 'c': return wide_real(element, type->size == 16);
    case 'u': return (double)(uint64_t)element_integer(type, element);
    default: return (double)element_integer(type, element);
  }
}

double element_imaginary(const element_type_t* type, const void* element) {
  return type->kind == 'c' ? wide_real((const char*)element + type->size / 2, type->size == 16)
                           : 0;
}

void element_set_real(const element_type_t* type, void* element, double value) {
  if (type->size == 8) {
    memcpy(element, &value, sizeof value);
  } else if (type->size == 4) {
    memcpy(element, &(float){(float)value}, sizeof(float));
  } else {
    uint16_t bits = type->dtype == TF_HALF ? real_to_half(value) : real_to_bfloat16(value);
    memcpy(element, &bits, sizeof bits);
  }
}

bool element_reads_back(const element_type_t* type, double a, double b) {
  if (type->dtype == TF_HALF) return real_to_half(a) == real_to_half(b);
  if (type->dtype == TF_BFLOAT16) return real_to_bfloat16(a) == real_to_bfloat16(b);
  bool is_double = type->dtype == TF_DOUBLE || type->dtype == TF_COMPLEX128;
  return is_double ? a == b : (float)a == (float)b;
}
