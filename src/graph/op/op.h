// Ops: what a node of a graph can compute. An op is declared once, as a row of data
// (leat_op_row_t), and the rest of the runtime asks that row instead of comparing names: the
// optimizer, the placer, the gradient builder and the executor hold no list of ops. A row is
// written in the source file of its family (src/ops/<family>/), in TensorFlow's mini-language for
// inputs, outputs and attributes; see graph/op/op_parse.c for its grammar.
//
//   leat_op_row_t  --leat_op_parse-->  leat_op_t  <--node->op--  leat_node_t
//   text and functions                 arrays of arguments and attributes
//
// The registry maps names to rows, and parses a row when its op is first looked up, so that a
// process that knows more than a thousand ops pays only for those that its graphs use. Rows are
// static data and must outlive the registry; parsed ops lie in the registry's arena and live as
// long as it does. The op of a user's function has the same form but belongs to a graph's function
// library (graph/function/function_library.h).
#ifndef LEAT_GRAPH_OP_OP_H_
#define LEAT_GRAPH_OP_OP_H_

#include "base/map.h"
#include "base/sync.h"
#include "graph/op/attr.h"

struct leat_inference_s;
struct leat_gradient_s;
struct leat_lowering_s;
struct leat_op_s;

// Properties of an op, as bits of row.flags. A pass tests a flag where it would otherwise test a
// name.
typedef enum leat_op_flag_e {
  // TensorFlow's own properties, which are written into OpDefs. STATEFUL: two runs with equal
  // inputs may differ or have an effect, so a node is neither folded nor merged with an equal one.
  // COMMUTATIVE: the two inputs may change places. AGGREGATE: the output is the sum of all inputs,
  // in any order (AddN). ALLOWS_UNINITIALIZED_INPUT: a reference input may be that of a variable
  // that has no value yet (Assign). DISTRIBUTED_COMMUNICATION: a node meets nodes of other devices
  // or of other steps (collectives, Recv, Batch).
  LEAT_OP_STATEFUL = 1 << 0,
  LEAT_OP_COMMUTATIVE = 1 << 1,
  LEAT_OP_AGGREGATE = 1 << 2,
  LEAT_OP_ALLOWS_UNINITIALIZED_INPUT = 1 << 3,
  LEAT_OP_DISTRIBUTED_COMMUNICATION = 1 << 4,
  // Leat's own properties.
  LEAT_OP_RESHAPES = 1 << 5,  // output 0: the elements of input 0 under another shape
  // With CALLS and BRANCHES: is control flow and calls nothing (_SwitchN). No kernel runs it, so
  // that row.lower expands it everywhere.
  LEAT_OP_STANDS_FOR_FLOW = 1 << 6,
  LEAT_OP_CONSTANT = 1 << 8,  // output 0 is the tensor of attribute "value"
  LEAT_OP_PLACEHOLDER = 1 << 9,      // has no value unless a step feeds it
  LEAT_OP_NEVER_FOLD = 1 << 10,      // must not be computed at optimisation time
  LEAT_OP_PASS_THROUGH = 1 << 11,    // output 0 is input 0, the same buffer (Identity)
  LEAT_OP_STOPS_GRADIENT = 1 << 12,  // marks StopGradient; its gradient function does the work
  LEAT_OP_SEND = 1 << 13,            // section 3.2.2: a value leaves for another device
  LEAT_OP_RECV = 1 << 14,            // and arrives, perhaps dead
  // The primitives of control flow, section 4.4.
  LEAT_OP_SWITCH = 1 << 15,
  LEAT_OP_MERGE = 1 << 16,
  LEAT_OP_ENTER = 1 << 17,
  LEAT_OP_EXIT = 1 << 18,
  LEAT_OP_NEXT_ITERATION = 1 << 19,
  LEAT_OP_LOOP_CONDITION = 1 << 20,   // its input decides whether a loop goes on (LoopCond)
  LEAT_OP_CONTROL_TRIGGER = 1 << 21,  // runs even when the nodes that it waits for are dead
  LEAT_OP_ARGUMENT = 1 << 22,         // _Arg: an argument of a function body
  LEAT_OP_RETURN_VALUE = 1 << 23,     // _Retval: a result of a function body
  LEAT_OP_ONLY_SHAPE = 1 << 24,       // reads the shapes of its inputs, never their values
  LEAT_OP_VARIABLE = 1 << 25,         // makes the handle of a variable, or its reference
  LEAT_OP_STEP_RESOURCE = 1 << 26,    // keeps state in the step's container until the step ends
  LEAT_OP_CALLS = 1 << 27,            // calls functions (section 10); row.lower expands it
  // BRANCHES: a call is expanded whenever it can be, but a node that chooses between functions only
  // when its attribute "_lower_using_switch_merge" asks for it. DESCRIBES: where a loop must keep
  // something of each iteration for its gradient, it keeps the output of such a node rather than
  // its inputs. CHEAP: the backward pass may compute the value a second time instead of keeping it
  // in memory.
  LEAT_OP_BRANCHES = 1 << 28,   // with CALLS: chooses which (If, While)
  LEAT_OP_DESCRIBES = 1 << 29,  // a few numbers about large inputs
  LEAT_OP_CHEAP = 1 << 30,      // few operations an element
} leat_op_flag_t;
#define LEAT_OP_CONTROL_FLOW                                                      \
  (LEAT_OP_SWITCH | LEAT_OP_MERGE | LEAT_OP_ENTER | LEAT_OP_EXIT | LEAT_OP_NEXT_ITERATION)

