// How many numbers the seeded random ops in functions have drawn on behalf of one owner. A stateful
// random op in a graph goes on from step to step. In a function that an iterator calls it begins
// when the iterator begins, as in TensorFlow, where each iterator has kernels of its own. Here
// kernels are shared, and the iterator brings the counts:
//
//   iterator ─▶ leat_function_call_t.draw_counts ─▶ leat_step_services_t.draw_counts ─▶ generator
//
// Reference counted, and thread-safe. A transport between tasks leaves the counts out: an op that
// runs in another task goes on there.
#ifndef LEAT_KERNEL_DRAW_COUNTS_H_
#define LEAT_KERNEL_DRAW_COUNTS_H_

#include <stdint.h>

#include "base/status.h"

typedef struct leat_draw_counts_s leat_draw_counts_t;

// All zero, with one reference, the caller's.
LEAT_MUST_USE leat_status_t leat_draw_counts_create(leat_draw_counts_t** out_counts);
void leat_draw_counts_retain(leat_draw_counts_t* counts);   // NULL is allowed
void leat_draw_counts_release(leat_draw_counts_t* counts);  // NULL is allowed
// Adds |count| to what the generator with the number |generator| has drawn; |*out_before| is what
// it had drawn before. RESOURCE_EXHAUSTED without memory, and nothing is added.
LEAT_MUST_USE leat_status_t leat_draw_counts_add(leat_draw_counts_t* counts, uint64_t generator,
                                                 uint64_t count, uint64_t* out_before);

#endif  // LEAT_KERNEL_DRAW_COUNTS_H_
