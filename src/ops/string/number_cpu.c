// CPU kernels of AsString and StringToNumber.
//
// AsString prints each element with a format of printf that is put together once, when the kernel
// is made: "%", the fill character, width, precision and a conversion for the type. The attributes
// are checked before, so that the format always fits its argument. Widths are limited, since a node
// could otherwise ask for strings of any size. Strings are padded by hand, complex numbers and
// variants have forms of their own.
//
// StringToNumber parses each string as a whole (tensor/number_text.h); a string that is no number
// of the type is INVALID_ARGUMENT.
#include <complex.h>
#include <stdio.h>
#include <string.h>

#include "device/cpu/half.h"
#include "ops/kernel_rows.h"
#include "tensor/number_text.h"

// ---- AsString -----------------------------------------------------------------------------------

#define MAX_WIDTH (1 << 20)

typedef struct format_s {
  char text[64];  // the format of one number
  int64_t width;
  bool is_left;   // strings stand left, so padding comes after them
} format_t;

// printf's conversion for a type.
static const char* conversion_of(int dtype, bool shortest, bool scientific) {
  switch (dtype) {
    case LEAT_DTYPE_UINT8:
    case LEAT_DTYPE_UINT16:
    case LEAT_DTYPE_UINT32: return "u";
    case LEAT_DTYPE_UINT64: return "llu";
    case LEAT_DTYPE_INT8:
    case LEAT_DTYPE_INT16:
    case LEAT_DTYPE_INT32: return "d";
    case LEAT_DTYPE_INT64: return "lld";
    default: return shortest ? "g" : scientific ? "e" : "f";
  }
}

// The attributes of AsString.
typedef struct wish_s {
  int64_t precision, width;
  bool scientific, shortest;
  leat_string_view_t fill;
} wish_t;

static leat_status_t read_wish(const leat_kernel_creation_t* c, wish_t* wish) {
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "precision", &wish->precision));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "width", &wish->width));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "scientific", &wish->scientific));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "shortest", &wish->shortest));
  return leat_kernel_attr_string(c, "fill", &wish->fill);
}

// Says what is wrong with the attributes; NULL when they are right.
static const char* fault_of(const wish_t* wish, int dtype) {
  bool has_fraction = leat_dtype_in(dtype, LEAT_DTYPES_FLOATING | LEAT_DTYPES_COMPLEX) ||
                      dtype == LEAT_DTYPE_STRING;
  if (!has_fraction && (wish->scientific || wish->shortest)) {
    return "scientific and shortest format not supported for datatype";
  }
  if (!has_fraction && wish->precision >= 0) return "precision not supported for datatype";
  if (wish->fill.size > 1) return "Fill string must be one or fewer characters";
  if (wish->scientific && wish->shortest) {
    return "Cannot select both scientific and shortest notation";
  }
  if (wish->fill.size && !strchr(" +-0#", wish->fill.data[0])) return "Fill argument not supported";
  if (wish->width > MAX_WIDTH || wish->precision > MAX_WIDTH) {
    return "width and precision must be 2^20 at most";
  }
  return NULL;
}

static leat_status_t as_string_create(leat_kernel_creation_t* c, void* state) {
  format_t* format = state;
  wish_t wish;
  int dtype;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "T", &dtype));
  LEAT_RETURN_IF_ERROR(read_wish(c, &wish));
  const char* fault = fault_of(&wish, dtype);
  if (fault) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Create failed for node '%.*s' (AsString) of %s: %s",
                            LEAT_SV_ARG(c->kernel->node_name), leat_dtype_name(dtype), fault);
  }
  char* text = format->text;
  size_t size = sizeof format->text;
  int used = snprintf(text, size, "%%%.*s", LEAT_SV_ARG(wish.fill));
  if (wish.width > -1) {
    used += snprintf(text + used, size - (size_t)used, "%lld", (long long)wish.width);
  }
  if (wish.precision > -1) {
    used += snprintf(text + used, size - (size_t)used, ".%lld", (long long)wish.precision);
  }
  snprintf(text + used, size - (size_t)used, "%s",
           conversion_of(dtype, wish.shortest, wish.scientific));
  format->width = wish.width;
  format->is_left = leat_string_view_equals(wish.fill, "-");
  return leat_ok_status();
}

// Appends a string, up to its first NUL byte as printf would, padded to the width.
static void print_padded(const format_t* format, leat_string_view_t text,
                         leat_string_builder_t* out) {
  size_t size = text.size ? strnlen(text.data, text.size) : 0;
  size_t width = (size_t)format->width;
  leat_string_view_t shown = leat_string_view_make(text.data, size);
  if (format->is_left) leat_string_builder_append(out, shown);
  for (size_t i = size; i < width; ++i) leat_string_builder_append_char(out, ' ');
  if (!format->is_left) leat_string_builder_append(out, shown);
}