// One precondition on the inputs of a kernel. Shared code (kernel/contract.c) checks a row's rules
// before every run of every kernel of the op, on every device, so that no kernel repeats them. |a|
// and |b| are positions in the flattened list of inputs; |x| and |y| mean what each rule says.
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
// The value of row.contract:
//
//   LEAT_RULES(LEAT_RULE_MATRIX(0), LEAT_RULE_SAME_SHAPE(0, 1))
#define LEAT_RULES(...) ((const leat_rule_t[]){__VA_ARGS__, {LEAT_RULE_END_, 0, 0, 0, 0}})

// Exact identities, as bits of row.identities. Each says in which case an output equals a value
// that the graph holds already, bit for bit and for every input value; the optimizer then drops the
// node. It asks these bits and names no op. The one tolerance is that a signalling NaN may stay
// signalling where the op would have made it quiet. In the formulas f is the op, x its data input
// 0, and e and g are constants.
typedef enum leat_identity_e {
  LEAT_IDENTITY_SAME_TYPE = 1 << 0,    // = x, when input and output have one type (Cast)
  // = x, when the output has the shape of x and all other inputs are constants (Reshape). A row may
  // claim this only if the kernel then accepts all that the shape function accepts, because the
  // check goes with the node; AT_ORIGIN and NO_NEGATIVES narrow the claim for stricter kernels.
  LEAT_IDENTITY_SAME_SHAPE = 1 << 1,
  LEAT_IDENTITY_NO_ITEMS = 1 << 2,    // = x, when input 1 is an empty list (Sum over no axes)
  LEAT_IDENTITY_ONE_INPUT = 1 << 3,   // = x, when there is no other input (AddN)
  LEAT_IDENTITY_INVOLUTION = 1 << 4,  // f(f(x)) = x (Neg)
  LEAT_IDENTITY_IDEMPOTENT = 1 << 5,  // f(f(x)) = f(x) (Floor)
  LEAT_IDENTITY_LAST_WINS = 1 << 6,   // f(f(x, a), e) = f(x, e) (Reshape: e is the shape)
  LEAT_IDENTITY_PERMUTES = 1 << 7,    // f(f(x, e), g) = f(x, e[g]); f(x, 0 1 2...) = x (Transpose)
  // f(x, e) = x, where every element of e is the neutral value that the bit names and broadcasting
  // with e leaves the shape of x as it is.
  LEAT_IDENTITY_ZERO = 1 << 8,          // 0; of floats -0, since 0 + -0 is 0 and -0 + -0 is -0
  LEAT_IDENTITY_PLUS_ZERO = 1 << 9,     // 0; of floats +0: -0 - 0 is -0
  LEAT_IDENTITY_ONE = 1 << 10,          // 1; not of complex numbers, where infinities make NaNs
  LEAT_IDENTITY_ALL_ONES = 1 << 11,     // every bit, or true
  LEAT_IDENTITY_EITHER_SIDE = 1 << 12,  // f(e, x) = x too
  LEAT_IDENTITY_INTEGERS = 1 << 13,     // the neutral value holds for integers only (FloorDiv)
  // With SAME_SHAPE: only where every item of input 1 is 0 (Slice, which begins there).
  LEAT_IDENTITY_AT_ORIGIN = 1 << 14,
  // With SAME_SHAPE: only where no item of input 1 is negative (Tile).
  LEAT_IDENTITY_NO_NEGATIVES = 1 << 15,
} leat_identity_t;

