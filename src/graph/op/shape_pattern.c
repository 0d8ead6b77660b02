// Reads the text of a pattern from left to right, item by item; names and groups get their numbers
// in the order in which they are met. Rows of the house are checked by tests; those of plug-ins may
// come from outside, so nothing here trusts its input.
#include "graph/op/shape_pattern.h"

#include <string.h>

#include "graph/op/attr_text.h"
#include "graph/op/op.h"

#define MAX_ITEMS 32
#define MAX_DIMS 16

typedef struct reader_s {
  leat_attr_text_t text;
  const leat_op_t* op;
  leat_arena_t* arena;
  leat_shape_pattern_t* pattern;
  bool is_output;
} reader_t;

static leat_status_t malformed(const reader_t* r, const char* rule) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Parsing the shapes of op %.*s failed: '%s' at character %d: %s",
                          LEAT_SV_ARG(r->op->name), r->pattern->text,
                          (int)(r->text.at - r->pattern->text), rule);
}

// ---- Arguments ----------------------------------------------------------------------------------

static bool repeats(const leat_op_argument_t* argument) {
  return argument->number_attr >= 0 || argument->source == LEAT_TYPE_FROM_LIST;
}

// Where one argument repeats, its length follows from those of the others.
static leat_argument_range_t range_of(const leat_op_argument_t* arguments, int count, int argument,
                                      int tensor_count) {
  int behind = -1;  // the first that repeats
  for (int i = 0; i < count && behind < 0; ++i) behind = repeats(&arguments[i]) ? i : -1;
  if (behind < 0 || argument < behind) return (leat_argument_range_t){argument, argument + 1};
  const int end = tensor_count - (count - 1 - argument);
  return (leat_argument_range_t){argument == behind ? argument : end - 1, end};
}

leat_argument_range_t leat_op_input_range(const leat_op_t* op, int argument, int tensor_count) {
  LEAT_DCHECK(argument >= 0 && argument < op->input_count);
  return range_of(op->inputs, op->input_count, argument, tensor_count);
}

leat_argument_range_t leat_op_output_range(const leat_op_t* op, int argument, int tensor_count) {
  LEAT_DCHECK(argument >= 0 && argument < op->output_count);
  return range_of(op->outputs, op->output_count, argument, tensor_count);
}

static leat_status_t find_argument(const reader_t* r, leat_string_view_t name, int* out_index) {
  const leat_op_argument_t* arguments = r->is_output ? r->op->outputs : r->op->inputs;
  const int count = r->is_output ? r->op->output_count : r->op->input_count;
  int repeating = 0;
  for (int i = 0; i < count; ++i) repeating += repeats(&arguments[i]);
  if (repeating > 1) return malformed(r, "an op with two arguments that repeat has no pattern");
  for (int i = 0; i < count; ++i) {
    if (!leat_string_view_equal(arguments[i].name, name)) continue;
    *out_index = i;
    return leat_ok_status();
  }
  return malformed(r, r->is_output ? "the name must be an output's"
                                   : "the name must be an input's");
}

// ---- Items --------------------------------------------------------------------------------------

// The number of |name| in a list, to which only inputs add.
static leat_status_t number(const reader_t* r, leat_string_view_t name, leat_string_view_t* names,
                            int most, int* inout_count, int* out_number) {
  for (int i = 0; i < *inout_count; ++i) {
    if (!leat_string_view_equal(names[i], name)) continue;
    *out_number = i;
    return leat_ok_status();
  }
  if (r->is_output) return malformed(r, "what an output has must stand in an input");
  if (*inout_count == most) return malformed(r, "there are too many names");
  *out_number = *inout_count;
  names[(*inout_count)++] = name;
  return leat_ok_status();
}

static leat_status_t read_group(reader_t* r, leat_shape_item_t* item) {
  leat_shape_pattern_t* p = r->pattern;
  if (item->group_at >= 0) return malformed(r, "a shape has one group");
  item->group_at = item->dim_count;
  return number(r, leat_attr_text_word(&r->text), p->groups, LEAT_PATTERN_MAX_GROUPS,
                &p->group_count, &item->group);
}

