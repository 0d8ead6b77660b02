// Contracts: what an op's row says must hold of the shapes of its inputs, as a pattern
// (graph/op/shape_pattern.h) and as rules for what a pattern cannot say. They are checked before
// every run of every kernel, so that no path by which a value arrives (a feed, folding, another
// machine) goes round them, and kernels may index by what the contract guarantees. Shape inference
// refuses most violations when the graph is built, where shapes are known; this check is the one on
// which memory safety relies.
//
// A rule about an input that this node does not have (a shorter list) holds. The shape of a
// reference is that of the variable's value at this moment; a variable without a value passes, and
// fails later where it is read. The cost is one comparison a rule; messages are built only for a
// violation.
#include <stdio.h>

#include "base/string_builder.h"
#include "graph/op/shape_pattern.h"
#include "kernel/kernel.h"
#include "kernel/resource.h"

// The shape that a rule judges: borrowed from a tensor, or of a value shared from a cell.
typedef struct subject_s {
  const leat_shape_t* shape;  // NULL: there is nothing to judge
  bool is_shared;
  leat_tensor_t shared;  // set only if |is_shared|
} subject_t;

static inline void find_subject(const leat_kernel_context_t* c, int input, subject_t* out_subject) {
  out_subject->shape = NULL;
  out_subject->is_shared = false;
  if (input < 0 || input >= c->kernel->input_count) return;
  const leat_slot_t* slot = &c->slots[c->input_slots[input]];
  if (LEAT_LIKELY(!slot->ref)) {
    if (slot->tensor.dtype != 0) out_subject->shape = &slot->tensor.shape;
  } else if (leat_cell_read(slot->ref, &out_subject->shared)) {
    out_subject->is_shared = true;
    out_subject->shape = &out_subject->shared.shape;
  }
}

static inline void release_subject(subject_t* subject) {
  if (LEAT_UNLIKELY(subject->is_shared)) leat_tensor_release(&subject->shared);
}

// Dimension |index| of |shape|, from the end when negative; -1 when there is none.
static int64_t dim_of(const leat_shape_t* shape, int index) {
  LEAT_DCHECK(shape->rank >= 0 && shape->rank <= LEAT_SHAPE_MAX_RANK);
  if (index < 0) index += shape->rank;
  return index >= 0 && index < shape->rank ? leat_shape_dim(shape, index) : -1;
}

static bool holds(const leat_rule_t* rule, const leat_shape_t* a, const leat_shape_t* b) {
  switch ((leat_rule_kind_t)rule->kind) {
    case LEAT_RULE_RANK_:
      return a->rank == rule->x;
    case LEAT_RULE_RANK_AT_LEAST_:
      return a->rank >= rule->x;
    case LEAT_RULE_RANK_AT_MOST_:
      return a->rank <= rule->x;
    case LEAT_RULE_SAME_SHAPE_:
      return leat_shape_equal(a, b);
    case LEAT_RULE_SAME_DIM_:
      return dim_of(a, rule->x) >= 0 && dim_of(a, rule->x) == dim_of(b, rule->y);
    case LEAT_RULE_DIM_:
      return dim_of(a, rule->x) == rule->y;
    case LEAT_RULE_COUNT_:
      return a->element_count == rule->x;
    case LEAT_RULE_NOT_EMPTY_:
      return a->element_count > 0;
    case LEAT_RULE_END_:
      break;
  }
  return true;
}

// ---- Words --------------------------------------------------------------------------------------

