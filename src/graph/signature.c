// Resolves a node against its op. An attribute gets its value from the first of three sources that
// has one: the spec, the inputs (types, and how many there are), the op's default; an attribute
// with none is an error. Then the inputs are held against the arguments, and the types of the
// outputs follow.
//
//   MatMul(a: T, b: T) -> T  with inputs float, float:  T = float; the rest are defaults
//
// A count can be inferred when one count alone is unknown: with "x: N * T; y: float" and 5 inputs,
// 5 = 1 + 1 * N. With two unknown counts nothing follows, and the attributes are reported as
// missing.
//
// Nodes of one op mostly have equal attributes, so the finished array is compared with the last one
// of that op and shared when the bytes are equal; likewise the types of nodes with one output come
// from a table that all graphs share. In a graph of a million nodes this saves most of the memory.
// Attributes whose value a call of the surrounding function will give (placeholders) are accepted
// where no argument depends on them.
#include "graph/signature.h"

#include "graph/storage.h"

#define MAX_OUTPUTS (1 << 20)  // of one node; a file decides the number
#define SCRATCH_ATTRS 16       // attributes that are put together on the stack

// One node while it is resolved.
typedef struct resolver_s {
  leat_graph_t* graph;
  const leat_node_spec_t* spec;
  const leat_op_t* op;
  leat_attr_t* attrs;
} resolver_t;

// Whether an attribute has no value yet. An empty list of unknown kind has one.
static bool is_missing(const leat_attr_t* attr) {
  return attr->value.kind == LEAT_ATTR_NONE && !attr->value.is_list;
}

static inline int64_t count_of(const leat_op_argument_t* argument, const leat_attr_t* attrs) {
  LEAT_DCHECK(argument->number_attr < 0 || !attrs[argument->number_attr].value.is_list);
  if (argument->number_attr >= 0) return attrs[argument->number_attr].value.i;
  if (argument->source == LEAT_TYPE_FROM_LIST) return attrs[argument->type_attr].value.count;
  return 1;
}

static inline int type_of(const leat_op_argument_t* argument, const leat_attr_t* attrs,
                          int64_t index) {
  LEAT_DCHECK(index >= 0 && index < count_of(argument, attrs));
  int dtype = argument->dtype;
  if (argument->source == LEAT_TYPE_FROM_ATTR) dtype = attrs[argument->type_attr].value.type;
  if (argument->source == LEAT_TYPE_FROM_LIST) {
    dtype = attrs[argument->type_attr].value.types[index];
  }
  return argument->is_ref ? (int)leat_dtype_make_ref(dtype) : dtype;
}

int64_t leat_signature_argument_count(const leat_op_argument_t* argument,
                                      const leat_attr_t* attrs) {
  return count_of(argument, attrs);
}

int leat_signature_argument_type(const leat_op_argument_t* argument, const leat_attr_t* attrs,
                                 int64_t index) {
  return type_of(argument, attrs, index);
}

static leat_status_t annotate(const resolver_t* r, leat_status_t status) {
  return leat_status_annotate(status, "Adding node '%.*s' (%.*s) failed",
                              LEAT_SV_ARG(r->spec->name), LEAT_SV_ARG(r->op->name));
}

// ---- attributes given ---------------------------------------------------------------------------

// An empty list from a file has no kind; the declaration tells it.
static void learn_kind(const leat_op_attr_t* declared, leat_attr_value_t* value) {
  if (declared->is_list && value->kind == LEAT_ATTR_NONE) {
    *value = (leat_attr_value_t){.is_list = true};
  }
  // leat_op_attr_check has refused a list for a single value and the converse.
  LEAT_DCHECK(declared->is_list == value->is_list);
  if (value->is_list) value->kind = (uint8_t)declared->kind;
}

// Copies a given attribute, the op's at |index| or, for -1, one that it does not declare.
static leat_status_t store_attr(resolver_t* r, const leat_attr_t* attr, int index,
                                leat_attr_t* target) {
  if (r->spec->borrow_storage) {
    target->value = attr->value;
  } else {
    LEAT_RETURN_IF_ERROR(
        leat_graph_storage_copy_value(r->graph->storage, &attr->value, &target->value));
  }
  if (index >= 0) {
    learn_kind(&r->op->attrs[index], &target->value);
    return leat_ok_status();
  }
  if (r->spec->borrow_storage) {
    target->name = attr->name;
    return leat_ok_status();
  }
  return leat_graph_storage_copy_attr_name(r->graph->storage, attr->name, &target->name);
}

