// Parses the mini-language in which rows declare attributes, inputs and outputs. It is the language
// of TensorFlow's REGISTER_OP, with ';' between the declarations of one text instead of one call
// each:
//
//   attributes   N: int >= 1 = 2;  T: {float, int32};  l: list(int) >= 4 = [1, 2];  s: string = 'x'
//   arguments    x: T;  x: N * T;  x: Tlist;  x: Ref(T);  x: float
//
//   attribute = name ':' type [ '>=' minimum ] [ '=' default ]
//   type      = kind | set | word | 'list(' type ')'      set = '{' value { ',' value } '}'
//   argument  = name ':' [ 'Ref(' ] [ count '*' ] type [ ')' ]
//
// A text is first cut at every ';' outside quotes and braces, then each declaration is read by
// recursive descent with the primitives of graph/op/attr_text.h. Attributes are read before
// arguments, because arguments name them: a type, a list of types, or a count. Two things follow
// from arguments, as in TensorFlow: an attribute that counts tensors has the minimum 1 unless it
// declares another one, and an argument of type resource makes the op stateful. Errors are
// INVALID_ARGUMENT and quote the declaration. Rows of the house are checked by tests; those of
// plugins and of functions in a graph (which graph/function/function_library.c prints in this
// language) come from outside, so nothing here trusts its input.
#include <ctype.h>

#include "graph/op/attr_text.h"
#include "graph/op/op.h"
#include "graph/op/shape_pattern.h"

#define MAX_ALLOWED 64  // values in one set; more is an error

typedef struct op_reader_s {
  const leat_op_row_t* row;
  leat_arena_t* arena;
  leat_op_t* op;
  leat_op_attr_t* attrs;  // op->attrs, writable while the op is made
} op_reader_t;

// The declaration that begins at |*inout_at|, trimmed and without its ';'. |*inout_at| moves behind
// the ';'.
static leat_string_view_t next_declaration(const char** inout_at) {
  const char* begin = *inout_at;
  const char* at = begin;
  char quote = 0;
  int depth = 0;
  for (; *at && (quote || depth > 0 || *at != ';'); ++at) {
    if (quote) {
      if (*at == '\\' && at[1]) ++at;
      else if (*at == quote) quote = 0;
    } else if (*at == '\'' || *at == '"') {
      quote = *at;
    } else {
      depth += (*at == '{') - (*at == '}');
    }
  }
  *inout_at = *at ? at + 1 : at;
  return leat_string_view_trim(leat_string_view_make(begin, (size_t)(at - begin)));
}

// An upper bound of the number of declarations in |text|. Counting every ';' is enough, since one
// in quotes is rare and only costs room in the arena.
static size_t most_declarations(const char* text) {
  size_t count = text != NULL;
  while (text && (text = strchr(text, ';'))) ++text, ++count;
  return count;
}

// A name may hold '/', '.' and '-' because old graphs name the arguments of functions after nodes:
// "layer/Mul_1".
static bool is_name_char(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '/' || c == '.' || c == '-';
}

// Reads "<name>:"; the name must begin with a letter.
static leat_status_t read_name(leat_attr_text_t* text, leat_string_view_t* out_name) {
  const char* begin = text->at;
  while (text->at < text->end && is_name_char(*text->at)) ++text->at;
  *out_name = leat_string_view_make(begin, (size_t)(text->at - begin));
  leat_attr_text_skip_space(text);
  if (out_name->size == 0 || !isalpha((unsigned char)out_name->data[0]) ||
      !leat_attr_text_take(text, ":")) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Parsing failed: text must be '<name>:'");
  }
  return leat_ok_status();
}

// ---- attributes ---------------------------------------------------------------------------------

// The values that one declaration allows, in the order in which they are written: types or strings,
// not both.
typedef struct allowed_s {
  uint8_t types[MAX_ALLOWED];
  leat_string_view_t strings[MAX_ALLOWED];
  int type_count, string_count;
} allowed_t;