// The names of the ops that the runtime itself puts into graphs.
#define LEAT_OP_NAME_ARGUMENT LEAT_SV("_Arg")
#define LEAT_OP_NAME_BROADCAST_TO LEAT_SV("BroadcastTo")
#define LEAT_OP_NAME_CONSTANT LEAT_SV("Const")
#define LEAT_OP_NAME_ADD LEAT_SV("AddV2")
#define LEAT_OP_NAME_CAST LEAT_SV("Cast")
#define LEAT_OP_NAME_EXPAND_DIMS LEAT_SV("ExpandDims")
#define LEAT_OP_NAME_IDENTITY LEAT_SV("Identity")
#define LEAT_OP_NAME_MUL LEAT_SV("Mul")
#define LEAT_OP_NAME_NO_OP LEAT_SV("NoOp")
#define LEAT_OP_NAME_RESHAPE LEAT_SV("Reshape")
#define LEAT_OP_NAME_SEND LEAT_SV("_Send")
#define LEAT_OP_NAME_SQUEEZE LEAT_SV("Squeeze")
#define LEAT_OP_NAME_SUM LEAT_SV("Sum")
#define LEAT_OP_NAME_RECV LEAT_SV("_Recv")
#define LEAT_OP_NAME_CALL LEAT_SV("PartitionedCall")
#define LEAT_OP_NAME_STATEFUL_CALL LEAT_SV("StatefulPartitionedCall")
#define LEAT_OP_NAME_FUSED_ELEMENTWISE LEAT_SV("_FusedElementwise")
#define LEAT_OP_NAME_HOST_SEND LEAT_SV("_HostSend")
#define LEAT_OP_NAME_HOST_RECV LEAT_SV("_HostRecv")
// An int that the partitioner sets on both ends of a transfer: its number in the compiled graph,
// which is their key in the rendezvous within a process. A Send or Recv without it, or with -1,
// meets the other end by text.
#define LEAT_ATTR_NAME_TRANSFER "_transfer"

// The limits of one _FusedElementwise node: steps in its program, operands of a step
// (ops/math/fused.h).
#define LEAT_FUSED_MAX_STEPS 64
#define LEAT_FUSED_MAX_OPERANDS 3

// The functions of a row. Each works on one node through a context: leat_inference_t says what is
// known of the inputs and takes what is known of the outputs (graph/inference/inference.h),
// leat_gradient_t takes the nodes that compute a gradient (graph/gradient.h), leat_lowering_t the
// nodes that replace a call (graph/function/lowering.h). INVALID_ARGUMENT from a shape function
// refuses the node when it is added.
typedef leat_status_t (*leat_shape_fn_t)(struct leat_inference_s* inference);
typedef leat_status_t (*leat_gradient_fn_t)(struct leat_gradient_s* gradient);
typedef leat_status_t (*leat_lower_fn_t)(struct leat_lowering_s* lowering);