// The name of flattened input |index|: "a", or "values[2]" of an argument that repeats. With one
// argument that repeats its count follows from the others; with two it does not, and the input has
// only a number.
static const char* input_name(const leat_kernel_t* kernel, int index, char* buffer, size_t size) {
  const leat_op_t* op = kernel->op;
  int repeating = 0;
  for (int i = 0; i < op->input_count; ++i) {
    repeating += op->inputs[i].number_attr >= 0 || op->inputs[i].source == LEAT_TYPE_FROM_LIST;
  }
  int begin = 0;
  for (int i = 0; i < op->input_count && repeating <= 1; ++i) {
    const leat_op_argument_t* argument = &op->inputs[i];
    bool repeats = argument->number_attr >= 0 || argument->source == LEAT_TYPE_FROM_LIST;
    int count = repeats ? kernel->input_count - (op->input_count - 1) : 1;
    if (index >= begin + count) {
      begin += count;
      continue;
    }
    if (repeats) {
      snprintf(buffer, size, "%.*s[%d]", LEAT_SV_ARG(argument->name), index - begin);
    } else {
      snprintf(buffer, size, "%.*s", LEAT_SV_ARG(argument->name));
    }
    return buffer;
  }
  snprintf(buffer, size, "%d", index);
  return buffer;
}

#define INPUT_NAME(kernel, index) input_name((kernel), (index), (char[80]){0}, 80)

// Writes what |rule| demands, in words that follow "must be".
static const char* rule_words(const leat_kernel_t* kernel, const leat_rule_t* rule,
                              const leat_shape_t* b, char* buffer, size_t size) {
  switch ((leat_rule_kind_t)rule->kind) {
    case LEAT_RULE_RANK_:
      LEAT_DCHECK(rule->x >= 0);
      if (rule->x <= 2) return (const char* const[]){"a scalar", "a vector", "a matrix"}[rule->x];
      snprintf(buffer, size, "of rank %d", rule->x);
      break;
    case LEAT_RULE_RANK_AT_LEAST_:
      snprintf(buffer, size, "of rank at least %d", rule->x);
      break;
    case LEAT_RULE_RANK_AT_MOST_:
      snprintf(buffer, size, "of rank at most %d", rule->x);
      break;
    case LEAT_RULE_SAME_SHAPE_:
      snprintf(buffer, size, "the shape of input %s, which is %s", INPUT_NAME(kernel, rule->b),
               LEAT_SHAPE_TEXT(b));
      break;
    case LEAT_RULE_SAME_DIM_:
      snprintf(buffer, size, "equal in dimension %d to dimension %d of input %s of shape %s",
               rule->x, rule->y, INPUT_NAME(kernel, rule->b), LEAT_SHAPE_TEXT(b));
      break;
    case LEAT_RULE_DIM_:
      snprintf(buffer, size, "of size %d in dimension %d", rule->y, rule->x);
      break;
    case LEAT_RULE_COUNT_:
      snprintf(buffer, size, "of %d element%s", rule->x, rule->x == 1 ? "" : "s");
      break;
    case LEAT_RULE_NOT_EMPTY_:
    case LEAT_RULE_END_:
      snprintf(buffer, size, "not empty");
      break;
  }
  return buffer;
}

static LEAT_COLD leat_status_t violation(const leat_kernel_context_t* c, const leat_rule_t* rule,
                                         const leat_shape_t* a, const leat_shape_t* b) {
  char words[512];
  return leat_kernel_invalid(c, "input %s must be %s, has shape %s",
                             INPUT_NAME(c->kernel, rule->a),
                             rule_words(c->kernel, rule, b, words, sizeof(words)),
                             LEAT_SHAPE_TEXT(a));
}

// ---- The check ----------------------------------------------------------------------------------

static leat_status_t check_rule(const leat_kernel_context_t* c, const leat_rule_t* rule) {
  bool is_binary = rule->kind == LEAT_RULE_SAME_SHAPE_ || rule->kind == LEAT_RULE_SAME_DIM_;
  subject_t a, b;
  find_subject(c, rule->a, &a);
  find_subject(c, is_binary ? rule->b : -1, &b);
  leat_status_t status = leat_ok_status();
  if (a.shape && (b.shape || !is_binary) && LEAT_UNLIKELY(!holds(rule, a.shape, b.shape))) {
    status = violation(c, rule, a.shape, b.shape);
  }
  release_subject(&a);
  release_subject(&b);
  return status;
}

// ---- Patterns -----------------------------------------------------------------------------------