static bool add_types(allowed_t* allowed, leat_dtype_set_t set) {
  for (int dtype = 1; dtype < LEAT_DTYPE_COUNT; ++dtype) {
    if (!leat_dtype_in(dtype, set)) continue;
    if (allowed->type_count == MAX_ALLOWED) return false;
    allowed->types[allowed->type_count++] = (uint8_t)dtype;
  }
  return true;
}

// Adds the types that |word| stands for: one of TensorFlow's names for sets ("numbertype", ...) or
// one type. False when |word| is neither, or the set is full.
static bool add_type_word(allowed_t* allowed, leat_string_view_t word) {
  if (leat_string_view_equals(word, "numbertype") || leat_string_view_equals(word, "numerictype")) {
    return add_types(allowed, LEAT_DTYPES_NUMBER | LEAT_DTYPES_QUANTIZED);
  }
  if (leat_string_view_equals(word, "realnumbertype") ||
      leat_string_view_equals(word, "realnumerictype")) {
    return add_types(allowed, LEAT_DTYPES_REAL);
  }
  if (leat_string_view_equals(word, "quantizedtype")) {
    return add_types(allowed, LEAT_DTYPES_QUANTIZED);
  }
  leat_dtype_t dtype = leat_dtype_from_name(word);
  if (dtype == LEAT_DTYPE_INVALID || leat_dtype_is_ref(dtype)) return false;
  if (allowed->type_count == MAX_ALLOWED) return false;
  allowed->types[allowed->type_count++] = (uint8_t)dtype;
  return true;
}

static leat_status_t read_allowed_item(leat_attr_text_t* text, allowed_t* allowed) {
  bool is_string = false;
  leat_string_view_t string;
  LEAT_RETURN_IF_ERROR(leat_attr_text_string(text, &is_string, &string));
  if (is_string && allowed->type_count == 0 && allowed->string_count < MAX_ALLOWED) {
    allowed->strings[allowed->string_count++] = string;
    return leat_ok_status();
  }
  leat_string_view_t word = is_string ? LEAT_SV("") : leat_attr_text_word(text);
  if (allowed->string_count == 0 && add_type_word(allowed, word)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Parsing failed: allowed value is '%.*s', must be a type or string",
                          LEAT_SV_ARG(word));
}

// Reads the values of a set whose '{' has been taken, and its '}'. A comma may stand before the
// '}'.
static leat_status_t read_allowed(leat_attr_text_t* text, allowed_t* allowed) {
  do {
    if (leat_attr_text_take(text, "}")) return leat_ok_status();
    LEAT_RETURN_IF_ERROR(read_allowed_item(text, allowed));
  } while (leat_attr_text_take(text, ","));
  if (leat_attr_text_take(text, "}")) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Parsing failed: text after an allowed value must be ',' or '}'");
}

static leat_status_t store_allowed(op_reader_t* r, const allowed_t* allowed, leat_op_attr_t* attr) {
  void* memory = NULL;
  if (allowed->type_count > 0) {
    LEAT_RETURN_IF_ERROR(leat_arena_allocate(r->arena, (size_t)allowed->type_count, &memory));
    attr->allowed_type_list = memcpy(memory, allowed->types, (size_t)allowed->type_count);
    attr->allowed_type_count = allowed->type_count;
    for (int i = 0; i < allowed->type_count; ++i) {
      attr->allowed_types |= UINT64_C(1) << allowed->types[i];
    }
  }
  if (allowed->string_count > 0) {
    size_t bytes = (size_t)allowed->string_count * sizeof(leat_string_view_t);
    LEAT_RETURN_IF_ERROR(leat_arena_allocate(r->arena, bytes, &memory));
    attr->allowed_strings = memcpy(memory, allowed->strings, bytes);
    attr->allowed_string_count = allowed->string_count;
  }
  return leat_ok_status();
}

