// Kernels of CacheDataset, which keeps the elements of its input in memory so that later passes
// need not compute them again. A pass begins in one of two ways, and stays with it until its end:
//
//     cache complete when the pass begins:  elements are shared from the cache
//     otherwise:                            they come from the input, and the iterator keeps them
//
// An iterator that reaches the end of the input moves what it kept into the cache, unless another
// iterator did so first; only then is the cache complete. A pass that stops early leaves nothing
// behind, because a cache with some of the elements would cut later passes short. Once |complete|
// is true the cache never changes again, so that reading it takes no lock. CacheDatasetV2 takes the
// cache as a resource, which several datasets can share. With a file name, the dataset is that of
// file_cache_dataset_cpu.c.
#include "kernel/handle.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

// Holds the elements of one whole pass. The iterator that sets |complete| writes the other fields
// before, under |mutex|; from then on they are only read.
typedef struct memory_cache_s {
  leat_resource_t resource;
  leat_mutex_t mutex;  // held while an iterator tests and sets |complete|
  _Atomic(bool) complete;
  leat_tensor_t* tensors;  // element by element, each with all its components
  size_t tensor_count;
} memory_cache_t;

static void free_tensors(leat_tensor_t* tensors, size_t count) {
  for (size_t i = 0; i < count; ++i) leat_tensor_release(&tensors[i]);
  leat_allocator_free(leat_allocator_system(), tensors);
}

static void memory_cache_destroy(leat_resource_t* resource) {
  memory_cache_t* cache = (memory_cache_t*)resource;
  free_tensors(cache->tensors, cache->tensor_count);
  leat_mutex_deinitialize(&cache->mutex);
  leat_allocator_free(leat_allocator_system(), cache);
}

static const leat_resource_kind_t kMemoryCache = {.name = "MemoryCache",
                                                  .destroy = memory_cache_destroy};

static leat_status_t memory_cache_create(memory_cache_t** out_cache) {
  memory_cache_t* cache;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &cache));
  cache->resource.kind = &kMemoryCache;
  cache->resource.references = 1;
  leat_mutex_initialize(&cache->mutex);
  *out_cache = cache;
  return leat_ok_status();
}

static bool is_complete(memory_cache_t* cache) {
  return atomic_load_explicit(&cache->complete, memory_order_acquire);
}

typedef struct cache_s {
  leat_dataset_t base;
  memory_cache_t* cache;
} cache_t;

typedef struct cache_iterator_s {
  leat_iterator_t base;
  // true: this pass reads the cache; false: it reads the input and keeps what it gives in |tensors|
  bool reads;
  leat_tensor_t* tensors;
  size_t tensor_count, capacity;
  size_t place;  // index in the cache of the tensor that is given next
} cache_iterator_t;

static memory_cache_t* cache_of(const leat_iterator_t* it) {
  return ((const cache_t*)it->dataset)->cache;
}

static void cache_destroy(leat_dataset_t* self) {
  cache_t* cache = (cache_t*)self;
  if (cache->cache) leat_resource_release(&cache->cache->resource);
}

static leat_status_t cache_start(leat_iterator_t* self) {
  cache_iterator_t* it = (cache_iterator_t*)self;
  it->reads = is_complete(cache_of(self));
  return it->reads ? leat_ok_status() : leat_iterator_open_input(self, self->dataset->inputs[0]);
}

static void cache_stop(leat_iterator_t* self) {
  cache_iterator_t* it = (cache_iterator_t*)self;
  free_tensors(it->tensors, it->tensor_count);
}

// Moves what this pass has kept into the cache, unless another iterator has filled it already. It
// is called when the pass has given every element.
static void complete(cache_iterator_t* it) {
  memory_cache_t* cache = cache_of(&it->base);
  leat_mutex_lock(&cache->mutex);
  if (!is_complete(cache)) {
    cache->tensors = it->tensors;
    cache->tensor_count = it->tensor_count;
    it->tensors = NULL;
    it->tensor_count = it->capacity = 0;
    atomic_store_explicit(&cache->complete, true, memory_order_release);
  }
  leat_mutex_unlock(&cache->mutex);
}

