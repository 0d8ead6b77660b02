// Ops. A row is what a family's source file writes: TensorFlow's mini-language, flags, functions,
// one-line doc. An op is the row parsed: arguments and attributes in arrays. The registry parses a
// row when it is first looked up, so that a thousand ops cost nothing at start.
#ifndef LEAT_GRAPH_OP_H_
#define LEAT_GRAPH_OP_H_

#include "base/map.h"
#include "base/sync.h"
#include "graph/attr.h"

struct leat_inference_s;
struct leat_gradient_s;
struct leat_lowering_s;
struct leat_op_s;

typedef enum leat_op_flag_e {
  // TensorFlow's, written into OpDefs.
  LEAT_OP_STATEFUL = 1 << 0,
  LEAT_OP_COMMUTATIVE = 1 << 1,
  LEAT_OP_AGGREGATE = 1 << 2,
  LEAT_OP_ALLOWS_UNINITIALIZED_INPUT = 1 << 3,
  LEAT_OP_DISTRIBUTED_COMMUNICATION = 1 << 4,
  // Leat's: what the runtime asks instead of an op's name.
  LEAT_OP_RESHAPES = 1 << 5,       // output 0 is input 0, the same elements under another shape
  LEAT_OP_CONSTANT = 1 << 8,       // output 0 is attribute "value"
  LEAT_OP_PLACEHOLDER = 1 << 9,    // must be fed
  LEAT_OP_NEVER_FOLD = 1 << 10,    // pure, but not to be computed at optimisation time
  LEAT_OP_PASS_THROUGH = 1 << 11,  // output 0 is input 0, the same buffer (Identity)
  LEAT_OP_STOPS_GRADIENT = 1 << 12,
  LEAT_OP_SEND = 1 << 13,
  LEAT_OP_RECV = 1 << 14,
  LEAT_OP_SWITCH = 1 << 15,
  LEAT_OP_MERGE = 1 << 16,
  LEAT_OP_ENTER = 1 << 17,
  LEAT_OP_EXIT = 1 << 18,
  LEAT_OP_NEXT_ITERATION = 1 << 19,
  LEAT_OP_LOOP_CONDITION = 1 << 20,
  LEAT_OP_CONTROL_TRIGGER = 1 << 21,
  LEAT_OP_ARGUMENT = 1 << 22,      // of a function body
  LEAT_OP_RETURN_VALUE = 1 << 23,
  LEAT_OP_ONLY_SHAPE = 1 << 24,    // reads its inputs' shapes, not their values
  LEAT_OP_VARIABLE = 1 << 25,      // makes the handle or reference of a variable
  LEAT_OP_STEP_RESOURCE = 1 << 26,  // keeps something in the step's container
  LEAT_OP_CALLS = 1 << 27,         // calls functions (section 10); see `lower`
  LEAT_OP_BRANCHES = 1 << 28,      // those that decide which (If, While): lowered when asked to be
  LEAT_OP_DESCRIBES = 1 << 29,     // a few numbers about its inputs: keep them, not the inputs
  LEAT_OP_CHEAP = 1 << 30,  // a few operations an element: may be computed again, not kept
} leat_op_flag_t;
#define LEAT_OP_CONTROL_FLOW                                                      \
  (LEAT_OP_SWITCH | LEAT_OP_MERGE | LEAT_OP_ENTER | LEAT_OP_EXIT | LEAT_OP_NEXT_ITERATION)

// What must hold of a kernel's inputs, checked by shared code before it runs, whatever path the
// values came by. |a|, |b|: input arguments (flattened index); |x|, |y|: see each rule.
typedef enum leat_rule_kind_e {
  LEAT_RULE_END_ = 0,
  LEAT_RULE_RANK_,           // rank(a) == x
  LEAT_RULE_RANK_AT_LEAST_,  // rank(a) >= x
  LEAT_RULE_RANK_AT_MOST_,   // rank(a) <= x
  LEAT_RULE_SAME_SHAPE_,     // shape(a) == shape(b)
  LEAT_RULE_SAME_DIM_,       // dim x of a == dim y of b (negative: from the end)
  LEAT_RULE_DIM_,            // dim x of a == y
  LEAT_RULE_COUNT_,          // elements(a) == x
  LEAT_RULE_NOT_EMPTY_,      // elements(a) > 0
} leat_rule_kind_t;
typedef struct leat_rule_s {
  uint8_t kind;
  int8_t a, b;
  int16_t x, y;
} leat_rule_t;
#define LEAT_RULE_RANK(a, n) {LEAT_RULE_RANK_, a, 0, n, 0}
#define LEAT_RULE_SCALAR(a) LEAT_RULE_RANK(a, 0)
#define LEAT_RULE_VECTOR(a) LEAT_RULE_RANK(a, 1)
#define LEAT_RULE_MATRIX(a) LEAT_RULE_RANK(a, 2)
#define LEAT_RULE_RANK_AT_LEAST(a, n) {LEAT_RULE_RANK_AT_LEAST_, a, 0, n, 0}
#define LEAT_RULE_RANK_AT_MOST(a, n) {LEAT_RULE_RANK_AT_MOST_, a, 0, n, 0}
#define LEAT_RULE_SAME_SHAPE(a, b) {LEAT_RULE_SAME_SHAPE_, a, b, 0, 0}
#define LEAT_RULE_SAME_DIM(a, x, b, y) {LEAT_RULE_SAME_DIM_, a, b, x, y}
#define LEAT_RULE_DIM(a, x, size) {LEAT_RULE_DIM_, a, 0, x, size}
#define LEAT_RULE_COUNT(a, n) {LEAT_RULE_COUNT_, a, 0, n, 0}
#define LEAT_RULE_NOT_EMPTY(a) {LEAT_RULE_NOT_EMPTY_, a, 0, 0, 0}
// What a row gives as its contract: LEAT_RULES(LEAT_RULE_MATRIX(0), LEAT_RULE_SAME_SHAPE(0, 1)).
#define LEAT_RULES(...) ((const leat_rule_t[]){__VA_ARGS__, {LEAT_RULE_END_, 0, 0, 0, 0}})

