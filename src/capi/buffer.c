// TF_Buffer, a block of bytes with its deallocator, which carries serialized messages across the C
// API. Functions that return a message build it with a leat_string_builder_t and then move its
// bytes into the buffer without a copy (leat_capi_buffer_take), since a GraphDef may be large. The
// buffer's deallocator frees them. A buffer that a caller passes for output must be empty, as
// TF_NewBuffer makes it: a full one would leak its bytes.
#include <string.h>

#include "capi/handles.h"
#include "tensorflow/c/tf_tstring.h"

static void free_block(void* data, size_t length) {
  leat_allocator_free(leat_allocator_system(), data);
}

TF_Buffer* TF_NewBuffer(void) {
  void* buffer = NULL;
  leat_status_free(leat_allocator_allocate(leat_allocator_system(), sizeof(TF_Buffer), &buffer));
  return buffer;
}

TF_Buffer* TF_NewBufferFromString(const void* proto, size_t proto_len) {
  TF_Buffer* buffer = TF_NewBuffer();
  char* copy = NULL;
  if (!buffer) return NULL;
  leat_status_t status =
      leat_allocator_clone_string(leat_allocator_system(), proto, proto_len, &copy);
  if (status) {
    leat_status_free(status);
    TF_DeleteBuffer(buffer);
    return NULL;
  }
  *buffer = (TF_Buffer){copy, proto_len, free_block};
  return buffer;
}

void TF_DeleteBuffer(TF_Buffer* buffer) {
  if (!buffer) return;
  if (buffer->data_deallocator) {
    buffer->data_deallocator((void*)(uintptr_t)buffer->data, buffer->length);
  }
  leat_allocator_free(leat_allocator_system(), buffer);
}

TF_Buffer TF_GetBuffer(TF_Buffer* buffer) {
  return buffer ? *buffer : (TF_Buffer){NULL, 0, NULL};
}

leat_status_t leat_capi_buffer_check_empty(const TF_Buffer* buffer) {
  if (buffer && !buffer->data) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Returning a message failed: output buffer is %s, must be empty, as "
                          "TF_NewBuffer makes it",
                          buffer ? "in use" : "NULL");
}

leat_status_t leat_capi_buffer_take(leat_string_builder_t* builder, TF_Buffer* out_buffer) {
  char* data = NULL;
  size_t size = 0;
  leat_status_t status = leat_capi_buffer_check_empty(out_buffer);
  if (!status) status = leat_string_builder_finish(builder, &data, &size);
  // An empty message is still a message: callers test |data| to see whether there is one.
  if (!status && !data) {
    status = leat_allocator_clone_string(leat_allocator_system(), "", 0, &data);
  }
  if (status) {
    leat_string_builder_deinitialize(builder);
    return status;
  }
  *out_buffer = (TF_Buffer){data, size, free_block};
  return leat_ok_status();
}

TF_Buffer* leat_capi_buffer_return(leat_status_t result, leat_string_builder_t* builder,
                                   TF_Status* out_status) {
  TF_Buffer* buffer = result ? NULL : TF_NewBuffer();
  if (buffer) {
    result = leat_capi_buffer_take(builder, buffer);
  } else {
    leat_string_builder_deinitialize(builder);
    if (!result) result = leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a buffer ran out");
  }
  if (result) {
    TF_DeleteBuffer(buffer);
    buffer = NULL;
  }
  leat_capi_status_set(out_status, result);
  return buffer;
}

// ---- Strings ------------------------------------------------------------------------------------
// The functions of TF_TString as symbols, for callers that cannot use the inline ones.

void TF_StringInit(TF_TString* t) { TF_TString_Init(t); }

void TF_StringCopy(TF_TString* dst, const char* src, size_t size) {
  TF_TString_Copy(dst, src, size);
}

void TF_StringAssignView(TF_TString* dst, const char* src, size_t size) {
  TF_TString_AssignView(dst, src, size);
}

const char* TF_StringGetDataPointer(const TF_TString* tstr) {
  return TF_TString_GetDataPointer(tstr);
}

TF_TString_Type TF_StringGetType(const TF_TString* str) { return TF_TString_GetType(str); }

size_t TF_StringGetSize(const TF_TString* tstr) { return TF_TString_GetSize(tstr); }

size_t TF_StringGetCapacity(const TF_TString* str) { return TF_TString_GetCapacity(str); }

void TF_StringDealloc(TF_TString* tstr) { TF_TString_Dealloc(tstr); }
