// Elements that are objects with a life: strings, resource handles and variants. The functions here
// create, copy and destroy arrays of them; buffers call them when they are copied or released, and
// kernels when they write elements.
//
// Two rules make the copies safe. A zeroed element is a valid one (the empty string, no handle, the
// empty variant), so a new buffer needs no constructor and a half-filled one can be destroyed. And
// copying an element first retains the new value and then releases the old one, so that copying an
// element onto itself cannot destroy it in between. Handles and variants are shared by reference
// count; strings are copied, except onto themselves.
//
// A resource handle is one block: the struct, and behind it its four texts, each with a NUL.
#include "tensor/object.h"

#include <string.h>

#include "base/checked.h"

leat_status_t leat_resource_handle_create(leat_string_view_t device, leat_string_view_t container,
                                          leat_string_view_t name, leat_string_view_t type_name,
                                          leat_resource_handle_t** out_handle) {
  *out_handle = NULL;
  if (container.size == 0) container = LEAT_SV("localhost");
  const leat_string_view_t texts[] = {device, container, name, type_name};
  size_t size_bytes = sizeof(leat_resource_handle_t);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(texts); ++i) {
    if (!leat_checked_add(size_bytes, texts[i].size, &size_bytes) ||
        !leat_checked_add(size_bytes, (size_t)1, &size_bytes)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Resource handle creation failed: names are too long");
    }
  }
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(leat_allocator_system(), size_bytes, &memory));
  leat_resource_handle_t* handle = memory;
  leat_string_view_t* const fields[] = {&handle->device, &handle->container, &handle->name,
                                        &handle->type_name};
  char* next = (char*)(handle + 1);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(texts); ++i) {
    if (texts[i].size > 0) memcpy(next, texts[i].data, texts[i].size);
    *fields[i] = leat_string_view_make(next, texts[i].size);
    next += texts[i].size + 1;  // the byte after is zero
  }
  atomic_init(&handle->references, 1);
  handle->type_hash = leat_string_view_hash(type_name);
  *out_handle = handle;
  return leat_ok_status();
}

void leat_resource_handle_retain(leat_resource_handle_t* handle) {
  leat_reference_count_retain(&handle->references);
}

void leat_resource_handle_release(leat_resource_handle_t* handle) {
  if (handle && leat_reference_count_release(&handle->references)) {
    if (handle->release_owned) handle->release_owned(handle->owned);
    leat_allocator_free(leat_allocator_system(), handle);
  }
}

static const leat_variant_vtable_t* const* kinds;
static _Atomic(size_t) kind_count;

void leat_variant_kinds_set(const leat_variant_vtable_t* const* list, size_t count) {
  kinds = list;
  atomic_store_explicit(&kind_count, count, memory_order_release);
}

const leat_variant_vtable_t* leat_variant_kind_find(leat_string_view_t type_name) {
  const size_t count = atomic_load_explicit(&kind_count, memory_order_acquire);
  for (size_t i = 0; i < count; ++i) {
    LEAT_DCHECK(kinds[i]->encode && kinds[i]->decode);
    if (leat_string_view_equals(type_name, kinds[i]->type_name)) return kinds[i];
  }
  return NULL;
}

leat_status_t leat_object_set_string(TF_TString* target, leat_string_view_t text) {
  char* data = TF_TString_ResizeUninitialized(target, text.size);
  if (LEAT_UNLIKELY(!data)) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                            "String copy failed: no memory for %zu bytes", text.size);
  }
  if (text.size > 0) memmove(data, text.data, text.size);
  return leat_ok_status();
}

static leat_status_t copy_strings(const TF_TString* source, TF_TString* target, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (&source[i] == &target[i]) continue;
    LEAT_RETURN_IF_ERROR(leat_object_set_string(
        &target[i], leat_string_view_make(TF_TString_GetDataPointer(&source[i]),
                                          TF_TString_GetSize(&source[i]))));
  }
  return leat_ok_status();
}

static void copy_handles(leat_resource_handle_t* const* source, leat_resource_handle_t** target,
                         int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    leat_resource_handle_t* old = target[i];
    if (source[i]) leat_resource_handle_retain(source[i]);
    target[i] = source[i];
    leat_resource_handle_release(old);
  }
}

static void copy_variants(const leat_variant_t* source, leat_variant_t* target, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    leat_variant_t old = target[i];
    if (source[i].vtable) source[i].vtable->retain(source[i].self);
    target[i] = source[i];
    if (old.vtable) old.vtable->release(old.self);
  }
}

leat_status_t leat_object_copy(int dtype, const void* source, void* target, int64_t count) {
  switch (dtype) {
    case LEAT_DTYPE_STRING:
      return copy_strings(source, target, count);
    case LEAT_DTYPE_RESOURCE:
      copy_handles(source, target, count);
      return leat_ok_status();
    case LEAT_DTYPE_VARIANT:
      copy_variants(source, target, count);
      return leat_ok_status();
    default:
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Object copy failed: dtype is %s, must be string, resource or "
                              "variant",
                              leat_dtype_name(dtype));
  }
}

void leat_object_destroy(int dtype, void* elements, int64_t count) {
  if (dtype == LEAT_DTYPE_STRING) {
    TF_TString* strings = elements;
    for (int64_t i = 0; i < count; ++i) TF_TString_Dealloc(&strings[i]);
  } else if (dtype == LEAT_DTYPE_RESOURCE) {
    leat_resource_handle_t** handles = elements;
    for (int64_t i = 0; i < count; ++i) leat_resource_handle_release(handles[i]);
  } else if (dtype == LEAT_DTYPE_VARIANT) {
    leat_variant_t* variants = elements;
    for (int64_t i = 0; i < count; ++i) {
      if (variants[i].vtable) variants[i].vtable->release(variants[i].self);
    }
  }
}