// Exact identities (bits of row.identities): where an output is, bit for bit and for every value,
// something that is there already. The optimizer asks these and names no op. (A signalling NaN may
// stay what it is where the op would have made it quiet.) |x| is data input 0, |e| a constant.
typedef enum leat_identity_e {
  LEAT_IDENTITY_SAME_TYPE = 1 << 0,    // x, when input and output have one type (Cast)
  // x, when its shape stays and all else is constant (Reshape). It may be claimed only of an op
  // whose kernel then refuses nothing that the shape function lets pass; the two bits at the end
  // narrow the claim where the kernel does refuse more.
  LEAT_IDENTITY_SAME_SHAPE = 1 << 1,
  LEAT_IDENTITY_NO_ITEMS = 1 << 2,     // x, when input 1 is a list without items (Sum)
  LEAT_IDENTITY_ONE_INPUT = 1 << 3,    // x, when there is no other input (AddN)
  LEAT_IDENTITY_INVOLUTION = 1 << 4,   // f(f(x)) = x (Neg)
  LEAT_IDENTITY_IDEMPOTENT = 1 << 5,   // f(f(x)) = f(x) (Floor)
  LEAT_IDENTITY_LAST_WINS = 1 << 6,    // f(f(x, a), e) = f(x, e) (Reshape: e is the shape)
  LEAT_IDENTITY_PERMUTES = 1 << 7,     // f(f(x, e), g) = f(x, e[g]); f(x, 0 1 2...) = x (Transpose)
  // f(x, e) = x for a neutral e that leaves the shape as it is.
  LEAT_IDENTITY_ZERO = 1 << 8,         // 0; of floats -0, since 0 + -0 is 0 and -0 + -0 is -0
  LEAT_IDENTITY_PLUS_ZERO = 1 << 9,    // 0; of floats +0: -0 - 0 is -0
  LEAT_IDENTITY_ONE = 1 << 10,         // 1; not of complex numbers, where infinities make NaNs
  LEAT_IDENTITY_ALL_ONES = 1 << 11,    // every bit, or true
  LEAT_IDENTITY_EITHER_SIDE = 1 << 12,  // f(e, x) = x too
  LEAT_IDENTITY_INTEGERS = 1 << 13,    // of integers only (FloorDiv)
  // With SAME_SHAPE: only where every item of input 1 is 0 (Slice, which begins there).
  LEAT_IDENTITY_AT_ORIGIN = 1 << 14,
  // With SAME_SHAPE: only where no item of input 1 is negative (Tile).
  LEAT_IDENTITY_NO_NEGATIVES = 1 << 15,
} leat_identity_t;

// The ops that the runtime itself puts into graphs.
#define LEAT_OP_NAME_ARGUMENT LEAT_SV("_Arg")
#define LEAT_OP_NAME_BROADCAST_TO LEAT_SV("BroadcastTo")
#define LEAT_OP_NAME_CONSTANT LEAT_SV("Const")
#define LEAT_OP_NAME_ADD LEAT_SV("AddV2")
#define LEAT_OP_NAME_CAST LEAT_SV("Cast")
#define LEAT_OP_NAME_IDENTITY LEAT_SV("Identity")
#define LEAT_OP_NAME_MUL LEAT_SV("Mul")
#define LEAT_OP_NAME_NO_OP LEAT_SV("NoOp")
#define LEAT_OP_NAME_RESHAPE LEAT_SV("Reshape")
#define LEAT_OP_NAME_SEND LEAT_SV("_Send")
#define LEAT_OP_NAME_SUM LEAT_SV("Sum")
#define LEAT_OP_NAME_RECV LEAT_SV("_Recv")
#define LEAT_OP_NAME_CALL LEAT_SV("PartitionedCall")
#define LEAT_OP_NAME_STATEFUL_CALL LEAT_SV("StatefulPartitionedCall")
#define LEAT_OP_NAME_FUSED_ELEMENTWISE LEAT_SV("_FusedElementwise")
#define LEAT_OP_NAME_HOST_SEND LEAT_SV("_HostSend")
#define LEAT_OP_NAME_HOST_RECV LEAT_SV("_HostRecv")

