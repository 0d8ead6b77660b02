// Attributes of a body's nodes may name attributes of the function: those take the values that the
// call gives.
#ifndef LEAT_FUNCTION_ATTR_BINDING_H_
#define LEAT_FUNCTION_ATTR_BINDING_H_

#include "graph/op.h"

// Replaces names in |value|, in functions within it too; what is new lies in |arena|.
// INVALID_ARGUMENT when |function| has no attribute of that name.
LEAT_MUST_USE leat_status_t leat_attr_bind(const leat_function_name_t* function,
                                           leat_arena_t* arena, leat_attr_value_t* value);

// The attributes of |function| in the order of its op; they lie in |arena|. INVALID_ARGUMENT when
// one is missing or is not what the op declares.
LEAT_MUST_USE leat_status_t leat_function_order_attrs(const leat_op_t* op,
                                                      const leat_function_name_t* function,
                                                      leat_arena_t* arena,
                                                      leat_attr_t** out_attrs);

#endif  // LEAT_FUNCTION_ATTR_BINDING_H_