// Whether declared attribute |index| may be a placeholder, whose value each call of the function
// gives: a number, truth value or text on which no argument depends.
static bool may_wait(const leat_op_t* op, int index) {
  const leat_op_attr_t* attr = &op->attrs[index];
  if (attr->is_list) return false;
  for (int i = 0; i < op->input_count + op->output_count; ++i) {
    const leat_op_argument_t* argument =
        i < op->input_count ? &op->inputs[i] : &op->outputs[i - op->input_count];
    if (argument->number_attr == index) return false;
  }
  return attr->kind == LEAT_ATTR_INT || attr->kind == LEAT_ATTR_FLOAT ||
         attr->kind == LEAT_ATTR_BOOL || attr->kind == LEAT_ATTR_STRING;
}

static leat_status_t check_given(const resolver_t* r, int index, const leat_attr_value_t* value) {
  bool waits = value->kind == LEAT_ATTR_PLACEHOLDER && !value->is_list && may_wait(r->op, index);
  if (LEAT_LIKELY(!waits)) return leat_op_attr_check(&r->op->attrs[index], value);
  r->graph->has_placeholders = true;
  return leat_ok_status();
}

// Takes the attributes of the spec. Those that the op does not declare are kept and mean nothing to
// it, as in TensorFlow, because a newer producer may have written them.
static leat_status_t take_given(resolver_t* r, int* out_count) {
  int count = r->op->attr_count;
  for (int i = 0; i < r->spec->attr_count; ++i) {
    const leat_attr_t* attr = &r->spec->attrs[i];
    int index = leat_op_find_attr(r->op, attr->name);
    if (index >= 0) LEAT_RETURN_IF_ERROR(check_given(r, index, &attr->value));
    leat_attr_t* target = &r->attrs[index >= 0 ? index : count++];
    LEAT_RETURN_IF_ERROR(store_attr(r, attr, index, target));
  }
  *out_count = count;
  return leat_ok_status();
}

// ---- attributes from inputs ---------------------------------------------------------------------

// The attribute that says how many tensors |argument| stands for; -1 when it is always one.
static int length_attr(const leat_op_argument_t* argument) {
  if (argument->number_attr >= 0) return argument->number_attr;
  return argument->source == LEAT_TYPE_FROM_LIST ? argument->type_attr : -1;
}

// Solves count of inputs = known + uses * length for the one attribute whose length is not known. A
// list of types gets its length through |*out_list_attr| and |*out_list_length|, since its items
// come from the inputs.
static leat_status_t infer_length(resolver_t* r, int* out_list_attr, int64_t* out_list_length) {
  int unknown = -1;
  int64_t known = 0, uses = 0;
  for (int i = 0; i < r->op->input_count; ++i) {
    int attr = length_attr(&r->op->inputs[i]);
    if (attr < 0 || !is_missing(&r->attrs[attr])) {
      known += leat_signature_argument_count(&r->op->inputs[i], r->attrs);
    } else if (unknown < 0 || unknown == attr) {
      unknown = attr;
      ++uses;
    } else {
      return leat_ok_status();  // two unknowns: the attributes stay missing
    }
  }
  if (unknown < 0) return leat_ok_status();
  LEAT_DCHECK(uses > 0);
  int64_t left = r->spec->input_count - known;
  if (left < 0 || left % uses != 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "input count is %d, must be %lld and a multiple of %lld for %s",
                            r->spec->input_count, (long long)known, (long long)uses,
                            LEAT_OP_TEXT(r->op));
  }
  if (r->op->attrs[unknown].is_list) {
    *out_list_attr = unknown;
    *out_list_length = left / uses;
    return leat_ok_status();
  }
  r->attrs[unknown].value = (leat_attr_value_t){.kind = LEAT_ATTR_INT, .i = left / uses};
  return leat_op_attr_check(&r->op->attrs[unknown], &r->attrs[unknown].value);
}