// How the work of a node, in floating-point operations, follows from the shapes
// (graph/cost/cost.c).
typedef enum leat_cost_rule_e {
  LEAT_COST_ELEMENTS,     // one for each element of the largest input or output
  LEAT_COST_NONE,         // no work: no element is touched
  LEAT_COST_FUNCTION,     // exp, tanh, ...: twelve for each element of the largest
  LEAT_COST_CONTRACTION,  // the product of inputs 0 and 1: a multiply and an add a term
  LEAT_COST_CONVOLUTION,  // a multiply and an add for each output element and filter tap
} leat_cost_rule_t;

// One op, as the author of an op family writes it. Only |name| must be given; zero and NULL are
// meaningful defaults, stated below. The three texts list declarations separated by ';':
//
//   {.name = "MatMul",
//    .inputs = "a: T; b: T",
//    .outputs = "product: T",
//    .attrs = "transpose_a: bool = false; transpose_b: bool = false; T: {bfloat16, half, float}",
//    .cost = LEAT_COST_CONTRACTION,
//    .shapes = "a[_, _] b[_, _]",
//    .shape = matmul_shape,
//    .gradient = matmul_gradient,
//    .doc = "The product of two matrices, each perhaps transposed."},
//
// What a row claims must hold for every kernel of the op, on every device: the optimizer removes,
// moves and fuses nodes on the strength of |flags| and |identities|, and nothing checks those
// claims at run time. A table of rows ends with LEAT_OP_ROWS_END (a row without a name) and is
// named in the list of its family (src/ops/family.h). The kernels of an op are registered
// separately (kernel/registry.h).
typedef struct leat_op_row_s {
  const char* name;     // "MatMul"; ops that no client writes into a graph begin with '_'
  // Another name for the op of a row that was added before: all fields are that row's, apart from
  // |name| and |doc|. NULL: a row of its own.
  const char* alias_of;
  const char* without;  // of an alias: attributes of that row that it lacks, "a b"; NULL: none
  const char* inputs;   // NULL or "": none
  const char* outputs;  // NULL or "": none
  const char* attrs;    // NULL or "": none; a node's attributes stand in this order
  uint32_t flags;       // of leat_op_flag_t
  // The GraphDef version that removed the op: a graph of this producer version or a newer one that
  // has such a node is refused with UNIMPLEMENTED. 0: never.
  int16_t deprecated_since;
  uint8_t cost;  // leat_cost_rule_t; 0: LEAT_COST_ELEMENTS
  const char* deprecation;  // what the error says besides ("Use X instead"); NULL: nothing
  uint16_t identities;  // of leat_identity_t
  // The shapes that the op takes and gives, "a[m, k] b[k, n] -> product[m, n]"
  // (graph/op/shape_pattern.h): checked when a node is added, as far as they are known, and before
  // each run of a kernel. NULL: any.
  const char* shapes;
  // What the error before a run says of an input that does not fit |shapes|, where clients know
  // TensorFlow's words: "b: b must be a vector, saw: % | The length of `b` must be that of `a`",
  // entries separated by ';'. A '%' stands for the shape of the input and "%r" for its rank; the
  // words behind the '|' are for a shape of the right rank. NULL: words that follow from |shapes|.
  const char* misfits;
  // Infers the shapes of the outputs from those of the inputs, and refuses inputs that cannot fit.
  // It runs when a node is added. NULL: what |shapes| says; a function is for what a pattern
  // cannot say, because it depends on attributes or values. See leat_shape_unchanged and its
  // neighbours for what many ops share.
  leat_shape_fn_t shape;
  // Infers the values of outputs that hold few integers (Shape, Pack, Range), or what a handle at
  // an output stands for, from what is known of the inputs; it calls
  // leat_inference_set_output_value or leat_inference_set_output_referents. NULL: the values are
  // not known before a step runs.
  leat_shape_fn_t value;
  // Adds the nodes that compute dC/dx for each input x, given dC/dy for each output y. NULL: asking
  // for a gradient through the op is an error; leat_gradient_none: no input has a gradient, and
  // that is no error.
  leat_gradient_fn_t gradient;
  // For an op that CALLS: adds the ordinary nodes that a node of the op stands for. Else NULL.
  leat_lower_fn_t lower;
  // What must hold of the inputs before a kernel runs, besides |shapes|: LEAT_RULES(...). NULL:
  // nothing.
  const leat_rule_t* contract;
  // One line for the listing of ops.
  const char* doc;
} leat_op_row_t;

