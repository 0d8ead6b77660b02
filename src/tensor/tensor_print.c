#include "tensor/tensor_print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// ---- One element --------------------------------------------------------------------------------

// With |digits| when that reads back as the same number, else with all that it takes.
static void print_double(double value, leat_string_builder_t* out) {
  char text[40];
  if (isnan(value)) {
    leat_string_builder_append(out, LEAT_SV("nan"));
    return;
  }
  snprintf(text, sizeof text, "%.15g", value);
  if (strtod(text, NULL) != value) snprintf(text, sizeof text, "%.17g", value);
  leat_string_builder_append(out, leat_string_view_from(text));
}

static void print_float(float value, leat_string_builder_t* out) {
  char text[40];
  if (isnan(value)) {
    leat_string_builder_append(out, LEAT_SV("nan"));
    return;
  }
  snprintf(text, sizeof text, "%.6g", (double)value);
  if (strtof(text, NULL) != value) snprintf(text, sizeof text, "%.9g", (double)value);
  leat_string_builder_append(out, leat_string_view_from(text));
}

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
        // Bytes from 128 on may be UTF-8.
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
  int64_t next;  // element
  leat_string_builder_t* out;
} printing_t;

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

// Brackets around each item of all dimensions but the last. The rank is bounded, so is the depth.
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

void leat_tensor_print_elements(const leat_tensor_t* tensor, int64_t max_elements,
                                leat_string_builder_t* out) {
  int64_t count = tensor->shape.element_count;
  int64_t limit = max_elements < 0 || max_elements > count ? count : max_elements;
  printing_t printing = {tensor, limit, 0, out};
  if (tensor->shape.rank) {
    print_dim(&printing, 0);
  } else if (limit > 0) {
    print_element(tensor, 0, out);
  }
  if (count > limit) leat_string_builder_append(out, LEAT_SV("..."));
}

// ---- Both ends of dimensions --------------------------------------------------------------------

static void print_quoted(const leat_tensor_t* tensor, int64_t index, leat_string_builder_t* out) {
  const bool is_string = tensor->dtype == LEAT_DTYPE_STRING;
  if (is_string) leat_string_builder_append_char(out, '"');
  print_element(tensor, index, out);
  if (is_string) leat_string_builder_append_char(out, '"');
}

// A space in the last dimension; else as many line ends as brackets closed, and an indentation.
static void print_spacing(int dim, int rank, leat_string_builder_t* out) {
  int lines = rank - dim - 1, spaces = lines ? dim + 1 : 1;
  for (int i = 0; i < lines; ++i) leat_string_builder_append_char(out, '\n');
  for (int i = 0; i < spaces; ++i) leat_string_builder_append_char(out, ' ');
}

// |printing->limit| is the number of items at each end, |printing->next| the first element.
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
  if (tensor->shape.rank) {
    print_ends(&(printing_t){tensor, limit, 0, out}, 0);
  } else if (limit) {
    print_quoted(tensor, 0, out);
  } else {
    leat_string_builder_append(out, LEAT_SV("..."));
  }
}