// The kind whose name |word| is ("int", "func", ...), or NONE.
static leat_attr_kind_t kind_of_word(leat_string_view_t word) {
  for (int kind = LEAT_ATTR_STRING; kind <= LEAT_ATTR_FUNCTION; ++kind) {
    if (leat_string_view_equals(word, leat_attr_kind_name((leat_attr_kind_t)kind, false))) {
      return (leat_attr_kind_t)kind;
    }
  }
  return LEAT_ATTR_NONE;
}

// Reads the type of an attribute: a kind, a set of types or strings in braces, or a name for a set
// of types; each perhaps in "list(...)".
static leat_status_t read_attr_type(leat_attr_text_t* text, allowed_t* allowed,
                                    leat_op_attr_t* attr) {
  leat_attr_text_t before = *text;
  attr->is_list = leat_attr_text_take(text, "list") && leat_attr_text_take(text, "(");
  if (!attr->is_list) *text = before;
  if (leat_attr_text_take(text, "{")) {
    LEAT_RETURN_IF_ERROR(read_allowed(text, allowed));
    attr->kind = allowed->string_count > 0 ? LEAT_ATTR_STRING : LEAT_ATTR_TYPE;
  } else {
    leat_string_view_t word = leat_attr_text_word(text);
    attr->kind = kind_of_word(word);
    if (attr->kind == LEAT_ATTR_NONE && leat_dtype_from_name(word) == LEAT_DTYPE_INVALID &&
        add_type_word(allowed, word)) {
      attr->kind = LEAT_ATTR_TYPE;
    }
    if (attr->kind == LEAT_ATTR_NONE) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Parsing failed: type is '%.*s', must be string, int, float, bool, "
                              "type, shape, tensor, func or a set of values",
                              LEAT_SV_ARG(word));
    }
  }
  if (attr->is_list && !leat_attr_text_take(text, ")")) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Parsing failed: 'list(' must be closed by ')'");
  }
  return leat_ok_status();
}

// Reads one attribute. The default is checked against the limits that stand before it.
static leat_status_t read_attr(op_reader_t* r, leat_attr_text_t* text, leat_op_attr_t* attr) {
  allowed_t allowed = {.type_count = 0};
  LEAT_RETURN_IF_ERROR(read_name(text, &attr->name));
  LEAT_RETURN_IF_ERROR(read_attr_type(text, &allowed, attr));
  LEAT_RETURN_IF_ERROR(store_allowed(r, &allowed, attr));
  if (leat_attr_text_take(text, ">=")) {
    attr->has_minimum = true;
    if (!(attr->is_list || attr->kind == LEAT_ATTR_INT) ||
        !leat_attr_text_integer(text, &attr->minimum)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Parsing failed: text after '>=' must be an integer, of an int or a "
                              "list");
    }
  }
  if (leat_attr_text_take(text, "=")) {
    LEAT_RETURN_IF_ERROR(
        leat_attr_text_value(text, attr->kind, attr->is_list, &attr->default_value));
    attr->has_default = true;
    return leat_op_attr_check(attr, &attr->default_value);
  }
  return leat_ok_status();
}

// ---- arguments ----------------------------------------------------------------------------------

// An attribute that counts tensors, or lists their types, has the minimum 1 unless it declares one.
static void default_minimum(leat_op_attr_t* attr) {
  if (attr->has_minimum) return;
  attr->has_minimum = true;
  attr->minimum = 1;
}