// Where the type of an argument comes from.
typedef enum leat_type_source_e {
  LEAT_TYPE_FIXED,      // the declaration names it: |dtype|
  LEAT_TYPE_FROM_ATTR,  // the node's attribute |type_attr| holds it
  LEAT_TYPE_FROM_LIST,  // list(type) attribute |type_attr|: one tensor for each item
} leat_type_source_t;

// One declared input or output. It stands for one tensor, for as many as attribute |number_attr|
// says ("x: N * T"), or for one for each item of a list of types ("x: Tlist"). The flattened inputs
// of a node are the tensors of all arguments, one after the other.
typedef struct leat_op_argument_s {
  leat_string_view_t name;
  leat_type_source_t source;
  leat_dtype_t dtype;
  int type_attr;    // index in op->attrs, or -1
  int number_attr;  // index of the int attribute that is the count, or -1
  bool is_ref;  // "Ref(T)": takes or gives a reference, not a value
} leat_op_argument_t;

// One declared attribute, with its default and what the declaration allows.
typedef struct leat_op_attr_s {
  leat_string_view_t name;
  leat_attr_kind_t kind;
  bool is_list;
  bool has_default;
  bool has_minimum;
  int64_t minimum;                   // of the int, or of the list's length
  leat_attr_value_t default_value;   // borrows from the arena; see leat_op_release_defaults
  leat_dtype_set_t allowed_types;    // 0: any
  const uint8_t* allowed_type_list;  // the same types in the order of the declaration
  int allowed_type_count;
  const leat_string_view_t* allowed_strings;  // NULL: any
  int allowed_string_count;
} leat_op_attr_t;

// A row parsed. It is never changed after leat_op_parse, so any thread may read it. Nodes point to
// it: two nodes are of the same op if the pointers are equal.
typedef struct leat_op_s {
  const leat_op_row_t* row;
  leat_string_view_t name;
  uint32_t flags;  // the row's, and STATEFUL where an argument is of type resource
  const leat_op_argument_t* inputs;
  int input_count;
  const leat_op_argument_t* outputs;
  int output_count;
  const leat_op_attr_t* attrs;
  int attr_count;
  // Indices of the attributes "dtype" and "shape", which say what a variable holds; -1: there is no
  // such attribute.
  int dtype_attr, shape_attr;
  const struct leat_shape_pattern_s* shapes;  // the row's; NULL: it has none
  bool has_ref_inputs, has_ref_outputs;
} leat_op_t;

// The index of the declared attribute |name|, or -1.
int leat_op_find_attr(const leat_op_t* op, leat_string_view_t name);
// Writes "Op<name=Add; signature=x:T, y:T -> z:T; attr=...>" for messages into |buffer|, cut to
// |size| bytes with the final NUL. Returns |buffer|.
const char* leat_op_print(const leat_op_t* op, char* buffer, size_t size);
#define LEAT_OP_TEXT(op) leat_op_print((op), (char[600]){0}, 600)
// INVALID_ARGUMENT when |value| has another kind than |attr| declares, is below the minimum, or is
// not among the allowed values. An empty list fits any list attribute.
LEAT_MUST_USE leat_status_t leat_op_attr_check(const leat_op_attr_t* attr,
                                               const leat_attr_value_t* value);

// Parses |row| into an op in |arena|, which borrows the row's texts. INVALID_ARGUMENT, with the
// declaration that is malformed. Tensors among the default values are released by
// leat_op_release_defaults, which the registry does for its own ops.
LEAT_MUST_USE leat_status_t leat_op_parse(const leat_op_row_t* row, leat_arena_t* arena,
                                          leat_op_t** out_op);
// Makes the whole row, in |arena|, of |alias|, another name for |row|.
LEAT_MUST_USE leat_status_t leat_op_row_complete(const leat_op_row_t* alias,
                                                 const leat_op_row_t* row, leat_arena_t* arena,
                                                 const leat_op_row_t** out_row);
