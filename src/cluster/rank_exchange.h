// Processes with numbers tell each other their addresses through a folder that all of them see.
#ifndef LEAT_CLUSTER_RANK_EXCHANGE_H_
#define LEAT_CLUSTER_RANK_EXCHANGE_H_

#include "base/arena.h"

typedef struct leat_rank_exchange_s {
  leat_string_view_t folder;  // made where it is not there
  leat_string_view_t run;     // names this run among others that use the folder
  int rank, size;             // the number of this process, and how many there are
  leat_string_view_t address;
  int64_t timeout_ms;
} leat_rank_exchange_t;

// Tells |address|, and waits for the addresses of all others; |out_addresses|, by rank, has |size|
// items, which lie in |arena|. DEADLINE_EXCEEDED, saying who is missing, after the time; codes of
// the file system.
LEAT_MUST_USE leat_status_t leat_rank_exchange(const leat_rank_exchange_t* exchange,
                                               leat_arena_t* arena,
                                               leat_string_view_t* out_addresses);

#endif  // LEAT_CLUSTER_RANK_EXCHANGE_H_
