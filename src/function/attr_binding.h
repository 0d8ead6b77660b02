// Binding of attributes when a function is instantiated. A node in a function's body may have a
// placeholder in the place of an attribute's value, the name of an attribute of the function; each
// call gives the value.
#ifndef LEAT_FUNCTION_ATTR_BINDING_H_
#define LEAT_FUNCTION_ATTR_BINDING_H_

#include "graph/op/op.h"

// Replaces the placeholders in |value|, and in functions within it, by the attributes of
// |function|. What is new lies in |arena|. INVALID_ARGUMENT when |function| has no attribute of
// that name.
LEAT_MUST_USE leat_status_t leat_attr_bind(const leat_function_name_t* function,
                                           leat_arena_t* arena, leat_attr_value_t* value);

// The attributes of |function| in the order in which |op|, the function as an op, declares them.
// The array lies in |arena|. INVALID_ARGUMENT when one is missing or is not what the op declares.
LEAT_MUST_USE leat_status_t leat_function_order_attrs(const leat_op_t* op,
                                                      const leat_function_name_t* function,
                                                      leat_arena_t* arena,
                                                      leat_attr_t** out_attrs);

#endif  // LEAT_FUNCTION_ATTR_BINDING_H_