// Keeps a share of |element| for the cache.
static leat_status_t keep(cache_iterator_t* it, const leat_tensor_t* element, size_t components) {
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), it->tensor_count + components,
                                 &it->tensors, &it->capacity));
  leat_element_share(element, it->tensors + it->tensor_count, (int)components);
  it->tensor_count += components;
  return leat_ok_status();
}

static leat_status_t read_input(cache_iterator_t* it, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  size_t components = (size_t)it->base.dataset->spec->count;
  LEAT_RETURN_IF_ERROR(leat_iterator_next(it->base.input, pull, out, out_poll));
  if (*out_poll == LEAT_POLL_END) complete(it);
  if (*out_poll != LEAT_POLL_ELEMENT || is_complete(cache_of(&it->base))) return leat_ok_status();
  leat_status_t status = keep(it, out, components);
  if (status) {
    leat_element_release(out, (int)components);
    return status;
  }
  // An iterator that has given as many elements as the input has may never be asked again: its
  // reader knows the cardinality too. The cache is therefore filled here and not only at END.
  int64_t kept = (int64_t)(it->tensor_count / components);
  if (kept == leat_dataset_cardinality(it->base.dataset)) complete(it);
  return leat_ok_status();
}

static leat_status_t cache_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  cache_iterator_t* it = (cache_iterator_t*)self;
  if (!it->reads) return read_input(it, pull, out, out_poll);
  const memory_cache_t* cache = cache_of(self);
  if (it->place == cache->tensor_count) return leat_ok_status();
  int components = self->dataset->spec->count;
  leat_element_share(cache->tensors + it->place, out, components);
  it->place += (size_t)components;
  *out_poll = LEAT_POLL_ELEMENT;
  return leat_ok_status();
}

static const leat_dataset_kind_t kCache = {.name = "Cache",
                                           .dataset_bytes = sizeof(cache_t),
                                           .iterator_bytes = sizeof(cache_iterator_t),
                                           .destroy = cache_destroy,
                                           .start = cache_start,
                                           .next = cache_next,
                                           .stop = cache_stop};

// ---- Kernels ------------------------------------------------------------------------------------

// The cache of CacheDataset belongs to the dataset. CacheDatasetV2 uses the resource at input 2, or
// makes a cache where there is none.
static leat_status_t find_cache(leat_kernel_context_t* c, memory_cache_t** out_cache) {
  *out_cache = NULL;
  if (leat_kernel_input_count(c) > 2) {
    LEAT_RETURN_IF_ERROR(leat_dataset_find_shared(c, 2, &kMemoryCache,
                                                  "N10tensorflow4data18MemoryCacheManagerE",
                                                  (leat_resource_t**)out_cache));
  }
  return *out_cache ? leat_ok_status() : memory_cache_create(out_cache);
}

static leat_status_t cache__cpu(leat_kernel_context_t* c) {
  leat_string_view_t filename;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 1, "filename", &filename));
  if (filename.size) {
    LEAT_RETURN_IF_ERROR(leat_file_cache_create(c, filename, &dataset));
    return leat_dataset_set_output(c, dataset);
  }
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over_input(c, &kCache, &dataset));
  leat_status_t status = find_cache(c, &((cache_t*)dataset)->cache);
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  return leat_dataset_set_output(c, dataset);
}

static leat_status_t anonymous_cache__cpu(leat_kernel_context_t* c) {
  memory_cache_t* cache;
  LEAT_RETURN_IF_ERROR(memory_cache_create(&cache));
  LEAT_RETURN_IF_ERROR(leat_handle_own_resource(c, 0, &cache->resource));
  return leat_dataset_set_deleter(c, 1);
}

#define KERNEL(name, how) LEAT_DATASET_KERNEL(name, how##__cpu)

const leat_kernel_row_t leat_cache_dataset_kernels_cpu[] = {
    KERNEL("CacheDataset", cache),
    KERNEL("CacheDatasetV2", cache),
    KERNEL("AnonymousMemoryCache", anonymous_cache),
    LEAT_KERNEL_ROWS_END,
};
