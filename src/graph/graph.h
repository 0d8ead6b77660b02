// The dataflow graph of section 2: nodes in one array, named by index; an edge is {node, output
// index}, a control edge {node, -1}. A graph only grows (the sole edge that may be added later is
// the one that closes a loop into a Merge). Names, attributes and edge lists lie in the graph's
// storage, which graphs made from it (pruned, optimised, partitioned) share.
//
// A graph is not locked: the owner serialises changes. Reading while nobody adds is thread-safe. A
// child has an arena of its own, so parent and child may grow on different threads.
#ifndef LEAT_GRAPH_GRAPH_H_
#define LEAT_GRAPH_GRAPH_H_

#include "base/map.h"
#include "graph/attr.h"
#include "graph/node_index.h"
#include "graph/op.h"

#define LEAT_CONTROL_INDEX (-1)

typedef struct leat_output_s {
  int32_t node;
  int32_t index;  // LEAT_CONTROL_INDEX for a control edge
} leat_output_t;
#define LEAT_OUTPUT_NONE ((leat_output_t){-1, 0})
static inline bool leat_output_exists(leat_output_t output) { return output.node >= 0; }
static inline bool leat_output_equal(leat_output_t a, leat_output_t b) {
  return a.node == b.node && a.index == b.index;
}

typedef struct leat_node_s {
  leat_string_view_t name;
  const leat_op_t* op;
  leat_string_view_t device;  // as asked for, perhaps partial; "" = anywhere
  // The op's declared attributes first, in its order, every one filled; then others ("_class").
  const leat_attr_t* attrs;
  // Data inputs, flattened, then control inputs.
  leat_output_t* inputs;
  const uint8_t* output_types;          // leat_dtype_t, + 100 for references
  leat_partial_shape_t* output_shapes;  // one an output
  int32_t input_count;                  // data inputs
  int32_t control_count;
  int32_t output_count;
  int32_t attr_count;
  int32_t assigned_device;  // index in the placement's device list; -1 before placement
  bool shapes_follow;       // the output shapes, from those of the inputs: no value was looked at
} leat_node_t;

typedef struct leat_graph_storage_s leat_graph_storage_t;  // reference counted

typedef struct leat_graph_s {
  leat_allocator_t* allocator;
  leat_op_registry_t* ops;
  leat_graph_storage_t* storage;  // arena, tensors
  leat_node_t* nodes;
  size_t node_count;
  size_t node_capacity;
  leat_node_index_t names;
  int32_t producer_version;  // of the GraphDef that was imported; else the current one
  int32_t min_consumer_version;
  const int32_t* bad_consumers;  // GraphDef versions that must not read this graph, sorted
  int bad_consumer_count;
  struct leat_function_library_s* functions;  // NULL until one is added
  bool has_placeholders;  // some node may wait for attributes (leat_node_waits)
  // Says what is known of the shapes of a call's outputs; NULL: nothing is.
  leat_status_t (*infer_call)(struct leat_graph_s* graph, const leat_node_t* node,
                     leat_partial_shape_t* out_shapes);
} leat_graph_t;

#define LEAT_GRAPH_DEF_VERSION 2474
#define LEAT_GRAPH_DEF_MIN_CONSUMER 0

LEAT_MUST_USE leat_status_t leat_graph_create(leat_op_registry_t* ops, leat_allocator_t* allocator,
                                              leat_graph_t** out_graph);
// An empty graph that may share names, attributes and tensors of |parent| (kept alive).
LEAT_MUST_USE leat_status_t leat_graph_create_child(const leat_graph_t* parent,
                                                    leat_graph_t** out_graph);
void leat_graph_free(leat_graph_t* graph);
leat_arena_t* leat_graph_arena(leat_graph_t* graph);
// Makes room for |node_count| nodes in all, so that adding them moves nothing.
LEAT_MUST_USE leat_status_t leat_graph_reserve(leat_graph_t* graph, size_t node_count);
// |node_count| nodes, for which there is room, are added next: takes their pages at once.
void leat_graph_expect(leat_graph_t* graph, size_t node_count);

static inline const leat_node_t* leat_graph_node(const leat_graph_t* graph, int32_t index) {
  return &graph->nodes[index];
}
// -1 when there is no such node.
int32_t leat_graph_find_node(const leat_graph_t* graph, leat_string_view_t name);
// |base| or base_1, base_2, ...: not yet in the graph; lies in its arena.
LEAT_MUST_USE leat_status_t leat_graph_unique_name(leat_graph_t* graph, leat_string_view_t base,
                                                   leat_string_view_t* out_name);

// What a new node shall be. Everything is copied (tensors shared) unless |borrow_storage|.
typedef struct leat_node_spec_s {
  leat_string_view_t name;
  const leat_op_t* op;
  leat_string_view_t device;
  const leat_output_t* inputs;    // data, flattened
  const int32_t* control_inputs;  // node indices
  const leat_attr_t* attrs;
  // Instead of |attrs| and |infer_attrs|: the op's in its order, those not given without a name,
  // then others, |attr_count| in all. Borrowed storage; the array, which is written, stays the
  // caller's.
  leat_attr_t* placed_attrs;
  int input_count, control_count, attr_count;
  int32_t like;         // of leat_graph_add_like
  uint64_t name_hash;   // of leat_node_name_read of a name that may be internal; 0: not read yet
  bool infer_attrs;     // take missing type and number attributes from the inputs
  bool borrow_storage;  // name, device, attrs lie in this graph's or its parent's storage
  bool skip_shapes;     // leave output shapes unknown (a later pass infers)
} leat_node_spec_t;

