// The dataflow graph (section 2 of the white paper): the structure that clients build, that import
// reads, and that pruning, optimization, placement and partitioning turn into the graphs that
// devices run.
//
//   nodes   [ 0: x | 1: y | 2: MatMul | 3: NoOp ]        node_count = 4
//   inputs of node 2    {0, 0} {1, 0}  {3, -1}           output 0 of x, output 0 of y, control edge
//
// Nodes stand in one array and are named by their index; an edge is a pair of a node index and an
// output index, and a control edge has the output index -1. Indices instead of pointers make copies
// of graphs cheap and let the array move when it grows. A pointer into |nodes| is therefore valid
// only until the next node is added. A graph only grows: an edge to a later node exists only where
// a NextIteration closes a loop into a Merge (section 4.4). Whatever a node points to (name,
// attributes, edge list, shapes) is plain data in the graph's storage, which is reference counted
// and shared with the graphs that are made from this one, so that a pruned copy copies no
// attribute.
//
// A graph has no lock: its owner serialises changes, and any number of threads may read while
// nobody changes it. A child graph has a storage of its own that retains the parent's, so parent
// and child may grow on different threads.
#ifndef LEAT_GRAPH_GRAPH_H_
#define LEAT_GRAPH_GRAPH_H_

#include "base/map.h"
#include "graph/node_index.h"
#include "graph/op/attr.h"
#include "graph/op/op.h"

// The output index of a control edge, which orders two nodes and carries no value.
#define LEAT_CONTROL_INDEX (-1)

// One output of a node, which is also one end of an edge. A node index below 0: no output.
typedef struct leat_output_s {
  int32_t node;
  int32_t index;  // LEAT_CONTROL_INDEX for a control edge
} leat_output_t;
#define LEAT_OUTPUT_NONE ((leat_output_t){-1, 0})
static inline bool leat_output_exists(leat_output_t output) { return output.node >= 0; }
static inline bool leat_output_equal(leat_output_t a, leat_output_t b) {
  return a.node == b.node && a.index == b.index;
}

// A node: an op with its inputs, attributes and what is known of its outputs. It is plain data;
// texts, lists and shapes lie in the storage. Names, edges and attributes change through the
// functions below only, which keep the index of names and the room of the lists in step. The placer
// writes |assigned_device|.
typedef struct leat_node_s {
  leat_string_view_t name;
  const leat_op_t* op;
  leat_string_view_t device;  // as the client asked, perhaps partial; "" = anywhere
  // First the attributes that the op declares, in its order, each with a value; then others that
  // the op does not know ("_class"). The array may be shared with other nodes and is never written.
  const leat_attr_t* attrs;
  // The data inputs, in the order of the op's arguments, then the control inputs. The list has room
  // for leat_edge_capacity of its length.
  leat_output_t* inputs;
  const uint8_t* output_types;          // [output_count] leat_dtype_t, + 100 for references; shared
  leat_partial_shape_t* output_shapes;  // [output_count] what is known of the shapes; shared
  int32_t input_count;                  // of data inputs
  int32_t control_count;
  int32_t output_count;
  int32_t attr_count;
  int32_t assigned_device;  // index in the placer's list of devices; -1 before placement
  // The output shapes follow from types, attributes and input shapes alone: inference looked at no
  // value. Another node that is equal in these has the same output shapes.
  bool shapes_follow;
  // Adding gradients added the node (section 4.1), so it belongs to a backward pass. A graph that
  // was imported does not know it of its nodes.
  bool is_gradient;
} leat_node_t;

typedef struct leat_graph_storage_s leat_graph_storage_t;  // graph/storage.h; reference counted

