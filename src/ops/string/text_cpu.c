// CPU kernels of Substr, StringLength, StringLower, StringUpper and StringStrip.
//
// Lengths and positions count bytes, or characters of UTF-8. A character begins at each byte that
// is not a continuation byte (10xxxxxx), so characters can be counted without decoding them, and
// text that is not valid UTF-8 does no harm. Positions count from the end where they are negative.
// Case is changed for letters of ASCII, or with encoding "utf-8" for all of Unicode
// (unicode_case_cpu.h).
//
// Substr broadcasts strings against positions, which TensorFlow does for one and two dimensions
// only.
#include "ops/kernel_rows.h"
#include "ops/string/unicode_case_cpu.h"

typedef struct text_s {
  bool in_characters;  // counts characters of UTF-8, not bytes
} text_t;

static leat_status_t unit_create(leat_kernel_creation_t* c, void* state) {
  leat_string_view_t unit;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "unit", &unit));
  ((text_t*)state)->in_characters = leat_string_view_equals(unit, "UTF8_CHAR");
  return leat_ok_status();
}

// Says whether a byte continues a character of UTF-8.
static bool is_trailing(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

// ---- Lengths ------------------------------------------------------------------------------------

static leat_status_t string_length__cpu(leat_kernel_context_t* c) {
  const text_t* own = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    leat_string_view_t text = leat_tensor_string_at(input, i);
    size_t length = text.size;
    for (size_t k = 0; own->in_characters && k < text.size; ++k) {
      if (is_trailing(text.data[k])) --length;
    }
    leat_tensor_data(output, int32_t)[i] = (int32_t)length;
  }
  return leat_ok_status();
}

// ---- Parts --------------------------------------------------------------------------------------

// Moves |*inout_at| by |count| characters; false when there are not so many.
static bool go_forward(leat_string_view_t text, int64_t count, size_t* inout_at) {
  int64_t done = 0;
  size_t at = *inout_at;
  for (; done < count && at < text.size; ++done) {
    do {
      ++at;
    } while (at < text.size && is_trailing(text.data[at]));
  }
  *inout_at = at;
  return done == count;
}

// Moves |*inout_at| back by |count| characters; false when there are not so many.
static bool go_back(leat_string_view_t text, int64_t count, size_t* inout_at) {
  int64_t done = 0;
  size_t at = *inout_at;
  for (; done < count && at > 0; ++done) {
    do {
      --at;
    } while (at > 0 && is_trailing(text.data[at]));
  }
  *inout_at = at;
  return done == count;
}

// Gives bytes [begin, end) of the part of |len| characters at position |pos|; false when the part
// begins outside the string.
static bool find_characters(leat_string_view_t text, int64_t pos, int64_t len, size_t* begin,
                            size_t* end) {
  if (pos >= 0) {
    *begin = 0;
    if (!go_forward(text, pos, begin)) return false;
    *end = *begin;
    go_forward(text, len, end);
    return true;
  }
  if (pos < -(int64_t)text.size) return false;
  int64_t behind;  // characters after the part
  if (!__builtin_sub_overflow(-pos, len, &behind) && behind < 0) behind = 0;
  *end = text.size;
  if (!go_back(text, behind, end)) return false;
  *begin = *end;
  return go_back(text, -pos - behind, begin);
}

// Finds the substring where positions and lengths count bytes.
static bool find_bytes(leat_string_view_t text, int64_t pos, int64_t len, size_t* begin,
                       size_t* end) {
  int64_t size = (int64_t)text.size;
  if (pos < -size || pos > size) return false;
  if (pos < 0) pos += size;
  *begin = (size_t)pos;
  // A negative length takes all that is left, like a very large one.
  *end = len < 0 || len > size - pos ? text.size : (size_t)(pos + len);
  return true;
}

typedef struct substrings_s {
  const leat_tensor_t *input, *pos, *len;
  leat_tensor_t* output;
} substrings_t;

// A tensor of |shape| is broadcast to |whole|: its element that lies at element |index| of the
// whole.
static int64_t broadcast_index(const leat_shape_t* whole, const leat_shape_t* shape,
                               int64_t index) {
  int64_t at = 0, stride = 1;
  if (whole->rank == shape->rank && whole->element_count == shape->element_count) return index;
  for (int d = 1; d <= shape->rank; ++d) {
    int64_t size = leat_shape_dim(whole, whole->rank - d);
    int64_t own = leat_shape_dim(shape, shape->rank - d);
    if (own != 1) at += index % size * stride;
    stride *= own;
    index /= size;
  }
  return at;
}

