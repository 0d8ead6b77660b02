// The function library of a graph: named subgraphs (section 10), kept as the FunctionDef messages
// that describe them. They become graphs when they are instantiated, which is the work of
// src/function/. A library owns copies of its messages. Adding an equal function again is allowed,
// since clients import overlapping libraries; another function under the same name is refused. A
// function is never changed. One that is removed, or whose import failed, is no longer found, but
// its memory stays, so that what a look-up returns is valid as long as the library. Thread-safe:
// steps look functions up while their graph grows.
#ifndef LEAT_GRAPH_FUNCTION_FUNCTION_LIBRARY_H_
#define LEAT_GRAPH_FUNCTION_FUNCTION_LIBRARY_H_

#include "formats/generated/graph.h"
#include "graph/op/op.h"

typedef struct leat_function_library_s leat_function_library_t;

// An empty library. RESOURCE_EXHAUSTED without memory.
LEAT_MUST_USE leat_status_t leat_function_library_create(leat_allocator_t* allocator,
                                                         leat_function_library_t** out_library);
void leat_function_library_free(leat_function_library_t* library);  // NULL is allowed

// Copies |function|. INVALID_ARGUMENT when it has no name, when a different function has the name,
// or when |ops| is not NULL and an op has it.
LEAT_MUST_USE leat_status_t leat_function_library_add(leat_function_library_t* library,
                                                      const leat_op_registry_t* ops,
                                                      const leat_pb_function_def_t* function);
// Records that function |gradient| computes the gradient of |function|. INVALID_ARGUMENT when
// another one is recorded.
LEAT_MUST_USE leat_status_t leat_function_library_add_gradient(leat_function_library_t* library,
                                                               leat_string_view_t function,
                                                               leat_string_view_t gradient);
// Adds all functions and gradients of |source|, but passes over functions without a name. On
// failure some may have been added.
LEAT_MUST_USE leat_status_t leat_function_library_add_all(
    leat_function_library_t* library, const leat_op_registry_t* ops,
    const leat_pb_function_def_library_t* source);
// Forgets all but the functions and gradients that were added first: undoes an import that failed.
void leat_function_library_truncate(leat_function_library_t* library, int function_count,
                                    int gradient_count);

// Forgets a function and the record of its gradient; whoever found it before may go on using it.
// The functions behind it get new numbers. NOT_FOUND when there is none of the name.
LEAT_MUST_USE leat_status_t leat_function_library_remove(leat_function_library_t* library,
                                                         leat_string_view_t name);

// Functions are numbered in the order of adding. Find gives NULL when there is none of the name.
// The counts, find and gradient_of take NULL for a library without functions.
int leat_function_library_count(const leat_function_library_t* library);
const leat_pb_function_def_t* leat_function_library_at(const leat_function_library_t* library,
                                                       int index);
const leat_pb_function_def_t* leat_function_library_find(const leat_function_library_t* library,
                                                         leat_string_view_t name);
// The function as an op, so that nodes can be of it. It is made on
// first demand and lives as long as the library. NOT_FOUND; INVALID_ARGUMENT for a signature that
// no op can have.
LEAT_MUST_USE leat_status_t leat_function_library_op(leat_function_library_t* library,
                                                     leat_string_view_t name,
                                                     const leat_op_t** out_op);
int leat_function_library_gradient_count(const leat_function_library_t* library);
const leat_pb_gradient_def_t* leat_function_library_gradient_at(
    const leat_function_library_t* library, int index);
// The name of the function that computes the gradient of |function|; "" when none is recorded.
leat_string_view_t leat_function_library_gradient_of(const leat_function_library_t* library,
                                                     leat_string_view_t function);

// A hash of all functions, whatever their order, the same in each process.
LEAT_MUST_USE leat_status_t leat_function_library_hash(const leat_function_library_t* library,
                                                       uint64_t* out_hash);

#endif  // LEAT_GRAPH_FUNCTION_FUNCTION_LIBRARY_H_
