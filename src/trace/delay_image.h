// The delays of a recording as bytes, for whoever keeps the recording's image
// (trace/timeline_image.h): to find them takes a look at every slice, and a walk for each step.
#ifndef LEAT_TRACE_DELAY_IMAGE_H_
#define LEAT_TRACE_DELAY_IMAGE_H_

#include "trace/delay.h"
#include "trace/image_bytes.h"

// Calls |write| with the bytes, part by part. They must come to lie at a multiple of 8. The codes
// are those of |write|, and RESOURCE_EXHAUSTED.
LEAT_MUST_USE leat_status_t leat_delays_write(const leat_delays_t* delays,
                                              leat_image_write_fn_t write, void* data);
// Lets the arrays of |delays| lie in |bytes|, which are what leat_delays_write gave of them and
// outlive them, in place of memory.
void leat_delays_borrow(leat_delays_t* delays, const void* bytes, size_t size);
// The delays of |timeline|, which must outlive them, as must the bytes, in which most of them lie,
// from a multiple of 8 on.
// All numbers in them are checked against the timeline; where one is not in range the reader has
// failed, and |*out_delays| is NULL.
LEAT_MUST_USE leat_status_t leat_delays_take(leat_image_reader_t* reader,
                                             const leat_timeline_t* timeline,
                                             leat_delays_t** out_delays);

#endif  // LEAT_TRACE_DELAY_IMAGE_H_
