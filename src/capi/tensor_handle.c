// Where the TF_Tensor structs come from. A step makes a handle for each fetch, and the caller
// deletes it soon after, mostly on the same thread. Therefore each thread keeps up to KEPT_HANDLES
// deleted handles for its next fetches, and a steady loop of steps never calls the allocator for
// them. They are freed when the thread ends, by the destructor of a thread key; where the system
// has no more such keys, nothing is kept.
#include "capi/handles.h"

// Under AddressSanitizer none is kept, so that the use of a deleted handle is detected.
#if defined(LEAT_ASAN)
#define KEPT_HANDLES 0
#else
#define KEPT_HANDLES 32
#endif

typedef struct handle_cache_s {
  TF_Tensor* first;
  int count;
  bool registered;  // the thread's end frees them
} handle_cache_t;

static LEAT_THREAD_LOCAL handle_cache_t cache;

static leat_thread_key_t cache_key;
static _Atomic int cache_key_state;  // 0: not created, 1: created, -1: the system has no more keys
static leat_spinlock_t cache_key_lock;

static void end_cache(void* pointer) {
  handle_cache_t* ending = pointer;
  while (ending->first) {
    TF_Tensor* handle = ending->first;
    ending->first = handle->next;
    leat_allocator_free(leat_allocator_system(), handle);
  }
  // Handles that later destructors of this thread delete are not kept, because nobody would free
  // them.
  ending->count = KEPT_HANDLES;
}

// Arranges that the end of this thread frees its handles. Returns false where that is not possible.
static LEAT_COLD bool register_cache(void) {
  leat_spinlock_lock(&cache_key_lock);
  int state = atomic_load_explicit(&cache_key_state, memory_order_relaxed);
  if (state == 0) {
    state = leat_thread_key_create(end_cache, &cache_key) ? 1 : -1;
    atomic_store_explicit(&cache_key_state, state, memory_order_relaxed);
  }
  leat_spinlock_unlock(&cache_key_lock);
  cache.registered = state == 1 && leat_thread_key_set(cache_key, &cache);
  return cache.registered;
}

TF_Tensor* leat_capi_tensor_new(void) {
  TF_Tensor* handle = cache.first;
  if (LEAT_LIKELY(handle)) {
    cache.first = handle->next;
    --cache.count;
    return handle;
  }
  void* memory = NULL;
  leat_status_free(leat_allocator_allocate(leat_allocator_system(), sizeof(TF_Tensor), &memory));
  return memory;
}

void TF_DeleteTensor(TF_Tensor* tensor) {
  if (!tensor) return;
  leat_tensor_release(&tensor->tensor);
  if (cache.count < KEPT_HANDLES && (cache.registered || register_cache())) {
    tensor->next = cache.first;
    cache.first = tensor;
    ++cache.count;
    return;
  }
  leat_allocator_free(leat_allocator_system(), tensor);
}

void leat_capi_tensor_fill(TF_Tensor* handle, leat_tensor_t* inout_tensor) {
  handle->tensor = *inout_tensor;
  handle->size_bytes = leat_tensor_size_bytes(&handle->tensor);
  *inout_tensor = (leat_tensor_t){0};
}

leat_status_t leat_capi_tensor_wrap_copy(const leat_tensor_t* tensor, TF_Tensor** out_handle) {
  leat_tensor_t copy;
  LEAT_RETURN_IF_ERROR(leat_tensor_copy(leat_buffer_source_host(), tensor, &copy));
  return leat_capi_tensor_wrap(&copy, out_handle);
}

leat_status_t leat_capi_tensor_wrap(leat_tensor_t* inout_tensor, TF_Tensor** out_handle) {
  *out_handle = leat_capi_tensor_new();
  if (!*out_handle) {
    leat_tensor_release(inout_tensor);
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a tensor handle ran out");
  }
  leat_capi_tensor_fill(*out_handle, inout_tensor);
  return leat_ok_status();
}
