// The named subgraphs of a graph, as the messages that describe them (section 10: they become
// graphs when they are instantiated, which is the function room's work). A library owns its
// messages. Equal functions may be added again; another one of a name that is taken is refused.
// Thread-safe: steps look functions up while their graph grows.
#ifndef LEAT_GRAPH_FUNCTION_LIBRARY_H_
#define LEAT_GRAPH_FUNCTION_LIBRARY_H_

#include "formats/generated/graph.h"
#include "graph/op.h"

typedef struct leat_function_library_s leat_function_library_t;

LEAT_MUST_USE leat_status_t leat_function_library_create(leat_allocator_t* allocator,
                                                         leat_function_library_t** out_library);
void leat_function_library_free(leat_function_library_t* library);  // NULL is allowed

// Copies |function|. INVALID_ARGUMENT when it has no name, or a different function or (where |ops|
// is not NULL) an op has the name.
LEAT_MUST_USE leat_status_t leat_function_library_add(leat_function_library_t* library,
                                                      const leat_op_registry_t* ops,
                                                      const leat_pb_function_def_t* function);
// Says which function computes the gradient of another.
LEAT_MUST_USE leat_status_t leat_function_library_add_gradient(leat_function_library_t* library,
                                                               leat_string_view_t function,
                                                               leat_string_view_t gradient);
// All functions and gradients of |source|. On failure some may have been added.
LEAT_MUST_USE leat_status_t leat_function_library_add_all(
    leat_function_library_t* library, const leat_op_registry_t* ops,
    const leat_pb_function_def_library_t* source);
// Forgets all but the first functions and gradients (an import that failed).
void leat_function_library_truncate(leat_function_library_t* library, int function_count,
                                    int gradient_count);

// In the order of adding. NULL when there is none of the name.
int leat_function_library_count(const leat_function_library_t* library);
const leat_pb_function_def_t* leat_function_library_at(const leat_function_library_t* library,
                                                       int index);
const leat_pb_function_def_t* leat_function_library_find(const leat_function_library_t* library,
                                                         leat_string_view_t name);
// The function as an op, so that nodes may name it as theirs. It lives as long as the library.
// NOT_FOUND; INVALID_ARGUMENT for a signature that no op can have.
LEAT_MUST_USE leat_status_t leat_function_library_op(leat_function_library_t* library,
                                                     leat_string_view_t name,
                                                     const leat_op_t** out_op);
int leat_function_library_gradient_count(const leat_function_library_t* library);
const leat_pb_gradient_def_t* leat_function_library_gradient_at(
    const leat_function_library_t* library, int index);
// Name of the function that computes the gradient of |function|; "" when none is stated.
leat_string_view_t leat_function_library_gradient_of(const leat_function_library_t* library,
                                                     leat_string_view_t function);

#endif  // LEAT_GRAPH_FUNCTION_LIBRARY_H_