void leat_op_release_defaults(leat_op_t* op);

struct leat_rewrite_rule_s;

// The ops that a process knows, by name, and the rules by which the optimizer puts one in the place
// of others (graph/rewrite_rule.h).
typedef struct leat_op_registry_s leat_op_registry_t;
LEAT_MUST_USE leat_status_t leat_op_registry_create(leat_allocator_t* allocator,
                                                    leat_op_registry_t** out_registry);
void leat_op_registry_free(leat_op_registry_t* registry);
// Adds the rows of a table that ends with a row without a name. ALREADY_EXISTS for a name that is
// taken, NOT_FOUND for an alias of a row that was not added before. Not thread-safe: all tables are
// added before the first look-up.
LEAT_MUST_USE leat_status_t leat_op_registry_add(leat_op_registry_t* registry,
                                                 const leat_op_row_t* rows);
// Adds all tables of the family |name|, an array that ends with NULL, under the same conditions.
LEAT_MUST_USE leat_status_t leat_op_registry_add_family(leat_op_registry_t* registry,
                                                        const char* name,
                                                        const leat_op_row_t* const* tables);
// Adds a table of rewrite rules that ends with a rule without a name, under the same conditions. It
// must outlive the registry.
LEAT_MUST_USE leat_status_t leat_op_registry_add_rules(leat_op_registry_t* registry,
                                                       const struct leat_rewrite_rule_s* rules);
// The tables in the order in which they were added, |index| below the count.
int leat_op_registry_rules_count(const leat_op_registry_t* registry);
const struct leat_rewrite_rule_s* leat_op_registry_rules(const leat_op_registry_t* registry,
                                                         int index);
// Sets where declared rows come from: |declare| gives a table that ends with a row without a name
// and outlives the registry. It is called once, when a look-up finds no row of the name among those
// that were added, so that a table which few programs need can be opened late. An added row comes
// before a declared one of its name. To be called before any look-up.
typedef const leat_op_row_t* (*leat_op_declare_fn_t)(void);
void leat_op_registry_defer(leat_op_registry_t* registry, leat_op_declare_fn_t declare);
// Adds one row after start-up, for a plugin's op; thread-safe beside look-ups. |row| must outlive
// the registry and is parsed at once: INVALID_ARGUMENT when it is malformed, ALREADY_EXISTS when
// its name is taken.
LEAT_MUST_USE leat_status_t leat_op_registry_extend(leat_op_registry_t* registry,
                                                    const leat_op_row_t* row);
// The op called |name|. Thread-safe; the first look-up of an op takes a lock and parses its row,
// later ones take none. NOT_FOUND: "Op type not registered 'X'...".
LEAT_MUST_USE leat_status_t leat_op_registry_find(leat_op_registry_t* registry,
                                                  leat_string_view_t name,
                                                  const leat_op_t** out_op);
// The row of the op called |name| among those that were added, without parsing it; NULL: there is
// none. A declared row is not found, so that a function in a graph may have its name. Thread-safe.
const leat_op_row_t* leat_op_registry_find_row(const leat_op_registry_t* registry,
                                               leat_string_view_t name);
bool leat_op_registry_has(const leat_op_registry_t* registry, leat_string_view_t name);
// The family with which the op called |name| was added; NULL where it came without one.
// Thread-safe.
const char* leat_op_registry_family(const leat_op_registry_t* registry, leat_string_view_t name);
// The rows that were added, in that order, |index| below the count. Thread-safe.
int leat_op_registry_count(const leat_op_registry_t* registry);
const leat_op_row_t* leat_op_registry_row(const leat_op_registry_t* registry, int index);
// All rows that were added, and with |with_declared| the declared ones whose names no added row
// has, sorted by name, as an array in |arena|. Thread-safe.
LEAT_MUST_USE leat_status_t leat_op_registry_list(leat_op_registry_t* registry, bool with_declared,
                                                  leat_arena_t* arena,
                                                  const leat_op_row_t*** out_rows,
                                                  size_t* out_count);

#endif  // LEAT_GRAPH_OP_OP_H_