// The type of input |index| without the mark of a reference; INVALID for an open input.
static int input_base_type(const resolver_t* r, int64_t index) {
  leat_output_t input = r->spec->inputs[index];
  if (!leat_output_exists(input)) return LEAT_DTYPE_INVALID;
  return leat_dtype_base(leat_graph_output_type(r->graph, input));
}

// The types of inputs |begin| to |begin| + |length| become the list attribute |attr|.
static leat_status_t infer_list(resolver_t* r, int attr, int64_t begin, int64_t length) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&r->graph->storage->arena, (size_t)length,
                                                 sizeof(int32_t), &memory));
  int32_t* types = memory;
  for (int64_t i = 0; i < length; ++i) types[i] = input_base_type(r, begin + i);
  r->attrs[attr].value = (leat_attr_value_t){
      .kind = LEAT_ATTR_TYPE, .is_list = true, .count = (uint32_t)length, .types = types};
  return leat_op_attr_check(&r->op->attrs[attr], &r->attrs[attr].value);
}

// The first type among the inputs becomes the attribute |attr|; check_inputs compares the rest.
static leat_status_t infer_type(resolver_t* r, int attr, int64_t begin, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    int dtype = input_base_type(r, begin + i);
    if (dtype == LEAT_DTYPE_INVALID) continue;
    r->attrs[attr].value = (leat_attr_value_t){.kind = LEAT_ATTR_TYPE, .type = dtype};
    return leat_op_attr_check(&r->op->attrs[attr], &r->attrs[attr].value);
  }
  return leat_ok_status();
}

// Infers the missing types from the inputs. It stops where a count is missing, because the
// positions of all later arguments depend on it.
static leat_status_t infer_from_inputs(resolver_t* r) {
  int list_attr = -1;
  int64_t list_length = 0, begin = 0;
  LEAT_RETURN_IF_ERROR(infer_length(r, &list_attr, &list_length));
  for (int i = 0; i < r->op->input_count; ++i) {
    const leat_op_argument_t* argument = &r->op->inputs[i];
    int attr = argument->type_attr;
    int length = length_attr(argument);
    bool is_unknown = length >= 0 && is_missing(&r->attrs[length]);
    bool is_inferred = is_unknown && length == list_attr;
    if (is_unknown && !is_inferred) return leat_ok_status();
    int64_t count =
        is_inferred ? list_length : leat_signature_argument_count(argument, r->attrs);
    if (count < 0 || begin + count > r->spec->input_count) return leat_ok_status();
    if (attr >= 0 && is_missing(&r->attrs[attr])) {
      LEAT_RETURN_IF_ERROR(argument->source == LEAT_TYPE_FROM_LIST
                               ? infer_list(r, attr, begin, count)
                               : infer_type(r, attr, begin, count));
    }
    begin += count;
  }
  return leat_ok_status();
}

// ---- defaults -----------------------------------------------------------------------------------

static leat_status_t take_default(resolver_t* r, int index) {
  const leat_op_attr_t* declared = &r->op->attrs[index];
  r->attrs[index].value = declared->default_value;
  if (LEAT_LIKELY(declared->has_default)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "NodeDef missing attr '%.*s' from %s",
                          LEAT_SV_ARG(declared->name), LEAT_OP_TEXT(r->op));
}

static leat_status_t take_defaults(resolver_t* r) {
  for (int i = 0; i < r->op->attr_count; ++i) {
    r->attrs[i].name = r->op->attrs[i].name;
    if (is_missing(&r->attrs[i])) LEAT_RETURN_IF_ERROR(take_default(r, i));
  }
  return leat_ok_status();
}

// Completes attributes that the importer put in their places: see |placed_attrs|.
static leat_status_t check_placed(resolver_t* r) {
  for (int i = 0; i < r->op->attr_count; ++i) {
    leat_attr_t* attr = &r->attrs[i];
    if (attr->name.data) {
      LEAT_RETURN_IF_ERROR(check_given(r, i, &attr->value));
      learn_kind(&r->op->attrs[i], &attr->value);
    } else {
      LEAT_RETURN_IF_ERROR(take_default(r, i));
    }
    attr->name = r->op->attrs[i].name;
  }
  return leat_ok_status();
}

