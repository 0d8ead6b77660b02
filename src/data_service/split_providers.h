// The splits of an iteration that is sharded dynamically, as its dispatcher hands them out.
#ifndef LEAT_DATA_SERVICE_SPLIT_PROVIDERS_H_
#define LEAT_DATA_SERVICE_SPLIT_PROVIDERS_H_

#include "data_service/dispatcher_state.h"
#include "session/session.h"

// One for each source of the dataset. Not thread-safe.
typedef struct leat_split_providers_s leat_split_providers_t;

// Finds the sources of the dataset whose GraphDef is |graph|, which a client sent or which was
// prepared, and computes how many splits each has, in a session of its own; it may block for a
// minute. UNIMPLEMENTED for a dataset that cannot be divided.
LEAT_MUST_USE leat_status_t leat_split_providers_create(const leat_runtime_t* runtime,
                                                        leat_string_view_t graph,
                                                        leat_split_providers_t** out_providers);
void leat_split_providers_free(leat_split_providers_t* providers);  // NULL is allowed
// Puts the source |index| where it gives the next split after |position->count| of a pass.
// DATA_LOSS where a pass has not so many, or there is no such source.
LEAT_MUST_USE leat_status_t leat_split_providers_seek(leat_split_providers_t* providers,
                                                      size_t index,
                                                      const leat_split_position_t* position);
size_t leat_split_providers_count(const leat_split_providers_t* providers);
// Gives the next split of source |index|, or its end. Passes over the source are counted by
// |repetition|: one that is over gets the end, and one that is yet to come begins, and ends those
// before it. INVALID_ARGUMENT for an index that there is not.
LEAT_MUST_USE leat_status_t leat_split_providers_next(leat_split_providers_t* providers,
                                                      int64_t index, int64_t repetition,
                                                      int64_t* out_split, bool* out_at_end);

#endif  // LEAT_DATA_SERVICE_SPLIT_PROVIDERS_H_