// What the names and groups of a pattern stand for in the inputs that were looked at.
typedef struct bound_s {
  int64_t names[LEAT_PATTERN_MAX_NAMES];     // -1: nothing yet
  int group_ranks[LEAT_PATTERN_MAX_GROUPS];  // -1: nothing yet
  int64_t groups[LEAT_PATTERN_MAX_GROUPS][LEAT_SHAPE_MAX_RANK];
} bound_t;

// Why a shape does not fit an item: its rank, a size, or what lies between, by rank or by a size.
typedef enum misfit_e { FITS, MISFIT_RANK, MISFIT_SIZE, MISFIT_GROUP_RANK, MISFIT_GROUP } misfit_t;

static bool dim_fits(int32_t dim, int64_t size, bound_t* bound) {
  if (dim == LEAT_PATTERN_ANY) return true;
  if (dim >= 0) return size == dim;
  int64_t* name = &bound->names[LEAT_PATTERN_NAME(dim)];
  if (*name < 0) *name = size;
  return *name == size;
}

static misfit_t judge_group(int group, const int64_t* dims, int rank, bound_t* bound) {
  if (bound->group_ranks[group] < 0) {
    bound->group_ranks[group] = rank;
    for (int i = 0; i < rank; ++i) bound->groups[group][i] = dims[i];
  }
  if (bound->group_ranks[group] != rank) return MISFIT_GROUP_RANK;
  for (int i = 0; i < rank; ++i) {
    if (bound->groups[group][i] != dims[i]) return MISFIT_GROUP;
  }
  return FITS;
}

static misfit_t judge_item(const leat_shape_item_t* item, const leat_shape_t* shape,
                           bound_t* bound) {
  const int64_t* dims = leat_shape_dims(shape);
  const int between = shape->rank - item->dim_count;
  if (item->group_at < 0 ? between != 0 : between < 0) return MISFIT_RANK;
  for (int i = 0; i < item->dim_count; ++i) {
    const bool is_behind = item->group_at >= 0 && i >= item->group_at;
    if (!dim_fits(item->dims[i], dims[is_behind ? i + between : i], bound)) return MISFIT_SIZE;
  }
  if (item->group_at < 0) return FITS;
  return judge_group(item->group, dims + item->group_at, between, bound);
}

// The words of a row, with the shape of the input in the place of each '%', or its rank for "%r".
static void print_row_words(leat_string_builder_t* out, leat_string_view_t words,
                            const leat_shape_t* shape) {
  for (size_t i = 0; i < words.size; ++i) {
    if (words.data[i] != '%') {
      leat_string_builder_print(out, "%c", words.data[i]);
    } else if (i + 1 < words.size && words.data[i + 1] == 'r') {
      leat_string_builder_print(out, "%d", shape->rank);
      ++i;
    } else {
      leat_string_builder_print(out, "%s", LEAT_SHAPE_TEXT(shape));
    }
  }
}

// Whether the last two dimensions, which have one name, differ.
static bool is_not_square(const leat_shape_item_t* item, const leat_shape_t* shape) {
  const int n = item->dim_count;
  return n >= 2 && item->dims[n - 1] < 0 && item->dims[n - 1] == item->dims[n - 2] &&
         dim_of(shape, -1) != dim_of(shape, -2);
}