// The graph. All fields may be read; nodes are added and changed through the functions below.
typedef struct leat_graph_s {
  leat_allocator_t* allocator;
  leat_op_registry_t* ops;
  leat_graph_storage_t* storage;  // what the nodes point into; one reference is the graph's
  leat_node_t* nodes;
  size_t node_count;
  size_t node_capacity;
  leat_node_index_t names;   // node by name
  int32_t producer_version;  // GraphDef version of the imported file, else the current one
  int32_t min_consumer_version;
  const int32_t* bad_consumers;  // GraphDef versions that must not read this graph, sorted
  int bad_consumer_count;
  struct leat_function_library_s* functions;  // perhaps the parent's; NULL until one is added
  bool has_placeholders;  // some node may lack an attribute's value (leat_node_waits)
  bool has_any_names;     // some node may have a name as leat_node_spec_t.any_name allows
  // Shape inference for calls of functions, which the function room provides
  // (function/call_shapes.c); NULL: the row's shape function is asked.
  leat_status_t (*infer_call)(struct leat_graph_s* graph, const leat_node_t* node,
                              leat_partial_shape_t* out_shapes);
} leat_graph_t;

// The GraphDef version that this runtime writes, and the oldest consumer that can read it.
#define LEAT_GRAPH_DEF_VERSION 2474
#define LEAT_GRAPH_DEF_MIN_CONSUMER 0

// An empty graph. |ops| must outlive it.
LEAT_MUST_USE leat_status_t leat_graph_create(leat_op_registry_t* ops, leat_allocator_t* allocator,
                                              leat_graph_t** out_graph);
// An empty graph whose nodes may point into the storage of |parent|, which is retained. It has the
// versions and, until it adds one, the functions of |parent|.
LEAT_MUST_USE leat_status_t leat_graph_create_child(const leat_graph_t* parent,
                                                    leat_graph_t** out_graph);
// Frees the graph and gives up its reference to the storage, which lives on while a child retains
// it. NULL is allowed.
void leat_graph_free(leat_graph_t* graph);
// The arena of the storage: what lies in it lives as long as the graph and its children.
leat_arena_t* leat_graph_arena(leat_graph_t* graph);
// Makes room for |node_count| nodes in all, so that adding up to so many moves none.
// RESOURCE_EXHAUSTED from 2^31 - 1 on.
LEAT_MUST_USE leat_status_t leat_graph_reserve(leat_graph_t* graph, size_t node_count);
// A hint that |node_count| nodes are added next, for which there is room: the kernel maps their
// pages in one call rather than at a page fault each.
void leat_graph_expect(leat_graph_t* graph, size_t node_count);

// Node |index|, which must be in the graph; valid until a node is added.
static inline const leat_node_t* leat_graph_node(const leat_graph_t* graph, int32_t index) {
  return &graph->nodes[index];
}
// The index of the node called |name|, or -1.
int32_t leat_graph_find_node(const leat_graph_t* graph, leat_string_view_t name);
// A name that no node has: |base|, or the first free one of base_1, base_2, ... It lies in the
// arena. The name is not reserved.
LEAT_MUST_USE leat_status_t leat_graph_unique_name(leat_graph_t* graph, leat_string_view_t base,
                                                   leat_string_view_t* out_name);

// What a new node shall be. Names, attributes and edges are copied into the storage, and tensors
// shared, unless |borrow_storage|.
typedef struct leat_node_spec_s {
  leat_string_view_t name;
  const leat_op_t* op;
  leat_string_view_t device;
  const leat_output_t* inputs;    // data, flattened
  const int32_t* control_inputs;  // node indices
  const leat_attr_t* attrs;
  // An alternative to |attrs| for import, which excludes |infer_attrs|: |attr_count| entries, of
  // which the first are the op's declared attributes in its order, those without a value having no
  // name, and the rest undeclared ones. The values lie in the graph's storage; the array is the
  // caller's and is written.
  leat_attr_t* placed_attrs;
  int input_count, control_count, attr_count;
  int32_t like;         // for leat_graph_add_like: the node to repeat
  uint64_t name_hash;   // from leat_node_name_read, which has accepted the name; 0: not read yet
  bool infer_attrs;     // take missing types and counts from the inputs
  bool borrow_storage;  // name, device and attributes lie in this graph's or its parent's storage
  bool skip_shapes;     // leave the output shapes unknown; a later pass infers them
  // Leave them unknown where the op's shape function refuses the inputs, which is no error then.
  bool tolerate_shapes;
  // The name may be any text, as TensorFlow's C API takes it. Such a graph can be looked at and
  // written, but neither be run nor read again (leat_graph_check_names).
  bool any_name;
} leat_node_spec_t;

