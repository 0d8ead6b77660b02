// Reads attribute values from text by recursive descent, for the defaults in op declarations. The
// grammar is protobuf's text format for shapes, tensors and functions, and literals for the rest:
//
//   value    = list | item               list = '[' [ item { ',' item } ] ']'
//   item     = 'string' | integer | real | bool | type | message
//   message  = '{' { field [ ':' ] ( item | message ) [ ',' | ';' ] } '}'
//
// Each reader takes what it understands and leaves the position behind it; only the outermost
// caller checks that nothing is left. Malformed text is INVALID_ARGUMENT and quotes the place,
// because plugins and clients that define ops bring declarations from outside. Sizes are bounded
// (MAX_ITEMS): a default is small, and fixed arrays keep the reader simple. A tensor's values are
// gathered as numbers of both kinds and converted when its type is known, since the type may stand
// behind the values.
#include "graph/op/attr_text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#define MAX_ITEMS 256  // items of a list, values of a tensor

void leat_attr_text_skip_space(leat_attr_text_t* text) {
  while (text->at < text->end && isspace((unsigned char)*text->at)) ++text->at;
}

static bool is_word_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

bool leat_attr_text_take(leat_attr_text_t* text, const char* token) {
  size_t size = strlen(token);
  if ((size_t)(text->end - text->at) < size || memcmp(text->at, token, size) != 0) return false;
  const char* after = text->at + size;
  if (is_word_char(token[0]) && after < text->end && is_word_char(*after)) return false;
  text->at = after;
  leat_attr_text_skip_space(text);
  return true;
}

leat_string_view_t leat_attr_text_word(leat_attr_text_t* text) {
  const char* begin = text->at;
  while (text->at < text->end && is_word_char(*text->at)) ++text->at;
  leat_string_view_t word = leat_string_view_make(begin, (size_t)(text->at - begin));
  leat_attr_text_skip_space(text);
  return word;
}

// Takes the characters of which a number can consist; whether it is one shows later.
static leat_string_view_t number_word(leat_attr_text_t* text) {
  const char* begin = text->at;
  while (text->at < text->end && (is_word_char(*text->at) || strchr("+-.", *text->at))) ++text->at;
  leat_string_view_t word = leat_string_view_make(begin, (size_t)(text->at - begin));
  leat_attr_text_skip_space(text);
  return word;
}

bool leat_attr_text_integer(leat_attr_text_t* text, int64_t* out_value) {
  return leat_string_view_to_int64(number_word(text), out_value);
}

// A float literal, "inf", "nan", or either with a sign; C's suffix 'f' is allowed.
static bool read_real(leat_attr_text_t* text, double* out_value) {
  leat_string_view_t word = number_word(text);
  bool negative = word.size > 0 && word.data[0] == '-';
  leat_string_view_t magnitude = leat_string_view_from_index(word, negative);
  if (leat_string_view_equals(magnitude, "inf")) {
    *out_value = negative ? -HUGE_VAL : HUGE_VAL;
    return true;
  }
  if (leat_string_view_equals(magnitude, "nan")) {
    *out_value = (double)NAN;
    return true;
  }
  if (word.size > 1 && word.data[word.size - 1] == 'f') --word.size;
  return leat_string_view_to_double(word, out_value);
}

static bool read_bool(leat_attr_text_t* text, bool* out_value) {
  static const char* const words[2][4] = {{"false", "False", "f", "0"}, {"true", "True", "t", "1"}};
  leat_string_view_t word = leat_attr_text_word(text);
  for (int value = 0; value < 2; ++value) {
    for (int i = 0; i < 4; ++i) {
      if (!leat_string_view_equals(word, words[value][i])) continue;
      *out_value = value;
      return true;
    }
  }
  return false;
}

static leat_status_t malformed(const leat_attr_text_t* text, const char* what) {
  size_t left = (size_t)(text->end - text->at);
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Parsing failed: text at '%.*s' must be %s",
                          (int)(left > 60 ? 60 : left), text->at, what);
}