// Says what is wrong with input |input|, of |shape|. Of leading dimensions and of square matrices
// these are TensorFlow's words.
static void print_misfit(const leat_kernel_context_t* c, const leat_shape_item_t* item, int input,
                         const leat_shape_t* shape, misfit_t misfit, leat_string_builder_t* out) {
  const leat_string_view_t words = misfit == MISFIT_RANK ? item->rank_words : item->size_words;
  const char* text = LEAT_SHAPE_TEXT(shape);
  if (misfit == MISFIT_GROUP_RANK && item->dim_count) {
    leat_string_builder_print(out, "All input tensors must have the same rank.");
  } else if (misfit == MISFIT_GROUP && item->dim_count) {
    leat_string_builder_print(out, "All input tensors must have the same outer dimensions.");
  } else if (words.size) {
    print_row_words(out, words, shape);
  } else if (misfit == MISFIT_SIZE && is_not_square(item, shape)) {
    leat_string_builder_print(out, "Input matrix must be square.");
  } else if (misfit == MISFIT_RANK && item->group_at >= 0) {
    leat_string_builder_print(out, "Input tensor %d must have rank >= %d, got %d", input,
                              item->dim_count, shape->rank);
  } else if (misfit == MISFIT_RANK) {
    const leat_rule_t rule = {.kind = LEAT_RULE_RANK_, .x = (int16_t)item->dim_count};
    leat_string_builder_print(out, "input %s must be %s, has shape %s",
                              INPUT_NAME(c->kernel, input),
                              rule_words(c->kernel, &rule, NULL, (char[64]){0}, 64), text);
  } else {
    leat_string_builder_print(out, "input %s does not fit, it has shape %s",
                              INPUT_NAME(c->kernel, input), text);
  }
}

static LEAT_COLD leat_status_t refuse(const leat_kernel_context_t* c,
                                      const leat_shape_item_t* item, int input, misfit_t misfit) {
  enum { MOST_SHAPES = 8 };
  leat_string_builder_t words, shapes;
  leat_string_builder_initialize(leat_allocator_system(), &words);
  leat_string_builder_initialize(leat_allocator_system(), &shapes);
  for (int i = 0; i < c->kernel->input_count; ++i) {
    subject_t subject;
    find_subject(c, i, &subject);
    if (i == input && subject.shape) print_misfit(c, item, i, subject.shape, misfit, &words);
    if (i < MOST_SHAPES) {
      leat_string_builder_print(&shapes, "%s%s", i ? ", " : "",
                                subject.shape ? LEAT_SHAPE_TEXT(subject.shape) : "none");
    }
    release_subject(&subject);
  }
  const leat_string_view_t first = leat_string_builder_view(&words);
  const leat_string_view_t all = leat_string_builder_view(&shapes);
  leat_status_t status = leat_kernel_invalid(
      c, "%.*s; the shapes must be %s, those of the inputs are %.*s%s", LEAT_SV_ARG(first),
      c->kernel->shapes->text, LEAT_SV_ARG(all),
      c->kernel->input_count > MOST_SHAPES ? ", ..." : "");
  leat_string_builder_deinitialize(&words);
  leat_string_builder_deinitialize(&shapes);
  return status;
}

static leat_status_t check_pattern(const leat_kernel_context_t* c,
                                   const leat_shape_pattern_t* pattern) {
  bound_t bound;
  for (int i = 0; i < pattern->name_count; ++i) bound.names[i] = -1;
  for (int i = 0; i < pattern->group_count; ++i) bound.group_ranks[i] = -1;
  for (int i = 0; i < pattern->input_count; ++i) {
    const leat_shape_item_t* item = &pattern->inputs[i];
    const leat_argument_range_t range =
        leat_op_input_range(c->kernel->op, item->argument, c->kernel->input_count);
    for (int k = range.begin; k < range.end; ++k) {
      subject_t subject;
      find_subject(c, k, &subject);
      const misfit_t misfit = subject.shape ? judge_item(item, subject.shape, &bound) : FITS;
      release_subject(&subject);
      if (LEAT_UNLIKELY(misfit != FITS)) return refuse(c, item, k, misfit);
    }
  }
  return leat_ok_status();
}

leat_status_t leat_kernel_check_contract(const leat_kernel_context_t* c) {
  const leat_rule_t* rules = c->kernel->contract;
  if (c->kernel->shapes) LEAT_RETURN_IF_ERROR(check_pattern(c, c->kernel->shapes));
  if (!rules) return leat_ok_status();
  for (int i = 0; rules[i].kind != LEAT_RULE_END_; ++i) {
    LEAT_RETURN_IF_ERROR(check_rule(c, &rules[i]));
  }
  return leat_ok_status();
}
