// Single numbers as elements of variant tensors. A TensorFlow program may store an int, a float, a
// double or a bool in a variant; a graph file or checkpoint then holds it as a type name and the
// number's bytes, and leat_number_variant_decode() reads that. Each number is a reference-counted
// block of its own.
//
// There is one variant vtable for each of the four types. number_variant.inc is included once for
// each, because they differ in the C type, in how two numbers are added (AddN and gradients add
// variants) and in how a number is printed.
#include "tensor/number_variant.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/locale.h"
#include "base/sync.h"

typedef struct number_s {
  leat_reference_count_t references;
  union {
    int32_t as_int;
    float as_float;
    double as_double;
    bool as_bool;
  };
} number_t;

static void retain(void* self) { leat_reference_count_retain(&((number_t*)self)->references); }

static void release(void* self) {
  if (leat_reference_count_release(&((number_t*)self)->references)) {
    leat_allocator_free(leat_allocator_system(), self);
  }
}

static leat_status_t create(const leat_variant_vtable_t* vtable, leat_variant_t* out_variant) {
  number_t* number;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &number));
  atomic_init(&number->references, 1);
  *out_variant = (leat_variant_t){vtable, number};
  return leat_ok_status();
}

static leat_status_t encode_bytes(const void* bytes, size_t size, char** out_metadata,
                                  size_t* out_metadata_size, struct leat_tensor_s** out_tensors,
                                  size_t* out_tensor_count) {
  *out_tensors = NULL;
  *out_tensor_count = 0;
  *out_metadata_size = size;
  return leat_allocator_clone_string(leat_allocator_system(), bytes, size, out_metadata);
}

// Prints with the digits that the type always keeps when these read back as |value|, and otherwise
// with as many as tell the number from all others.
static void print_real(char* text, size_t size, double value, bool is_float) {
  double again;
  leat_locale_print(text, size, "%.*g", is_float ? 6 : 15, value);
  if (leat_string_view_to_double(leat_string_view_from(text), &again) &&
      (is_float ? (float)again == (float)value : again == value)) {
    return;
  }
  leat_locale_print(text, size, "%.*g", is_float ? 9 : 17, value);
}

// The sum of ints is computed without sign, since it must wrap around as TensorFlow's does.
#define T int32_t
#define FN(name) name##_int
#define FIELD as_int
#define TYPE_NAME "int"
#define SUM(a, b) ((int32_t)((uint32_t)(a) + (uint32_t)(b)))
#define PRINT(text, size, value) snprintf(text, size, "%" PRId32, value)
#include "tensor/number_variant.inc"

#define T float
#define FN(name) name##_float
#define FIELD as_float
#define TYPE_NAME "float"
#define SUM(a, b) ((a) + (b))
#define PRINT(text, size, value) print_real(text, size, (double)(value), true)
#include "tensor/number_variant.inc"

#define T double
#define FN(name) name##_double
#define FIELD as_double
#define TYPE_NAME "double"
#define SUM(a, b) ((a) + (b))
#define PRINT(text, size, value) print_real(text, size, value, false)
#include "tensor/number_variant.inc"

#define T bool
#define FN(name) name##_bool
#define FIELD as_bool
#define TYPE_NAME "bool"
#define SUM(a, b) ((a) || (b))
#define PRINT(text, size, value) snprintf(text, size, "%d", (int)(value))
#include "tensor/number_variant.inc"

leat_status_t leat_number_variant_decode(leat_string_view_t type_name,
                                         leat_string_view_t metadata,
                                         leat_variant_t* out_variant) {
  static const struct {
    const leat_variant_vtable_t* vtable;
    size_t size;
  } kKinds[] = {
      {&vtable_int, sizeof(int32_t)},
      {&vtable_float, sizeof(float)},
      {&vtable_double, sizeof(double)},
      {&vtable_bool, sizeof(bool)},
  };
  for (size_t i = 0; i < sizeof kKinds / sizeof *kKinds; ++i) {
    if (!leat_string_view_equals(type_name, kKinds[i].vtable->type_name)) continue;
    if (metadata.size != kKinds[i].size) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Tensor decode failed: variant of type %.*s has %zu bytes, must have "
                              "%zu",
                              LEAT_SV_ARG(type_name), metadata.size, kKinds[i].size);
    }
    LEAT_RETURN_IF_ERROR(create(kKinds[i].vtable, out_variant));
    number_t* number = out_variant->self;
    if (kKinds[i].vtable == &vtable_bool) {
      number->as_bool = metadata.data[0] != 0;  // a bool may hold no other byte than 0 and 1
    } else {
      memcpy(&number->as_int, metadata.data, metadata.size);
    }
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Tensor decode failed: variant is of type %.*s, must be empty, a "
                          "number, or of a kind that messages may hold",
                          LEAT_SV_ARG(type_name));
}
