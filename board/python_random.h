// The numbers of Python's random.Random(0), by which TensorBoard chooses what it keeps of a long
// series. A board that chooses by the same numbers shows the same points.
//
// Every series starts with the same seed, so all of them consume the same sequence of 32-bit words.
// The sequence is therefore computed once and kept, and a series only remembers how many words it
// has taken. Any thread may ask.
#ifndef LEAT_BOARD_PYTHON_RANDOM_H_
#define LEAT_BOARD_PYTHON_RANDOM_H_

#include <stdint.h>

#include "base/status.h"

// Sets |*out_value| to randrange(|bound|), 0 < |bound| < 2^32, of a generator that has given
// |*inout_taken| words, and counts the words it takes. RESOURCE_EXHAUSTED without memory, or after
// 2^30 words.
LEAT_MUST_USE leat_status_t board_python_random_below(uint32_t bound, uint32_t* inout_taken,
                                                      uint32_t* out_value);
// sorted(random.Random(0).sample(range(|count|), |chosen|)), |chosen| <= |count|, into
// |out_indices|, which has room for |chosen|.
LEAT_MUST_USE leat_status_t board_python_random_sample(uint32_t count, uint32_t chosen,
                                                       uint32_t* out_indices);

#endif  // LEAT_BOARD_PYTHON_RANDOM_H_