static int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = (char)(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

// The character whose code is up to |max_digits| digits of |base| at |*inout_at|.
static char read_code(const char** inout_at, const char* end, int base, int max_digits) {
  int code = 0;
  for (int i = 0; i < max_digits && *inout_at < end && digit_value(**inout_at) < base; ++i) {
    code = code * base + digit_value(*(*inout_at)++);
  }
  return (char)code;
}

// The character for the escape at |*inout_at|, behind the backslash. A character that is no escape
// stands for itself.
static char read_escape(const char** inout_at, const char* end) {
  static const char letters[] = "abfnrtv", values[] = "\a\b\f\n\r\t\v";
  char c = **inout_at;
  if (c >= '0' && c <= '7') return read_code(inout_at, end, 8, 3);
  ++*inout_at;
  if (c == 'x' || c == 'X') return read_code(inout_at, end, 16, 2);
  const char* letter = strchr(letters, c);
  return letter && c ? values[letter - letters] : c;
}

leat_status_t leat_attr_text_string(leat_attr_text_t* text, bool* out_found,
                                    leat_string_view_t* out_string) {
  *out_found = text->at < text->end && (*text->at == '\'' || *text->at == '"');
  if (!*out_found) return leat_ok_status();
  char quote = *text->at;
  const char* at = text->at + 1;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate(text->arena, (size_t)(text->end - text->at), &memory));
  char* copy = memory;
  size_t size = 0;
  while (at < text->end && *at != quote) {
    if (*at == '\\' && at + 1 < text->end) {
      ++at;
      copy[size++] = read_escape(&at, text->end);
    } else {
      copy[size++] = *at++;
    }
  }
  if (at >= text->end) return malformed(text, "a string that ends");
  text->at = at + 1;
  leat_attr_text_skip_space(text);
  copy[size] = 0;
  *out_string = leat_string_view_make(copy, size);
  return leat_ok_status();
}

// ---- messages: { field: value field { ... } } ---------------------------------------------------

// Takes the name of the next field and a ':' behind it, if there is one; false at the closing
// brace, which is taken.
static bool next_field(leat_attr_text_t* text, leat_string_view_t* out_name) {
  if (!leat_attr_text_take(text, ",")) leat_attr_text_take(text, ";");
  if (leat_attr_text_take(text, "}")) return false;
  *out_name = leat_attr_text_word(text);
  leat_attr_text_take(text, ":");
  return true;
}

static leat_status_t read_dim(leat_attr_text_t* text, int64_t* out_size) {
  *out_size = 0;
  if (!leat_attr_text_take(text, "{")) return malformed(text, "a dimension '{ size: n }'");
  leat_string_view_t field;
  while (next_field(text, &field)) {
    bool found = false;
    leat_string_view_t name;
    if (leat_string_view_equals(field, "size")) {
      if (!leat_attr_text_integer(text, out_size)) return malformed(text, "a size");
    } else if (leat_string_view_equals(field, "name")) {
      LEAT_RETURN_IF_ERROR(leat_attr_text_string(text, &found, &name));
    } else {
      return malformed(text, "a field of a dimension");
    }
  }
  return leat_ok_status();
}

static leat_status_t read_shape(leat_attr_text_t* text, leat_partial_shape_t* out_shape) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int rank = 0;
  bool unknown_rank = false;
  if (!leat_attr_text_take(text, "{")) return malformed(text, "a shape '{ dim { size: n } }'");
  leat_string_view_t field;
  while (next_field(text, &field)) {
    if (leat_string_view_equals(field, "unknown_rank")) {
      if (!read_bool(text, &unknown_rank)) return malformed(text, "true or false");
    } else if (leat_string_view_equals(field, "dim") && rank < LEAT_SHAPE_MAX_RANK) {
      LEAT_RETURN_IF_ERROR(read_dim(text, &dims[rank++]));
    } else {
      return malformed(text, "a field of a shape");
    }
  }
  return leat_partial_shape_create(unknown_rank ? -1 : rank, dims, text->arena, out_shape);
}

