// A number that equal functions have in common, for the names of functions: TF_GraphToFunction
// appends it where the client asks for that.
#ifndef LEAT_FUNCTION_FUNCTION_HASH_H_
#define LEAT_FUNCTION_FUNCTION_HASH_H_

#include "base/arena.h"
#include "formats/generated/graph.h"

// The hash of |def| that TensorFlow computes as well, so that both libraries give a function the
// same name. Attributes of nodes may be in any order. What |arena| is used for may be forgotten
// afterwards. Fails as encoding a message and decoding a tensor do.
LEAT_MUST_USE leat_status_t leat_function_def_hash(const leat_pb_function_def_t* def,
                                                   leat_arena_t* arena, uint64_t* out_hash);

#endif  // LEAT_FUNCTION_FUNCTION_HASH_H_