static leat_status_t take_substrings(leat_kernel_context_t* c, const substrings_t* p) {
  const text_t* own = leat_kernel_state(c);
  const leat_shape_t* whole = &p->output->shape;
  for (int64_t i = 0; i < whole->element_count; ++i) {
    int64_t at = broadcast_index(whole, &p->pos->shape, i);
    leat_string_view_t text =
        leat_tensor_string_at(p->input, broadcast_index(whole, &p->input->shape, i));
    int64_t pos = leat_tensor_index_at(p->pos, at), len = leat_tensor_index_at(p->len, at);
    size_t begin, end;
    bool is_inside = own->in_characters ? find_characters(text, pos, len, &begin, &end)
                                        : find_bytes(text, pos, len, &begin, &end);
    if (!is_inside) {
      return leat_kernel_invalid(c, "pos %lld out of range for string at index %lld",
                                 (long long)pos, (long long)i);
    }
    leat_string_view_t part = leat_string_view_make(text.data + begin, end - begin);
    LEAT_RETURN_IF_ERROR(leat_tensor_set_string(p->output, i, part));
  }
  return leat_ok_status();
}

static leat_status_t substr__cpu(leat_kernel_context_t* c) {
  substrings_t p = {.input = leat_kernel_input(c, 0),
               .pos = leat_kernel_input(c, 1),
               .len = leat_kernel_input(c, 2)};
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_broadcast(&p.input->shape, &p.pos->shape, &shape));
  bool is_broadcast = p.pos->shape.rank && !leat_shape_equal(&p.input->shape, &p.pos->shape);
  leat_status_t status = leat_ok_status();
  if (is_broadcast && (shape.rank < 1 || shape.rank > 2)) {
    status = leat_kernel_error(c, LEAT_UNIMPLEMENTED,
                               "Substr broadcast not implemented for %d dimensions", shape.rank);
  }
  if (!status) status = leat_kernel_allocate_output(c, 0, &shape, &p.output);
  leat_shape_release(&shape);
  return status ? status : take_substrings(c, &p);
}

// ---- Letters ------------------------------------------------------------------------------------

static leat_status_t case_create(leat_kernel_creation_t* c, void* state) {
  leat_string_view_t encoding;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "encoding", &encoding));
  ((text_t*)state)->in_characters = leat_string_view_equals(encoding, "utf-8");
  if (encoding.size == 0 || ((text_t*)state)->in_characters) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Create failed for node '%.*s' (%.*s): encoding is '%.*s', must be "
                          "utf-8 or ''",
                          LEAT_SV_ARG(c->kernel->node_name), LEAT_SV_ARG(c->kernel->op->name),
                          LEAT_SV_ARG(encoding));
}

// Copies the strings and shifts the bytes between |first| and |last|, which are letters of ASCII.
static leat_status_t shift_letters(const leat_tensor_t* input, char first, char last, int shift,
                                   leat_tensor_t* output) {
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_tensor_set_string(output, i, leat_tensor_string_at(input, i)));
    leat_string_view_t text = leat_tensor_string_at(output, i);
    char* letters = (char*)text.data;  // bytes that the output owns, so they may change
    for (size_t k = 0; k < text.size; ++k) {
      if (letters[k] >= first && letters[k] <= last) letters[k] = (char)(letters[k] + shift);
    }
  }
  return leat_ok_status();
}

// Writes the strings with all letters of Unicode changed.
static leat_status_t change_letters(const leat_tensor_t* input, bool to_upper,
                                    leat_tensor_t* output) {
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = leat_ok_status();
  for (int64_t i = 0; i < input->shape.element_count && !status; ++i) {
    text.size = 0;
    (to_upper ? leat_unicode_append_upper : leat_unicode_append_lower)(
        leat_tensor_string_at(input, i), &text);
    status = leat_status_clone(text.status);
    if (!status) status = leat_tensor_set_string(output, i, leat_string_builder_view(&text));
  }
  leat_string_builder_deinitialize(&text);
  return status;
}

static leat_status_t change_case(leat_kernel_context_t* c, bool to_upper) {
  const text_t* own = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  if (own->in_characters) return change_letters(input, to_upper, output);
  return to_upper ? shift_letters(input, 'a', 'z', 'A' - 'a', output)
                  : shift_letters(input, 'A', 'Z', 'a' - 'A', output);
}

static leat_status_t string_lower__cpu(leat_kernel_context_t* c) { return change_case(c, false); }
static leat_status_t string_upper__cpu(leat_kernel_context_t* c) { return change_case(c, true); }

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static leat_status_t string_strip__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    leat_string_view_t text = leat_tensor_string_at(input, i);
    while (text.size && is_space(text.data[text.size - 1])) --text.size;
    while (text.size && is_space(text.data[0])) {
      ++text.data;
      --text.size;
    }
    LEAT_RETURN_IF_ERROR(leat_tensor_set_string(output, i, text));
  }
  return leat_ok_status();
}

#define KERNEL(op_name, create_fn, function)                  \
  LEAT_CPU_KERNEL(op_name, NULL, text_t, create_fn, function)

const leat_kernel_row_t leat_text_kernels_cpu[] = {
    KERNEL("Substr", unit_create, substr__cpu),
    KERNEL("StringLength", unit_create, string_length__cpu),
    KERNEL("StringLower", case_create, string_lower__cpu),
    KERNEL("StringUpper", case_create, string_upper__cpu),
    {.op = "StringStrip", .device_type = "CPU", .compute = string_strip__cpu},
    LEAT_KERNEL_ROWS_END,
};
