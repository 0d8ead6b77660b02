// Slurm's short forms: lists of hosts, "node[01-03,7],login", and numbers of tasks by host,
// "2(x3),1".
#ifndef LEAT_CLUSTER_HOST_LIST_H_
#define LEAT_CLUSTER_HOST_LIST_H_

#include "base/arena.h"

// The hosts of |list|, in its order; a text may have several brackets, of which the last runs
// fastest. Numbers keep the width of the first of their range. The texts lie in |arena|.
// INVALID_ARGUMENT where the list is malformed, or has more than |most| hosts.
LEAT_MUST_USE leat_status_t leat_host_list_expand(leat_string_view_t list, size_t most,
                                                  leat_arena_t* arena,
                                                  leat_string_view_t** out_hosts,
                                                  size_t* out_count);
// Fills |out_counts|, of |count| items. Where the list is shorter its last number goes on.
// INVALID_ARGUMENT where it is malformed, longer, or their sum is above |most|.
LEAT_MUST_USE leat_status_t leat_task_counts_expand(leat_string_view_t list, size_t count,
                                                    size_t most, int* out_counts);

#endif  // LEAT_CLUSTER_HOST_LIST_H_