static leat_status_t complete_attrs(resolver_t* r, int* out_count) {
  LEAT_RETURN_IF_ERROR(take_given(r, out_count));
  if (r->spec->infer_attrs && r->op->input_count > 0) LEAT_RETURN_IF_ERROR(infer_from_inputs(r));
  return take_defaults(r);
}

// Moves the finished attributes to the storage, or shares the last array of the op when its bytes
// are equal. Arrays of attributes are never written, so sharing is safe; values that point to equal
// contents at other addresses merely miss it.
static leat_status_t keep_attrs(resolver_t* r, int count) {
  leat_graph_storage_t* storage = r->graph->storage;
  size_t slot = (uintptr_t)r->op / sizeof(leat_op_t) % LEAT_KEPT_ATTRS;
  leat_kept_attrs_t* last = &storage->last_attrs[slot];
  size_t bytes = (size_t)count * sizeof(leat_attr_t);
  if (last->count == count && memcmp(last->attrs, r->attrs, bytes) == 0) {
    r->attrs = last->attrs;
    return leat_ok_status();
  }
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_take(&storage->arena, bytes, &memory));
  r->attrs = last->attrs = memcpy(memory, r->attrs, bytes);
  last->count = count;
  return leat_ok_status();
}

static leat_status_t resolve_placed(resolver_t* r, leat_node_signature_t* out_signature) {
  if (r->spec->attr_count == 0) return leat_ok_status();
  r->attrs = r->spec->placed_attrs;
  out_signature->attr_count = r->spec->attr_count;
  LEAT_RETURN_IF_ERROR(check_placed(r));
  return keep_attrs(r, r->spec->attr_count);
}

static leat_status_t resolve_listed(resolver_t* r, leat_node_signature_t* out_signature) {
  int room = r->op->attr_count + r->spec->attr_count;
  if (room == 0) return leat_ok_status();
  if (room <= SCRATCH_ATTRS) {
    leat_attr_t scratch[SCRATCH_ATTRS];
    memset(scratch, 0, (size_t)room * sizeof(leat_attr_t));
    r->attrs = scratch;
    LEAT_RETURN_IF_ERROR(complete_attrs(r, &out_signature->attr_count));
    return keep_attrs(r, out_signature->attr_count);
  }
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&r->graph->storage->arena, (size_t)room,
                                                 sizeof(leat_attr_t), &memory));
  r->attrs = memory;
  return complete_attrs(r, &out_signature->attr_count);
}

// ---- inputs and outputs -------------------------------------------------------------------------

// The error for an input that does not fit.
LEAT_COLD static leat_status_t refuse_input(const resolver_t* r,
                                            const leat_op_argument_t* argument, int64_t position,
                                            int expected) {
  leat_output_t input = r->spec->inputs[position];
  if ((size_t)input.node >= r->graph->node_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "input %lld is node %d, must be one of the graph's %zu",
                            (long long)position, input.node, r->graph->node_count);
  }
  const leat_node_t* source = &r->graph->nodes[input.node];
  if (input.index < 0 || input.index >= source->output_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "input %lld is output %d of node '%.*s', must be in [0, %d)",
                            (long long)position, input.index, LEAT_SV_ARG(source->name),
                            source->output_count);
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Input %lld of node %.*s was passed %s from %.*s:%d incompatible with "
                          "expected %s. It is input '%.*s' of %.*s",
                          (long long)position, LEAT_SV_ARG(r->spec->name),
                          leat_dtype_name(source->output_types[input.index]),
                          LEAT_SV_ARG(source->name), input.index, leat_dtype_name(expected),
                          LEAT_SV_ARG(argument->name), LEAT_SV_ARG(r->op->name));
}

static inline bool input_fits(const resolver_t* r, int64_t position, int expected) {
  leat_output_t input = r->spec->inputs[position];
  if (!leat_output_exists(input)) return r->op->flags & LEAT_OP_MERGE;  // set later
  if ((size_t)input.node >= r->graph->node_count) return false;
  const leat_node_t* source = &r->graph->nodes[input.node];
  if ((uint32_t)input.index >= (uint32_t)source->output_count) return false;
  int actual = source->output_types[input.index];
  // A reference may stand where a value is wanted, and is read then.
  return actual == expected || actual == expected + LEAT_DTYPE_REF_OFFSET;
}