// A function without attributes: { name: "f" }.
static leat_status_t read_function(leat_attr_text_t* text, leat_function_name_t* out_function) {
  *out_function = (leat_function_name_t){0};
  if (!leat_attr_text_take(text, "{")) return malformed(text, "a function '{ name: \"f\" }'");
  leat_string_view_t field;
  while (next_field(text, &field)) {
    bool found = false;
    if (leat_string_view_equals(field, "name")) {
      LEAT_RETURN_IF_ERROR(leat_attr_text_string(text, &found, &out_function->name));
    }
    if (!found) return malformed(text, "a function's name");
  }
  return leat_ok_status();
}

// A value of a tensor that is no string. Integers are kept exactly: a double has only 53 bits.
typedef struct number_text_s {
  double real;
  int64_t integer;
  bool is_integer;
} number_text_t;

// The fields of a tensor's text, before the tensor exists.
typedef struct tensor_text_s {
  int dtype;
  leat_partial_shape_t shape;
  number_text_t values[MAX_ITEMS];
  leat_string_view_t strings[MAX_ITEMS];
  int count;
} tensor_text_t;

// Takes a number or a truth value.
static leat_status_t read_number(leat_attr_text_t* text, number_text_t* out_number) {
  leat_attr_text_t before = *text;
  bool truth = false;
  *out_number = (number_text_t){0};
  if (leat_attr_text_integer(text, &out_number->integer)) {
    out_number->is_integer = true;
    out_number->real = (double)out_number->integer;
    return leat_ok_status();
  }
  *text = before;
  if (read_real(text, &out_number->real)) return leat_ok_status();
  *text = before;
  if (!read_bool(text, &truth)) return malformed(text, "a value of a tensor");
  *out_number = (number_text_t){.real = truth, .integer = truth, .is_integer = true};
  return leat_ok_status();
}

// One value of a tensor: a string, a number or a truth value. The tensor's type decides later what
// it becomes.
static leat_status_t read_tensor_value(leat_attr_text_t* text, tensor_text_t* tensor) {
  if (tensor->count == MAX_ITEMS) return malformed(text, "the end of a tensor of 256 values");
  bool is_string = false;
  LEAT_RETURN_IF_ERROR(
      leat_attr_text_string(text, &is_string, &tensor->strings[tensor->count]));
  if (!is_string) LEAT_RETURN_IF_ERROR(read_number(text, &tensor->values[tensor->count]));
  ++tensor->count;
  return leat_ok_status();
}

static leat_status_t read_tensor_fields(leat_attr_text_t* text, tensor_text_t* tensor) {
  if (!leat_attr_text_take(text, "{")) return malformed(text, "a tensor '{ dtype: DT_INT32 }'");
  leat_string_view_t field;
  while (next_field(text, &field)) {
    if (leat_string_view_equals(field, "dtype")) {
      tensor->dtype = leat_dtype_from_name(leat_attr_text_word(text));
    } else if (leat_string_view_equals(field, "tensor_shape")) {
      LEAT_RETURN_IF_ERROR(read_shape(text, &tensor->shape));
    } else if (leat_string_view_ends_with(field, LEAT_SV("_val"))) {
      LEAT_RETURN_IF_ERROR(read_tensor_value(text, tensor));
    } else {
      return malformed(text, "a field of a tensor");
    }
  }
  return leat_ok_status();
}

