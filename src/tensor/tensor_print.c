// Prints the elements of a tensor for people: in messages of failed assertions and in the ops Print
// and StringFormat. TensorFlow's own texts are compared by its users' tests, so the format is
// TensorFlow's to the byte, in two styles: leat_tensor_print_elements() writes "[1 2][3 4]..." and
// stops after a number of elements, leat_tensor_print_ends() writes nested brackets with the first
// and last items of each dimension.
//
// A floating-point number is printed with as few digits as read back as the same number: first with
// those that its type always keeps (6 for float, 15 for double), and if that reads back as another
// number with those that always suffice (9 and 17). All appending goes to a string builder, which
// remembers a failure, so nothing here returns a status. The functions that descend through the
// dimensions are recursive; the rank is at most 254, and so is the depth.
#include "tensor/tensor_print.h"

#include <math.h>

#include "base/locale.h"

// ---- One element --------------------------------------------------------------------------------

// Prints with 15 digits when that text reads back as |value|, and with 17 otherwise.
static void print_double(double value, leat_string_builder_t* out) {
  char text[40];
  if (isnan(value)) {
    leat_string_builder_append(out, LEAT_SV("nan"));
    return;
  }
  leat_locale_print(text, sizeof text, "%.15g", value);
  if (leat_locale_read_double(text, NULL) != value) {
    leat_locale_print(text, sizeof text, "%.17g", value);
  }
  leat_string_builder_append(out, leat_string_view_from(text));
}

static void print_float(float value, leat_string_builder_t* out) {
  char text[40];
  if (isnan(value)) {
    leat_string_builder_append(out, LEAT_SV("nan"));
    return;
  }
  leat_locale_print(text, sizeof text, "%.6g", (double)value);
  if (leat_locale_read_float(text, NULL) != value) {
    leat_locale_print(text, sizeof text, "%.9g", (double)value);
  }
  leat_string_builder_append(out, leat_string_view_from(text));
}

// The float with the value of the IEEE binary16 |bits|. This room may not include the kernels'
// conversions, and speed does not matter here.
static float widen_half(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float size = exponent == 31 ? (fraction ? NAN : INFINITY)
               : exponent     ? ldexpf((float)(fraction + 1024), exponent - 25)
                              : ldexpf((float)fraction, -24);
  return bits >> 15 ? -size : size;
}

