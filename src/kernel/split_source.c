#include "kernel/split_source.h"

static void destroy(leat_resource_t* resource) {
  leat_split_source_t* source = (leat_split_source_t*)resource;
  source->destroy(source);
}

const leat_resource_kind_t leat_split_source_kind = {.name = "SplitSource", .destroy = destroy};
