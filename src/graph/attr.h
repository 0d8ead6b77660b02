// Attribute values of nodes. Plain data in the arena of the graph that owns the node; tensors are
// owned by the graph. An empty list from a file has kind NONE until the op's declaration names it.
#ifndef LEAT_GRAPH_ATTR_H_
#define LEAT_GRAPH_ATTR_H_

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
  LEAT_ATTR_PLACEHOLDER,  // of a function body: the name of the attribute that will fill it
} leat_attr_kind_t;

struct leat_attr_s;

// A function by name, with the values of its attributes.
typedef struct leat_function_name_s {
  leat_string_view_t name;
  const struct leat_attr_s* attrs;
  int attr_count;
} leat_function_name_t;

typedef struct leat_attr_value_s {
  uint8_t kind;  // leat_attr_kind_t, of the items for a list
  bool is_list;
  uint32_t count;  // items of a list
  union {
    leat_string_view_t s;  // also PLACEHOLDER
    int64_t i;
    float f;
    bool b;
    int32_t type;  // leat_dtype_t, or reference
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
    const void* items;
  };
} leat_attr_value_t;

typedef struct leat_attr_s {
  leat_string_view_t name;
  leat_attr_value_t value;
} leat_attr_t;

// NULL when |name| is not among them.
const leat_attr_value_t* leat_attr_find(const leat_attr_t* attrs, int count,
                                        leat_string_view_t name);
// Equal kind and value (tensors by dtype, shape and bytes).
bool leat_attr_value_equal(const leat_attr_value_t* a, const leat_attr_value_t* b);
uint64_t leat_attr_value_hash(const leat_attr_value_t* value);
// Item |index| of a list as a value of its own (borrowed).
leat_attr_value_t leat_attr_value_item(const leat_attr_value_t* list, uint32_t index);
size_t leat_attr_item_bytes(leat_attr_kind_t kind);  // of an item in a list's array
// "int", "list(type)", as in the mini-language.
const char* leat_attr_kind_name(leat_attr_kind_t kind, bool is_list);

// Literals for builders: LEAT_ATTRS(LEAT_BOOL("transpose_b", true), LEAT_TYPE("T", dtype))
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
// Any value, borrowed from another node:
// LEAT_COPY("strides", leat_node_attr(node, LEAT_SV("strides")))
#define LEAT_COPY(attr, value_pointer) ((leat_attr_t){LEAT_SV(attr), *(value_pointer)})

#endif  // LEAT_GRAPH_ATTR_H_