// How many steps a _FusedElementwise has at most, and a step operands (ops/math/fused.h).
#define LEAT_FUSED_MAX_STEPS 64
#define LEAT_FUSED_MAX_OPERANDS 3

typedef leat_status_t (*leat_shape_fn_t)(struct leat_inference_s* inference);
typedef leat_status_t (*leat_gradient_fn_t)(struct leat_gradient_s* gradient);
typedef leat_status_t (*leat_lower_fn_t)(struct leat_lowering_s* lowering);

// How much work a node is (graph/cost.h).
typedef enum leat_cost_rule_e {
  LEAT_COST_ELEMENTS,     // an operation for each element of the largest operand
  LEAT_COST_NONE,         // no element is touched
  LEAT_COST_FUNCTION,     // exp, tanh, ...: some twelve operations for each element
  LEAT_COST_CONTRACTION,  // inputs 0 and 1 multiplied, summed over what they share
  LEAT_COST_CONVOLUTION,  // with a filter
} leat_cost_rule_t;

// One op as its family's file writes it. Arguments and attributes are separated by ';':
//   .inputs = "a: T; b: T", .outputs = "product: T",
//   .attrs = "transpose_a: bool = false; transpose_b: bool = false; T: {bfloat16, half, float}"
// How the op |sum| of a row makes a sum of what nodes of this one give.
typedef enum leat_sums_t {
  // It has one input more, which it adds as AddV2 would.
  LEAT_SUMS_TO_ONE,
  // It gives what AddN would of N >= 2 nodes: its inputs are lists of theirs, and N and |names|,
  // the nodes', are attributes besides.
  LEAT_SUMS_OF_MANY,
  // The node itself adds to its last input; a loop that carries such a sum from turn to turn may
  // put it off. The op |sum| has a variant in the place of that input and of its output; its own
  // |sum| makes a value of the variant, and the |sum| of that one a variant of a value.
  LEAT_SUMS_IN_LOOPS,
} leat_sums_t;

// What a node does with a concatenation, or as one: what the pass "parts" asks.
typedef enum leat_parting_t {
  LEAT_PARTING_NONE,
  LEAT_PARTING_JOINS,     // gives its inputs along the axis that the last one names (ConcatV2)
  LEAT_PARTING_PADS,      // gives the sum of its first N inputs, padded as the other N say
  LEAT_PARTING_TAKES,     // gives a box of input 0: from input 1 on, of the size at input 2 (Slice)
  LEAT_PARTING_GATHERS,   // gives rows of input 0, one for each number at input 1 (GatherV2, where
                          // input 2 and |batch_dims|, if there are such, are 0)
  LEAT_PARTING_SCATTERS,  // changes such rows, one after the other, by those of input 2
} leat_parting_t;

// Output |index| in the place of an input. Its own inverse.
#define LEAT_SCALES_OUTPUT(index) (-1 - (index))

typedef struct leat_op_row_s {
  const char* name;
  const char* inputs;
  const char* outputs;
  const char* attrs;
  uint32_t flags;
  int16_t deprecated_since;  // GraphDef producer version; 0 = never
  uint8_t cost;             // leat_cost_rule_t
  uint8_t sums;             // leat_sums_t: see |sum|
  const char* deprecation;  // TensorFlow's explanation text
  uint16_t identities;  // leat_identity_t
  int8_t scales;        // see |scaled|
  uint8_t parting;      // leat_parting_t
  bool scales_rows;     // see |scaled|
  // Which flattened inputs may outlive the step or be kept by the kernel (Assign, enqueue, Send):
  // bit i; bit 63 = every input from 63 on.
  uint64_t escaping_inputs;
  leat_shape_fn_t shape;  // NULL: outputs unknown
  // The small integer values of the outputs where they follow from what is known of the inputs
  // (Shape, Pack, ...): see leat_inference_set_output_value. NULL: none.
  leat_shape_fn_t value;
  leat_gradient_fn_t gradient;  // NULL: none registered (an error); see leat_gradient_none
  leat_lower_fn_t lower;        // of an op that CALLS: the ordinary nodes that it stands for
  const leat_rule_t* contract;  // LEAT_RULES(...); NULL: none
  const char* sum;  // the op that makes a sum of output 0, with the same attributes; NULL: none
  // The op that multiplies besides, as Mul would, with the same attributes: by its last input, one
  // more. |scales| says what: input i, by a scalar, or if |scales_rows| by a number for each row of
  // dimension 0, under any shape; or LEAT_SCALES_OUTPUT(i), each of its rows by a number of a
  // column. NULL: none.
  const char* scaled;
  const char* doc;
} leat_op_row_t;