static float widen_bfloat16(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

// Prints a string with the escapes of C.
static void print_string(leat_string_view_t text, leat_string_builder_t* out) {
  for (size_t i = 0; i < text.size; ++i) {
    unsigned char c = (unsigned char)text.data[i];
    switch (c) {
      case '\n': leat_string_builder_append(out, LEAT_SV("\\n")); break;
      case '\r': leat_string_builder_append(out, LEAT_SV("\\r")); break;
      case '\t': leat_string_builder_append(out, LEAT_SV("\\t")); break;
      case '"': leat_string_builder_append(out, LEAT_SV("\\\"")); break;
      case '\'': leat_string_builder_append(out, LEAT_SV("\\'")); break;
      case '\\': leat_string_builder_append(out, LEAT_SV("\\\\")); break;
      default:
        // Bytes from 128 on are copied, since they may be part of UTF-8.
        if (c < 32 || c == 127) {
          leat_string_builder_print(out, "\\%03o", c);
        } else {
          leat_string_builder_append_char(out, (char)c);
        }
    }
  }
}

#define AS(type) leat_tensor_data(tensor, const type)[index]

static void print_element(const leat_tensor_t* tensor, int64_t index, leat_string_builder_t* out) {
  switch (tensor->dtype) {
    case LEAT_DTYPE_FLOAT: print_float(AS(float), out); break;
    case LEAT_DTYPE_DOUBLE: print_double(AS(double), out); break;
    case LEAT_DTYPE_HALF: print_float(widen_half(AS(uint16_t)), out); break;
    case LEAT_DTYPE_BFLOAT16: print_float(widen_bfloat16(AS(uint16_t)), out); break;
    case LEAT_DTYPE_INT64: leat_string_builder_print(out, "%lld", (long long)AS(int64_t)); break;
    case LEAT_DTYPE_UINT64:
      leat_string_builder_print(out, "%llu", (unsigned long long)AS(uint64_t));
      break;
    case LEAT_DTYPE_INT32: leat_string_builder_print(out, "%d", AS(int32_t)); break;
    case LEAT_DTYPE_UINT32: leat_string_builder_print(out, "%u", AS(uint32_t)); break;
    case LEAT_DTYPE_INT16:
    case LEAT_DTYPE_QINT16: leat_string_builder_print(out, "%d", AS(int16_t)); break;
    case LEAT_DTYPE_UINT16:
    case LEAT_DTYPE_QUINT16: leat_string_builder_print(out, "%u", AS(uint16_t)); break;
    case LEAT_DTYPE_INT8:
    case LEAT_DTYPE_QINT8: leat_string_builder_print(out, "%d", AS(int8_t)); break;
    case LEAT_DTYPE_UINT8:
    case LEAT_DTYPE_QUINT8: leat_string_builder_print(out, "%u", AS(uint8_t)); break;
    case LEAT_DTYPE_BOOL: leat_string_builder_append_char(out, AS(uint8_t) ? '1' : '0'); break;
    case LEAT_DTYPE_STRING: print_string(leat_tensor_string_at(tensor, index), out); break;
    default: leat_string_builder_append_char(out, '?'); break;
  }
}

// ---- Dimensions ---------------------------------------------------------------------------------

typedef struct printing_s {
  const leat_tensor_t* tensor;
  int64_t limit;
  int64_t next;  // the index of the element to be printed next
  leat_string_builder_t* out;
} printing_t;

// Prints the last dimension: elements with a space between them. When the limit falls inside a row
// of a matrix, the row ends in "..."; for a vector the caller appends it.
static void print_row(printing_t* p, int dim) {
  int64_t size = leat_shape_dim(&p->tensor->shape, dim);
  for (int64_t i = 0; i < size; ++i) {
    if (p->next >= p->limit) {
      if (dim != 0) leat_string_builder_append(p->out, LEAT_SV("..."));
      return;
    }
    if (i > 0) leat_string_builder_append_char(p->out, ' ');
    print_element(p->tensor, p->next++, p->out);
  }
}

// Encloses each item of every dimension but the last in brackets.
static void print_dim(printing_t* p, int dim) {
  if (p->next >= p->limit) return;
  if (dim == p->tensor->shape.rank - 1) {
    print_row(p, dim);
    return;
  }
  int64_t size = leat_shape_dim(&p->tensor->shape, dim);
  for (int64_t i = 0; i < size && p->next < p->limit; ++i) {
    leat_string_builder_append_char(p->out, '[');
    print_dim(p, dim + 1);
    leat_string_builder_append_char(p->out, ']');
  }
}

// TensorFlow has no text for complex numbers: it prints a "?" for each, whatever the dimensions.
static bool is_printable(const leat_tensor_t* tensor) {
  return !leat_dtype_in(tensor->dtype, LEAT_DTYPES_COMPLEX);
}

static void print_unknown(int64_t count, int64_t limit, leat_string_builder_t* out) {
  for (int64_t i = 0; i < limit; ++i) {
    leat_string_builder_append(out, i > 0 ? LEAT_SV(" ?") : LEAT_SV("?"));
  }
  if (count > limit) leat_string_builder_append(out, LEAT_SV("..."));
}

void leat_tensor_print_elements(const leat_tensor_t* tensor, int64_t max_elements,
                                leat_string_builder_t* out) {
  int64_t count = tensor->shape.element_count;
  int64_t limit = max_elements < 0 || max_elements > count ? count : max_elements;
  if (!is_printable(tensor)) {
    print_unknown(count, limit, out);
    return;
  }
  printing_t printing = {tensor, limit, 0, out};
  if (tensor->shape.rank) {
    print_dim(&printing, 0);
  } else if (limit > 0) {
    print_element(tensor, 0, out);
  }
  if (count > limit) leat_string_builder_append(out, LEAT_SV("..."));
}

// ---- Both ends of dimensions --------------------------------------------------------------------

// Prints an element, and a string in double quotes.
static void print_quoted(const leat_tensor_t* tensor, int64_t index, leat_string_builder_t* out) {
  const bool is_string = tensor->dtype == LEAT_DTYPE_STRING;
  if (is_string) leat_string_builder_append_char(out, '"');
  print_element(tensor, index, out);
  if (is_string) leat_string_builder_append_char(out, '"');
}

// Prints what separates two items of dimension |dim|: a space in the last dimension, and further
// out one line break for each bracket that was closed, followed by an indentation that aligns the
// items.
static void print_spacing(int dim, int rank, leat_string_builder_t* out) {
  int lines = rank - dim - 1, spaces = lines ? dim + 1 : 1;
  for (int i = 0; i < lines; ++i) leat_string_builder_append_char(out, '\n');
  for (int i = 0; i < spaces; ++i) leat_string_builder_append_char(out, ' ');
}

// Prints the items of dimension |dim|. Here |printing->limit| is the number of items to print at
// each end, and |printing->next| is the index of the first element of this part of the tensor.
static void print_ends(const printing_t* printing, int dim) {
  const leat_shape_t* shape = &printing->tensor->shape;
  if (dim == shape->rank) {
    print_quoted(printing->tensor, printing->next, printing->out);
    return;
  }
  int64_t size = leat_shape_dim(shape, dim), ends = printing->limit;
  int64_t stride = leat_shape_product(shape, dim + 1, shape->rank);
  bool is_cut = ends < size - ends;
  leat_string_builder_append_char(printing->out, '[');
  for (int64_t i = 0; i < size; ++i) {
    bool is_gap = is_cut && i == ends;
    if (i || is_gap) print_spacing(dim, shape->rank, printing->out);
    if (is_gap) {
      leat_string_builder_append(printing->out, LEAT_SV("..."));
      i = size - ends - 1;
      continue;
    }
    printing_t item = *printing;
    item.next += i * stride;
    print_ends(&item, dim + 1);
  }
  leat_string_builder_append_char(printing->out, ']');
}

void leat_tensor_print_ends(const leat_tensor_t* tensor, int64_t ends,
                            leat_string_builder_t* out) {
  int64_t count = tensor->shape.element_count;
  int64_t limit = ends < 0 || ends > count ? count : ends;
  if (!is_printable(tensor)) {
    if (tensor->shape.rank) leat_string_builder_append_char(out, '[');
    print_unknown(count, limit, out);
    if (tensor->shape.rank) leat_string_builder_append_char(out, ']');
  } else if (tensor->shape.rank) {
    print_ends(&(printing_t){tensor, limit, 0, out}, 0);
  } else if (limit) {
    print_quoted(tensor, 0, out);
  } else {
    leat_string_builder_append(out, LEAT_SV("..."));
  }
}
