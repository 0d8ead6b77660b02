// Attribute values of nodes, as AttrValue messages hold them: a kind, or a list of items of one
// kind. Values are plain data. What they point to lies in the storage of the graph that owns the
// node, which also keeps the tensors alive, so a value is copied as a struct within one graph and
// with leat_graph_storage_copy_value into another one. An empty list that was read from a file has
// kind NONE, since the file does not tell its kind; it gets the kind that the op declares when the
// node is added.
#ifndef LEAT_GRAPH_OP_ATTR_H_
#define LEAT_GRAPH_OP_ATTR_H_

#include "base/arena.h"
#include "base/sync.h"
#include "tensor/tensor.h"

typedef enum leat_attr_kind_e {
  LEAT_ATTR_NONE = 0,
  LEAT_ATTR_STRING,
  LEAT_ATTR_INT,
  LEAT_ATTR_FLOAT,
  LEAT_ATTR_BOOL,
  LEAT_ATTR_TYPE,
  LEAT_ATTR_SHAPE,
  LEAT_ATTR_TENSOR,
  LEAT_ATTR_FUNCTION,
  LEAT_ATTR_PLACEHOLDER,  // in a function body: the name of the function's attribute that fills it
} leat_attr_kind_t;

struct leat_attr_s;

// A function by name, with the attributes for which it is to be instantiated.
typedef struct leat_function_name_s {
  leat_string_view_t name;
  const struct leat_attr_s* attrs;
  int attr_count;
} leat_function_name_t;

typedef struct leat_attr_value_s {
  uint8_t kind;  // leat_attr_kind_t; of a list, that of its items
  bool is_list;
  // Items of a list. Of a single tensor, the elements that its message gave in a typed list, the
  // last of which stands for the rest, so that it is written in the same way; 0: raw bytes.
  uint32_t count;
  union {
    leat_string_view_t s;  // STRING, and the name of a PLACEHOLDER
    int64_t i;
    float f;
    bool b;
    int32_t type;  // leat_dtype_t, never a reference once checked
    leat_partial_shape_t shape;
    const leat_tensor_t* tensor;
    const leat_function_name_t* function;
    const leat_string_view_t* strings;
    const int64_t* ints;
    const float* floats;
    const bool* bools;
    const int32_t* types;
    const leat_partial_shape_t* shapes;
    const leat_tensor_t* const* tensors;
    const leat_function_name_t* functions;
    const void* items;  // a list's array, whatever the kind
  };
} leat_attr_value_t;

typedef struct leat_attr_s {
  leat_string_view_t name;
  leat_attr_value_t value;
} leat_attr_t;

// The value of the attribute called |name|, or NULL.
const leat_attr_value_t* leat_attr_find(const leat_attr_t* attrs, int count,
                                        leat_string_view_t name);
// Whether kind and value are equal. Tensors are compared by type, shape and bytes, floats by bits,
// and the attributes of functions without regard to their order. All empty lists are equal.
bool leat_attr_value_equal(const leat_attr_value_t* a, const leat_attr_value_t* b);
// Equal values have equal hashes.
uint64_t leat_attr_value_hash(const leat_attr_value_t* value);
// Where copies of values go: what they point to lies in |arena|, and texts and tensors go the
// owner's way. A graph's storage is one such place, a leat_attr_list_t another.
typedef struct leat_attr_place_s {
  leat_arena_t* arena;
  leat_status_t (*copy_text)(void* owner, leat_string_view_t text, leat_string_view_t* out_text);
  leat_status_t (*keep_tensor)(void* owner, const leat_tensor_t* tensor,
                               const leat_tensor_t** out_tensor);
  void* owner;
} leat_attr_place_t;
// Copies a value with all that it points to; tensors are shared. INVALID_ARGUMENT when functions in
// attributes of functions nest too deeply.
LEAT_MUST_USE leat_status_t leat_attr_value_copy(const leat_attr_place_t* place,
                                                 const leat_attr_value_t* value,
                                                 leat_attr_value_t* out_value);

// A copy of a node's attributes that outlives the node's graph. Immutable and reference counted,
// on any thread.
typedef struct leat_attr_list_s {
  leat_reference_count_t references;
  leat_attr_t* attrs;
  int count;
  uint64_t hash;  // of names and values, in any order; functions count by their names
} leat_attr_list_t;
LEAT_MUST_USE leat_status_t leat_attr_list_create(const leat_attr_t* attrs, int count,
                                                  leat_attr_list_t** out_list);
void leat_attr_list_retain(leat_attr_list_t* list);
void leat_attr_list_release(leat_attr_list_t* list);  // NULL is allowed
// Item |index| of |list| as a single value, which borrows from the list.
leat_attr_value_t leat_attr_value_item(const leat_attr_value_t* list, uint32_t index);
// The size of one item in the array of a list of |kind|.
size_t leat_attr_item_bytes(leat_attr_kind_t kind);
// "int" or "list(type)", as the mini-language of op declarations says it.
const char* leat_attr_kind_name(leat_attr_kind_t kind, bool is_list);

// Attributes as literals for builders: LEAT_ATTRS(LEAT_BOOL("transpose_b", true), LEAT_TYPE("T",
// dtype)).
#define LEAT_STR(attr, literal) \
  ((leat_attr_t){LEAT_SV(attr), {.kind = LEAT_ATTR_STRING, .s = LEAT_SV(literal)}})
#define LEAT_STRING(attr, view) \
  ((leat_attr_t){LEAT_SV(attr), {.kind = LEAT_ATTR_STRING, .s = (view)}})
#define LEAT_INT(attr, v) ((leat_attr_t){LEAT_SV(attr), {.kind = LEAT_ATTR_INT, .i = (v)}})
#define LEAT_REAL(attr, v) ((leat_attr_t){LEAT_SV(attr), {.kind = LEAT_ATTR_FLOAT, .f = (v)}})
#define LEAT_BOOL(attr, v) ((leat_attr_t){LEAT_SV(attr), {.kind = LEAT_ATTR_BOOL, .b = (v)}})
#define LEAT_TYPE(attr, v) ((leat_attr_t){LEAT_SV(attr), {.kind = LEAT_ATTR_TYPE, .type = (v)}})
#define LEAT_SHAPE(attr, v) ((leat_attr_t){LEAT_SV(attr), {.kind = LEAT_ATTR_SHAPE, .shape = (v)}})
#define LEAT_TENSOR(attr, pointer) \
  ((leat_attr_t){LEAT_SV(attr), {.kind = LEAT_ATTR_TENSOR, .tensor = (pointer)}})
// A list of |item_count| items at |pointer|, the member |field| of leat_attr_value_t:
// LEAT_LIST("shape", INT, 2, ints, dims).
#define LEAT_LIST(attr, item_kind, item_count, field, pointer)    \
  ((leat_attr_t){LEAT_SV(attr),                                   \
                 {.kind = LEAT_ATTR_##item_kind, .is_list = true, \
                  .count = (uint32_t)(item_count), .field = (pointer)}})
// An attribute with the value of another node's, borrowed: LEAT_COPY("strides",
// leat_node_attr(node, LEAT_SV("strides"))).
#define LEAT_COPY(attr, value_pointer) ((leat_attr_t){LEAT_SV(attr), *(value_pointer)})

#endif  // LEAT_GRAPH_OP_ATTR_H_