static leat_status_t wrong_input_count(const resolver_t* r) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "NodeDef expected inputs do not match %d inputs specified; %s",
                          r->spec->input_count, LEAT_OP_TEXT(r->op));
}

static leat_status_t check_inputs(const resolver_t* r) {
  int64_t position = 0;
  for (int i = 0; i < r->op->input_count; ++i) {
    const leat_op_argument_t* argument = &r->op->inputs[i];
    int64_t count = count_of(argument, r->attrs);
    if (count < 0 || count > r->spec->input_count - position) return wrong_input_count(r);
    for (int64_t k = 0; k < count; ++k, ++position) {
      int expected = type_of(argument, r->attrs, k);
      if (LEAT_LIKELY(input_fits(r, position, expected))) continue;
      return refuse_input(r, argument, position, expected);
    }
  }
  return position == r->spec->input_count ? leat_ok_status() : wrong_input_count(r);
}

static leat_status_t count_outputs(const resolver_t* r, int* out_count) {
  int64_t total = 0;
  for (int i = 0; i < r->op->output_count; ++i) {
    int64_t count = count_of(&r->op->outputs[i], r->attrs);
    if (count < 0 || count > MAX_OUTPUTS - total) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Number of outputs is too big: %lld, must be in [0, %d]",
                              (long long)count, MAX_OUTPUTS);
    }
    total += count;
  }
  *out_count = (int)total;
  return leat_ok_status();
}

// Every type as an array of one element, so that a node with one output needs no array in the
// arena.
#define TYPES_8(n) n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7
#define TYPES_32(n) TYPES_8(n), TYPES_8(n + 8), TYPES_8(n + 16), TYPES_8(n + 24)
static const uint8_t single_types[] = {TYPES_32(0), TYPES_32(32), TYPES_32(64), TYPES_32(96),
                                       TYPES_32(128)};

// Finds the types of the outputs. Those of most nodes, which have one output, come from the shared
// table.
static leat_status_t resolve_outputs(const resolver_t* r, leat_node_signature_t* out_signature) {
  int count = 0;
  LEAT_RETURN_IF_ERROR(count_outputs(r, &count));
  out_signature->output_count = count;
  if (count == 0) return leat_ok_status();
  if (count == 1 && r->op->output_count == 1) {
    int dtype = type_of(r->op->outputs, r->attrs, 0);
    LEAT_DCHECK(dtype > 0 && (size_t)dtype < sizeof single_types);
    out_signature->output_types = &single_types[dtype];
    return leat_ok_status();
  }
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(&r->graph->storage->arena, (size_t)count, &memory));
  uint8_t* types = memory;
  out_signature->output_types = types;
  for (int i = 0; i < r->op->output_count; ++i) {
    const leat_op_argument_t* argument = &r->op->outputs[i];
    int64_t length = count_of(argument, r->attrs);
    for (int64_t k = 0; k < length; ++k) {
      *types++ = (uint8_t)type_of(argument, r->attrs, k);
    }
  }
  return leat_ok_status();
}

static leat_status_t resolve(resolver_t* r, leat_node_signature_t* out_signature) {
  *out_signature = (leat_node_signature_t){0};
  LEAT_RETURN_IF_ERROR(r->spec->placed_attrs ? resolve_placed(r, out_signature)
                                             : resolve_listed(r, out_signature));
  out_signature->attrs = r->attrs;
  LEAT_RETURN_IF_ERROR(check_inputs(r));
  return resolve_outputs(r, out_signature);
}

leat_status_t leat_signature_resolve(leat_graph_t* graph, const leat_node_spec_t* spec,
                                     leat_node_signature_t* out_signature) {
  resolver_t r = {.graph = graph, .spec = spec, .op = spec->op};
  leat_status_t status = resolve(&r, out_signature);
  return LEAT_UNLIKELY(status) ? annotate(&r, status) : leat_ok_status();
}

// The attributes are only read here, so they may lose their const.
leat_status_t leat_signature_check_inputs(leat_graph_t* graph, const leat_node_spec_t* spec,
                                          const leat_attr_t* attrs) {
  resolver_t r = {graph, spec, spec->op, (leat_attr_t*)(uintptr_t)attrs};
  leat_status_t status = check_inputs(&r);
  return LEAT_UNLIKELY(status) ? annotate(&r, status) : leat_ok_status();
}