// |word| is a type, or an attribute of type 'type' or 'list(type)'.
static leat_status_t read_argument_type(op_reader_t* r, leat_string_view_t word,
                                        leat_op_argument_t* argument) {
  leat_dtype_t dtype = leat_dtype_from_name(word);
  if (dtype != LEAT_DTYPE_INVALID) {
    argument->source = LEAT_TYPE_FIXED;
    argument->dtype = dtype;
    if (dtype == LEAT_DTYPE_RESOURCE) r->op->flags |= LEAT_OP_STATEFUL;
    return leat_ok_status();
  }
  argument->type_attr = leat_op_find_attr(r->op, word);
  leat_op_attr_t* attr = argument->type_attr < 0 ? NULL : &r->attrs[argument->type_attr];
  if (!attr || attr->kind != LEAT_ATTR_TYPE) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Parsing failed: type is '%.*s', must be a type or an attribute of "
                            "type 'type' or 'list(type)'",
                            LEAT_SV_ARG(word));
  }
  argument->source = attr->is_list ? LEAT_TYPE_FROM_LIST : LEAT_TYPE_FROM_ATTR;
  if (attr->is_list && argument->number_attr < 0) default_minimum(attr);
  return leat_ok_status();
}

static leat_status_t read_argument(op_reader_t* r, leat_attr_text_t* text,
                                   leat_op_argument_t* argument) {
  *argument = (leat_op_argument_t){.type_attr = -1, .number_attr = -1};
  LEAT_RETURN_IF_ERROR(read_name(text, &argument->name));
  leat_attr_text_t before = *text;
  argument->is_ref = leat_attr_text_take(text, "Ref") && leat_attr_text_take(text, "(");
  if (!argument->is_ref) *text = before;
  leat_string_view_t word = leat_attr_text_word(text);
  if (leat_attr_text_take(text, "*")) {
    argument->number_attr = leat_op_find_attr(r->op, word);
    leat_op_attr_t* number =
        argument->number_attr < 0 ? NULL : &r->attrs[argument->number_attr];
    if (!number || number->kind != LEAT_ATTR_INT || number->is_list) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Parsing failed: count is '%.*s', must be an attribute of type int",
                              LEAT_SV_ARG(word));
    }
    default_minimum(number);
    word = leat_attr_text_word(text);
  }
  LEAT_RETURN_IF_ERROR(read_argument_type(r, word, argument));
  if (argument->is_ref && !leat_attr_text_take(text, ")")) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Parsing failed: 'Ref(' must be closed by ')'");
  }
  return leat_ok_status();
}

// ---- the row ------------------------------------------------------------------------------------

static leat_status_t annotate(const op_reader_t* r, const char* what, leat_string_view_t text,
                              leat_status_t status) {
  return leat_status_annotate(status, "Declaring op '%s' failed: %s is \"%.*s\"", r->row->name,
                              what, LEAT_SV_ARG(text));
}

static leat_status_t at_end(const leat_attr_text_t* text) {
  if (text->at == text->end) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Parsing failed: '%.*s' is left at the end",
                          (int)(text->end - text->at), text->at);
}

static leat_attr_text_t text_of(const op_reader_t* r, leat_string_view_t declaration) {
  return (leat_attr_text_t){declaration.data, declaration.data + declaration.size, r->arena};
}

static leat_status_t read_attrs(op_reader_t* r, const char* source) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(r->arena, most_declarations(source),
                                                 sizeof(leat_op_attr_t), &memory));
  r->op->attrs = r->attrs = memory;
  while (source && *source) {
    leat_string_view_t declaration = next_declaration(&source);
    if (declaration.size == 0) continue;
    leat_attr_text_t text = text_of(r, declaration);
    leat_op_attr_t attr = {.kind = LEAT_ATTR_NONE};
    leat_status_t status = read_attr(r, &text, &attr);
    if (!status) status = at_end(&text);
    if (!status && leat_op_find_attr(r->op, attr.name) >= 0) {
      status = leat_make_status(LEAT_INVALID_ARGUMENT, "Parsing failed: name must be new");
    }
    if (status && attr.has_default) leat_attr_value_release_tensors(&attr.default_value);
    if (status) return annotate(r, "attribute", declaration, status);
    r->attrs[r->op->attr_count++] = attr;
  }
  return leat_ok_status();
}