typedef enum leat_type_source_e {
  LEAT_TYPE_FIXED,      // |dtype|
  LEAT_TYPE_FROM_ATTR,  // attribute |type_attr|
  LEAT_TYPE_FROM_LIST,  // list(type) attribute |type_attr|: one tensor an item
} leat_type_source_t;

typedef struct leat_op_argument_s {
  leat_string_view_t name;
  leat_type_source_t source;
  leat_dtype_t dtype;
  int type_attr;    // index in op->attrs, or -1
  int number_attr;  // index of the int attribute that repeats it, or -1
  bool is_ref;
} leat_op_argument_t;

typedef struct leat_op_attr_s {
  leat_string_view_t name;
  leat_attr_kind_t kind;
  bool is_list;
  bool has_default;
  bool has_minimum;
  int64_t minimum;  // of an int, or of a list's length
  leat_attr_value_t default_value;
  leat_dtype_set_t allowed_types;           // 0: any
  const uint8_t* allowed_type_list;         // the same as written, in order
  int allowed_type_count;
  const leat_string_view_t* allowed_strings;  // NULL: any
  int allowed_string_count;
} leat_op_attr_t;

typedef struct leat_op_s {
  const leat_op_row_t* row;
  leat_string_view_t name;
  uint32_t flags;
  const leat_op_argument_t* inputs;
  int input_count;
  const leat_op_argument_t* outputs;
  int output_count;
  const leat_op_attr_t* attrs;
  int attr_count;
  int dtype_attr, shape_attr;  // called "dtype" and "shape": what a variable holds; -1: none is
  bool has_ref_inputs, has_ref_outputs;
} leat_op_t;

// Index of the attribute or -1.
int leat_op_find_attr(const leat_op_t* op, leat_string_view_t name);
// "Op<name=Add; signature=x:T, y:T -> z:T; attr=...>" for messages; at most |size| bytes,
// NUL-terminated; returns |buffer|.
const char* leat_op_print(const leat_op_t* op, char* buffer, size_t size);
#define LEAT_OP_TEXT(op) leat_op_print((op), (char[600]){0}, 600)
// INVALID_ARGUMENT when |value| is not what the attribute's declaration allows. An empty list may
// be of any kind.
LEAT_MUST_USE leat_status_t leat_op_attr_check(const leat_op_attr_t* attr,
                                               const leat_attr_value_t* value);

// Parses a row into |arena|; INVALID_ARGUMENT with the place in the text when it is malformed.
LEAT_MUST_USE leat_status_t leat_op_parse(const leat_op_row_t* row, leat_arena_t* arena,
                                          leat_op_t** out_op);
// Lets go of the tensors among an op's default values (the registry does it for its ops).
void leat_op_release_defaults(leat_op_t* op);

typedef struct leat_op_registry_s leat_op_registry_t;
LEAT_MUST_USE leat_status_t leat_op_registry_create(leat_allocator_t* allocator,
                                                    leat_op_registry_t** out_registry);
void leat_op_registry_free(leat_op_registry_t* registry);
// Rows up to one without a name. They must outlive the registry. ALREADY_EXISTS for a second row
// of a name. Before any look-up.
LEAT_MUST_USE leat_status_t leat_op_registry_add(leat_op_registry_t* registry,
                                                 const leat_op_row_t* rows);
// Such tables of rows, up to NULL.
LEAT_MUST_USE leat_status_t leat_op_registry_add_all(leat_op_registry_t* registry,
                                                     const leat_op_row_t* const* tables);
// One row more, at any time, from any thread; it must outlive the registry. Parsed at once:
// INVALID_ARGUMENT when it is malformed.
LEAT_MUST_USE leat_status_t leat_op_registry_extend(leat_op_registry_t* registry,
                                                    const leat_op_row_t* row);
// Thread-safe. NOT_FOUND: "Op type not registered 'X'...".
LEAT_MUST_USE leat_status_t leat_op_registry_find(leat_op_registry_t* registry,
                                                  leat_string_view_t name,
                                                  const leat_op_t** out_op);
bool leat_op_registry_has(const leat_op_registry_t* registry, leat_string_view_t name);
// Names in registration order.
int leat_op_registry_count(const leat_op_registry_t* registry);
const leat_op_row_t* leat_op_registry_row(const leat_op_registry_t* registry, int index);

#endif  // LEAT_GRAPH_OP_H_
