// How the clock of another machine is related to ours, from exchanges of times: ask it for its time
// and note when the question left and when the answer came. The other clock was read somewhere in
// between, most likely near the middle. Of exchanges that lie close together the quickest is the
// least disturbed one. A straight line through those, over a recording's time, is the relation: an
// offset and a drift, since two crystals differ by some millionths.
#ifndef LEAT_TRACE_CLOCK_FIT_H_
#define LEAT_TRACE_CLOCK_FIT_H_

#include "trace/recording_file.h"

typedef struct leat_clock_exchange_s {
  int64_t sent_ns, received_ns;  // by our clock
  int64_t read_ns;               // by the other one
} leat_clock_exchange_t;

// The relation of the other clock to ours, so that leat_clock_relation_apply makes our times of
// its. |exchanges| are in the order of time, in batches of |batch|, of each of which the quickest
// counts. Where all lie within a second no drift can be told, and it is 0. |residual_ns| is the
// most by which a batch is off, and at least half of the shortest exchange, as the other clock may
// have been read anywhere within it. Without exchanges the clocks are taken for the same.
leat_clock_relation_t leat_clock_fit(const leat_clock_exchange_t* exchanges, size_t count,
                                     size_t batch);

#endif  // LEAT_TRACE_CLOCK_FIT_H_