static leat_status_t read_arguments(op_reader_t* r, const char* source, const char* what,
                                    const leat_op_argument_t** out_arguments, int* out_count,
                                    bool* out_has_refs) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(r->arena, most_declarations(source),
                                                 sizeof(leat_op_argument_t), &memory));
  leat_op_argument_t* arguments = memory;
  *out_arguments = arguments;
  while (source && *source) {
    leat_string_view_t declaration = next_declaration(&source);
    if (declaration.size == 0) continue;
    leat_attr_text_t text = text_of(r, declaration);
    leat_op_argument_t* argument = &arguments[*out_count];
    leat_status_t status = read_argument(r, &text, argument);
    if (!status) status = at_end(&text);
    if (status) return annotate(r, what, declaration, status);
    *out_has_refs |= argument->is_ref;
    ++*out_count;
  }
  return leat_ok_status();
}

leat_status_t leat_op_parse(const leat_op_row_t* row, leat_arena_t* arena, leat_op_t** out_op) {
  *out_op = NULL;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, sizeof(leat_op_t), &memory));
  leat_op_t* op = memory;
  op->row = row;
  op->name = leat_string_view_from(row->name);
  op->flags = row->flags;
  op_reader_t r = {.row = row, .arena = arena, .op = op};
  leat_status_t status = read_attrs(&r, row->attrs);
  op->dtype_attr = leat_op_find_attr(op, LEAT_SV("dtype"));
  op->shape_attr = leat_op_find_attr(op, LEAT_SV("shape"));
  if (!status) {
    status = read_arguments(&r, row->inputs, "input", &op->inputs, &op->input_count,
                            &op->has_ref_inputs);
  }
  if (!status) {
    status = read_arguments(&r, row->outputs, "output", &op->outputs, &op->output_count,
                            &op->has_ref_outputs);
  }
  if (!status && row->shapes) {
    status = leat_shape_pattern_parse(row->shapes, row->misfits, op, arena, &op->shapes);
  }
  if (status) {
    leat_op_release_defaults(op);
    return status;
  }
  *out_op = op;
  return leat_ok_status();
}

// ---- aliases ------------------------------------------------------------------------------------

// Whether |name| is one of the words of |words|.
static bool is_among(const char* words, leat_string_view_t name) {
  leat_attr_text_t text = {words, words + strlen(words), NULL};
  while (text.at < text.end) {
    if (leat_string_view_equal(leat_attr_text_word(&text), name)) return true;
    leat_attr_text_skip_space(&text);
  }
  return false;
}

// Copies the declarations of |attrs|, apart from those of the attributes in |without|.
static leat_status_t copy_attrs_without(const char* attrs, const char* without,
                                        leat_arena_t* arena, const char** out_attrs) {
  char* copy;
  size_t size = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, strlen(attrs) + 2, &copy));
  while (*attrs) {
    leat_string_view_t declaration = next_declaration(&attrs), name;
    leat_attr_text_t text = {declaration.data, declaration.data + declaration.size, arena};
    LEAT_RETURN_IF_ERROR(read_name(&text, &name));
    if (is_among(without, name)) continue;
    memcpy(copy + size, declaration.data, declaration.size);
    copy[size + declaration.size] = ';';
    size += declaration.size + 1;
  }
  *out_attrs = copy;
  return leat_ok_status();
}

leat_status_t leat_op_row_complete(const leat_op_row_t* alias, const leat_op_row_t* row,
                                   leat_arena_t* arena, const leat_op_row_t** out_row) {
  leat_op_row_t* whole;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &whole));
  *whole = *row;
  whole->name = alias->name;
  whole->doc = alias->doc;
  *out_row = whole;
  if (!alias->without) return leat_ok_status();
  return copy_attrs_without(row->attrs, alias->without, arena, &whole->attrs);
}

void leat_op_release_defaults(leat_op_t* op) {
  for (int i = 0; i < op->attr_count; ++i) {
    leat_attr_value_t value = op->attrs[i].default_value;
    if (op->attrs[i].has_default) leat_attr_value_release_tensors(&value);
  }
}