// Checks that |number| is one which an element of |dtype| can have in a TensorProto. There the
// narrow types share a field of 32 bits, of which they keep the lowest.
static leat_status_t check_number(int dtype, number_text_t number) {
  if (leat_dtype_in(dtype, LEAT_DTYPES_FLOATING) || dtype == LEAT_DTYPE_BOOL ||
      dtype == LEAT_DTYPE_STRING) {
    return leat_ok_status();
  }
  if (!number.is_integer) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Parsing failed: a value of a tensor is %g, must be an integer of 64 "
                            "bits, because dtype is %s",
                            number.real, leat_dtype_name(dtype));
  }
  if (dtype == LEAT_DTYPE_INT64 ||
      (number.integer >= INT32_MIN && number.integer <= INT32_MAX)) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Parsing failed: a value of a tensor is %lld, must be in [-2^31, 2^31), "
                          "because dtype is %s",
                          (long long)number.integer, leat_dtype_name(dtype));
}

static leat_status_t store_element(leat_tensor_t* tensor, int64_t index, number_text_t number,
                                   leat_string_view_t string) {
  int64_t value = number.integer;
  LEAT_RETURN_IF_ERROR(check_number(tensor->dtype, number));
  switch (tensor->dtype) {
    case LEAT_DTYPE_FLOAT: leat_tensor_data(tensor, float)[index] = (float)number.real; break;
    case LEAT_DTYPE_DOUBLE: leat_tensor_data(tensor, double)[index] = number.real; break;
    case LEAT_DTYPE_INT64: leat_tensor_data(tensor, int64_t)[index] = value; break;
    case LEAT_DTYPE_INT32: leat_tensor_data(tensor, int32_t)[index] = (int32_t)value; break;
    case LEAT_DTYPE_INT16:
    case LEAT_DTYPE_UINT16: leat_tensor_data(tensor, uint16_t)[index] = (uint16_t)value; break;
    case LEAT_DTYPE_INT8:
    case LEAT_DTYPE_UINT8: leat_tensor_data(tensor, uint8_t)[index] = (uint8_t)value; break;
    case LEAT_DTYPE_BOOL: leat_tensor_data(tensor, bool)[index] = number.real != 0; break;
    case LEAT_DTYPE_STRING: return leat_tensor_set_string(tensor, index, string);
    default:
      return leat_make_status(LEAT_UNIMPLEMENTED,
                              "Parsing failed: dtype of a tensor in a declaration is %s, must be "
                              "float, double, an integer, bool or string",
                              leat_dtype_name(tensor->dtype));
  }
  return leat_ok_status();
}

static leat_status_t make_tensor(const tensor_text_t* text, leat_tensor_t* out_tensor) {
  static const number_text_t kZero = {.is_integer = true};
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_partial_shape_to_full(text->shape, &shape));
  LEAT_RETURN_IF_ERROR(
      leat_tensor_allocate(leat_buffer_source_host(), text->dtype, &shape, out_tensor));
  for (int64_t i = 0; i < shape.element_count; ++i) {
    // As in TensorProto, the last value stands for all elements behind it.
    int64_t from = i < text->count ? i : text->count - 1;
    leat_status_t status =
        store_element(out_tensor, i, from < 0 ? kZero : text->values[from],
                      from < 0 ? LEAT_SV("") : text->strings[from]);
    if (status) leat_tensor_release(out_tensor);
    LEAT_RETURN_IF_ERROR(status);
  }
  return leat_ok_status();
}

// |*out_count| becomes the number of elements that the text gives, as leat_attr_value_t keeps it.
static leat_status_t read_tensor(leat_attr_text_t* text, const leat_tensor_t** out_tensor,
                                 uint32_t* out_count) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(text->arena, sizeof(tensor_text_t), &memory));
  tensor_text_t* fields = memory;
  LEAT_RETURN_IF_ERROR(read_tensor_fields(text, fields));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(text->arena, sizeof(leat_tensor_t), &memory));
  LEAT_RETURN_IF_ERROR(make_tensor(fields, memory));
  *out_tensor = memory;
  *out_count = (uint32_t)fields->count;
  return leat_ok_status();
}

// ---- values -------------------------------------------------------------------------------------

