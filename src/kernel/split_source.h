// Where the splits of a dataset come from that several processes read together: each split, a
// number that stands for a part of the dataset, goes to one of them. The dispatcher of a data
// service hands them out; a worker puts a source into the resources of the session that reads the
// dataset, and the kernel of _SplitDataset finds it there by its name. So the kernel knows nothing
// of the service, and the service nothing of datasets.
#ifndef LEAT_KERNEL_SPLIT_SOURCE_H_
#define LEAT_KERNEL_SPLIT_SOURCE_H_

#include "kernel/resource.h"

typedef struct leat_split_source_s leat_split_source_t;

// Called exactly once, on any thread, perhaps before |next| returns. |status| is taken; where it is
// OK and not |at_end|, |split| is the split.
typedef void (*leat_split_done_fn_t)(void* data, leat_status_t status, int64_t split,
                                     bool at_end);

// The base of a source. Its maker fills it with one reference and kind leat_split_source_kind.
struct leat_split_source_s {
  leat_resource_t resource;
  // How many passes over the dataset have begun; each asks for splits of its own number.
  _Atomic(int64_t) pass_count;
  // Asks for the next split of pass |pass|. Never blocks.
  void (*next)(leat_split_source_t* self, int64_t pass, leat_split_done_fn_t done, void* data);
  void (*destroy)(leat_split_source_t* self);
};
extern const leat_resource_kind_t leat_split_source_kind;

#endif  // LEAT_KERNEL_SPLIT_SOURCE_H_