// Checks the node against its op (number and types of inputs, attributes, defaults), infers its
// output shapes and adds it. The graph is unchanged on failure. INVALID_ARGUMENT for a node that
// does not fit its op or whose name is malformed or taken; UNIMPLEMENTED for an op that the
// GraphDef version removed.
LEAT_MUST_USE leat_status_t leat_graph_add_node(leat_graph_t* graph, const leat_node_spec_t* spec,
                                                int32_t* out_node);
// INVALID_ARGUMENT where a node has a name that no GraphDef may have.
LEAT_MUST_USE leat_status_t leat_graph_check_names(const leat_graph_t* graph);
// Adds a node that repeats node |spec->like| with other inputs: it has the op, the output types and
// the attributes of that node, except that |spec->attrs|, where given, replace its array (they may
// differ only in attributes from which neither types nor shapes follow). |name|, |device| and
// |attrs| must lie in the storage. Inputs are checked and shapes inferred unless the inputs of both
// nodes agree in type and shape. This is what import does for nodes that are written alike.
LEAT_MUST_USE leat_status_t leat_graph_add_like(leat_graph_t* graph, const leat_node_spec_t* spec,
                                                int32_t* out_node);
// Copies |node| of this graph or of its parent, with |inputs| [input_count + control_count] of this
// graph. Nothing is checked but the name, INVALID_ARGUMENT when it is taken; types and shapes are
// kept.
LEAT_MUST_USE leat_status_t leat_graph_copy_node(leat_graph_t* graph, const leat_node_t* node,
                                                 const leat_output_t* inputs, int input_count,
                                                 int control_count, int32_t* out_node);
// Makes |node| wait for |control_input|, unless it does so already.
LEAT_MUST_USE leat_status_t leat_graph_add_control_input(leat_graph_t* graph, int32_t node,
                                                         int32_t control_input);
// Replaces data input |index|. OUT_OF_RANGE when there is no such input or output, INVALID_ARGUMENT
// when the types differ. Shapes are not inferred again.
LEAT_MUST_USE leat_status_t leat_graph_set_input(leat_graph_t* graph, int32_t node, int index,
                                                 leat_output_t source);
// Appends a data input, for a call (While) whose lists of types have been made longer by
// leat_graph_set_attr; outputs that the attributes ask for are appended with unknown shapes.
// OUT_OF_RANGE when the attributes ask for no further input, INVALID_ARGUMENT when they ask for
// another type.
LEAT_MUST_USE leat_status_t leat_graph_add_input(leat_graph_t* graph, int32_t node,
                                                 leat_output_t source);
// Sets or adds an attribute; the value is copied. INVALID_ARGUMENT when the op declares the
// attribute and does not allow the value. Inputs, outputs and shapes are not looked at; see
// leat_graph_check_attrs.
LEAT_MUST_USE leat_status_t leat_graph_set_attr(leat_graph_t* graph, int32_t node,
                                                const leat_attr_t* attr);
// INVALID_ARGUMENT when the attributes of the node, one of which was set, do not fit the number or
// types of its inputs and outputs. A call may have fewer than the attributes say, because
// leat_graph_add_input is yet to follow.
LEAT_MUST_USE leat_status_t leat_graph_check_attrs(const leat_graph_t* graph, int32_t node);
// Merges |shape| into what is known of the shape of |output| (TF_GraphSetTensorShape).
// INVALID_ARGUMENT when the two contradict each other. Readers of the output are not inferred
// again.
LEAT_MUST_USE leat_status_t leat_graph_refine_shape(leat_graph_t* graph, leat_output_t output,
                                                    leat_partial_shape_t shape);