static leat_status_t read_dim(reader_t* r, int32_t* out_dim) {
  leat_shape_pattern_t* p = r->pattern;
  const leat_attr_text_t before = r->text;
  int64_t size;
  int named = 0;
  if (leat_attr_text_integer(&r->text, &size)) {
    if (size < 0 || size > INT32_MAX) return malformed(r, "a size must be 0 to 2^31 - 1");
    *out_dim = (int32_t)size;
    return leat_ok_status();
  }
  r->text = before;
  const leat_string_view_t name = leat_attr_text_word(&r->text);
  if (!name.size) return malformed(r, "a size, a name, '_' or '...' must stand here");
  if (leat_string_view_equals(name, "_")) {
    *out_dim = LEAT_PATTERN_ANY;
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(
      number(r, name, p->names, LEAT_PATTERN_MAX_NAMES, &p->name_count, &named));
  *out_dim = LEAT_PATTERN_NAME(named);
  return leat_ok_status();
}

static leat_status_t read_item(reader_t* r, leat_shape_item_t* out_item) {
  int32_t dims[MAX_DIMS];
  *out_item = (leat_shape_item_t){.group_at = -1};
  LEAT_RETURN_IF_ERROR(find_argument(r, leat_attr_text_word(&r->text), &out_item->argument));
  if (!leat_attr_text_take(&r->text, "[")) return malformed(r, "'[' must stand here");
  for (bool goes_on = !leat_attr_text_take(&r->text, "]"); goes_on;) {
    if (leat_attr_text_take(&r->text, "...")) {
      LEAT_RETURN_IF_ERROR(read_group(r, out_item));
    } else {
      if (out_item->dim_count == MAX_DIMS) return malformed(r, "there are too many dimensions");
      LEAT_RETURN_IF_ERROR(read_dim(r, &dims[out_item->dim_count++]));
    }
    goes_on = leat_attr_text_take(&r->text, ",");
    if (!goes_on && !leat_attr_text_take(&r->text, "]")) {
      return malformed(r, "',' or ']' must stand here");
    }
  }
  int32_t* copy;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(r->arena, (size_t)out_item->dim_count + 1, &copy));
  memcpy(copy, dims, (size_t)out_item->dim_count * sizeof *copy);
  out_item->dims = copy;
  return leat_ok_status();
}

// Reads items up to the arrow, or, of the outputs, up to the end of the text.
static leat_status_t read_items(reader_t* r, leat_shape_item_t** out_items, int* out_count) {
  leat_shape_item_t items[MAX_ITEMS], *copy;
  int count = 0;
  while (r->text.at < r->text.end && (r->is_output || !leat_attr_text_take(&r->text, "->"))) {
    if (count == MAX_ITEMS) return malformed(r, "there are too many items");
    LEAT_RETURN_IF_ERROR(read_item(r, &items[count++]));
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(r->arena, (size_t)count + 1, &copy));
  memcpy(copy, items, (size_t)count * sizeof *copy);
  *out_items = copy;
  *out_count = count;
  return leat_ok_status();
}

// ---- Words of errors ----------------------------------------------------------------------------

// Takes |*rest| up to the first |separator|, without the space around, and leaves what follows.
static leat_string_view_t take_until(leat_string_view_t* rest, char separator) {
  const size_t at = leat_string_view_find(*rest, separator);
  const bool is_found = at < rest->size;
  const leat_string_view_t taken = is_found ? leat_string_view_make(rest->data, at) : *rest;
  *rest = leat_string_view_from_index(*rest, is_found ? at + 1 : rest->size);
  return leat_string_view_trim(taken);
}

static leat_status_t read_misfits(const char* misfits, const leat_op_t* op,
                                  leat_shape_pattern_t* p) {
  leat_string_view_t rest = leat_string_view_from(misfits);
  while (rest.size) {
    leat_string_view_t entry = take_until(&rest, ';');
    const leat_string_view_t name = take_until(&entry, ':');
    leat_shape_item_t* item = NULL;
    for (int i = 0; i < p->input_count; ++i) {
      const leat_string_view_t input = op->inputs[p->inputs[i].argument].name;
      if (leat_string_view_equal(input, name)) item = &p->inputs[i];
    }
    if (!item || !entry.size) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Parsing the misfits of op %.*s failed: '%.*s' must be an input of "
                              "the pattern '%s', with words behind a ':'", LEAT_SV_ARG(op->name),
                              LEAT_SV_ARG(name), p->text);
    }
    item->rank_words = take_until(&entry, '|');
    item->size_words = leat_string_view_trim(entry);
  }
  return leat_ok_status();
}

leat_status_t leat_shape_pattern_parse(const char* shapes, const char* misfits,
                                       const leat_op_t* op, leat_arena_t* arena,
                                       const leat_shape_pattern_t** out_pattern) {
  leat_shape_pattern_t* p;
  leat_shape_item_t* outputs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &p));
  p->text = shapes;
  reader_t r = {.text = {shapes, shapes + strlen(shapes), arena}, .op = op, .arena = arena,
                .pattern = p};
  leat_attr_text_skip_space(&r.text);
  LEAT_RETURN_IF_ERROR(read_items(&r, &p->inputs, &p->input_count));
  r.is_output = true;
  LEAT_RETURN_IF_ERROR(read_items(&r, &outputs, &p->output_count));
  p->outputs = outputs;
  if (misfits) LEAT_RETURN_IF_ERROR(read_misfits(misfits, op, p));
  *out_pattern = p;
  return leat_ok_status();
}