static void print_complex(const char* format, double real, double imaginary,
                          leat_string_builder_t* out) {
  leat_string_builder_append_char(out, '(');
  leat_string_builder_print(out, format, real);
  leat_string_builder_append_char(out, ',');
  leat_string_builder_print(out, format, imaginary);
  leat_string_builder_append_char(out, ')');
}

static void print_variant(const leat_variant_t* variant, leat_string_builder_t* out) {
  char value[40] = "?";
  if (!variant->vtable) {
    leat_string_builder_append(out, LEAT_SV("Variant<type:  value: [empty]>"));
    return;
  }
  if (variant->vtable->describe) variant->vtable->describe(variant->self, value, sizeof value);
  leat_string_builder_print(out, "Variant<type: %s value: %s>", variant->vtable->type_name, value);
}

static void print_item(const format_t* f, const leat_tensor_t* tensor, int64_t i,
                       leat_string_builder_t* out) {
#define AS(type) leat_tensor_data(tensor, const type)[i]
#define PRINT(value) leat_string_builder_print(out, f->text, (value))
  switch (tensor->dtype) {
    case LEAT_DTYPE_UINT8: PRINT((unsigned)AS(uint8_t)); break;
    case LEAT_DTYPE_UINT16: PRINT((unsigned)AS(uint16_t)); break;
    case LEAT_DTYPE_UINT32: PRINT(AS(uint32_t)); break;
    case LEAT_DTYPE_UINT64: PRINT((unsigned long long)AS(uint64_t)); break;
    case LEAT_DTYPE_INT8: PRINT((int)AS(int8_t)); break;
    case LEAT_DTYPE_INT16: PRINT((int)AS(int16_t)); break;
    case LEAT_DTYPE_INT32: PRINT(AS(int32_t)); break;
    case LEAT_DTYPE_INT64: PRINT((long long)AS(int64_t)); break;
    case LEAT_DTYPE_FLOAT: PRINT((double)AS(float)); break;
    case LEAT_DTYPE_DOUBLE: PRINT(AS(double)); break;
    case LEAT_DTYPE_HALF: PRINT((double)leat_half_to_float(AS(uint16_t))); break;
    case LEAT_DTYPE_BFLOAT16: PRINT((double)leat_bfloat16_to_float(AS(uint16_t))); break;
    case LEAT_DTYPE_COMPLEX64:
      print_complex(f->text, crealf(AS(leat_complex64_t)), cimagf(AS(leat_complex64_t)), out);
      break;
    case LEAT_DTYPE_COMPLEX128:
      print_complex(f->text, creal(AS(leat_complex128_t)), cimag(AS(leat_complex128_t)), out);
      break;
    case LEAT_DTYPE_BOOL:
      leat_string_builder_append(out, AS(bool) ? LEAT_SV("true") : LEAT_SV("false"));
      break;
    case LEAT_DTYPE_VARIANT: print_variant(&AS(leat_variant_t), out); break;
    default: print_padded(f, leat_tensor_string_at(tensor, i), out); break;
  }
#undef AS
#undef PRINT
}

static leat_status_t print_items(const format_t* format, const leat_tensor_t* input,
                                 leat_tensor_t* output, leat_string_builder_t* text) {
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    print_item(format, input, i, text);
    LEAT_RETURN_IF_ERROR(leat_status_clone(text->status));
    LEAT_RETURN_IF_ERROR(leat_tensor_set_string(output, i, leat_string_builder_view(text)));
    text->size = 0;
  }
  return leat_ok_status();
}

// Strings that need no padding are passed on as they are.
static leat_status_t as_string__cpu(leat_kernel_context_t* c) {
  const format_t* format = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  leat_string_builder_t text;
  if (input->dtype == LEAT_DTYPE_STRING && format->width <= 0) {
    leat_kernel_pass_input(c, 0, 0);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = print_items(format, input, output, &text);
  leat_string_builder_deinitialize(&text);
  return status;
}

// ---- StringToNumber -----------------------------------------------------------------------------

static leat_status_t string_to_number__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  size_t item_bytes = leat_dtype_size(output->dtype);
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    leat_string_view_t text = leat_tensor_string_at(input, i);
    if (leat_number_parse(text, output->dtype, (char*)output->data + (size_t)i * item_bytes)) {
      continue;
    }
    return leat_kernel_invalid(c, "StringToNumberOp could not correctly convert string: %.*s",
                               LEAT_SV_ARG(text));
  }
  return leat_ok_status();
}

const leat_kernel_row_t leat_number_kernels_cpu[] = {
    {.op = "AsString",
     .device_type = "CPU",
     .constraints = "T: float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, "
                    "uint32, uint64, complex64, complex128, bool, string, variant",
     .create = as_string_create,
     .state_bytes = sizeof(format_t),
     .compute = as_string__cpu},
    {.op = "StringToNumber",
     .device_type = "CPU",
     .constraints = "out_type: float, double, int32, int64, uint32, uint64",
     .compute = string_to_number__cpu},
    LEAT_KERNEL_ROWS_END,
};