// Checks the node against its op (arity, types, attributes, defaults), infers its shapes and adds
// it. INVALID_ARGUMENT otherwise, and the graph is unchanged.
LEAT_MUST_USE leat_status_t leat_graph_add_node(leat_graph_t* graph, const leat_node_spec_t* spec,
                                                int32_t* out_node);
// Adds a node with the op and types of node |spec->like| of the graph, and with its attributes or,
// where given, those |spec->attrs| of which nothing follows, borrowed as |name| and |device| are.
// Where nothing but the inputs' shapes could make its output shapes other ones, they are shared.
LEAT_MUST_USE leat_status_t leat_graph_add_like(leat_graph_t* graph, const leat_node_spec_t* spec,
                                                int32_t* out_node);
// Copies a node of the parent graph with new inputs (in this graph); no checks, shapes kept.
LEAT_MUST_USE leat_status_t leat_graph_copy_node(leat_graph_t* graph, const leat_node_t* node,
                                                 const leat_output_t* inputs, int input_count,
                                                 int control_count, int32_t* out_node);
LEAT_MUST_USE leat_status_t leat_graph_add_control_input(leat_graph_t* graph, int32_t node,
                                                         int32_t control_input);
// Replaces data input |index|; the type must agree.
LEAT_MUST_USE leat_status_t leat_graph_set_input(leat_graph_t* graph, int32_t node, int index,
                                                 leat_output_t source);
// Adds a data input behind the others (a While whose attributes have been given one more type).
// OUT_OF_RANGE when the attributes speak of no further one; outputs that they speak of come too.
LEAT_MUST_USE leat_status_t leat_graph_add_input(leat_graph_t* graph, int32_t node,
                                                 leat_output_t source);
LEAT_MUST_USE leat_status_t leat_graph_set_attr(leat_graph_t* graph, int32_t node,
                                                const leat_attr_t* attr);
// INVALID_ARGUMENT when the node's attributes, one of which was set, speak of other inputs or
// outputs than it has, or of other types. A call may have fewer than they say, since
// leat_graph_add_input is to follow.
LEAT_MUST_USE leat_status_t leat_graph_check_attrs(const leat_graph_t* graph, int32_t node);
// Narrows what is known of an output's shape (TF_GraphSetTensorShape).
LEAT_MUST_USE leat_status_t leat_graph_refine_shape(leat_graph_t* graph, leat_output_t output,
                                                    leat_partial_shape_t shape);

// NULL when the node has none of that name.
const leat_attr_value_t* leat_node_attr(const leat_node_t* node, leat_string_view_t name);
// The tensor that a constant is; NULL for other nodes, and where a call is yet to give it.
const leat_tensor_t* leat_node_constant(const leat_node_t* node);
// Is an attribute of the node to be given by a call of the function that it will stand in? Such a
// node has no known shapes and cannot run.
bool leat_node_waits(const leat_node_t* node);
bool leat_node_attr_bool(const leat_node_t* node, const char* name, bool otherwise);
int64_t leat_node_attr_int(const leat_node_t* node, const char* name, int64_t otherwise);
leat_string_view_t leat_node_attr_string(const leat_node_t* node, const char* name);
int leat_node_attr_type(const leat_node_t* node, const char* name);
// How many flattened inputs / outputs argument |index| of the op stands for, and the first of them.
int leat_node_input_argument(const leat_node_t* node, int argument, int* out_begin);
int leat_node_output_argument(const leat_node_t* node, int argument, int* out_begin);
// Type that data input |index| wants (with + 100 where the op takes a reference); all of them.
int leat_node_input_type(const leat_node_t* node, int index);
void leat_node_input_types(const leat_node_t* node, uint8_t* out_types);

static inline int leat_graph_output_type(const leat_graph_t* graph, leat_output_t output) {
  return graph->nodes[output.node].output_types[output.index];
}
static inline leat_partial_shape_t leat_graph_output_shape(const leat_graph_t* graph,
                                                           leat_output_t output) {
  return graph->nodes[output.node].output_shapes[output.index];
}

// Does the edge from |source| to |reader| close a loop (section 4.4)? Such an edge orders nothing.
static inline bool leat_edge_closes_loop(const leat_graph_t* graph, const leat_node_t* reader,
                                         leat_output_t source) {
  return (reader->op->flags & LEAT_OP_MERGE) && leat_output_exists(source) &&
         (graph->nodes[source.node].op->flags & LEAT_OP_NEXT_ITERATION);
}
// The data input of |node| that closes a loop; -1: none.
int leat_node_closing_input(const leat_graph_t* graph, const leat_node_t* node);

// "name" or "name:1" or "^name" -> node and index. INVALID_ARGUMENT when it is malformed.
LEAT_MUST_USE leat_status_t leat_tensor_name_parse(leat_string_view_t text,
                                                   leat_string_view_t* out_node, int* out_index);

// Who reads each node: CSR of (reader, input position), made on demand.
typedef struct leat_reader_s {
  int32_t node;
  int32_t position;      // in node->inputs
} leat_reader_t;
typedef struct leat_readers_s {
  leat_allocator_t* allocator;
  uint32_t* begin;  // node_count + 1
  leat_reader_t* readers;
} leat_readers_t;
LEAT_MUST_USE leat_status_t leat_readers_initialize(const leat_graph_t* graph,
                                                    leat_readers_t* out_readers);
void leat_readers_deinitialize(leat_readers_t* readers);

// Node indices such that every input comes first (edges that close a loop set aside), lowest index
// first among the ready ones. INVALID_ARGUMENT names a node on a cycle. |out_order| [node_count].
LEAT_MUST_USE leat_status_t leat_graph_sort(const leat_graph_t* graph, int32_t* out_order);

#endif  // LEAT_GRAPH_GRAPH_H_