static leat_status_t read_function_value(leat_attr_text_t* text, leat_attr_value_t* out_value) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(text->arena, sizeof(leat_function_name_t), &memory));
  out_value->function = memory;
  return read_function(text, memory);
}

static leat_status_t read_item(leat_attr_text_t* text, leat_attr_kind_t kind,
                               leat_attr_value_t* out_value) {
  *out_value = (leat_attr_value_t){.kind = (uint8_t)kind};
  double real = 0;
  bool ok = true;
  switch (kind) {
    case LEAT_ATTR_STRING:
      LEAT_RETURN_IF_ERROR(leat_attr_text_string(text, &ok, &out_value->s));
      break;
    case LEAT_ATTR_INT: ok = leat_attr_text_integer(text, &out_value->i); break;
    case LEAT_ATTR_FLOAT:
      ok = read_real(text, &real);
      out_value->f = (float)real;
      break;
    case LEAT_ATTR_BOOL: ok = read_bool(text, &out_value->b); break;
    case LEAT_ATTR_TYPE:
      out_value->type = leat_dtype_from_name(leat_attr_text_word(text));
      ok = out_value->type != LEAT_DTYPE_INVALID;
      break;
    case LEAT_ATTR_SHAPE: return read_shape(text, &out_value->shape);
    case LEAT_ATTR_TENSOR: return read_tensor(text, &out_value->tensor, &out_value->count);
    case LEAT_ATTR_FUNCTION: return read_function_value(text, out_value);
    default: ok = false;
  }
  return ok ? leat_ok_status() : malformed(text, leat_attr_kind_name(kind, false));
}

// Appends |item| to the list's array, which has room. The members of a value's union begin at the
// same address, so any of them names the bytes; a function is stored itself and not by pointer.
static void store_item(leat_attr_value_t* list, void* items, const leat_attr_value_t* item) {
  const void* source = &item->s;  // the union's members share this address
  if (list->kind == LEAT_ATTR_FUNCTION) source = item->function;
  size_t bytes = leat_attr_item_bytes((leat_attr_kind_t)list->kind);
  memcpy((char*)items + list->count++ * bytes, source, bytes);
}

static leat_status_t read_list(leat_attr_text_t* text, leat_attr_kind_t kind,
                               leat_attr_value_t* out_value) {
  *out_value = (leat_attr_value_t){.kind = (uint8_t)kind, .is_list = true};
  if (!leat_attr_text_take(text, "[")) return malformed(text, "a list '[...]'");
  if (leat_attr_text_take(text, "]")) return leat_ok_status();
  void* items = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(text->arena, MAX_ITEMS, leat_attr_item_bytes(kind), &items));
  out_value->items = items;
  do {
    leat_attr_value_t item;
    if (out_value->count == MAX_ITEMS) return malformed(text, "the end of a list of 256 items");
    LEAT_RETURN_IF_ERROR(read_item(text, kind, &item));
    store_item(out_value, items, &item);
  } while (leat_attr_text_take(text, ","));
  if (!leat_attr_text_take(text, "]")) return malformed(text, "',' or ']'");
  return leat_ok_status();
}

leat_status_t leat_attr_text_value(leat_attr_text_t* text, leat_attr_kind_t kind, bool is_list,
                                   leat_attr_value_t* out_value) {
  leat_status_t status = is_list ? read_list(text, kind, out_value)
                                 : read_item(text, kind, out_value);
  if (!status && text->at < text->end) status = malformed(text, "the end");
  if (status) leat_attr_value_release_tensors(out_value);
  return status;
}

void leat_attr_value_release_tensors(leat_attr_value_t* value) {
  if (value->kind != LEAT_ATTR_TENSOR) return;
  for (uint32_t i = 0; i < (value->is_list ? value->count : 1u); ++i) {
    // read_tensor allocated it, so it may be written although the value says const.
    leat_tensor_t* tensor = (leat_tensor_t*)(value->is_list ? value->tensors[i] : value->tensor);
    if (tensor) leat_tensor_release(tensor);
  }
}