// The value of attribute |name|, or NULL. Borrowed.
const leat_attr_value_t* leat_node_attr(const leat_node_t* node, leat_string_view_t name);
// The tensor of a constant, borrowed; NULL for other nodes, and while the value is a placeholder
// that a call of the function fills.
const leat_tensor_t* leat_node_constant(const leat_node_t* node);
// Whether a declared attribute of the node is a placeholder: the node is in the body of a function,
// and each call gives the value. Such a node has no known shapes and cannot run.
bool leat_node_waits(const leat_node_t* node);
// The attribute's value where it is a single value of the kind, else |otherwise|; "" and
// LEAT_DTYPE_INVALID for text and types.
bool leat_node_attr_bool(const leat_node_t* node, const char* name, bool otherwise);
int64_t leat_node_attr_int(const leat_node_t* node, const char* name, int64_t otherwise);
leat_string_view_t leat_node_attr_string(const leat_node_t* node, const char* name);
int leat_node_attr_type(const leat_node_t* node, const char* name);
// How many flattened inputs or outputs argument |argument| of the op stands for, and, where
// |out_begin| is not NULL, the position of the first.
int leat_node_input_argument(const leat_node_t* node, int argument, int* out_begin);
int leat_node_output_argument(const leat_node_t* node, int argument, int* out_begin);
// The type that data input |index| must have (+ 100 where the op takes a reference;
// LEAT_DTYPE_INVALID behind the last one); the types of all, |out_types| [input_count].
int leat_node_input_type(const leat_node_t* node, int index);
void leat_node_input_types(const leat_node_t* node, uint8_t* out_types);

// The dtype of |output|, + 100 for a reference (leat_dtype_base takes that off), and what is known
// of its shape. |output| must exist and be no control edge.
static inline int leat_graph_output_type(const leat_graph_t* graph, leat_output_t output) {
  return graph->nodes[output.node].output_types[output.index];
}
static inline leat_partial_shape_t leat_graph_output_shape(const leat_graph_t* graph,
                                                           leat_output_t output) {
  return graph->nodes[output.node].output_shapes[output.index];
}

// Whether the edge from |source| to |reader| closes a loop (section 4.4). Such an edge carries the
// value of the last iteration and orders nothing.
static inline bool leat_edge_closes_loop(const leat_graph_t* graph, const leat_node_t* reader,
                                         leat_output_t source) {
  return (reader->op->flags & LEAT_OP_MERGE) && leat_output_exists(source) &&
         (graph->nodes[source.node].op->flags & LEAT_OP_NEXT_ITERATION);
}
// The first data input of |node| that closes a loop, or -1.
int leat_node_closing_input(const leat_graph_t* graph, const leat_node_t* node);

// Splits "node", "node:1" or "^node" into the node's name, borrowed from |text|, and the output
// index, which is 0, 1 or LEAT_CONTROL_INDEX. INVALID_ARGUMENT when it is malformed.
LEAT_MUST_USE leat_status_t leat_tensor_name_parse(leat_string_view_t text,
                                                   leat_string_view_t* out_node, int* out_index);

// The readers of every node, which the edge lists do not tell, as one array in compressed rows:
// those of node n are readers[begin[n]] to readers[begin[n + 1] - 1], with one entry for each edge.
// A snapshot: it does not follow changes of the graph.
typedef struct leat_reader_s {
  int32_t node;
  int32_t position;  // index in the reader's |inputs|; control edges too
} leat_reader_t;
typedef struct leat_readers_s {
  leat_allocator_t* allocator;
  uint32_t* begin;  // [node_count + 1]
  leat_reader_t* readers;
} leat_readers_t;
// Lists the readers of all nodes, in time and memory linear in the edges. RESOURCE_EXHAUSTED
// without memory; there is nothing to deinitialize then.
LEAT_MUST_USE leat_status_t leat_readers_initialize(const leat_graph_t* graph,
                                                    leat_readers_t* out_readers);
void leat_readers_deinitialize(leat_readers_t* readers);
// Lists the nodes that nobody reads, in an array that the caller frees with |allocator|: whoever
// needs these needs all nodes.
LEAT_MUST_USE leat_status_t leat_graph_find_sinks(const leat_graph_t* graph,
                                                  leat_allocator_t* allocator,
                                                  int32_t** out_nodes, int* out_count);

// A topological order, into |out_order| [node_count]: every node stands behind its inputs, edges
// that close loops aside, and of the nodes that are ready the lowest index comes first.
// INVALID_ARGUMENT names a node on or behind a cycle.
LEAT_MUST_USE leat_status_t leat_graph_sort(const leat_graph_t* graph, int32_t* out_order);

#endif  // LEAT_GRAPH_GRAPH_H_
